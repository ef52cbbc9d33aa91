package suite

import (
	"cmp"
	"slices"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
)

// maxShown bounds how many findings of one plan are kept: a candidate that is
// wrong may add one for every change of a thousand plans.
const maxShown = 100

// Replay compares what two sets of policies say of one plan. Path and digest of
// the plan are for the caller to fill in.
func Replay(present, candidate []api.Verdict) api.ReplayedPlan {
	before, after := found(present), found(candidate)
	out := api.ReplayedPlan{Present: policy.Compose(present), Candidate: policy.Compose(candidate)}
	out.Added, out.MoreAdded = shorten(less(after, before))
	out.Removed, out.MoreGone = shorten(less(before, after))
	out.Difference = difference(out.Present, out.Candidate)
	if out.Difference == api.Same && len(out.Added)+len(out.Removed) > 0 {
		out.Difference = api.OtherFinding
	}
	out.Errors = slices.Concat(unjudged("present", present), unjudged("candidate", candidate))
	return out
}

// difference is what a candidate changes. Between two outcomes of which one is
// not known there is no comparison, so none of them is the same (docs/testing.md,
// rule 16).
func difference(present, candidate api.Outcome) api.Difference {
	switch before, after := judged(present), judged(candidate); {
	case !before && !after:
		return api.Unjudged
	case !before:
		return api.NewlyJudged
	case !after:
		return api.NewlyErrored
	case present == candidate:
		return api.Same
	case candidate == api.Passed:
		return api.NewlyPassed
	}
	return api.NewlyRefused
}

func judged(o api.Outcome) bool { return o == api.Passed || o == api.Failed }

func unjudged(side string, verdicts []api.Verdict) (out []api.ReplayedError) {
	for _, v := range verdicts {
		if policy.Stand(v) == api.StandsErrored {
			text := cmp.Or(v.Error, "its verdict has no outcome")
			out = append(out, api.ReplayedError{Side: side, Policy: v.Path, Error: text, Hint: v.Hint})
		}
	}
	return out
}

func found(verdicts []api.Verdict) (all []api.Finding) {
	for _, v := range verdicts {
		all = append(all, v.Findings...)
	}
	slices.SortStableFunc(all, compare)
	return all
}

// compare takes two findings for the same when they say as much about the same
// object. Messages are reworded, and in CUE a rule is called like its file, of
// which the candidate is another one: there the attribute tells them apart.
func compare(a, b api.Finding) int {
	return cmp.Or(cmp.Compare(line(a), line(b)), cmp.Compare(about(a), about(b)))
}

func line(f api.Finding) string {
	if f.Engine == api.CUE {
		f.Rule = "-"
	}
	return lineOf(f)
}

func about(f api.Finding) string {
	if f.Engine == api.CUE {
		return f.Path
	}
	return ""
}

// less are the findings of a that b does not have, counted; both are sorted.
func less(a, b []api.Finding) []api.Finding {
	out := []api.Finding{}
	for _, f := range a {
		for len(b) > 0 && compare(b[0], f) < 0 {
			b = b[1:]
		}
		if len(b) > 0 && compare(b[0], f) == 0 {
			b = b[1:]
		} else {
			out = append(out, f)
		}
	}
	return out
}

func shorten(all []api.Finding) (shown []api.Finding, more int) {
	n := min(len(all), maxShown)
	return all[:n:n], len(all) - n
}

// outcome is what one plan makes of a replay: passed when nothing would be stopped
// that is not stopped now, failed when something would, and errored when nobody
// can tell. A difference that is none is errored.
func outcome(d api.Difference) api.Outcome {
	switch d {
	case api.Same, api.NewlyPassed, api.OtherFinding:
		return api.Passed
	case api.NewlyRefused:
		return api.Failed
	}
	return api.Errored
}

// Sum counts plans and keeps those that are not the same. A replay without a
// plan has shown nothing.
func Sum(plans []api.ReplayedPlan) api.Replay {
	out := api.Replay{Outcome: api.Passed, Plans: []api.ReplayedPlan{}}
	out.Counts.Plans = len(plans)
	for _, p := range plans {
		*counter(&out.Counts, p.Difference)++
		out.Outcome = policy.Worse(out.Outcome, outcome(p.Difference))
		if p.Difference != api.Same {
			out.Plans = append(out.Plans, p)
		}
	}
	if len(plans) == 0 {
		out.Outcome = api.Errored
	}
	return out
}

// counter takes a difference that is none for a plan that was not read.
func counter(c *api.ReplayCounts, d api.Difference) *int {
	switch d {
	case api.Same:
		return &c.Same
	case api.NewlyRefused:
		return &c.NewlyRefused
	case api.NewlyPassed:
		return &c.NewlyPassed
	case api.NewlyErrored:
		return &c.NewlyErrored
	case api.NewlyJudged:
		return &c.NewlyJudged
	case api.Unjudged:
		return &c.Unjudged
	case api.OtherFinding:
		return &c.Findings
	}
	return &c.Unread
}
