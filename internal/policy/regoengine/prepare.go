package regoengine

import (
	"slices"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/regoengine/document"
	"github.com/assize-iac/assize/internal/problem"
)

// Prepare implements [policy.Preparer]: nothing that is compiled depends on a
// plan, and evaluating one changes nothing in it.
func (Engine) Prepare(src policy.Source) (policy.Prepared, error) {
	c, err := compile(src)
	if err != nil {
		return nil, err
	}
	return policy.PreparedFunc(c.judge), nil
}

// judge evaluates the policy on one plan. OPA has panicked on valid policies
// (open-policy-agent/opa#9098): a panic is one more way of not having judged.
// What it says is not shown, because it may hold a value of the plan.
func (c *compiled) judge(p *plan.Plan) (v api.Verdict, err error) {
	defer func() {
		if recover() != nil {
			v, err = api.Verdict{}, problem.New(api.Internal, "could not judge: the evaluator panicked")
		}
	}()
	if c.contract != nil {
		return c.decide(p), nil
	}
	input, err := document.OfPlan(p, c.shape, c.seen)
	if err != nil {
		return api.Verdict{}, err
	}
	findings, err := c.violations(input)
	if err != nil {
		return api.Verdict{}, err
	}
	locate(findings, p)
	return api.Verdict{
		Matched:  len(p.Changes),
		Rules:    c.counts(len(p.Changes)),
		Findings: findings,
		Notes:    slices.Clone(c.notes), // a verdict's texts are searched for secrets in place
	}, nil
}
