package tfc

import (
	"encoding/json"

	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
)

func teamProjectAccesses() []route {
	k := projectAccess()
	return []route{
		{pattern: "GET /api/v2/team-projects", do: k.list},
		{pattern: "POST /api/v2/team-projects", do: k.add},
		{pattern: "GET /api/v2/team-projects/{access}", do: k.read},
		{pattern: "PATCH /api/v2/team-projects/{access}", do: k.update},
		{pattern: "DELETE /api/v2/team-projects/{access}", do: k.remove},
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

// A teamProjectAccessChange is what a client wants a team to have.
type teamProjectAccessChange struct {
	ID      string      `jsonapi:"primary,team-projects"`
	Access  *string     `jsonapi:"attr,access"`
	Team    *teamRef    `jsonapi:"relation,team"`
	Project *projectRef `jsonapi:"relation,project"`
}

func projectAccess() accessKind[teamProjectAccessDoc, teamProjectAccessChange, customProject] {
	return accessKind[teamProjectAccessDoc, teamProjectAccessChange, customProject]{
		place: "project", level: identity.Project, levels: projectLevels, names: customFlagNames,
		scope: func(r *request, v *postgres.View, id string) (identity.Scope, error) {
			p, err := v.Project(r.Context(), r.who, id)
			return identity.Scope{Organisation: p.Organisation, Project: p.ID}, err
		},
		wish: func(sent *teamProjectAccessChange) accessWish {
			w := accessWish{level: sent.Access, team: sent.Team}
			if sent.Project != nil {
				w.place = &sent.Project.ID
			}
			return w
		},
		flags: customProjectOf, check: customProject.check, allow: customProject.allow,
		show: func(a postgres.Access, level string, f customProject) *teamProjectAccessDoc {
			return &teamProjectAccessDoc{ID: a.ID, Access: level, Project: f.Project, Workspace: f.Workspace,
				Team: &teamRef{a.Holder}, Of: &projectRef{a.Scope.Project}}
		},
	}
}
