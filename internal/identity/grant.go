package identity

import "slices"

// A Grant says that somebody has a role somewhere, and in all that is below.
type Grant struct {
	Role  Role  `json:"role"`
	Scope Scope `json:"scope"`
}

// Allowed reports whether somebody with these grants may do p at s. A role holds
// where it was granted and below, and never above or beside it. A word, role or
// scope that is unknown, and a word that means nothing so deep, are never
// allowed (docs/identity.md, rules 2 and 3).
func Allowed(grants []Grant, p Permission, s Scope) bool {
	i := slices.IndexFunc(permissions, func(m Meaning) bool { return m.Permission == p })
	if i < 0 {
		return false
	}
	asked := permissions[i]
	return s.Level() <= asked.Deepest && slices.ContainsFunc(grants, func(g Grant) bool {
		return g.Role.has(asked) && g.Scope.Contains(s)
	})
}

// MayGrant reports whether somebody with these grants may give another one, or
// take it away: who may administer the place may, and nobody may give more than
// they have there themselves (docs/identity.md, rule 4).
func MayGrant(own []Grant, g Grant) bool {
	admin := map[Level]Permission{Organisation: OrganisationAdmin, Project: ProjectAdmin, Stack: StackAdmin}
	return Allowed(own, admin[g.Scope.Level()], g.Scope) && slices.ContainsFunc(own, func(h Grant) bool {
		return h.Role.atLeast(g.Role) && h.Scope.Contains(g.Scope)
	})
}

// A Team is people of one organisation, and what they may do together.
type Team struct {
	ID           string
	Name         string
	Organisation string   // id
	Members      []string // ids of users
	Grants       []Grant
}

// Resolve is all that a user may do: what was granted to the person, and to each
// team of which the person is a member. A team's grant that lies outside of its
// own organisation counts for nothing (docs/identity.md, rule 5).
func Resolve(user string, own []Grant, teams []Team) []Grant {
	all := slices.Clone(own)
	for _, team := range teams {
		if slices.Contains(team.Members, user) {
			all = append(all, team.granted()...)
		}
	}
	return all
}

// granted are the grants of a team in its own organisation.
func (t Team) granted() []Grant {
	return slices.DeleteFunc(slices.Clone(t.Grants), func(g Grant) bool {
		return !Scope{Organisation: t.Organisation}.Contains(g.Scope)
	})
}

// Sees reports whether somebody with these grants may know that there is something
// at s. Who may not is told that there is no such thing.
func Sees(grants []Grant, s Scope) bool {
	switch s.Level() {
	case Stack:
		return Allowed(grants, StackRead, s)
	case Project:
		return Allowed(grants, ProjectRead, s)
	}
	return Member(grants, s.Organisation)
}

// Member reports whether grants reach into an organisation at all. Who has a role
// for one stack may know the organisation's name, and nothing else of it.
func Member(grants []Grant, organisation string) bool {
	return slices.ContainsFunc(grants, func(g Grant) bool {
		return slices.Contains(roles, g.Role) && Scope{Organisation: organisation}.Contains(g.Scope)
	})
}
