package api

// A PolicyTest is what `assize policy test --format json` prints: every policy
// that was tested.
type PolicyTest struct {
	Outcome  Outcome        `json:"outcome"` // the worst of the policies
	Policies []TestedPolicy `json:"policies"`
}

// A TestedPolicy is one policy with what its fixtures and tests say of it. It
// passed when everything is as it is wanted and enough was tested; it is
// errored when it could not be tested at all.
type TestedPolicy struct {
	Path      string       `json:"path"`
	Engine    Language     `json:"engine"`
	Evaluator string       `json:"evaluator"`
	Digest    string       `json:"digest"`
	Outcome   Outcome      `json:"outcome"`
	Plans     []TestedPlan `json:"plans"`
	Tests     []RegoTest   `json:"tests"`    // those in files that end in _test.rego
	Untested  []string     `json:"untested"` // what the fixtures do not show; "" never
	Mutation  *Mutation    `json:"mutation,omitempty"`
	Unmutated string       `json:"unmutated,omitempty"` // why no mutant was tried, where they were asked for
	Coverage  *Coverage    `json:"coverage,omitempty"`
	Error     string       `json:"error,omitempty"`
	Hint      string       `json:"hint,omitempty"`
}

// A TestedPlan is one fixture: it passed when the policy says of the plan what
// it should, and is errored when nobody can tell.
type TestedPlan struct {
	Name       string   `json:"name"`            // of the file, without .json
	Outcome    Outcome  `json:"outcome"`         // of the comparison
	Judged     Outcome  `json:"judged"`          // what the policy came to; "" when it was not asked
	Missing    []string `json:"missing"`         // wanted and not found, as lines of a .want file
	Unexpected []string `json:"unexpected"`      // found and not wanted
	Wrote      string   `json:"wrote,omitempty"` // path of the .want file, where --update wrote it
	Error      string   `json:"error,omitempty"`
	Hint       string   `json:"hint,omitempty"`
}

// Skipped is the outcome of a test that did not run. It is no pass.
const Skipped Outcome = "skipped"

// A RegoTest is one test in Rego: passed, failed, errored or skipped.
type RegoTest struct {
	Name     string  `json:"name"`     // data.main.test_x
	Position string  `json:"position"` // file:line
	Outcome  Outcome `json:"outcome"`
	Error    string  `json:"error,omitempty"`
}

// A Mutation is what weakening a policy came to: a weakened policy that no
// fixture and no test tells from the policy itself is a survivor, and so is a
// mistake of that kind.
type Mutation struct {
	Mutants   int      `json:"mutants"` // that were tried
	Left      int      `json:"left"`    // that were not, because there are too many
	Survivors []Mutant `json:"survivors"`
}

// A Mutant is one way to weaken a policy.
type Mutant struct {
	Position string `json:"position"` // file:line
	Rule     string `json:"rule"`     // "" where the change is in no rule
	Change   string `json:"change"`   // what was done, in words
	Tell     string `json:"tell"`     // what plan would tell it from the policy, in words
}

// Coverage says what of a policy judged something in the fixtures.
type Coverage struct {
	Rules []RuleCount `json:"rules"` // changes that each rule looked at, over all fixtures
	Idle  []string    `json:"idle"`  // the rules that found nothing in any fixture
	Files []FileLines `json:"files"` // lines, where the language can tell
}

// FileLines are the lines of one file that were evaluated, and those that were
// not. Lines that cannot be evaluated are in neither.
type FileLines struct {
	File    string `json:"file"`
	Covered []int  `json:"covered"`
	Missed  []int  `json:"missed"`
}

// A Replay is what `assize policy replay --format json` prints: what a candidate
// would have said of stored plans, beside what is said now. It passed when
// nothing would newly be refused, and is errored when a plan could not be read
// or either side could not judge one.
type Replay struct {
	Outcome   Outcome          `json:"outcome"`
	Present   []ReplayedPolicy `json:"present"`
	Candidate []ReplayedPolicy `json:"candidate"`
	Counts    ReplayCounts     `json:"counts"`
	Plans     []ReplayedPlan   `json:"plans"` // those that are not the same, in the order of their paths
}

// A ReplayedPolicy is one policy of one side.
type ReplayedPolicy struct {
	Path        string      `json:"path"`
	Engine      Language    `json:"engine"`
	Digest      string      `json:"digest"`
	Enforcement Enforcement `json:"enforcement"`
}

// ReplayCounts sums the plans of a [Replay]; each is counted once below Plans.
type ReplayCounts struct {
	Plans        int `json:"plans"`
	Same         int `json:"same"`
	NewlyRefused int `json:"newly_refused"`
	NewlyPassed  int `json:"newly_passed"`
	NewlyErrored int `json:"newly_errored"`
	NewlyJudged  int `json:"newly_judged"`
	Unjudged     int `json:"unjudged"` // by either side
	Findings     int `json:"findings"` // the outcome is the same, what is found is not
	Unread       int `json:"unread"`
}

// A Difference says what a candidate changes for one plan.
type Difference string

// Every difference.
const (
	Same         Difference = "same"
	NewlyRefused Difference = "newly_refused"
	NewlyPassed  Difference = "newly_passed"
	NewlyErrored Difference = "newly_errored" // the candidate cannot judge what is judged at present
	NewlyJudged  Difference = "newly_judged"  // the candidate judges what cannot be judged at present
	Unjudged     Difference = "unjudged"      // neither side can judge the plan
	OtherFinding Difference = "findings"
	Unread       Difference = "unread" // the plan cannot be read; nothing is known
)

// A ReplayedPlan is one stored plan as both sides judge it.
type ReplayedPlan struct {
	Path       string     `json:"path"`
	Digest     string     `json:"digest"`
	Difference Difference `json:"difference"`
	Present    Outcome    `json:"present"`
	Candidate  Outcome    `json:"candidate"`
	Added      []Finding  `json:"added"`   // by the candidate; the first hundred
	Removed    []Finding  `json:"removed"` // found at present only; the first hundred
	MoreAdded  int        `json:"more_added,omitempty"`
	MoreGone   int        `json:"more_removed,omitempty"`
	Error      string     `json:"error,omitempty"` // why the plan cannot be read
	Hint       string     `json:"hint,omitempty"`

	Errors []ReplayedError `json:"errors,omitempty"` // of policies that could not judge the plan
}

// A ReplayedError is why a policy of one side could not judge a stored plan.
type ReplayedError struct {
	Side   string `json:"side"` // present or candidate
	Policy string `json:"policy"`
	Error  string `json:"error"`
	Hint   string `json:"hint,omitempty"`
}
