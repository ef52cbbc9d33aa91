package api

// A Graph is what depends on what in one repository (seed 004, "Identities and
// names"). No list of it is ever null, and all are sorted by key: an edge by
// From, To and Kind.
type Graph struct {
	Repo     string        `json:"repo,omitempty"` // owner/repo, where it is known
	Stacks   []Stack       `json:"stacks"`         // those that others depend on and that are not here included
	Modules  []StackModule `json:"modules"`
	Edges    []Edge        `json:"edges"`
	Warnings []string      `json:"warnings"`
}

// A Stack is one node of a [Graph]. Of one that is external or unknown nothing
// but its key is known, and it is never scheduled.
type Stack struct {
	Key         string    `json:"key"`            // path, path:instance or owner/repo//key
	Repo        string    `json:"repo,omitempty"` // owner/repo of an external stack
	Path        string    `json:"path"`           // relative to the root of its repository
	Instance    string    `json:"instance,omitempty"`
	Workspace   string    `json:"workspace,omitempty"` // that the tool selects
	Environment string    `json:"environment,omitempty"`
	Tool        string    `json:"tool,omitempty"` // tofu or terraform
	ToolVersion string    `json:"tool_version,omitempty"`
	State       *StateRef `json:"state,omitempty"`       // nil where it cannot be read from the code
	WatchPaths  []string  `json:"watch_paths,omitempty"` // files elsewhere that it reads
	TreeHash    string    `json:"tree_hash,omitempty"`   // "sha256:..." of everything it is made of
	Position    string    `json:"position,omitempty"`    // file:line of what makes it a stack
	External    bool      `json:"external,omitempty"`    // of another repository
	Unknown     bool      `json:"unknown,omitempty"`     // depends_on names it and nothing here is called so
}

// A StateRef identifies the place where a state is kept.
type StateRef struct {
	Type string `json:"type"` // of the backend
	ID   string `json:"id"`   // what tells it from others of the type: of s3, bucket/key
}

// A StackModule is a module that stacks of a [Graph] use, directly or through
// others. A directory that is a stack and is called as a module as well is in
// both lists, under one key; edges to the module are uses_module, edges to the
// stack are not.
type StackModule struct {
	Key  string `json:"key"`           // the path of a local one, else family@ref
	Kind string `json:"kind"`          // local, git, registry or archive
	Base string `json:"base"`          // the key without the ref: its family
	Ref  string `json:"ref,omitempty"` // the version or revision that is asked for
}

// An EdgeKind says what an [Edge] means.
type EdgeKind string

const (
	DependsOn  EdgeKind = "depends_on"  // declared; orders and propagates
	ReadsState EdgeKind = "reads_state" // inferred from the code; orders and propagates
	UsesModule EdgeKind = "uses_module" // of a stack or a module, to a module; propagates, orders nothing
)

// An Edge says that From needs To, so To is applied first. There is at most one
// for each From, To and Kind.
type Edge struct {
	From     string    `json:"from"`
	To       string    `json:"to"`
	Kind     EdgeKind  `json:"kind"`
	Inferred bool      `json:"inferred,omitempty"` // nobody declared it; so is every reads_state
	State    *StateRef `json:"state,omitempty"`    // reads_state: what is read
	Through  string    `json:"through,omitempty"`  // reads_state: the module that reads it, where the stack does not itself
	Source   string    `json:"source,omitempty"`   // uses_module: as written at the call
	Ref      string    `json:"ref,omitempty"`      // uses_module: that the call asks for; "" for a local one
}

// A Reason is why a stack is affected.
type Reason string

const (
	ReasonChanged    Reason = "changed"     // a path in its directory
	ReasonWatchPath  Reason = "watch_path"  // a file elsewhere that it reads
	ReasonModule     Reason = "module"      // a local module that it uses
	ReasonReadsState Reason = "reads_state" // it reads the state of an affected stack
	ReasonDependent  Reason = "dependent"   // it declares that it depends on an affected stack
	ReasonRequested  Reason = "requested"   // somebody named it
)

// Reasons lists every reason, in the order in which a stack has them (seed 004,
// "Scan and graph").
func Reasons() []Reason {
	return []Reason{ReasonChanged, ReasonWatchPath, ReasonModule, ReasonReadsState, ReasonDependent, ReasonRequested}
}

// Affected is what a change affects, as `assize affected --format json` prints
// it. No list of it is ever null; stacks are sorted by key, in waves as well.
type Affected struct {
	Stacks   []AffectedStack `json:"stacks"`
	Waves    [][]string      `json:"waves"`   // keys; a wave may start when the one before it is done
	Removed  []RemovedStack  `json:"removed"` // that were there at the base and are gone; in no wave
	Warnings []string        `json:"warnings"`
}

// An AffectedStack is one stack of [Affected]. It has at least one reason, and
// at least one via for each.
type AffectedStack struct {
	Key     string   `json:"key"`
	Wave    int      `json:"wave"` // from 0
	Reasons []Reason `json:"reasons"`
	Via     []Via    `json:"via"` // in the order of the reasons, then by From
}

// Via is what brought a stack in.
type Via struct {
	Reason Reason `json:"reason"`
	From   string `json:"from"` // changed, watch_path: a path; module: its key; reads_state, dependent: the stack's key; requested: the key, or * for all
}

// A RemovedStack is gone from the repository, but what it made is not.
type RemovedStack struct {
	Key       string `json:"key"`
	RenamedTo string `json:"renamed_to,omitempty"` // the directory of the stack that it has become
}

// A Matrix is the output matrix of `assize affected` in GitHub Actions, in the
// form that strategy.matrix takes (docs/stacks.md, rule 24).
type Matrix struct {
	Include []MatrixEntry `json:"include"` // by wave, then by key; never null
}

// A MatrixEntry is one affected stack for the job that works on it (seed 004,
// "Stack instances"). No field is ever left out.
type MatrixEntry struct {
	Key         string `json:"key"`
	Path        string `json:"path"`
	Instance    string `json:"instance"`  // "" for none
	Workspace   string `json:"workspace"` // "" for none
	Environment string `json:"environment"`
	Tool        string `json:"tool"`
	ToolVersion string `json:"tool_version"` // "" where none is asked for
	Wave        int    `json:"wave"`         // from 0
	Slug        string `json:"slug"`         // the key as it may stand in the name of a file or of an artifact; no two stacks share one
}

// A Config is what `assize config --format json` prints: what is in force for
// one stack, and where each value came from (docs/configuration.md, rule 21).
type Config struct {
	Stack    string    `json:"stack"` // its key: path, or path:instance
	Path     string    `json:"path"`  // of its directory, slash-separated, relative to the root
	Instance string    `json:"instance,omitempty"`
	Settings []Setting `json:"settings"` // in a fixed order
	Warnings []string  `json:"warnings"`
}

// A Setting is one value. A list has one for each of its entries, with the same
// key and in its order, and none when it is empty; a variable has one for each
// mode that it is set in, or one without a mode when all three are the same.
type Setting struct {
	Key         string      `json:"key"`                   // as in the files: tool, apply.mode, env.NAME
	Mode        string      `json:"mode,omitempty"`        // variables only: plan, apply or drift
	Value       any         `json:"value"`                 // a string, a boolean or a whole number
	Enforcement Enforcement `json:"enforcement,omitempty"` // policies only
	Sensitive   bool        `json:"sensitive,omitempty"`   // (sensitive) stands for a secret in the value
	From        string      `json:"from"`                  // file:line, the name of a variable, "the instance's name", or default
}
