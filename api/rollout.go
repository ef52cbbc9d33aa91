package api

// RolloutFormat is the version of [Rollout] that this build writes.
const RolloutFormat = 1

// A Rollout is one command over several stacks, in the order of its waves: what
// it was told to do, and what became of each stack. `assize plan` keeps one, so
// that `assize apply` does what was planned and nothing else, and goes on where
// an apply was cut short.
type Rollout struct {
	Format  int           `json:"format"`
	ID      string        `json:"id"`               // "rollout_" and 32 hexadecimal digits
	Created string        `json:"created"`          // RFC 3339, UTC
	Kind    RolloutKind   `json:"kind"`             // plan, apply, destroy or drift
	Base    string        `json:"base,omitempty"`   // what was compared with, such as origin/main; "" where stacks were named
	Commit  string        `json:"commit,omitempty"` // of the checkout; shown, not compared
	Stacks  []StackResult `json:"stacks"`           // by wave, then by key; never null
	Counts  RolloutCounts `json:"counts"`
}

// A RolloutKind is what a rollout does to its stacks.
type RolloutKind string

const (
	RolloutPlan    RolloutKind = "plan"
	RolloutApply   RolloutKind = "apply"
	RolloutDestroy RolloutKind = "destroy"
	RolloutDrift   RolloutKind = "drift"
)

// A StackStatus is what became of one stack. There is no zero value among them.
type StackStatus string

const (
	StackUnchanged   StackStatus = "unchanged"   // there is nothing to do
	StackPlanned     StackStatus = "planned"     // saved with a warrant
	StackConditional StackStatus = "conditional" // planned against what its upstream will be; it is planned again before an apply
	StackApplying    StackStatus = "applying"    // an apply was begun, and its end is not known
	StackApplied     StackStatus = "applied"
	StackDrifted     StackStatus = "drifted"
	StackRefused     StackStatus = "refused" // by a policy (exit code 5) or the gate (3)
	StackFailed      StackStatus = "failed"  // an error
	StackBlocked     StackStatus = "blocked" // it depends on a stack that has failed or was refused
	StackSkipped     StackStatus = "skipped" // interrupted before its turn
)

// Good reports whether a stack with this status lets those go on that depend on it.
func (s StackStatus) Good() bool {
	switch s {
	case StackUnchanged, StackPlanned, StackConditional, StackApplied, StackDrifted:
		return true
	}
	return false
}

// A StackResult is what became of one stack in a [Rollout].
type StackResult struct {
	Stack    string      `json:"stack"` // its key
	Wave     int         `json:"wave"`  // from 0; of a destroy, counted from the last
	Status   StackStatus `json:"status"`
	Summary  *Summary    `json:"summary,omitempty"` // of the plan, where there is one
	Denied   int         `json:"denied,omitempty"`  // findings that deny, by all policies together
	Warned   int         `json:"warned,omitempty"`
	Drifted  int         `json:"drifted,omitempty"`  // objects that were changed outside
	Warrant  string      `json:"warrant,omitempty"`  // its seal
	Run      string      `json:"run,omitempty"`      // the warrant's
	Upstream []string    `json:"upstream,omitempty"` // conditional: whose planned outputs it was planned against
	Via      string      `json:"via,omitempty"`      // blocked: the stack that it waits for
	Exit     int         `json:"exit,omitempty"`     // the code that a command on this stack alone would end with
	Findings []Finding   `json:"findings,omitempty"` // of events, and not of the record
	Error    string      `json:"error,omitempty"`
	Hint     string      `json:"hint,omitempty"`
	Warnings []string    `json:"warnings,omitempty"`
	At       string      `json:"at,omitempty"` // when it came to that: RFC 3339, UTC
	Seconds  float64     `json:"seconds"`      // that it took
}

// RolloutCounts counts the stacks of a [Rollout] by their status.
type RolloutCounts struct {
	Stacks      int `json:"stacks"`
	Unchanged   int `json:"unchanged"`
	Planned     int `json:"planned"`
	Conditional int `json:"conditional"`
	Applying    int `json:"applying"`
	Applied     int `json:"applied"`
	Drifted     int `json:"drifted"`
	Refused     int `json:"refused"`
	Failed      int `json:"failed"`
	Blocked     int `json:"blocked"`
	Skipped     int `json:"skipped"`
}

// A RolloutEvent is one line of `--json` of a command over several stacks. The
// last one has the whole rollout.
type RolloutEvent struct {
	Time    string       `json:"time"`  // RFC 3339 with milliseconds, UTC
	Event   string       `json:"event"` // begin, phase, stack or rollout
	Stack   string       `json:"stack,omitempty"`
	Phase   string       `json:"phase,omitempty"`   // phase: what is being done, such as planning
	Result  *StackResult `json:"result,omitempty"`  // stack: what became of it
	Rollout *Rollout     `json:"rollout,omitempty"` // begin: the stacks, all without a status; rollout: the end
}
