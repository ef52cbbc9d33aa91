package rollout

import (
	"slices"

	"github.com/assize-iac/assize/api"
)

// Exit codes of a whole rollout (docs/exit-codes.md).
const (
	exitError   = 1
	exitRefused = 3
	exitPolicy  = 5
)

// trouble lists the codes in the order in which a person must look at them. An
// error comes first: only there may something have happened that nobody knows.
// Then comes a policy, which only a person can answer, and last a refusal, which
// another plan mostly mends.
func trouble() []int { return []int{exitError, exitPolicy, exitRefused} }

// Exit returns the code that a rollout ends with: the worst of its stacks
// (docs/exit-codes.md, rule 5). It knows nothing of --detailed-exitcode.
func Exit(results []api.StackResult) int {
	found := map[int]bool{}
	for _, r := range results {
		found[exit(r)] = true
	}
	for _, code := range trouble() {
		if found[code] {
			return code
		}
	}
	return 0
}

// exit is the code that one stack adds, 0 only where its status is good. One that
// is blocked must not hide what blocks it, so it adds the mildest.
func exit(r api.StackResult) int {
	switch {
	case r.Status.Good():
		return 0
	case slices.Contains(trouble(), r.Exit):
		return r.Exit
	case r.Status == api.StackRefused, r.Status == api.StackBlocked:
		return exitRefused
	}
	return exitError
}

// Count counts results by their status. What has a status that does not exist is
// counted as failed.
func Count(results []api.StackResult) api.RolloutCounts {
	c := api.RolloutCounts{Stacks: len(results)}
	for _, r := range results {
		n := counter(&c, r.Status)
		if n == nil {
			n = &c.Failed
		}
		*n++
	}
	return c
}

// known reports whether there is such a status.
func known(s api.StackStatus) bool { return counter(new(api.RolloutCounts), s) != nil }

// counter is where stacks of a status are counted, nil for an unknown one.
func counter(c *api.RolloutCounts, s api.StackStatus) *int {
	switch s {
	case api.StackUnchanged:
		return &c.Unchanged
	case api.StackPlanned:
		return &c.Planned
	case api.StackConditional:
		return &c.Conditional
	case api.StackApplying:
		return &c.Applying
	case api.StackApplied:
		return &c.Applied
	case api.StackDrifted:
		return &c.Drifted
	case api.StackRefused:
		return &c.Refused
	case api.StackFailed:
		return &c.Failed
	case api.StackBlocked:
		return &c.Blocked
	case api.StackSkipped:
		return &c.Skipped
	}
	return nil
}
