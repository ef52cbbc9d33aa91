package tfc

import (
	"encoding/json"
	"regexp"
	"slices"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

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
