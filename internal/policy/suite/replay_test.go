package suite_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy/suite"
)

func TestReplay(t *testing.T) {
	t.Parallel()
	deny := func(rule, address, message string) api.Finding {
		return api.Finding{Engine: api.Rules, Level: api.Deny, Rule: rule, Address: address, Message: message}
	}
	passed, failed, errored := verdict(api.Passed), verdict(api.Failed, deny("r", "a.b", "m")), verdict(api.Errored)
	errored.Error = "could not judge"
	advisory := failed
	advisory.Enforcement = api.Advisory
	cue := func(rule, path string) api.Verdict {
		return verdict(api.Failed, api.Finding{Engine: api.CUE, Level: api.Deny, Rule: rule, Path: path})
	}
	for name, tt := range map[string]struct {
		present, candidate api.Verdict
		want               api.Difference
		added, removed     int
	}{
		"same":              {failed, failed, api.Same, 0, 0},
		"reworded":          {failed, verdict(api.Failed, deny("r", "a.b", "other")), api.Same, 0, 0},
		"refused":           {passed, failed, api.NewlyRefused, 1, 0},
		"passes":            {failed, passed, api.NewlyPassed, 0, 1},
		"errored":           {passed, errored, api.NewlyErrored, 0, 0},
		"errored, refused":  {failed, errored, api.NewlyErrored, 0, 1},
		"judged again":      {errored, passed, api.NewlyJudged, 0, 0},
		"refused at last":   {errored, failed, api.NewlyJudged, 1, 0},
		"never judged":      {errored, errored, api.Unjudged, 0, 0},
		"no outcome twice":  {verdict("fine"), verdict("fine"), api.Unjudged, 0, 0},
		"another address":   {failed, verdict(api.Failed, deny("r", "a.c", "m")), api.OtherFinding, 1, 1},
		"twice":             {failed, verdict(api.Failed, deny("r", "a.b", "m"), deny("r", "a.b", "m")), api.OtherFinding, 1, 0},
		"advisory":          {passed, advisory, api.OtherFinding, 1, 0},
		"no longer so":      {advisory, failed, api.NewlyRefused, 0, 0},
		"a renamed file":    {cue("old", "x"), cue("new", "x"), api.Same, 0, 0},
		"another attribute": {cue("old", "x"), cue("old", "y"), api.OtherFinding, 1, 1},
		"no outcome":        {passed, verdict("fine"), api.NewlyErrored, 0, 0},
	} {
		got := suite.Replay([]api.Verdict{tt.present}, []api.Verdict{tt.candidate})
		if got.Difference != tt.want || len(got.Added) != tt.added || len(got.Removed) != tt.removed {
			t.Errorf("%s: %s +%d -%d, want %s +%d -%d", name, got.Difference, len(got.Added), len(got.Removed), tt.want, tt.added, tt.removed)
		}
	}
}

// TestReplayOutcome: what a replay comes to, for every pair of what the two sides
// come to. A row is the present side, a column the candidate.
func TestReplayOutcome(t *testing.T) {
	t.Parallel()
	outcomes := []api.Outcome{api.Passed, api.Failed, api.Errored, "fine"}
	for i, row := range [][]api.Outcome{
		{api.Passed, api.Failed, api.Errored, api.Errored},
		{api.Passed, api.Passed, api.Errored, api.Errored},
		{api.Errored, api.Errored, api.Errored, api.Errored},
		{api.Errored, api.Errored, api.Errored, api.Errored},
	} {
		for j, want := range row {
			plan := suite.Replay([]api.Verdict{of(outcomes[i])}, []api.Verdict{of(outcomes[j])})
			if got := suite.Sum([]api.ReplayedPlan{plan}).Outcome; got != want {
				t.Errorf("%s beside %s is %s, want %s", outcomes[i], outcomes[j], got, want)
			}
			for _, side := range []struct {
				name    string
				outcome api.Outcome
			}{{"present", outcomes[i]}, {"candidate", outcomes[j]}} {
				unknown := side.outcome != api.Passed && side.outcome != api.Failed
				said := slices.ContainsFunc(plan.Errors, func(e api.ReplayedError) bool {
					return e.Side == side.name && e.Policy == "p" && e.Error != ""
				})
				if said != unknown {
					t.Errorf("%s beside %s: %+v", outcomes[i], outcomes[j], plan.Errors)
				}
			}
		}
	}
}

// of is a verdict with what must be there for its outcome.
func of(o api.Outcome) api.Verdict {
	v := api.Verdict{Path: "p", Outcome: o}
	if o == api.Failed {
		v.Findings = []api.Finding{{Level: api.Deny, Rule: "r"}}
	}
	return v
}

// TestReplayCuts: what is left out is counted.
func TestReplayCuts(t *testing.T) {
	t.Parallel()
	v := verdict(api.Failed)
	for i := range 250 {
		v.Findings = append(v.Findings, api.Finding{Level: api.Deny, Rule: "r", Address: fmt.Sprint("a.", i)})
	}
	got := suite.Replay([]api.Verdict{verdict(api.Passed)}, []api.Verdict{v})
	if len(got.Added) != 100 || got.MoreAdded != 150 {
		t.Errorf("%d and %d more", len(got.Added), got.MoreAdded)
	}
}

// TestSum: every plan is counted once, and what would newly be stopped, or is not
// known, never comes to a pass.
func TestSum(t *testing.T) {
	t.Parallel()
	all := []api.Difference{api.Same, api.NewlyRefused, api.NewlyPassed, api.NewlyErrored, api.NewlyJudged, api.Unjudged, api.OtherFinding, api.Unread, "", "fine"}
	rapid.Check(t, func(t *rapid.T) {
		var plans []api.ReplayedPlan
		want := api.Passed
		for _, d := range rapid.SliceOf(rapid.SampledFrom(all)).Draw(t, "plans") {
			plans = append(plans, api.ReplayedPlan{Difference: d})
			switch d {
			case api.Same, api.NewlyPassed, api.OtherFinding:
			case api.NewlyRefused:
				if want == api.Passed {
					want = api.Failed
				}
			default:
				want = api.Errored
			}
		}
		if len(plans) == 0 {
			want = api.Errored
		}
		got := suite.Sum(plans)
		c := got.Counts
		sum := c.Same + c.NewlyRefused + c.NewlyPassed + c.NewlyErrored + c.NewlyJudged + c.Unjudged + c.Findings + c.Unread
		if got.Outcome != want || sum != len(plans) || c.Plans != len(plans) || len(got.Plans) != len(plans)-c.Same {
			t.Fatalf("%+v, want %s", got, want)
		}
	})
	if diff := cmp.Diff([]api.ReplayedPlan{}, suite.Sum(nil).Plans); diff != "" {
		t.Error(diff)
	}
}
