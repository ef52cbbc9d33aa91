package tfc

import (
	"encoding/json"

	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
)

func teamAccesses() []route {
	return []route{
		{pattern: "GET /api/v2/team-workspaces", do: listTeamAccesses},
		{pattern: "POST /api/v2/team-workspaces", do: addTeamAccess},
		{pattern: "GET /api/v2/team-workspaces/{access}", do: readTeamAccess},
		{pattern: "PATCH /api/v2/team-workspaces/{access}", do: updateTeamAccess},
		{pattern: "DELETE /api/v2/team-workspaces/{access}", do: removeTeamAccess},
	}
}

// stackLevels are the levels of access to one workspace, as roles.
var stackLevels = []level{{readLevel, identity.Reader}, {planLevel, identity.Planner}, {writeLevel, identity.Applier}, {adminLevel, identity.Maintainer}}

// A teamAccessDoc says what a team may at one workspace.
type teamAccessDoc struct {
	ID        string     `jsonapi:"primary,team-workspaces"`
	Access    string     `jsonapi:"attr,access"`
	Flags     stackFlags `jsonapi:"attr,*"`
	Team      *teamRef   `jsonapi:"relation,team"`
	Workspace *stackRef  `jsonapi:"relation,workspace"`
}

// stackFlags are what custom access to one workspace is made of.
type stackFlags struct {
	workFlags
	Locking bool `json:"workspace-locking"`
}

// stackFlagNames are those of the flags.
var stackFlagNames = []string{"runs", "variables", "state-versions", "sentinel-mocks", "run-tasks", "policy-overrides", "workspace-locking"}

// stackFlagsOf are the flags of a team's access, which follow from a level that is
// not custom.
func stackFlagsOf(a postgres.Access) (stackFlags, error) {
	level := levelOf(stackLevels, a)
	f := stackFlags{workFlags: workOf(level), Locking: level == writeLevel || level == adminLevel}
	if level == customLevel && len(a.Flags) > 0 {
		if err := json.Unmarshal(a.Flags, &f); err != nil {
			return f, err
		}
	}
	return f, nil
}

func newTeamAccessDoc(a postgres.Access) (*teamAccessDoc, error) {
	flags, err := stackFlagsOf(a)
	return &teamAccessDoc{ID: a.ID, Access: levelOf(stackLevels, a), Flags: flags,
		Team: &teamRef{a.Holder}, Workspace: &stackRef{a.Scope.Stack}}, err
}

// A teamAccessChange is what a client wants a team to have.
type teamAccessChange struct {
	ID        string    `jsonapi:"primary,team-workspaces"`
	Access    *string   `jsonapi:"attr,access"`
	Team      *teamRef  `jsonapi:"relation,team"`
	Workspace *stackRef `jsonapi:"relation,workspace"`
	flags     change
}

// A stackRef points to a workspace.
type stackRef struct {
	ID string `jsonapi:"primary,workspaces"`
}

func (r *request) teamAccessChange() (teamAccessChange, error) {
	var c teamAccessChange
	var err error
	c.flags, err = r.decodeChange(&c)
	return c, err
}

// onto is the access that a team shall have in place of another. Flags that the
// client does not name stay what they were.
func (c teamAccessChange) onto(had postgres.Access) (postgres.Access, error) {
	level := levelOf(stackLevels, had)
	if c.Access != nil {
		level = *c.Access
	}
	flags, err := stackFlagsOf(had)
	if err != nil {
		return had, err
	}
	if err := errorsOf(c.flags.refuseFlags(level, stackFlagNames), c.flags.onto(&flags), flags.check()); err != nil {
		return had, err
	}
	return grantAt(stackLevels, level, flags, flags.allow(flags.Locking), had.Holder, had.Scope)
}

func listTeamAccesses(r *request) (answer, error) {
	p := r.paging()
	docs := []*teamAccessDoc{}
	err := r.view(func(v *postgres.View) error {
		s, err := v.Stack(r.Context(), r.who, r.URL.Query().Get("filter[workspace][id]"))
		if err != nil {
			return err
		}
		all, err := v.Accesses(r.Context(), r.who, place(s))
		if err != nil {
			return err
		}
		for _, a := range part(all, &p) {
			d, err := newTeamAccessDoc(a)
			if err != nil {
				return err
			}
			docs = append(docs, d)
		}
		return nil
	})
	return listed(docs, p), err
}

// place is where a stack is.
func place(s postgres.Stack) identity.Scope {
	return identity.Scope{Organisation: s.Organisation, Project: s.Project, Stack: s.ID}
}

func addTeamAccess(r *request) (answer, error) {
	c, err := r.teamAccessChange()
	if err := errorsOf(err, must(c.Team, "team"), must(c.Workspace, "workspace"), must(c.Access, "access")); err != nil {
		return answer{}, err
	}
	var doc *teamAccessDoc
	err = r.update(func(u *postgres.Update) error {
		s, err := u.Stack(r.Context(), r.who, c.Workspace.ID)
		if err != nil {
			return err
		}
		nothing := postgres.Access{Level: customLevel, Holding: postgres.Holding{Holder: c.Team.ID, Grant: identity.Grant{Scope: place(s)}}}
		wanted, err := c.onto(nothing)
		if err != nil {
			return err
		}
		made, err := u.AddAccess(r.Context(), r.who, wanted)
		if err != nil {
			return err
		}
		doc, err = newTeamAccessDoc(made)
		return err
	})
	return created(doc), err
}

// teamAccess is the one that the path names, which is one at a workspace.
func (r *request) teamAccess(v *postgres.View) (postgres.Access, error) {
	return r.accessAt(v, identity.Stack)
}

// accessAt is the access that the path names, if it is one at this level.
func (r *request) accessAt(v *postgres.View, at identity.Level) (postgres.Access, error) {
	a, err := v.Access(r.Context(), r.who, r.PathValue("access"))
	if err == nil && a.Scope.Level() != at {
		return postgres.Access{}, noSuchThing()
	}
	return a, err
}

func readTeamAccess(r *request) (answer, error) {
	var doc *teamAccessDoc
	err := r.view(func(v *postgres.View) error {
		a, err := r.teamAccess(v)
		if err != nil {
			return err
		}
		doc, err = newTeamAccessDoc(a)
		return err
	})
	return ok(doc), err
}

func updateTeamAccess(r *request) (answer, error) {
	c, err := r.teamAccessChange()
	if err != nil {
		return answer{}, err
	}
	var doc *teamAccessDoc
	err = r.update(func(u *postgres.Update) error {
		a, err := r.teamAccess(&u.View)
		if err != nil {
			return err
		}
		wanted, err := c.onto(a)
		if err != nil {
			return err
		}
		made, err := u.PutAccess(r.Context(), r.who, wanted)
		if err != nil {
			return err
		}
		doc, err = newTeamAccessDoc(made)
		return err
	})
	return ok(doc), err
}

func removeTeamAccess(r *request) (answer, error) { return r.removeAccess(identity.Stack) }

func (r *request) removeAccess(at identity.Level) (answer, error) {
	return noContent(), r.update(func(u *postgres.Update) error {
		a, err := r.accessAt(&u.View, at)
		if err != nil {
			return err
		}
		return u.RemoveAccess(r.Context(), r.who, a.ID)
	})
}
