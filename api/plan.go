package api

// DocumentFormat is the version of [Document] that this build writes.
const DocumentFormat = 1

// Document is the plan as CUE policies see it and as `assize plan --json`
// prints it (seed 003, "The plan document"). It is not masked: a sensitive
// value stands in it as it is.
//
// A value that is not known until apply is {"$unknown": true}.
type Document struct {
	Format      int            `json:"format"`
	Created     string         `json:"created"` // RFC 3339, UTC; when the tool made the plan
	Actor       string         `json:"actor"`   // the caller's word, like the next three
	Reason      string         `json:"reason"`
	GitRevision string         `json:"git_revision"`
	TraceID     string         `json:"trace_id"`
	Destroy     bool           `json:"destroy"` // made with -destroy
	Summary     Summary        `json:"summary"`
	Stats       Stats          `json:"stats"`
	Changes     []Change       `json:"changes"` // [] for an empty plan, never null
	Outputs     map[string]any `json:"outputs"` // what each root output would be
	Hints       []string       `json:"hints"`   // what the plan cannot show, in words
	Providers   map[string]any `json:"providers"`

	// What follows is not in every document: each is left out when it is empty.
	Complete    *bool     `json:"complete,omitempty"`     // what the tool says; OpenTofu and Terraform before 1.8 say nothing
	RefreshOnly bool      `json:"refresh_only,omitempty"` // made with -refresh-only
	Targets     []string  `json:"targets,omitempty"`      // given with -target: the plan is not the whole change
	Replace     []string  `json:"replace,omitempty"`      // given with -replace
	Modules     []Module  `json:"modules,omitempty"`      // every module block, nested ones too
	Checks      []Checked `json:"checks,omitempty"`       // check blocks and conditions
	Deferred    []Change  `json:"deferred,omitempty"`     // changes that the tool leaves for a later plan
}

// Module is one module block of the configuration in a [Document]. Its address
// has no instance keys: module.net.module.subnets.
type Module struct {
	Addr    string `json:"addr"`
	Source  string `json:"source"`
	Version string `json:"version,omitempty"` // the constraint, not what was installed
}

// Checked is a check block, or the conditions of one object, in a [Document].
type Checked struct {
	Addr     string   `json:"addr"`
	Status   string   `json:"status"` // pass, fail, error or unknown
	Problems []string `json:"problems,omitempty"`
}

// Summary counts the changes of a plan by what they do to real objects.
type Summary struct {
	Create      int `json:"create"`
	Update      int `json:"update"`
	Replace     int `json:"replace"`
	Destroy     int `json:"destroy"` // deletes, and the delete half of every replacement
	Forget      int `json:"forget"`
	Import      int `json:"import"`
	Move        int `json:"move"`
	Read        int `json:"read"`
	BlastRadius int `json:"blast_radius"` // objects that are created, changed, destroyed or forgotten
}

// Stats says how much a plan looked at.
type Stats struct {
	Resources int `json:"resources"` // entries of the plan, no-ops included
	NoOp      int `json:"no_op"`
	Unknown   int `json:"unknown"` // changes with at least one value known only after apply
	Deferred  int `json:"deferred"`
}

// Change is one resource instance in a [Document]. Addr, Mode, Type, Name and
// Action are always present; every other field is left out when it is empty or
// false. Before is absent for a create, After for a delete, both for a no-op.
type Change struct {
	Addr                string   `json:"addr"`
	Mode                string   `json:"mode"` // managed, data, ephemeral or call
	Type                string   `json:"type"`
	Name                string   `json:"name"`
	Action              string   `json:"action"` // create, update, replace, delete, forget, read, no-op, "create,forget", "forget,create"
	CreateBeforeDestroy bool     `json:"create_before_destroy,omitempty"`
	PreviousAddr        string   `json:"previous_addr,omitempty"`
	Deposed             string   `json:"deposed,omitempty"`
	Module              string   `json:"module,omitempty"`
	Index               any      `json:"index,omitempty"` // a string, or a number
	Provider            string   `json:"provider,omitempty"`
	Reason              string   `json:"action_reason,omitempty"`
	Importing           any      `json:"importing,omitempty"`
	ReplacePaths        []string `json:"replace_paths,omitempty"`
	Sensitive           []string `json:"sensitive,omitempty"` // paths below after (or before, for a delete) that hold a secret
	Before              any      `json:"before,omitempty"`
	After               any      `json:"after,omitempty"`
}
