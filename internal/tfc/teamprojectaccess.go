package tfc

import (
	"encoding/json"

	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
)

func teamProjectAccesses() []route {
	return []route{
		{pattern: "GET /api/v2/team-projects", do: listTeamProjectAccesses},
		{pattern: "POST /api/v2/team-projects", do: addTeamProjectAccess},
		{pattern: "GET /api/v2/team-projects/{access}", do: readTeamProjectAccess},
		{pattern: "PATCH /api/v2/team-projects/{access}", do: updateTeamProjectAccess},
		{pattern: "DELETE /api/v2/team-projects/{access}", do: removeTeamProjectAccess},
	}
}

// projectLevels are the levels of access to a project, as roles. To maintain one is
// less than to administer it, and more than to write: there is no such role, so it
// is the one below.
var projectLevels = []level{{readLevel, identity.Reader}, {writeLevel, identity.Applier}, {maintainLevel, identity.Applier}, {adminLevel, identity.Maintainer}}

// A teamProjectAccessDoc says what a team may at a project and all workspaces of it.
type teamProjectAccessDoc struct {
	ID        string            `jsonapi:"primary,team-projects"`
	Access    string            `jsonapi:"attr,access"`
	Project   projectFlags      `jsonapi:"attr,project-access"`
	Workspace projectStackFlags `jsonapi:"attr,workspace-access"`
	Team      *teamRef          `jsonapi:"relation,team"`
	Of        *projectRef       `jsonapi:"relation,project"`
}

// custom are the flags of custom access to a project.
type customProject struct {
	Project   projectFlags      `json:"project-access"`
	Workspace projectStackFlags `json:"workspace-access"`
}

// projectFlags are about the project itself.
type projectFlags struct {
	Settings     string `json:"settings"`
	Teams        string `json:"teams"`
	VariableSets string `json:"variable-sets"`
}

// projectStackFlags are about its workspaces.
type projectStackFlags struct {
	workFlags
	Create  bool `json:"create"`
	Locking bool `json:"locking"`
	Move    bool `json:"move"`
	Delete  bool `json:"delete"`
}

// customFlagNames are the attributes that hold the flags.
var customFlagNames = []string{"project-access", "workspace-access"}

// The values of flags about a project, the least first.
var (
	settingsWords = []string{"read", "update", "delete"}
	teamsWords    = []string{"none", "read", "manage"}
)

func (f customProject) check() error {
	return errorsOf(f.Workspace.check(), oneOf("settings", f.Project.Settings, settingsWords),
		oneOf("teams", f.Project.Teams, teamsWords), oneOf("variable-sets", f.Project.VariableSets, variablesWords))
}

// allow are the permissions that custom access to a project lets somebody use
// (docs/identity.md, rule 13).
func (f customProject) allow() []identity.Permission {
	w := f.Workspace
	allowed := append(w.allow(w.Locking), identity.ProjectRead)
	if reaches(stateWords, w.StateVersions, "write") {
		allowed = append(allowed, identity.StateRecover)
	}
	manages := reaches(teamsWords, f.Project.Teams, "manage")
	if w.Create && w.Move && w.Delete && w.Locking && manages {
		allowed = append(allowed, identity.StackAdmin, identity.StateForceUnlock)
	}
	if manages && reaches(settingsWords, f.Project.Settings, "delete") {
		allowed = append(allowed, identity.ProjectAdmin)
	}
	return allowed
}

// customProjectOf are the flags of a team's access, which follow from a level that
// is not custom.
func customProjectOf(a postgres.Access) (customProject, error) {
	level := levelOf(projectLevels, a)
	f := customProject{Project: projectFlags{Settings: "read", Teams: "none", VariableSets: "none"}, Workspace: projectStackFlags{workFlags: workOf(level)}}
	switch level {
	case readLevel:
		f.Project.VariableSets = "read"
	case writeLevel:
		f.Project.VariableSets, f.Workspace.Locking = "read", true
	case maintainLevel, adminLevel:
		f.Project.VariableSets = "write"
		f.Workspace.Create, f.Workspace.Locking, f.Workspace.Move, f.Workspace.Delete = true, true, true, true
	case customLevel:
		if len(a.Flags) > 0 {
			return f, json.Unmarshal(a.Flags, &f)
		}
	}
	if level == adminLevel {
		f.Project.Settings, f.Project.Teams = "delete", "manage"
	}
	return f, nil
}

func newTeamProjectAccessDoc(a postgres.Access) (*teamProjectAccessDoc, error) {
	f, err := customProjectOf(a)
	return &teamProjectAccessDoc{ID: a.ID, Access: levelOf(projectLevels, a), Project: f.Project, Workspace: f.Workspace,
		Team: &teamRef{a.Holder}, Of: &projectRef{a.Scope.Project}}, err
}

// A teamProjectAccessChange is what a client wants a team to have.
type teamProjectAccessChange struct {
	ID      string      `jsonapi:"primary,team-projects"`
	Access  *string     `jsonapi:"attr,access"`
	Team    *teamRef    `jsonapi:"relation,team"`
	Project *projectRef `jsonapi:"relation,project"`
	flags   change
}

func (r *request) teamProjectAccessChange() (teamProjectAccessChange, error) {
	var c teamProjectAccessChange
	var err error
	c.flags, err = r.decodeChange(&c)
	return c, err
}

// onto is the access that a team shall have in place of another.
func (c teamProjectAccessChange) onto(had postgres.Access) (postgres.Access, error) {
	level := levelOf(projectLevels, had)
	if c.Access != nil {
		level = *c.Access
	}
	flags, err := customProjectOf(had)
	if err != nil {
		return had, err
	}
	if err := errorsOf(c.flags.refuseFlags(level, customFlagNames), c.flags.onto(&flags), flags.check()); err != nil {
		return had, err
	}
	return grantAt(projectLevels, level, flags, flags.allow(), had.Holder, had.Scope)
}

func listTeamProjectAccesses(r *request) (answer, error) {
	p := r.paging()
	docs := []*teamProjectAccessDoc{}
	err := r.view(func(v *postgres.View) error {
		project, err := v.Project(r.Context(), r.who, r.URL.Query().Get("filter[project][id]"))
		if err != nil {
			return err
		}
		all, err := v.Accesses(r.Context(), r.who, identity.Scope{Organisation: project.Organisation, Project: project.ID})
		if err != nil {
			return err
		}
		for _, a := range part(all, &p) {
			d, err := newTeamProjectAccessDoc(a)
			if err != nil {
				return err
			}
			docs = append(docs, d)
		}
		return nil
	})
	return listed(docs, p), err
}

func addTeamProjectAccess(r *request) (answer, error) {
	c, err := r.teamProjectAccessChange()
	if err := errorsOf(err, must(c.Team, "team"), must(c.Project, "project"), must(c.Access, "access")); err != nil {
		return answer{}, err
	}
	var doc *teamProjectAccessDoc
	err = r.update(func(u *postgres.Update) error {
		project, err := u.Project(r.Context(), r.who, c.Project.ID)
		if err != nil {
			return err
		}
		at := identity.Scope{Organisation: project.Organisation, Project: project.ID}
		nothing := postgres.Access{Level: customLevel, Holding: postgres.Holding{Holder: c.Team.ID, Grant: identity.Grant{Scope: at}}}
		wanted, err := c.onto(nothing)
		if err != nil {
			return err
		}
		made, err := u.AddAccess(r.Context(), r.who, wanted)
		if err != nil {
			return err
		}
		doc, err = newTeamProjectAccessDoc(made)
		return err
	})
	return created(doc), err
}

func readTeamProjectAccess(r *request) (answer, error) {
	var doc *teamProjectAccessDoc
	err := r.view(func(v *postgres.View) error {
		a, err := r.accessAt(v, identity.Project)
		if err != nil {
			return err
		}
		doc, err = newTeamProjectAccessDoc(a)
		return err
	})
	return ok(doc), err
}

func updateTeamProjectAccess(r *request) (answer, error) {
	c, err := r.teamProjectAccessChange()
	if err != nil {
		return answer{}, err
	}
	var doc *teamProjectAccessDoc
	err = r.update(func(u *postgres.Update) error {
		a, err := r.accessAt(&u.View, identity.Project)
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
		doc, err = newTeamProjectAccessDoc(made)
		return err
	})
	return ok(doc), err
}

func removeTeamProjectAccess(r *request) (answer, error) { return r.removeAccess(identity.Project) }
