package api

// A Level says what a finding asks for: a deny blocks, a warn is shown.
type Level string

const (
	Deny Level = "deny"
	Warn Level = "warn"
)

// An Outcome is what judging came to. The zero value is none of them and
// counts as errored.
type Outcome string

const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"  // a policy said no
	Errored Outcome = "errored" // it could not be judged; always blocks
)

// An Enforcement says how much a deny weighs.
type Enforcement string

const (
	Advisory      Enforcement = "advisory"       // shown, never blocks
	SoftMandatory Enforcement = "soft_mandatory" // blocks unless it is overridden
	HardMandatory Enforcement = "hard_mandatory" // blocks
)

// A Language is one of the three that policies are written in.
type Language string

const (
	Rules Language = "rules"
	Rego  Language = "rego"
	CUE   Language = "cue"

	// Exceptions is none of them: it stands where a file of exceptions has a
	// verdict of its own, which by itself judges nothing.
	Exceptions Language = "exceptions"
)

// A Finding is one statement of a policy about a plan.
type Finding struct {
	Plan      string         `json:"plan,omitempty"` // the plan's path, when several were judged
	Policy    string         `json:"policy"`         // the policy's path, as it was named
	Engine    Language       `json:"engine"`
	Rule      string         `json:"rule"` // the rule's id; for Rego its name or the result's "rule"; for CUE the file's name
	Level     Level          `json:"level"`
	Address   string         `json:"address"` // byte for byte as in the plan; "" for a finding about the whole plan
	Deposed   string         `json:"deposed,omitempty"`
	Action    string         `json:"action"`          // what the plan does at the address: create, replace, ...; "config" for a module call
	Path      string         `json:"path,omitempty"`  // the attribute, where the finding is about one
	Title     string         `json:"title,omitempty"` // what the finding is about, in few words; only decisions have one
	Message   string         `json:"message"`         // never holds a sensitive value
	Positions []string       `json:"positions,omitempty"`
	Excepted  bool           `json:"excepted,omitempty"`  // an exception applies: shown, not counted
	Exception *Exception     `json:"exception,omitempty"` // which one, where a file of exceptions has it
	Details   map[string]any `json:"details,omitempty"`   // what else the policy attached, sensitive values removed
}

// An Exception is why a finding does not count (docs/exceptions.md).
type Exception struct {
	Reason  string `json:"reason"`
	Owner   string `json:"owner"`
	Expires string `json:"expires"` // as it was written: a day, valid to its end in UTC, or RFC 3339
	At      string `json:"at"`      // FILE:LINE:COLUMN
}

// A RuleCount says how many changes one rule looked at.
type RuleCount struct {
	Rule    string `json:"rule"`
	Matched int    `json:"matched"`
}

// A Verdict is what one policy says of one plan, with what it depended on.
type Verdict struct {
	Plan        string      `json:"plan,omitempty"`
	Path        string      `json:"path"`
	Engine      Language    `json:"engine"`
	Evaluator   string      `json:"evaluator"`        // the engine's name and version
	Digest      string      `json:"digest"`           // of the policy: "sha256:..."
	Bundle      string      `json:"bundle,omitempty"` // digest of the bundle that the policy was read from
	Input       string      `json:"input"`            // digest of the plan that was judged
	Enforcement Enforcement `json:"enforcement"`
	Outcome     Outcome     `json:"outcome"`
	Matched     int         `json:"matched"` // changes that at least one rule looked at
	Rules       []RuleCount `json:"rules"`
	Contract    *Contract   `json:"contract,omitempty"` // of a policy that is judged by one, where it was found out
	Findings    []Finding   `json:"-"`                  // in Check.Findings, in order
	Notes       []string    `json:"notes"`
	Error       string      `json:"error,omitempty"` // why it could not be judged
	Hint        string      `json:"hint,omitempty"`
}

// A Contract is what a verdict by the decision contract is bound to beside
// policy, plan and evaluator (docs/decision.md, rule 9; seed 000, "Security and
// determinism").
type Contract struct {
	Name               string `json:"name"`                   // assize or stackship
	EntryPoint         string `json:"entry_point"`            // data.assize.v1.decision
	InputVersion       string `json:"input_version"`          // assize.policy.input/v1
	PolicyInput        string `json:"policy_input,omitempty"` // digest of the policy input; left out when there was none
	Capabilities       string `json:"capabilities"`           // the name of the built-ins that the policy may call
	CapabilitiesDigest string `json:"capabilities_digest"`    // "sha256:..." of their manifest
}

// Counts sums the findings of a [Check].
type Counts struct {
	Deny     int `json:"deny"`
	Warn     int `json:"warn"`
	Excepted int `json:"excepted"`
}

// A Check is what `assize policy check --format json` prints: every policy on
// every plan.
type Check struct {
	Outcome  Outcome     `json:"outcome"`
	Counts   Counts      `json:"counts"`
	Findings []Finding   `json:"findings"` // denies before warnings, then in the order of the policies
	Policies []Verdict   `json:"policies"` // one a policy and plan
	Plans    []PlanCheck `json:"plans"`
}

// A PlanCheck is one plan of a [Check].
type PlanCheck struct {
	Path    string  `json:"path"`
	Digest  string  `json:"digest"` // of the bytes that were judged; "" when they could not be read
	Outcome Outcome `json:"outcome"`
	Summary Summary `json:"summary"`
	Error   string  `json:"error,omitempty"` // why this is no plan that can be judged
	Hint    string  `json:"hint,omitempty"`

	Composition *Composition `json:"composition,omitempty"` // of every verdict on it; null when it was not judged
}

// A Standing is what a result means for an apply: an outcome, weighed by the
// enforcement of its policy (seed 000, "Enforcement"). There is no zero value
// among them; what is none of them blocks.
type Standing string

const (
	StandsPassed     Standing = "passed"      // blocks nothing; a failed advisory policy as well
	StandsSoftFailed Standing = "soft_failed" // blocks until it is overridden
	StandsHardFailed Standing = "hard_failed" // blocks
	StandsErrored    Standing = "errored"     // it could not be judged; blocks, and nothing overrides it
)

// A Result is one verdict by its digests: enough to tell whether two judgements
// are the same, and to bind an override to exactly one.
type Result struct {
	Policy       string      `json:"policy"` // its path
	Engine       Language    `json:"engine"`
	PolicyDigest string      `json:"policy_digest"`
	Enforcement  Enforcement `json:"enforcement"`
	Outcome      Outcome     `json:"outcome"`
	Digest       string      `json:"digest"` // of the verdict with all its findings, excepted ones too (RFC 8785)
}

// A Composition is what every result on one plan comes to together (seed 000,
// "Result contract").
type Composition struct {
	Results []Result `json:"results"` // in the order of the policies
	Outcome Standing `json:"outcome"` // that of the strongest result
	Digest  string   `json:"digest"`  // of the two above (RFC 8785)
}
