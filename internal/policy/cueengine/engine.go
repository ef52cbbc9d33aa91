// Package cueengine decides what CUE policies say of a plan (seed 003, "Plan
// policy"): a file unifies with the plan document, and the result must be
// concrete. It is strict: a value that a policy requires and that is absent,
// null or unknown until apply is a violation.
//
// CUE evaluation cannot be cancelled and has no bound on memory. The package
// knows nothing of that: whoever judges untrusted policies runs it through
// package confine.
package cueengine

import (
	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/cuefile"
)

// Version is that of the CUE evaluator. The same file may be judged
// differently by another one, so it is pinned exactly and part of a verdict.
const Version = "v0.17.1"

// An Engine judges plans by CUE policies.
type Engine struct{}

// New returns an engine.
func New() Engine { return Engine{} }

// Language is CUE.
func (Engine) Language() api.Language { return api.CUE }

// Evaluator is CUE's version.
func (Engine) Evaluator() string { return "cue " + Version }

// Check refuses a policy that cannot be used, before any plan is made (seed
// 003, "Refusals of the policy itself").
func (Engine) Check(src policy.Source) error {
	_, err := cuefile.Load(src)
	return err
}

// Judge judges each file of the policy on its own; all of them must hold.
func (e Engine) Judge(src policy.Source, p *plan.Plan) (api.Verdict, error) {
	rules, err := e.Prepare(src)
	if err != nil {
		return api.Verdict{}, err
	}
	return rules.Judge(p)
}

// Prepare parses and checks the policy once. Its values are made for every plan
// anew: an evaluator keeps all that it ever saw (see [document.parts]).
func (Engine) Prepare(src policy.Source) (policy.Prepared, error) {
	rules, err := cuefile.Load(src)
	if err != nil {
		return nil, err
	}
	return policy.PreparedFunc(func(p *plan.Plan) (api.Verdict, error) { return judge(rules, p) }), nil
}

func judge(rules []cuefile.Rule, p *plan.Plan) (api.Verdict, error) {
	doc, err := newDocument(p)
	if err != nil {
		return api.Verdict{}, err
	}
	v := api.Verdict{}
	matched := map[int]bool{}
	for _, r := range rules {
		o, err := doc.judge(r)
		if err != nil {
			return api.Verdict{}, err
		}
		v.Findings = append(v.Findings, doc.findings(r, o)...)
		v.Notes = append(v.Notes, doc.notes(r, o)...)
		seen := len(o.matched) + o.others
		if seen == 0 {
			seen = min(o.total, 1) // what is violated was looked at
		}
		v.Rules = append(v.Rules, api.RuleCount{Rule: r.Name, Matched: seen})
		for i := range o.matched {
			matched[i] = true
		}
	}
	v.Matched = len(matched)
	return v, nil
}
