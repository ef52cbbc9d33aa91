package api

// WarrantFormat is the version of [Warrant] that this build writes.
const WarrantFormat = 3

// A Warrant binds one exact plan to the policies that judged it and to
// everything it was made from. An apply needs one, and is refused when
// anything in Binding has moved. It is written beside the plan file.
//
// It is sealed, not signed: Seal detects damage and careless edits. Whoever can
// write the directory can write a new warrant (docs/warrant.md).
type Warrant struct {
	Format      int          `json:"format"`
	Run         string       `json:"run"`     // "run_" and 32 hexadecimal digits, drawn for every plan
	Created     string       `json:"created"` // when it was begun, before anything was read: RFC 3339, UTC
	Binding     Binding      `json:"binding"`
	Upstream    []string     `json:"upstream"`    // stacks against whose planned outputs it was planned: then it is conditional, and never applied; never null
	Place       string       `json:"place"`       // of the stack, in the directory where the paths of policies begin
	Verdicts    []Verdict    `json:"verdicts"`    // passed, or failed softly: then an apply needs an override
	Composition *Composition `json:"composition"` // of the verdicts; null when nothing judged
	Summary     Summary      `json:"summary"`
	Seal        string       `json:"seal"` // digest of the RFC 8785 form of the rest
}

// A Binding is what a plan was made from. Every digest is "sha256:" and 64
// hexadecimal digits.
type Binding struct {
	Plan          string   `json:"plan"`     // digest of the plan file
	Document      string   `json:"document"` // digest of the plan's JSON, as the tool shows it
	Configuration string   `json:"configuration"`
	LockFile      string   `json:"lock_file"` // "" when there is none
	Variables     string   `json:"variables"` // salted, because a variable may be a short secret
	Backend       string   `json:"backend"`   // where the state is kept; salted, because its address may hold a secret
	Settings      string   `json:"settings"`  // what assize.yaml says of the stack; salted, because a variable may be a short secret
	Mode          string   `json:"mode"`      // plan, or apply where an apply has planned again: whose values of env it was made with
	Salt          string   `json:"salt"`
	VarFiles      []string `json:"var_files"` // relative to the stack's directory
	Tool          Tool     `json:"tool"`
	State         State    `json:"state"`
	Workspace     string   `json:"workspace"` // the tool's own, "default" unless chosen
	Flags         []string `json:"flags"`     // -destroy, -target=..., as given to the tool; variables left out
	Commit        string   `json:"commit"`    // of the checkout, "" outside one; shown, not compared

	// Files are the digests of the configuration's files by their names, which only
	// say what has changed. They are left out where there are many.
	Files map[string]string `json:"files,omitempty"`

	Provenance Provenance `json:"provenance"`
}

// A Provenance is where a plan comes from, as whoever had it judged vouches for
// it (docs/decision.md, rule 4). Fields are as a [PolicyInput] has them, but for
// RepositoryID, which is "" where a manual run names none.
type Provenance struct {
	Kind    RunKind      `json:"kind"` // manual or tracked, for nothing else is applied
	Source  InputSource  `json:"source"`
	Subject InputSubject `json:"subject"`
}

// A Tool is the exact program that made a plan.
type Tool struct {
	Name    string `json:"name"` // tofu or terraform
	Version string `json:"version"`
	Digest  string `json:"digest"` // of the binary
}

// State identifies the state a plan was made from. An empty Lineage means
// there was none yet.
type State struct {
	Lineage string `json:"lineage"`
	Serial  int64  `json:"serial"`
}
