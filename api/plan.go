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

// A PlanDifference is how two plans of one stack differ in what they would do,
// as `assize diff --format json` prints it (docs/report.md, rules 16 to 19). No
// list of it is ever null, and all are sorted.
type PlanDifference struct {
	Equal   bool               `json:"equal"`
	Changes []ChangeDifference `json:"changes"` // by address, and the current object before the deposed
	Outputs []OutputDifference `json:"outputs"` // by name
	Facts   []ValueDifference  `json:"facts"`   // of the plan as a whole: complete, check ADDRESS, module ADDRESS
}

// A ChangeDifference is a change that only one plan has, or that is another one
// in the second. What only one plan has is not taken apart.
type ChangeDifference struct {
	Addr       string            `json:"addr"`
	Deposed    string            `json:"deposed,omitempty"`
	Part       string            `json:"part,omitempty"` // of the plan: deferred for a later one, or drift, which an apply records; else what it does
	First      string            `json:"first"`          // the action in the first plan; "" where only the second has the change
	Second     string            `json:"second"`         // and the other way around
	Facts      []ValueDifference `json:"facts"`          // provider, reason, previous_addr, importing, replace_paths
	Attributes []ValueDifference `json:"attributes"`     // in the order of before and after, then by path
}

// An OutputDifference is a root output that only one plan changes, or that
// becomes something else in the second.
type OutputDifference struct {
	Name   string            `json:"name"`
	First  string            `json:"first"` // as in a [ChangeDifference]
	Second string            `json:"second"`
	Values []ValueDifference `json:"values"` // of before and after
}

// A ValueDifference is one value that is not the same in two plans. In place of
// a value that is known after apply stands {"$unknown": true}, of a secret
// {"$sensitive": true}, and of none {"$absent": true}. Two secrets look the same
// and are not.
type ValueDifference struct {
	Path   string `json:"path"`             // of the attribute, "" for all of it; or the name of the fact
	Side   string `json:"side,omitempty"`   // of attributes and outputs: before or after
	First  any    `json:"first"`            // a JSON value
	Second any    `json:"second"`           // a JSON value
	Marked string `json:"marked,omitempty"` // first or second, where only that plan marks it as sensitive
}

// StateFormat is the version of [StateDocument] that this build writes.
const StateFormat = 1

// StateDocument is the state of a stack as `assize state query` and `state show`
// see it (docs/spec.md, rule 31). Every secret in it, by mark or by value, is
// {"$sensitive": true}.
type StateDocument struct {
	Format    int            `json:"format"`
	Lineage   string         `json:"lineage,omitempty"` // left out where there is no state yet
	Serial    int64          `json:"serial"`            // 0 where there is no state yet
	Resources []Held         `json:"resources"`         // in the order of the tool; [] for none
	Outputs   map[string]any `json:"outputs"`           // of the root module: name to value
}

// Held is one object in a state: an instance of a resource, what a data source has
// read, or what is left of an object that was replaced.
type Held struct {
	Addr      string         `json:"addr"` // of a specification the path in CUE, else the tool's address
	Mode      string         `json:"mode"` // managed or data
	Type      string         `json:"type"`
	Name      string         `json:"name"`     // the tool's
	Provider  string         `json:"provider"` // its source address
	Values    map[string]any `json:"values"`
	Module    string         `json:"module,omitempty"`     // address of the module it is in
	Index     any            `json:"index,omitempty"`      // instance key: a number or a text
	DependsOn []string       `json:"depends_on,omitempty"` // as addr
	Tainted   bool           `json:"tainted,omitempty"`
	Deposed   string         `json:"deposed,omitempty"` // key of what is left of one that was replaced
}
