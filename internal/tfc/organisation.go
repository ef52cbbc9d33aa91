package tfc

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

func organisations() []route {
	return []route{
		{pattern: "GET /api/v2/organizations", do: listOrganisations},
		{pattern: "POST /api/v2/organizations", do: createOrganisation},
		{pattern: "GET /api/v2/organizations/{organisation}", do: readOrganisation},
		{pattern: "PATCH /api/v2/organizations/{organisation}", do: updateOrganisation},
		{pattern: "DELETE /api/v2/organizations/{organisation}", do: deleteOrganisation},
		{pattern: "GET /api/v2/organizations/{organisation}/entitlement-set", do: readEntitlements},
		{pattern: "GET /api/v2/organizations/{organisation}/runs/queue", do: listQueue},
		{pattern: "GET /api/v2/organizations/{organisation}/capacity", do: readCapacity},
	}
}

// An organisationDoc is an organisation. Its id is its name.
type organisationDoc struct {
	ID                   string                  `jsonapi:"primary,organizations"`
	Name                 string                  `jsonapi:"attr,name"`
	ExternalID           string                  `jsonapi:"attr,external-id"`
	CreatedAt            time.Time               `jsonapi:"attr,created-at,iso8601"`
	DefaultExecutionMode string                  `jsonapi:"attr,default-execution-mode"`
	TestableCount        int                     `jsonapi:"attr,remaining-testable-count"`
	Permissions          organisationPermissions `jsonapi:"attr,permissions"`
	Settings             organisationSettings    `jsonapi:"attr,*"`
	DefaultProject       *projectDoc             `jsonapi:"relation,default-project"`
	DefaultAgentPool     *agentPoolRef           `jsonapi:"relation,default-agent-pool"`
}

// organisationSettings are what clients set about an organisation. Which of them
// are acted on, docs/protocol.md says.
type organisationSettings struct {
	Email                            string  `json:"email"`
	AssessmentsEnforced              bool    `json:"assessments-enforced"`
	CollaboratorAuthPolicy           string  `json:"collaborator-auth-policy"`
	CostEstimationEnabled            bool    `json:"cost-estimation-enabled"`
	DefaultExecutionMode             string  `json:"default-execution-mode,omitempty"`
	DefaultAgentPool                 string  `json:"default-agent-pool-id,omitempty"`
	OwnersTeamSAMLRoleID             *string `json:"owners-team-saml-role-id"`
	SessionRemember                  *int    `json:"session-remember"`
	SessionTimeout                   *int    `json:"session-timeout"`
	SendPassingStatuses              bool    `json:"send-passing-statuses-for-untriggered-speculative-plans"`
	AggregatedCommitStatusEnabled    bool    `json:"aggregated-commit-status-enabled"`
	SpeculativePlanManagementEnabled bool    `json:"speculative-plan-management-enabled"`
	AllowForceDeleteWorkspaces       bool    `json:"allow-force-delete-workspaces"`
	StacksEnabled                    bool    `json:"stacks-enabled"`
	RegistryMonorepoSupportEnabled   bool    `json:"registry-monorepo-support-enabled"`
	UserTokensEnabled                bool    `json:"user-tokens-enabled"`
	MaxTTLEnabled                    bool    `json:"max-ttl-enabled"`
	EnforceHYOK                      bool    `json:"enforce-hyok"`
}

// organisationSettingsOf are those that an organisation has; what nobody has set is
// as it is for a new one.
func organisationSettingsOf(o postgres.Organisation) (organisationSettings, error) {
	s := organisationSettings{CollaboratorAuthPolicy: "password", SpeculativePlanManagementEnabled: true}
	err := json.Unmarshal(o.Settings, &s)
	s.UserTokensEnabled = o.UserTokens
	return s, err
}

// organisationPermissions are what somebody may do in an organisation.
type organisationPermissions struct {
	CreateTeam          bool `json:"can-create-team"`
	CreateWorkspace     bool `json:"can-create-workspace"`
	CreateProject       bool `json:"can-create-project"`
	Destroy             bool `json:"can-destroy"`
	ManageAuditing      bool `json:"can-manage-auditing"`
	ManageNoCodeModules bool `json:"can-manage-no-code-modules"`
	DeployNoCodeModules bool `json:"can-deploy-no-code-modules"`
	ManageRunTasks      bool `json:"can-manage-run-tasks"`
	Traverse            bool `json:"can-traverse"`
	Update              bool `json:"can-update"`
	UpdateAPIToken      bool `json:"can-update-api-token"`
	UpdateOAuth         bool `json:"can-update-oauth"`
	UpdateSentinel      bool `json:"can-update-sentinel"`
	CreateMigration     bool `json:"can-create-workspace-migration"`
	EnableStacks        bool `json:"can-enable-stacks"`
	UpdateHYOK          bool `json:"can-update-hyok-configuration"`
	ViewHYOK            bool `json:"can-view-hyok-feature-info"`
}

func newOrganisationPermissions(grants []identity.Grant, o postgres.Organisation) organisationPermissions {
	may := func(p identity.Permission) bool {
		return identity.Allowed(grants, p, identity.Scope{Organisation: o.ID})
	}
	return organisationPermissions{
		CreateTeam: may(identity.TeamAdmin), CreateWorkspace: may(identity.StackAdmin), CreateProject: may(identity.ProjectAdmin),
		Destroy: may(identity.OrganisationAdmin), ManageAuditing: may(identity.AuditRead),
		ManageNoCodeModules: may(identity.OrganisationAdmin), DeployNoCodeModules: may(identity.OrganisationAdmin),
		ManageRunTasks: may(identity.PolicyAdmin), Traverse: may(identity.OrganisationRead), Update: may(identity.OrganisationAdmin),
		UpdateAPIToken: may(identity.TokenAdmin), UpdateOAuth: may(identity.OrganisationAdmin), UpdateSentinel: may(identity.PolicyAdmin),
		CreateMigration: may(identity.StackAdmin), EnableStacks: may(identity.OrganisationAdmin),
	}
}

// An agentPoolRef points to a pool of agents.
type agentPoolRef struct {
	ID string `jsonapi:"primary,agent-pools"`
}

func newAgentPoolRef(id string) *agentPoolRef {
	if id == "" {
		return nil
	}
	return &agentPoolRef{ID: id}
}

// Ways in which runs of a workspace are executed (docs/protocol.md, rule 9).
const (
	localExecution  = "local"
	remoteExecution = "remote"
	agentExecution  = "agent"
)

// newOrganisationDoc is an organisation as somebody with these roles sees it: who
// has none for all of it knows its name.
func newOrganisationDoc(o postgres.Organisation, grants []identity.Grant) (*organisationDoc, error) {
	if !identity.Allowed(grants, identity.OrganisationRead, identity.Scope{Organisation: o.ID}) {
		return &organisationDoc{ID: o.Name, Name: o.Name, CreatedAt: o.Created}, nil
	}
	s, err := organisationSettingsOf(o)
	if err != nil {
		return nil, err
	}
	d := &organisationDoc{ID: o.Name, Name: o.Name, ExternalID: o.ID, CreatedAt: o.Created, DefaultExecutionMode: s.DefaultExecutionMode,
		TestableCount: testableCount, Permissions: newOrganisationPermissions(grants, o), Settings: s,
		DefaultProject: &projectDoc{ID: o.Project}, DefaultAgentPool: newAgentPoolRef(s.DefaultAgentPool)}
	if d.DefaultExecutionMode == "" {
		d.DefaultExecutionMode = remoteExecution // so clients expect of one that nobody has set
	}
	return d, nil
}

// testableCount is how many modules may still have tests: nobody counts.
const testableCount = 1000

// organisationDoc is an organisation as the client sees it. Its project is whole if
// the client wants it in the same answer.
func (r *request) organisationDoc(v *postgres.View, o postgres.Organisation) (*organisationDoc, error) {
	grants, err := v.OwnGrants(r.Context(), r.who)
	if err != nil {
		return nil, err
	}
	d, err := newOrganisationDoc(o, grants)
	if err != nil || !slices.Contains(r.include(), "default_project") {
		return d, err
	}
	p, err := v.Project(r.Context(), r.who, o.Project)
	if err != nil {
		return nil, err
	}
	d.DefaultProject, err = newProjectDoc(p, o)
	return d, err
}

func listOrganisations(r *request) (answer, error) {
	p := r.paging()
	docs := []*organisationDoc{}
	err := r.view(func(v *postgres.View) error {
		docs = docs[:0]
		all, err := v.Organisations(r.Context(), r.who)
		if err != nil {
			return err
		}
		for _, o := range all {
			d, err := r.organisationDoc(v, o)
			if err != nil {
				return err
			}
			if contains(d.Name, r.URL.Query().Get("q")) || contains(d.Settings.Email, r.URL.Query().Get("q")) {
				docs = append(docs, d)
			}
		}
		return nil
	})
	return listed(part(docs, &p), p), err
}

// contains reports whether text has part somewhere, whatever the case of letters.
func contains(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// An organisationChange is what a client wants of an organisation.
type organisationChange struct {
	ID               string        `jsonapi:"primary,organizations"`
	Name             *string       `jsonapi:"attr,name"`
	DefaultAgentPool *agentPoolRef `jsonapi:"relation,default-agent-pool"`
	settings         change
}

func (r *request) organisationChange() (organisationChange, error) {
	var c organisationChange
	var err error
	c.settings, err = r.decodeChange(&c)
	return c, err
}

// onto changes an organisation, and returns how its runs are executed then.
func (c organisationChange) onto(o *postgres.Organisation) (execution, error) {
	if c.Name != nil {
		o.Name = *c.Name
	}
	s, err := organisationSettingsOf(*o)
	if err != nil {
		return execution{}, err
	}
	had := s.DefaultAgentPool
	s.DefaultAgentPool = ""
	if err := c.settings.onto(&s); err != nil {
		return execution{}, err
	}
	if c.DefaultAgentPool != nil {
		s.DefaultAgentPool = c.DefaultAgentPool.ID
	}
	e := execution{s.DefaultExecutionMode, s.DefaultAgentPool}.keep(had)
	s.DefaultAgentPool = e.pool
	o.UserTokens = s.UserTokensEnabled
	o.Settings, err = json.Marshal(s)
	return e, err
}

// An execution is how runs are executed, and by the agents of which pool.
type execution struct{ mode, pool string }

// keep is e with the pool that there was, if it needs one and has no other.
func (e execution) keep(had string) execution {
	if e.mode == agentExecution && e.pool == "" {
		e.pool = had
	}
	return e
}

// checkExecution refuses an execution that there is not, or not in this organisation.
func (r *request) checkExecution(v *postgres.View, organisation string, e execution) error {
	switch {
	case !slices.Contains([]string{"", localExecution, remoteExecution, agentExecution}, e.mode):
		return problem.New(api.Invalid, "there is no such execution mode").WithHint("there are local, remote and agent")
	case e.pool != "" && e.mode != agentExecution:
		return problem.New(api.Invalid, "an agent pool must not be specified unless using 'agent' execution mode")
	case e.pool == "" && e.mode == agentExecution:
		return problem.New(api.Invalid, "an agent pool must be specified when using 'agent' execution mode")
	case e.pool == "":
		return nil
	}
	p, err := v.AgentPool(r.Context(), r.who, e.pool)
	if err == nil && p.Organisation != organisation {
		return noSuchThing()
	}
	return err
}

func createOrganisation(r *request) (answer, error) {
	c, err := r.organisationChange()
	if err != nil {
		return answer{}, err
	}
	var doc *organisationDoc
	err = r.update(func(u *postgres.Update) error {
		name := ""
		if c.Name != nil {
			name = *c.Name
		}
		o, err := u.CreateOrganisation(r.Context(), r.who, name)
		if err != nil {
			return err
		}
		doc, err = r.changeOrganisation(u, o, c)
		return err
	})
	return created(doc), err
}

func (r *request) changeOrganisation(u *postgres.Update, o postgres.Organisation, c organisationChange) (*organisationDoc, error) {
	e, err := c.onto(&o)
	if err != nil {
		return nil, err
	}
	if err := r.checkExecution(&u.View, o.ID, e); err != nil {
		return nil, err
	}
	if err := u.ChangeOrganisation(r.Context(), r.who, o); err != nil {
		return nil, err
	}
	return r.organisationDoc(&u.View, o)
}

func readOrganisation(r *request) (answer, error) {
	var doc *organisationDoc
	err := r.view(func(v *postgres.View) error {
		o, err := r.organisation(v)
		if err != nil {
			return err
		}
		doc, err = r.organisationDoc(v, o)
		return err
	})
	return ok(doc), err
}

func updateOrganisation(r *request) (answer, error) {
	c, err := r.organisationChange()
	if err != nil {
		return answer{}, err
	}
	var doc *organisationDoc
	err = r.update(func(u *postgres.Update) error {
		o, err := r.organisation(&u.View)
		if err != nil {
			return err
		}
		doc, err = r.changeOrganisation(u, o, c)
		return err
	})
	return ok(doc), err
}

func deleteOrganisation(r *request) (answer, error) {
	return noContent(), r.update(func(u *postgres.Update) error {
		o, err := r.organisation(&u.View)
		if err != nil {
			return err
		}
		return u.DeleteOrganisation(r.Context(), r.who, o.ID)
	})
}

// An entitlementDoc says what an organisation may use: everything that there is.
// There are no operations: that the server runs nothing makes clients run plans
// and applies where they are (docs/protocol.md, rule 9).
type entitlementDoc struct {
	ID                    string `jsonapi:"primary,entitlement-sets"`
	Agents                bool   `jsonapi:"attr,agents"`
	AuditLogging          bool   `jsonapi:"attr,audit-logging"`
	CostEstimation        bool   `jsonapi:"attr,cost-estimation"`
	Operations            bool   `jsonapi:"attr,operations"`
	PrivateModuleRegistry bool   `jsonapi:"attr,private-module-registry"`
	RunTasks              bool   `jsonapi:"attr,run-tasks"`
	SSO                   bool   `jsonapi:"attr,sso"`
	Sentinel              bool   `jsonapi:"attr,sentinel"`
	StateStorage          bool   `jsonapi:"attr,state-storage"`
	Teams                 bool   `jsonapi:"attr,teams"`
	VCSIntegrations       bool   `jsonapi:"attr,vcs-integrations"`
}

func readEntitlements(r *request) (answer, error) {
	var doc *entitlementDoc
	err := r.view(func(v *postgres.View) error {
		o, err := r.home(v)
		doc = &entitlementDoc{ID: o.ID, AuditLogging: true, PrivateModuleRegistry: true, SSO: true, StateStorage: true, Teams: true}
		return err
	})
	return ok(doc), err
}

// A capacityDoc says how many runs an organisation has.
type capacityDoc struct {
	ID      string `jsonapi:"primary,organization-capacity"`
	Pending int    `jsonapi:"attr,pending"`
	Running int    `jsonapi:"attr,running"`
}

func readCapacity(r *request) (answer, error) {
	var doc *capacityDoc
	err := r.view(func(v *postgres.View) error {
		o, err := r.home(v)
		doc = &capacityDoc{ID: o.Name}
		return err
	})
	return ok(doc), err
}

// listQueue is empty: there are no runs yet (docs/protocol.md, rule 16).
func listQueue(r *request) (answer, error) {
	err := r.view(func(v *postgres.View) error {
		_, err := r.home(v)
		return err
	})
	return listed([]*capacityDoc{}, r.paging()), err
}
