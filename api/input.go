package api

// A RunKind says how a run came about, and with it what its source must be.
type RunKind string

const (
	ManualRun      RunKind = "manual"      // from an uploaded configuration: no commit
	TrackedRun     RunKind = "tracked"     // from a commit of the branch the stack follows
	SpeculativeRun RunKind = "speculative" // from any other commit; never applied
)

// A PolicyInput is what a policy of the decision contract sees of a plan
// (docs/policy-input.md): sanitised, strict and bounded. Its Version says which
// of the two contracts it is of; fields that only one of them has say so.
//
// Values in it are nil, bool, json.Number, string, []any and map[string]any.
type PolicyInput struct {
	Version         string        `json:"version"` // assize.policy.input/v1 or stackship.policy.input/v1
	Run             InputRun      `json:"run"`
	Source          InputSource   `json:"source"`
	Stack           *InputSubject `json:"stack,omitempty"`     // assize only
	Workspace       *InputSubject `json:"workspace,omitempty"` // stackship only
	Plan            *InputPlan    `json:"plan,omitempty"`      // assize only
	ResourceChanges []InputChange `json:"resource_changes"`    // in the plan's order; [] for an empty plan
}

// InputRun is the run of a [PolicyInput].
type InputRun struct {
	Kind RunKind `json:"kind"`
}

// InputSource is where the configuration came from. What it may hold depends
// on the kind of the run.
type InputSource struct {
	CommitSHA        *string `json:"commit_sha"`        // 40 hexadecimal digits; null for a manual run
	RepositoryID     string  `json:"repository_id"`     // the provider's id; cfg_... for a manual run
	WorkingDirectory string  `json:"working_directory"` // slash-separated, relative to the repository; "." for its root
}

// InputSubject is the stack that a plan is of.
type InputSubject struct {
	ID       string            `json:"id"`
	Metadata map[string]string `json:"metadata"` // {} when there is none
}

// InputPlan says of a plan as a whole whether it is the whole change.
type InputPlan struct {
	Complete    *bool    `json:"complete"`     // what the tool says; null where it says nothing (OpenTofu)
	Deferred    int      `json:"deferred"`     // changes that the tool leaves for a later plan
	Destroy     bool     `json:"destroy"`      // made with -destroy, as far as the caller knows
	RefreshOnly bool     `json:"refresh_only"` // made with -refresh-only, as far as the caller knows
	Targets     []string `json:"targets"`      // given with -target, as far as the caller knows
	Replace     []string `json:"replace"`      // given with -replace, as far as the caller knows
}

// InputChange is one resource instance. What identifies it is (Address,
// Deposed); in the stackship contract, which has no Deposed, it is Address.
type InputChange struct {
	Address         string     `json:"address"`
	Deposed         string     `json:"deposed,omitempty"`          // assize only; left out for the current object
	PreviousAddress string     `json:"previous_address,omitempty"` // assize only; left out when nothing moved
	Mode            string     `json:"mode,omitempty"`             // assize only, always there: managed, data or ephemeral
	Type            string     `json:"type,omitempty"`             // assize only, always there
	Name            string     `json:"name,omitempty"`             // assize only, always there
	ProviderName    string     `json:"provider_name"`
	ActionReason    string     `json:"action_reason,omitempty"` // assize only; left out when the tool gives none
	Importing       bool       `json:"importing,omitempty"`     // assize only; left out when false
	Change          InputDelta `json:"change"`
}

// InputDelta is what happens to one resource instance. Before and After are an
// object or null. A sensitivity map is a boolean, an object or a list of the
// same shape as its value: where it is true, the value is null because it was
// removed; elsewhere null is null.
type InputDelta struct {
	Actions         []string `json:"actions"` // the tool's tuple: create, or delete and create, ...
	Before          any      `json:"before"`
	After           any      `json:"after"`                   // lacks what is unknown
	AfterUnknown    any      `json:"after_unknown,omitempty"` // assize only, always there: a map as for sensitivity
	BeforeSensitive any      `json:"before_sensitive"`
	AfterSensitive  any      `json:"after_sensitive"`
}
