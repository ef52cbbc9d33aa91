package server

import (
	"context"
	"slices"
	"strings"

	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
)

func (s *server) members() []endpoint {
	return []endpoint{
		answering("The members of an organisation, and who is invited", identity.OrganisationRead, s.listMembers),
		making("Invite whoever proves that an address is theirs", identity.OrganisationAdmin, s.inviteMember),
		making("Make a user, for a server without a provider; it needs site:admin as well, and shows a token this once", identity.OrganisationAdmin, s.createMember),
		answering("End a membership or an invitation", identity.OrganisationAdmin, s.removeMember),
		answering("The teams of an organisation", identity.OrganisationRead, s.listTeams),
		making("Make a team", identity.TeamAdmin, s.createTeam),
		answering("The team with this id", identity.OrganisationRead, s.showTeam),
		answering("Delete a team with its roles and tokens", identity.TeamAdmin, s.deleteTeam),
		answering("Add somebody to a team", identity.TeamAdmin, s.addToTeam),
		answering("Take somebody out of a team", identity.TeamAdmin, s.removeFromTeam),
	}
}

// member is a membership with the names of its teams.
func member(m postgres.Membership, teams []postgres.Team) v1.Member {
	doc := v1.Member{ID: m.ID, User: m.User, Name: m.Name, Email: m.Email, Invited: m.Invited(), Teams: []v1.Named{}, Created: m.Created}
	for _, t := range teams {
		if slices.Contains(m.Teams, t.ID) {
			doc.Teams = append(doc.Teams, v1.Named{ID: t.ID, Name: t.Name})
		}
	}
	return doc
}

func team(t postgres.Team) v1.Team {
	doc := v1.Team{ID: t.ID, Name: t.Name, Role: string(t.Access.Role), Members: []v1.TeamMember{}}
	for _, m := range t.Members {
		doc.Members = append(doc.Members, v1.TeamMember{ID: m.ID, User: m.User, Name: m.Name, Email: m.Email, Invited: m.Invited()})
	}
	return doc
}

func (s *server) listMembers(ctx context.Context, who identity.Principal, in v1.ListMembers) (v1.Page[v1.Member], error) {
	c, err := paging(in.Paging)
	if err != nil {
		return v1.Page[v1.Member]{}, err
	}
	var all []postgres.Membership
	var teams []postgres.Team
	err = s.control.View(ctx, func(v *postgres.View) error {
		o, err := v.Home(ctx, who, in.Organisation)
		if err != nil {
			return err
		}
		if all, err = v.Memberships(ctx, who, o.ID); err != nil {
			return err
		}
		teams, err = v.Teams(ctx, who, o.ID)
		return err
	})
	// The order of the list is that in which they came, and then that of ids.
	key := func(m postgres.Membership) string { return m.Created.Format(fixedTime) + m.ID }
	return page(c, after(c, all, key), key, func(m postgres.Membership) v1.Member { return member(m, teams) }), err
}

func (s *server) inviteMember(ctx context.Context, who identity.Principal, in v1.InviteMember) (v1.Member, error) {
	var doc v1.Member
	err := s.control.Update(ctx, func(u *postgres.Update) error {
		o, err := u.Home(ctx, who, in.Organisation)
		if err != nil {
			return err
		}
		m, err := u.Invite(ctx, who, o.ID, in.Email, in.Teams)
		if err != nil {
			return err
		}
		teams, err := u.Teams(ctx, who, o.ID)
		doc = member(m, teams)
		return err
	})
	return doc, err
}

func (s *server) createMember(ctx context.Context, who identity.Principal, in v1.CreateMember) (v1.Member, error) {
	var doc v1.Member
	err := s.control.Update(ctx, func(u *postgres.Update) error {
		o, err := u.Home(ctx, who, in.Organisation)
		if err != nil {
			return err
		}
		m, token, err := u.CreateMember(ctx, who, o.ID, postgres.NewMember{Name: in.Name, Teams: in.Teams, Expires: in.Expires})
		if err != nil {
			return err
		}
		teams, err := u.Teams(ctx, who, o.ID)
		doc = member(m, teams)
		doc.Token = token.Reveal()
		return err
	})
	return doc, err
}

func (s *server) removeMember(ctx context.Context, who identity.Principal, in v1.RemoveMember) (nothing, error) {
	return nothing{}, s.control.Update(ctx, func(u *postgres.Update) error { return u.RemoveMembership(ctx, who, in.Member) })
}

func (s *server) listTeams(ctx context.Context, who identity.Principal, in v1.ListTeams) (v1.Page[v1.Team], error) {
	c, err := paging(in.Paging)
	if err != nil {
		return v1.Page[v1.Team]{}, err
	}
	var all []postgres.Team
	err = s.control.View(ctx, func(v *postgres.View) error {
		o, err := v.Home(ctx, who, in.Organisation)
		if err != nil {
			return err
		}
		all, err = v.Teams(ctx, who, o.ID)
		return err
	})
	key := func(t postgres.Team) string { return strings.ToLower(t.Name) }
	return page(c, after(c, all, key), key, team), err
}

func (s *server) createTeam(ctx context.Context, who identity.Principal, in v1.CreateTeam) (v1.Team, error) {
	var made postgres.Team
	err := s.control.Update(ctx, func(u *postgres.Update) error {
		o, err := u.Home(ctx, who, in.Organisation)
		if err != nil {
			return err
		}
		made, err = u.CreateTeam(ctx, who, o.ID, in.Name)
		return err
	})
	return team(made), err
}

func (s *server) showTeam(ctx context.Context, who identity.Principal, in v1.ShowTeam) (v1.Team, error) {
	var found postgres.Team
	err := s.control.View(ctx, func(v *postgres.View) (err error) {
		found, err = v.Team(ctx, who, in.Team)
		return err
	})
	return team(found), err
}

func (s *server) deleteTeam(ctx context.Context, who identity.Principal, in v1.DeleteTeam) (nothing, error) {
	return nothing{}, s.control.Update(ctx, func(u *postgres.Update) error { return u.DeleteTeam(ctx, who, in.Team) })
}

func (s *server) addToTeam(ctx context.Context, who identity.Principal, in v1.AddToTeam) (nothing, error) {
	return nothing{}, s.control.Update(ctx, func(u *postgres.Update) error {
		if identity.IsID(identity.UserID, in.Member) {
			return u.AddMember(ctx, who, in.Team, in.Member)
		}
		return u.AddMemberships(ctx, who, in.Team, []string{in.Member})
	})
}

func (s *server) removeFromTeam(ctx context.Context, who identity.Principal, in v1.RemoveFromTeam) (nothing, error) {
	return nothing{}, s.control.Update(ctx, func(u *postgres.Update) error {
		if identity.IsID(identity.UserID, in.Member) {
			return u.RemoveMember(ctx, who, in.Team, in.Member)
		}
		return u.RemoveMemberships(ctx, who, in.Team, []string{in.Member})
	})
}
