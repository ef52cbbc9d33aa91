package api

// A Refusal is one reason why the gate said no. It is a value, not an error:
// nothing went wrong.
type Refusal struct {
	What    string `json:"what"` // what moved or is missing: warrant, plan, document, tool, lock_file, variables, workspace, configuration, state, policy, override
	Message string `json:"message"`
	Hint    string `json:"hint"` // the next thing to type
}

// An ApplyOutcome is what an apply came to. There is no zero value among them.
type ApplyOutcome string

const (
	ApplyDone     ApplyOutcome = "applied"
	ApplyRefused  ApplyOutcome = "refused"  // something moved; nothing was applied
	ApplyViolated ApplyOutcome = "violated" // a policy said no, or could not judge; nothing was applied
	ApplyFailed   ApplyOutcome = "failed"   // an error; when the apply had begun, State says what is known
)

// Applied is what `assize apply --json` prints.
type Applied struct {
	Outcome  ApplyOutcome `json:"outcome"`
	Warrant  string       `json:"warrant"` // its seal; "" when none could be opened
	Run      string       `json:"run"`     // the warrant's
	Summary  Summary      `json:"summary"` // what the plan was to do
	Refusals []Refusal    `json:"refusals"`
	Policies []Verdict    `json:"policies"` // judged by the applier's policies, now
	Findings []Finding    `json:"findings"`

	Composition *Composition `json:"composition"` // of the applier's verdicts; null when nothing judged
	Overrides   []Override   `json:"overrides"`   // those that let a soft failure pass

	State *State `json:"state"` // after the apply; null when it was not begun or cannot be read
	Error string `json:"error,omitempty"`
	Hint  string `json:"hint,omitempty"`
}
