package cli

import (
	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/suite"
	"github.com/assize-iac/assize/internal/problem"
)

// coverage is what of the policy judged something in the fixtures. A plan that
// it cannot judge shows nothing.
func (t *trialPolicy) coverage() (*api.Coverage, error) {
	var verdicts []api.Verdict
	var lines [][]api.FileLines
	for _, f := range t.fixtures {
		if f.verdict.Outcome == api.Errored {
			continue
		}
		covered, err := policy.Cover(t.engines, t.src, f.plan)
		if err != nil {
			return nil, problem.New(problem.Code(err), "coverage of %s: %s", f.name, f.plan.Redact(err.Error()))
		}
		verdicts, lines = append(verdicts, f.verdict), append(lines, covered)
	}
	out := suite.Cover(verdicts, lines)
	return &out, nil
}
