package tfc

import (
	"slices"
	"time"

	"github.com/hashicorp/jsonapi"

	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
)

// A workspaceDoc is a stack.
type workspaceDoc struct {
	ID                string               `jsonapi:"primary,workspaces"`
	Name              string               `jsonapi:"attr,name"`
	CreatedAt         time.Time            `jsonapi:"attr,created-at,iso8601"`
	UpdatedAt         time.Time            `jsonapi:"attr,updated-at,iso8601"`
	ExecutionMode     string               `jsonapi:"attr,execution-mode"`
	Operations        bool                 `jsonapi:"attr,operations"`
	SettingOverwrites workspaceOverwrites  `jsonapi:"attr,setting-overwrites"`
	Locked            bool                 `jsonapi:"attr,locked"`
	Source            string               `jsonapi:"attr,source"`
	Actions           workspaceActions     `jsonapi:"attr,actions"`
	Permissions       workspacePermissions `jsonapi:"attr,permissions"`
	ResourceCount     int                  `jsonapi:"attr,resource-count"`
	RunsCount         int                  `jsonapi:"attr,workspace-kpis-runs-count"`
	TagNames          []string             `jsonapi:"attr,tag-names"`
	Settings          workspaceSettings    `jsonapi:"attr,*"`
	Organisation      *organisationDoc     `jsonapi:"relation,organization"`
	Project           *projectDoc          `jsonapi:"relation,project"`
	AgentPool         *agentPoolRef        `jsonapi:"relation,agent-pool"`
	SSHKey            *sshKeyRef           `jsonapi:"relation,ssh-key"`
	EffectiveTags     []*effectiveDoc      `jsonapi:"relation,effective-tag-bindings,omitempty"`
	LockedBy          *lockedBy            `jsonapi:"polyrelation,locked-by"`
	Variables         []*variableRef       `jsonapi:"relation,vars,omitempty"`
	Configuration     *configurationRef    `jsonapi:"relation,current-configuration-version,omitempty"`
	CurrentState      *stateVersionDoc     `jsonapi:"relation,current-state-version"`
	Outputs           []*workspaceOutput   `jsonapi:"relation,outputs,omitempty"`
}

// A workspaceOutput is an output of the current state, as it is included.
type workspaceOutput struct {
	ID        string `jsonapi:"primary,workspace-outputs"`
	Name      string `jsonapi:"attr,name"`
	Sensitive bool   `jsonapi:"attr,sensitive"`
	Type      string `jsonapi:"attr,output-type"`
	Value     any    `jsonapi:"attr,value"`
}

// JSONAPILinks are where the workspace is for clients and for people.
func (d *workspaceDoc) JSONAPILinks() *jsonapi.Links {
	if d.Organisation == nil {
		return nil
	}
	path := d.Organisation.ID + "/workspaces/" + d.Name
	return &jsonapi.Links{"self": "/api/v2/organizations/" + path, "self-html": "/app/" + path}
}

// workspaceOverwrites say which settings a workspace has itself, and which are its
// project's.
type workspaceOverwrites struct {
	ExecutionMode bool `json:"execution-mode"`
	AgentPool     bool `json:"agent-pool"`
}

type workspaceActions struct {
	IsDestroyable bool `json:"is-destroyable"`
}

// workspacePermissions are what somebody may do with a workspace.
type workspacePermissions struct {
	CanDestroy           bool  `json:"can-destroy"`
	CanForceDelete       *bool `json:"can-force-delete,omitempty"`
	CanForceUnlock       bool  `json:"can-force-unlock"`
	CanLock              bool  `json:"can-lock"`
	CanManageRunTasks    bool  `json:"can-manage-run-tasks"`
	CanQueueApply        bool  `json:"can-queue-apply"`
	CanQueueDestroy      bool  `json:"can-queue-destroy"`
	CanQueueRun          bool  `json:"can-queue-run"`
	CanReadSettings      bool  `json:"can-read-settings"`
	CanReadStateOutputs  bool  `json:"can-read-state-outputs"`
	CanReadStateVersions bool  `json:"can-read-state-versions"`
	CanReadVariable      bool  `json:"can-read-variable"`
	CanUnlock            bool  `json:"can-unlock"`
	CanUpdate            bool  `json:"can-update"`
	CanUpdateVariable    bool  `json:"can-update-variable"`
}

func newWorkspacePermissions(grants []identity.Grant, s postgres.Stack) workspacePermissions {
	may := func(p identity.Permission) bool {
		return identity.Allowed(grants, p, identity.Scope{Organisation: s.Organisation, Project: s.Project, Stack: s.ID})
	}
	admin := may(identity.StackAdmin)
	return workspacePermissions{
		CanDestroy: admin, CanForceDelete: &admin, CanUpdate: admin, CanForceUnlock: may(identity.StateForceUnlock),
		CanLock: may(identity.StateLock), CanUnlock: may(identity.StateLock), CanManageRunTasks: admin,
		CanQueueRun: may(identity.ConfigurationWrite), CanQueueApply: may(identity.StateWrite), CanQueueDestroy: may(identity.StateWrite),
		CanReadSettings: may(identity.StackRead), CanReadStateVersions: may(identity.StateRead), CanReadStateOutputs: may(identity.StateOutputs),
		CanReadVariable: may(identity.VariableRead), CanUpdateVariable: may(identity.VariableWrite),
	}
}

// A shelf is what the documents of workspaces of one organisation share.
type shelf struct {
	home         postgres.Organisation
	organisation *organisationDoc
	grants       []identity.Grant
	projects     map[string]*projectDoc // by id
}

// shelf is what the documents of stacks of an organisation share.
func (r *request) shelf(v *postgres.View, o postgres.Organisation) (*shelf, error) {
	grants, err := v.OwnGrants(r.Context(), r.who)
	if err != nil {
		return nil, err
	}
	doc, err := newOrganisationDoc(o, grants)
	return &shelf{home: o, organisation: doc, grants: grants, projects: map[string]*projectDoc{}}, err
}

// project is the document of a project, made once.
func (sh *shelf) project(p postgres.Project) (_ *projectDoc, err error) {
	if sh.projects[p.ID] == nil {
		sh.projects[p.ID], err = newProjectDoc(p, sh.home)
	}
	return sh.projects[p.ID], err
}

// workspaceDoc is a stack as the client sees it.
func (r *request) workspaceDoc(v *postgres.View, s postgres.Stack) (*workspaceDoc, error) {
	o, err := v.HomeOf(r.Context(), r.who, s.Organisation)
	if err != nil {
		return nil, err
	}
	docs, err := r.workspaceDocs(v, o, []postgres.Stack{s})
	if err != nil {
		return nil, err
	}
	return docs[0], r.given(v, docs[0])
}

// workspaceDocs are stacks of an organisation as the client sees them.
func (r *request) workspaceDocs(v *postgres.View, o postgres.Organisation, stacks []postgres.Stack) ([]*workspaceDoc, error) {
	sh, err := r.shelf(v, o)
	if err != nil {
		return nil, err
	}
	var docs []*workspaceDoc
	for _, s := range stacks {
		d, err := sh.workspaceDoc(s)
		if err != nil {
			return nil, err
		}
		if s.State != nil {
			d.CurrentState, d.ResourceCount = r.newStateVersionDoc(*s.State), s.State.Resources
		}
		if slices.Contains(r.include(), "effective_tag_bindings") {
			d.EffectiveTags = newEffectiveDocs(s.Tags, s.ID, s.Above)
		}
		docs = append(docs, d)
	}
	return docs, nil
}

// workspaceDoc is a stack as far as it alone and the shelf say.
func (sh *shelf) workspaceDoc(s postgres.Stack) (*workspaceDoc, error) {
	w, err := settingsOf(s)
	if err != nil {
		return nil, err
	}
	p, err := sh.project(s.Above)
	if err != nil {
		return nil, err
	}
	own := w.ExecutionMode != ""
	d := &workspaceDoc{ID: s.ID, Name: s.Name, CreatedAt: s.Created, UpdatedAt: s.Updated, Source: "tfe-api",
		ExecutionMode: w.ExecutionMode, AgentPool: newAgentPoolRef(w.AgentPool), SettingOverwrites: workspaceOverwrites{own, own},
		Actions: workspaceActions{IsDestroyable: true}, Permissions: newWorkspacePermissions(sh.grants, s),
		TagNames: []string{}, Settings: w, Organisation: sh.organisation, Project: p,
		SSHKey: newSSHKeyRef(w.SSHKey), Locked: s.Lock != nil, LockedBy: newLockedBy(s.Lock)}
	for _, t := range s.Tags {
		d.TagNames = append(d.TagNames, t.Key)
	}
	if !own {
		d.ExecutionMode, d.AgentPool = p.DefaultExecutionMode, p.DefaultAgentPool
	}
	d.Operations = d.ExecutionMode != localExecution
	return d, nil
}
