package tfc

import (
	"encoding/json"
	"regexp"
	"slices"
	"time"

	"github.com/hashicorp/jsonapi"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

func workspaces() []route {
	const named, byID = "/api/v2/organizations/{organisation}/workspaces/{name}", "/api/v2/workspaces/{workspace}"
	return []route{
		{pattern: "GET /api/v2/organizations/{organisation}/workspaces", do: listWorkspaces},
		{pattern: "POST /api/v2/organizations/{organisation}/workspaces", do: createWorkspace},
		{pattern: "GET " + named, do: readWorkspace},
		{pattern: "GET " + byID, do: readWorkspace},
		{pattern: "PATCH " + named, do: updateWorkspace},
		{pattern: "PATCH " + byID, do: updateWorkspace},
		{pattern: "DELETE " + named, do: deleteWorkspace},
		{pattern: "DELETE " + byID, do: deleteWorkspace},
		{pattern: "PATCH " + byID + "/relationships/ssh-key", do: assignSSHKey},
		{pattern: "POST " + named + "/actions/safe-delete", do: safeDeleteWorkspace},
		{pattern: "POST " + byID + "/actions/safe-delete", do: safeDeleteWorkspace},
	}
}

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

// workspaceSettings are what clients set about a workspace: the settings of a
// stack. Which of them are acted on, docs/protocol.md says.
type workspaceSettings struct {
	Description                string          `json:"description"`
	TerraformVersion           string          `json:"terraform-version"`
	WorkingDirectory           string          `json:"working-directory"`
	ExecutionMode              string          `json:"execution-mode,omitempty"` // "": that of the project
	AgentPool                  string          `json:"agent-pool-id,omitempty"`
	SSHKey                     string          `json:"ssh-key-id,omitempty"`
	AutoApply                  bool            `json:"auto-apply"`
	AutoApplyRunTrigger        bool            `json:"auto-apply-run-trigger"`
	AutoDestroyAt              *time.Time      `json:"auto-destroy-at"`
	AutoDestroyActivity        *string         `json:"auto-destroy-activity-duration"`
	InheritsProjectAutoDestroy bool            `json:"inherits-project-auto-destroy"`
	AllowDestroyPlan           bool            `json:"allow-destroy-plan"`
	AssessmentsEnabled         bool            `json:"assessments-enabled"`
	FileTriggersEnabled        bool            `json:"file-triggers-enabled"`
	GlobalRemoteState          bool            `json:"global-remote-state"`
	ProjectRemoteState         bool            `json:"project-remote-state"`
	MigrationEnvironment       string          `json:"migration-environment"`
	QueueAllRuns               bool            `json:"queue-all-runs"`
	SpeculativeEnabled         bool            `json:"speculative-enabled"`
	SourceName                 string          `json:"source-name"`
	SourceURL                  string          `json:"source-url"`
	StructuredRunOutputEnabled bool            `json:"structured-run-output-enabled"`
	TriggerPrefixes            []string        `json:"trigger-prefixes"`
	TriggerPatterns            []string        `json:"trigger-patterns"`
	VCSRepo                    json.RawMessage `json:"vcs-repo"`
}

// settingsOf are those that a stack has; what nobody has set is as it is for a new one.
func settingsOf(s postgres.Stack) (workspaceSettings, error) {
	w := workspaceSettings{TerraformVersion: "latest", AllowDestroyPlan: true, FileTriggersEnabled: true,
		SpeculativeEnabled: true, StructuredRunOutputEnabled: true, TriggerPrefixes: []string{}, TriggerPatterns: []string{}}
	err := json.Unmarshal(s.Settings, &w)
	return w, err
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

// workspace is the stack that the path names, by its id or its organisation's and
// its own name.
func (r *request) workspace(v *postgres.View) (postgres.Stack, error) {
	if id := r.PathValue("workspace"); id != "" {
		return v.Stack(r.Context(), r.who, id)
	}
	o, err := r.home(v)
	if err != nil {
		return postgres.Stack{}, err
	}
	return v.StackByName(r.Context(), r.who, o.ID, r.PathValue("name"))
}

func listWorkspaces(r *request) (answer, error) {
	p := r.paging()
	var docs []*workspaceDoc
	err := r.view(func(v *postgres.View) error {
		o, err := r.home(v)
		if err != nil {
			return err
		}
		if r.URL.Query().Get("filter[current-run][status]") != "" {
			return nil // there are no runs yet (docs/protocol.md, rule 16)
		}
		found, total, err := v.Stacks(r.Context(), r.who, r.stackQuery(o, p))
		if err != nil {
			return err
		}
		p.total = total
		docs, err = r.workspaceDocs(v, o, found)
		return err
	})
	return listed(docs, p), err
}

// stackQuery is which stacks of an organisation the client asks for.
func (r *request) stackQuery(o postgres.Organisation, p page) postgres.StackQuery {
	q := r.URL.Query()
	tags, without := wantedTags(q)
	return postgres.StackQuery{Organisation: o.ID, Project: q.Get("filter[project][id]"), Name: q.Get("search[name]"),
		Wildcard: q.Get("search[wildcard-name]"), Tags: tags, Without: without, Descending: q.Get("sort") == "-name", Offset: p.offset(), Limit: p.size}
}

// A workspaceChange is what a client wants of a workspace.
type workspaceChange struct {
	ID       string        `jsonapi:"primary,workspaces"`
	Name     *string       `jsonapi:"attr,name"`
	Project  *projectRef   `jsonapi:"relation,project"`
	Tags     []*tagDoc     `jsonapi:"relation,tags"`
	Bindings []*bindingDoc `jsonapi:"relation,tag-bindings"`
	settings change
}

// A projectRef points to a project.
type projectRef struct {
	ID string `jsonapi:"primary,projects"`
}

func (r *request) workspaceChange() (workspaceChange, error) {
	var c workspaceChange
	var err error
	c.settings, err = r.decodeChange(&c)
	return c, err
}

// onto changes a stack, or what shall be one, and returns how its runs are executed
// then.
func (c workspaceChange) onto(s *postgres.Stack) (execution, error) {
	if c.Name != nil {
		s.Name = *c.Name
	}
	if c.Project != nil {
		s.Project = c.Project.ID
	}
	was, err := settingsOf(*s)
	if err != nil {
		return execution{}, err
	}
	w := was
	w.AgentPool = ""
	if err := c.settings.onto(&w); err != nil {
		return execution{}, err
	}
	w.SSHKey = was.SSHKey // which is assigned by itself
	if len(w.TriggerPatterns) > 0 && !slices.Equal(was.TriggerPatterns, w.TriggerPatterns) {
		w.TriggerPrefixes = []string{}
	}
	if w.ExecutionMode, err = c.executionMode(w.ExecutionMode); err != nil {
		return execution{}, err
	}
	e := execution{w.ExecutionMode, w.AgentPool}.keep(was.AgentPool)
	w.AgentPool = e.pool
	if err := checkVersion(w.TerraformVersion); err != nil {
		return execution{}, err
	}
	s.Settings, err = json.Marshal(w)
	return e, err
}

// executionMode is the mode that a client wants, "" for that of the project.
// "operations" is what older clients say.
func (c workspaceChange) executionMode(mode string) (string, error) {
	var wanted struct {
		Operations        *bool   `json:"operations"`
		ExecutionMode     *string `json:"execution-mode"`
		SettingOverwrites struct {
			ExecutionMode *bool `json:"execution-mode"`
		} `json:"setting-overwrites"`
	}
	if err := c.settings.onto(&wanted); err != nil {
		return "", err
	}
	switch {
	case wanted.Operations != nil && wanted.ExecutionMode != nil:
		return "", problem.New(api.Invalid, "operations and execution-mode say the same").WithHint("send execution-mode alone")
	case wanted.SettingOverwrites.ExecutionMode != nil && !*wanted.SettingOverwrites.ExecutionMode:
		return "", nil
	case wanted.Operations != nil && *wanted.Operations:
		return remoteExecution, nil
	case wanted.Operations != nil:
		return localExecution, nil
	}
	return mode, nil
}

// checkVersion refuses what is no version of Terraform or OpenTofu, nor a
// constraint on one, nor "latest".
func checkVersion(version string) error {
	if version != "latest" && (len(version) > 100 || !versionForm.MatchString(version)) {
		return problem.New(api.Invalid, "terraform-version is no version").WithHint("such as 1.11.4, ~> 1.11 or latest")
	}
	return nil
}

var versionForm = regexp.MustCompile(`^((=|!=|>|<|>=|<=|~>)? *\d+(\.\d+){0,2}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)? *(, *|$))+$`)

// change changes a stack as far as the client may.
func (r *request) change(v *postgres.View, s *postgres.Stack, c workspaceChange) error {
	e, err := c.onto(s)
	if err != nil {
		return err
	}
	return r.checkExecution(v, s.Organisation, e)
}

func createWorkspace(r *request) (answer, error) {
	c, err := r.workspaceChange()
	if err != nil {
		return answer{}, err
	}
	var doc *workspaceDoc
	err = r.update(func(u *postgres.Update) error {
		o, err := r.home(&u.View)
		if err != nil {
			return err
		}
		s, err := r.newStack(&u.View, o, c)
		if err != nil {
			return err
		}
		if s, err = u.CreateStack(r.Context(), r.who, s); err != nil {
			return err
		}
		doc, err = r.retag(u, s, c)
		return err
	})
	return created(doc), err
}

// newStack is the one that a client wants in an organisation. Where neither the
// client nor the organisation says how runs are executed, they are where the
// client is (docs/protocol.md, rule 9).
func (r *request) newStack(v *postgres.View, o postgres.Organisation, c workspaceChange) (postgres.Stack, error) {
	above, err := organisationSettingsOf(o)
	if err != nil {
		return postgres.Stack{}, err
	}
	s := postgres.Stack{Organisation: o.ID, Project: o.Project, Settings: json.RawMessage(`{}`)}
	if above.DefaultExecutionMode == "" {
		s.Settings = json.RawMessage(`{"execution-mode": "local"}`)
	}
	return s, r.change(v, &s, c)
}

// retag changes the tags of a stack with the rest of it.
func (r *request) retag(u *postgres.Update, s postgres.Stack, c workspaceChange) (*workspaceDoc, error) {
	if _, all := c.settings.relations["tag-bindings"]; all {
		if err := u.PutTags(r.Context(), r.who, s.ID, tagged(c.Bindings), true); err != nil {
			return nil, err
		}
	}
	if len(c.Tags) > 0 {
		if err := u.AddTags(r.Context(), r.who, s.ID, tagged(c.Tags)); err != nil {
			return nil, err
		}
	}
	s, err := u.Stack(r.Context(), r.who, s.ID)
	if err != nil {
		return nil, err
	}
	return r.workspaceDoc(&u.View, s)
}

func readWorkspace(r *request) (answer, error) {
	var doc *workspaceDoc
	err := r.view(func(v *postgres.View) error {
		s, err := r.workspace(v)
		if err != nil {
			return err
		}
		doc, err = r.workspaceDoc(v, s)
		return err
	})
	if err == nil && slices.Contains(r.include(), "outputs") {
		err = r.includeOutputs(doc)
	}
	return ok(doc), err
}

// includeOutputs adds the outputs of the current state, if the client may read them.
func (r *request) includeOutputs(d *workspaceDoc) error {
	if d.CurrentState == nil || !d.Permissions.CanReadStateOutputs {
		return nil
	}
	found, err := r.outputDocs(d.CurrentState.ID, true)
	for _, o := range found {
		d.Outputs = append(d.Outputs, &workspaceOutput{ID: o.ID, Name: o.Name, Sensitive: o.Sensitive, Type: o.Type, Value: o.Value})
	}
	return err
}

func updateWorkspace(r *request) (answer, error) {
	c, err := r.workspaceChange()
	if err != nil {
		return answer{}, err
	}
	var doc *workspaceDoc
	err = r.update(func(u *postgres.Update) error {
		s, err := r.workspace(&u.View)
		if err != nil {
			return err
		}
		if err := r.change(&u.View, &s, c); err != nil {
			return err
		}
		if s, err = u.ChangeStack(r.Context(), r.who, s); err != nil {
			return err
		}
		doc, err = r.retag(u, s, c)
		return err
	})
	return ok(doc), err
}

// A sshKeyRef points to a key with which modules are fetched.
type sshKeyRef struct {
	ID string `jsonapi:"primary,ssh-keys"`
}

func newSSHKeyRef(id string) *sshKeyRef {
	if id == "" {
		return nil
	}
	return &sshKeyRef{ID: id}
}

// assignSSHKey gives a workspace the key that the attribute id names, or none.
func assignSSHKey(r *request) (answer, error) {
	var wanted struct {
		Type string `jsonapi:"primary,workspaces"`
		Key  string `jsonapi:"attr,id"`
	}
	if err := r.decode(&wanted); err != nil {
		return answer{}, err
	}
	var doc *workspaceDoc
	err := r.update(func(u *postgres.Update) error {
		s, err := r.workspace(&u.View)
		if err != nil {
			return err
		}
		w, err := settingsOf(s)
		if err != nil {
			return err
		}
		if err := r.mayAssign(&u.View, s, wanted.Key); err != nil {
			return err
		}
		w.SSHKey = wanted.Key
		if s.Settings, err = json.Marshal(w); err != nil {
			return err
		}
		if _, err = u.ChangeStack(r.Context(), r.who, s); err != nil {
			return err
		}
		doc, err = r.retag(u, s, workspaceChange{})
		return err
	})
	return ok(doc), err
}

// mayAssign refuses a key that is of another organisation, or that the client may
// not see: with it runs would read what is not for them.
func (r *request) mayAssign(v *postgres.View, s postgres.Stack, key string) error {
	if key == "" {
		return nil
	}
	k, err := v.SSHKey(r.Context(), r.who, key)
	if err == nil && k.Organisation != s.Organisation {
		return noSuchThing()
	}
	return err
}

func deleteWorkspace(r *request) (answer, error) { return r.deleteWorkspace(true) }

func safeDeleteWorkspace(r *request) (answer, error) { return r.deleteWorkspace(false) }

func (r *request) deleteWorkspace(force bool) (answer, error) {
	return noContent(), r.update(func(u *postgres.Update) error {
		s, err := r.workspace(&u.View)
		if err != nil {
			return err
		}
		return u.DeleteStack(r.Context(), r.who, s.ID, force)
	})
}
