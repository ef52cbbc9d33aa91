package tfc

import (
	"encoding/json"

	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
)

func teamAccesses() []route {
	k := stackAccess()
	return []route{
		{pattern: "GET /api/v2/team-workspaces", do: k.list},
		{pattern: "POST /api/v2/team-workspaces", do: k.add},
		{pattern: "GET /api/v2/team-workspaces/{access}", do: k.read},
		{pattern: "PATCH /api/v2/team-workspaces/{access}", do: k.update},
		{pattern: "DELETE /api/v2/team-workspaces/{access}", do: k.remove},
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

// A teamAccessChange is what a client wants a team to have.
type teamAccessChange struct {
	ID        string    `jsonapi:"primary,team-workspaces"`
	Access    *string   `jsonapi:"attr,access"`
	Team      *teamRef  `jsonapi:"relation,team"`
	Workspace *stackRef `jsonapi:"relation,workspace"`
}

// A stackRef points to a workspace.
type stackRef struct {
	ID string `jsonapi:"primary,workspaces"`
}

func stackAccess() accessKind[teamAccessDoc, teamAccessChange, stackFlags] {
	return accessKind[teamAccessDoc, teamAccessChange, stackFlags]{
		place: "workspace", level: identity.Stack, levels: stackLevels, names: stackFlagNames,
		scope: func(r *request, v *postgres.View, id string) (identity.Scope, error) {
			s, err := v.Stack(r.Context(), r.who, id)
			return place(s), err
		},
		wish: func(sent *teamAccessChange) accessWish {
			w := accessWish{level: sent.Access, team: sent.Team}
			if sent.Workspace != nil {
				w.place = &sent.Workspace.ID
			}
			return w
		},
		flags: stackFlagsOf, check: stackFlags.check,
		allow: func(f stackFlags) []identity.Permission { return f.allow(f.Locking) },
		show: func(a postgres.Access, level string, f stackFlags) *teamAccessDoc {
			return &teamAccessDoc{ID: a.ID, Access: level, Flags: f, Team: &teamRef{a.Holder}, Workspace: &stackRef{a.Scope.Stack}}
		},
	}
}

// place is where a stack is.
func place(s postgres.Stack) identity.Scope {
	return identity.Scope{Organisation: s.Organisation, Project: s.Project, Stack: s.ID}
}
