package suite

import (
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
)

// Compare is the result of one fixture.
func Compare(name string, want Want, v api.Verdict) api.TestedPlan {
	found := Found(v)
	out := api.TestedPlan{
		Name: name, Outcome: api.Passed, Judged: v.Outcome,
		Missing: want.minus(found), Unexpected: found.minus(want),
	}
	if !want.Equal(found) {
		out.Outcome, out.Error, out.Hint = api.Failed, v.Error, v.Hint
	}
	return out
}

// Unproved says what is missing among the wants of a policy's plans. What a
// policy refuses is proved by a plan that it refuses, and that it refuses no
// more by one that it lets pass; onlyWarns means that no rule of it can deny
// (docs/testing.md, rule 4; seed 003, "Typos in a policy").
func Unproved(wants []Want, onlyWarns bool) []string {
	out := []string{}
	refused := slices.ContainsFunc(wants, Want.Refuses)
	switch {
	case onlyWarns && !slices.ContainsFunc(wants, Want.Warns):
		out = append(out, "no plan that the policy warns of")
	case !onlyWarns && !refused:
		out = append(out, "no plan that the policy refuses")
	}
	if !slices.ContainsFunc(wants, Want.Passes) {
		out = append(out, "no plan that the policy lets pass")
	}
	return out
}

// Outcome is what everything that is known of a tested policy comes to. A test
// that was skipped is no pass, and a survivor is a mistake that nobody would
// notice.
func Outcome(t api.TestedPolicy) api.Outcome {
	if t.Error != "" {
		return api.Errored
	}
	out := api.Passed
	for _, p := range t.Plans {
		out = policy.Worse(out, p.Outcome)
	}
	for _, test := range t.Tests {
		if test.Outcome != api.Passed {
			out = policy.Worse(out, api.Failed)
		}
	}
	if len(t.Untested) > 0 || t.Mutation != nil && len(t.Mutation.Survivors) > 0 {
		out = policy.Worse(out, api.Failed)
	}
	return out
}

// Unready is why no mutant of a policy is worth a try: while something is not as
// wanted, everything tells a mutant from the policy (docs/testing.md, rule 9).
// It is empty when there is no reason.
func Unready(t api.TestedPolicy) string {
	switch {
	case t.Error != "":
		return "the policy could not be tested"
	case slices.ContainsFunc(t.Plans, func(p api.TestedPlan) bool { return p.Outcome != api.Passed }):
		return "not every plan is as wanted"
	case slices.ContainsFunc(t.Tests, func(r api.RegoTest) bool { return r.Outcome != api.Passed }):
		return "not every test in Rego passes"
	case len(t.Untested) > 0:
		return "the policy is untested"
	}
	return ""
}

// Overall is the worst of several outcomes; of none, errored.
func Overall(policies []api.TestedPolicy) api.Outcome {
	if len(policies) == 0 {
		return api.Errored
	}
	out := api.Passed
	for _, p := range policies {
		out = policy.Worse(out, p.Outcome)
	}
	return out
}

// OnlyWarns reports whether the names of a Rego policy's rules say that none of
// them denies. Without names nobody can tell.
func OnlyWarns(rules []api.RuleCount) bool {
	for _, r := range rules {
		name := r.Rule[strings.LastIndex(r.Rule, ".")+1:]
		if name != "warn" && !strings.HasPrefix(name, "warn_") {
			return false
		}
	}
	return len(rules) > 0
}
