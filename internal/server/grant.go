package server

import (
	"context"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

func (s *server) grants() []endpoint {
	return []endpoint{
		answering("Whose token this is, and what they may", "", s.whoami),
		answering("Who may what in an organisation, a project or a stack, for those who see that", identity.StackRead, s.listGrants),
		answering("Give a user or a team a role, of those that the caller has there; for a project it needs project:admin, for the organisation organisation:admin", identity.StackAdmin, s.giveGrant),
		answering("Take a role away, which needs what giving it does", identity.StackAdmin, s.takeGrant),
		answering("Who administers the server", identity.SiteAdmin, s.listAdministrators),
		answering("Let a user administer the server", identity.SiteAdmin, s.appoint),
		answering("Let a user administer the server no longer", identity.SiteAdmin, s.dismiss),
	}
}

func grant(s postgres.Standing) v1.Grant {
	g := v1.Grant{Role: string(s.Role), Holder: v1.Holder{Kind: "token", ID: s.Holder, Name: s.Called}, Permissions: []string{},
		Place: v1.Place{Organisation: v1.Named{ID: s.Scope.Organisation, Name: s.Organisation}}}
	switch {
	case identity.IsID(identity.UserID, s.Holder):
		g.Holder.Kind = "user"
	case identity.IsID(identity.TeamID, s.Holder):
		g.Holder.Kind = "team"
	}
	if s.Scope.Project != "" {
		g.Place.Project = &v1.Named{ID: s.Scope.Project, Name: s.Project}
	}
	if s.Scope.Stack != "" {
		g.Place.Stack = &v1.Named{ID: s.Scope.Stack, Name: s.Stack}
	}
	for _, p := range s.Role.At(s.Scope.Level()) {
		g.Permissions = append(g.Permissions, string(p))
	}
	return g
}

// standingKey is the order of roles: those of a whole organisation come first, and a
// project's before those of its stacks.
func standingKey(s postgres.Standing) string {
	return strings.Join([]string{strings.ToLower(s.Organisation), strings.ToLower(s.Project), strings.ToLower(s.Stack), strings.ToLower(s.Called), s.Holder}, "/")
}

func (s *server) whoami(ctx context.Context, who identity.Principal, _ v1.Whoami) (v1.Caller, error) {
	doc := v1.Caller{Kind: string(who.Kind), ID: who.ID, Name: who.Name, Organisation: who.Organisation, Grants: []v1.Grant{}}
	var all []postgres.Standing
	err := s.control.View(ctx, func(v *postgres.View) (err error) {
		if who.Kind == identity.Person {
			user, err := v.User(ctx, who)
			if err != nil {
				return err
			}
			doc.Email, doc.SiteAdmin = user.Email, user.SiteAdmin
		}
		all, err = v.Standing(ctx, who)
		return err
	})
	slices.SortFunc(all, func(a, b postgres.Standing) int { return strings.Compare(standingKey(a), standingKey(b)) })
	for _, s := range all {
		doc.Grants = append(doc.Grants, grant(s))
	}
	return doc, err
}

// A place is where a role is asked about, as a request names it.
type place struct{ organisation, project, stack string }

// scope is where that is. What is of another organisation does not exist.
func (p place) scope(ctx context.Context, v *postgres.View, who identity.Principal) (identity.Scope, error) {
	o, err := v.Home(ctx, who, p.organisation)
	if err != nil {
		return identity.Scope{}, err
	}
	at := identity.Scope{Organisation: o.ID}
	switch {
	case p.project != "" && p.stack != "":
		return at, problem.New(api.Invalid, "a role is given for a project or for a stack").WithHint("name the stack alone: it is in one project")
	case p.stack != "":
		k, err := v.Stack(ctx, who, p.stack)
		if err == nil && k.Organisation != o.ID {
			err = elsewhere()
		}
		return identity.Scope{Organisation: o.ID, Project: k.Project, Stack: k.ID}, err
	case p.project != "":
		j, err := v.Project(ctx, who, p.project)
		if err == nil && j.Organisation != o.ID {
			err = elsewhere()
		}
		return identity.Scope{Organisation: o.ID, Project: j.ID}, err
	}
	return at, nil
}

// elsewhere is the answer about what another organisation has.
func elsewhere() *problem.Error {
	return problem.New(api.NotFound, "there is no such thing in this organisation, or you may not see it")
}

func (s *server) listGrants(ctx context.Context, who identity.Principal, in v1.ListGrants) (v1.Page[v1.Grant], error) {
	c, err := paging(in.Paging)
	if err != nil {
		return v1.Page[v1.Grant]{}, err
	}
	var all []postgres.Standing
	err = s.control.View(ctx, func(v *postgres.View) error {
		at, err := place{in.Organisation, in.Project, in.Stack}.scope(ctx, v, who)
		if err != nil {
			return err
		}
		all, err = v.Grants(ctx, who, at)
		return err
	})
	return page(c, after(c, all, standingKey), standingKey, grant), err
}

func (s *server) giveGrant(ctx context.Context, who identity.Principal, in v1.GiveGrant) (v1.Grant, error) {
	var given postgres.Standing
	err := s.control.Update(ctx, func(u *postgres.Update) error {
		at, err := place{in.Organisation, in.Project, in.Stack}.scope(ctx, &u.View, who)
		if err != nil {
			return err
		}
		if err := holder(in.Holder); err != nil {
			return err
		}
		g := identity.Grant{Role: identity.Role(in.Role), Scope: at}
		if err := u.Grant(ctx, who, in.Holder, g); err != nil {
			return err
		}
		all, err := u.Grants(ctx, who, at)
		for _, s := range all {
			if s.Holder == in.Holder && s.Grant == g {
				given = s
			}
		}
		return err
	})
	return grant(given), err
}

// holder refuses what is neither a user nor a team: the role of a token is given when
// it is made.
func holder(id string) error {
	if identity.IsID(identity.UserID, id) || identity.IsID(identity.TeamID, id) {
		return nil
	}
	return problem.New(api.Invalid, "this is the id of neither a user nor a team").
		WithHint("it begins with %s or %s; a token gets its role when it is made", identity.UserID, identity.TeamID)
}

func (s *server) takeGrant(ctx context.Context, who identity.Principal, in v1.TakeGrant) (nothing, error) {
	return nothing{}, s.control.Update(ctx, func(u *postgres.Update) error {
		at, err := place{in.Organisation, in.Project, in.Stack}.scope(ctx, &u.View, who)
		if err != nil {
			return err
		}
		if err := holder(in.Holder); err != nil {
			return err
		}
		return u.Revoke(ctx, who, in.Holder, identity.Grant{Role: identity.Role(in.Role), Scope: at})
	})
}

func (s *server) listAdministrators(ctx context.Context, who identity.Principal, in v1.ListAdministrators) (v1.Page[v1.Principal], error) {
	c, err := paging(in.Paging)
	if err != nil {
		return v1.Page[v1.Principal]{}, err
	}
	var all []identity.Principal
	err = s.control.View(ctx, func(v *postgres.View) (err error) {
		all, err = v.Administrators(ctx, who)
		return err
	})
	key := func(p identity.Principal) string { return strings.ToLower(p.Name) + "/" + p.ID }
	return page(c, after(c, all, key), key, principal), err
}

func (s *server) appoint(ctx context.Context, who identity.Principal, in v1.AppointAdministrator) (nothing, error) {
	return nothing{}, s.control.Update(ctx, func(u *postgres.Update) error { return u.Appoint(ctx, who, in.User, true) })
}

func (s *server) dismiss(ctx context.Context, who identity.Principal, in v1.DismissAdministrator) (nothing, error) {
	return nothing{}, s.control.Update(ctx, func(u *postgres.Update) error { return u.Appoint(ctx, who, in.User, false) })
}
