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
	for _, v := range candidate {
		if out.Error == "" && v.Outcome == api.Errored {
			out.Error, out.Hint = v.Error, v.Hint
		}
	}
	return out
}

func difference(present, candidate api.Outcome) api.Difference {
	switch {
	case !known(present) && !known(candidate):
		return api.Unjudged
	case present == candidate:
		return api.Same
	case candidate == api.Passed:
		return api.NewlyPassed
	case candidate == api.Failed:
		return api.NewlyRefused
	}
	return api.NewlyErrored
}

func found(verdicts []api.Verdict) (all []api.Finding) {
	for _, v := range verdicts {
		all = append(all, v.Findings...)
	}
	slices.SortStableFunc(all, compare)
	return all
}

// known reports whether a side judged the plan at all. Two that have
// both given up do not agree: nobody has said anything.
func known(o api.Outcome) bool { return o == api.Passed || o == api.Failed }

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

// Sum counts plans and keeps those that are not the same. A replay without a
// plan has shown nothing.
func Sum(plans []api.ReplayedPlan) api.Replay {
	out := api.Replay{Outcome: api.Passed, Plans: []api.ReplayedPlan{}}
	out.Counts.Plans = len(plans)
	for _, p := range plans {
		*counter(&out.Counts, p.Difference)++
		if p.Difference != api.Same {
			out.Plans = append(out.Plans, p)
		}
	}
	if out.Counts.NewlyRefused+out.Counts.NewlyErrored > 0 {
		out.Outcome = api.Failed
	}
	if out.Counts.Unread+out.Counts.Unjudged > 0 || len(plans) == 0 {
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
	case api.OtherFinding:
		return &c.Findings
	case api.Unjudged:
		return &c.Unjudged
	}
	return &c.Unread
}
