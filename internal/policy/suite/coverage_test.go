package suite_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy/suite"
)

func TestCover(t *testing.T) {
	t.Parallel()
	counts := func(a, b int) []api.RuleCount {
		return []api.RuleCount{{Rule: "a", Matched: a}, {Rule: "b", Matched: b}}
	}
	one := api.Verdict{Rules: counts(2, 0), Findings: []api.Finding{{Rule: "a"}}}
	two := api.Verdict{Rules: counts(1, 4)}
	lines := [][]api.FileLines{
		{{File: "x", Covered: []int{1, 2}, Missed: []int{3, 4}}},
		{{File: "y", Missed: []int{1}}, {File: "x", Covered: []int{3}, Missed: []int{1, 2, 4}}},
	}
	want := api.Coverage{
		Rules: counts(3, 4), Idle: []string{"b"},
		Files: []api.FileLines{{File: "x", Covered: []int{1, 2, 3}, Missed: []int{4}}, {File: "y", Covered: []int{}, Missed: []int{1}}},
	}
	if diff := cmp.Diff(want, suite.Cover([]api.Verdict{one, two}, lines)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A result that names itself may be of any rule.
	one.Findings[0].Rule = "own"
	if got := suite.Cover([]api.Verdict{one, two}, nil); len(got.Idle) > 0 {
		t.Errorf("%q are idle", got.Idle)
	}
}
