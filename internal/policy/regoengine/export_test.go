package regoengine

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/regoengine/document"
	"github.com/assize-iac/assize/internal/policy/regoengine/reach"
)

// Compare judges a plan three times: with what the policy can see of it, with
// all of it, and with nothing but its outermost braces. Its error is that the policy
// does not compile, or that OPA itself panics: its walk does, over some objects whose
// keys another walk has found. Then a child dies, and nothing passes.
func Compare(src policy.Source, plans ...*plan.Plan) (seen, whole, nothing []Outcome, err error) {
	c, err := compile(src)
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case panicked:
			err = r
		default:
			panic(r)
		}
	}()
	for _, p := range plans {
		seen = append(seen, c.outcome(p, src, c.seen))
		whole = append(whole, c.outcome(p, src, &reach.Tree{Whole: true}))
		nothing = append(nothing, c.outcome(p, src, &reach.Tree{}))
	}
	return seen, whole, nothing, nil
}

// An Outcome is what a policy says about a plan.
type Outcome struct {
	Findings []api.Finding
	Error    string
}

func (c *compiled) outcome(p *plan.Plan, src policy.Source, seen *reach.Tree) Outcome {
	input, err := document.OfPlan(p, src.Rego.InputShape, seen)
	if err != nil {
		return Outcome{Error: err.Error()}
	}
	findings, err := c.evaluated(input)
	if err != nil {
		return Outcome{Error: err.Error()}
	}
	locate(findings, p)
	return Outcome{Findings: findings}
}

// A panicked is what OPA panicked with.
type panicked struct{ error }

func (c *compiled) evaluated(input ast.Value) ([]api.Finding, error) {
	defer func() {
		if r := recover(); r != nil {
			panic(panicked{fmt.Errorf("OPA panicked: %v", r)})
		}
	}()
	return c.violations(input)
}

// Seen is what a policy can see, a path a line.
func Seen(src policy.Source) (string, error) {
	c, err := compile(src)
	if err != nil {
		return "", err
	}
	return c.seen.String(), nil
}
