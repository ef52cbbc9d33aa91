// Package rules is the engine for policies that are data: it decides which
// rules of a file are sound, which changes each selects, and what a plan
// violates (seed 002; docs/policy.md, rules 15 and 17).
//
// The one idea needed to read it: a value is present, missing or unknown, and
// what cannot be judged violates. So a rule is refused when it is loaded if it
// could silently never fire, and an unknown value violates unless the rule
// allows it.
//
// It must not know where files come from, what enforcement a policy has, or
// that there are other languages.
package rules

import (
	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
)

// evaluator names this engine in verdicts. Raise the number when a rule can
// come to another result on the same plan.
const evaluator = "assize-rules/2"

// An Engine judges plans by rules. It has no state.
type Engine struct{}

var _ policy.Engine = Engine{}

// Language is that of rules files.
func (Engine) Language() api.Language { return api.Rules }

// Evaluator is the engine's name and version.
func (Engine) Evaluator() string { return evaluator }

// Check reports everything that is wrong with a policy.
func (Engine) Check(src policy.Source) error {
	_, err := Load(src)
	return err
}

// Judge runs every rule over the plan, in the order of the files.
func (e Engine) Judge(src policy.Source, p *plan.Plan) (api.Verdict, error) {
	loaded, err := e.Prepare(src)
	if err != nil {
		return api.Verdict{}, err
	}
	return loaded.Judge(p)
}

// Prepare loads the rules of a policy once.
func (Engine) Prepare(src policy.Source) (policy.Prepared, error) {
	loaded, err := Load(src)
	if err != nil {
		return nil, err
	}
	return policy.PreparedFunc(func(p *plan.Plan) (api.Verdict, error) { return Judge(loaded, p), nil }), nil
}

// Judge is the verdict of rules that were loaded: findings in the order of the
// rules, and of the plan within one rule. The outcome is for package policy to
// derive, which also removes secrets from the texts.
//
// A change counts once in Matched however many rules looked at it; module
// calls and checks are no changes, and count for their rule only.
func Judge(loaded []Rule, p *plan.Plan) api.Verdict {
	j := judgement{plan: p, seen: make([]bool, len(p.Changes))}
	v := api.Verdict{Rules: make([]api.RuleCount, len(loaded))}
	for i := range loaded {
		v.Rules[i] = api.RuleCount{Rule: loaded[i].ID, Matched: j.run(&loaded[i])}
	}
	for _, seen := range j.seen {
		if seen {
			v.Matched++
		}
	}
	v.Findings = j.findings
	return v
}

// A judgement is one run of rules over one plan.
type judgement struct {
	plan     *plan.Plan
	seen     []bool // by change: a rule looked at it
	findings []api.Finding
}

// run judges by one rule and returns how many things it looked at. Nothing
// stops at the first finding: one that hides others would have them found one
// apply at a time.
func (j *judgement) run(r *Rule) int {
	switch r.Check {
	case MaxDeletes:
		return j.maxDeletes(r)
	case ModuleSource:
		return j.moduleSource(r)
	case ChecksPass:
		return j.checksPass(r)
	case CompletePlan:
		return j.completePlan(r)
	}
	return j.each(r, func(c *plan.Change) {
		violations := r.lifecycle(c)
		if r.Op != "" {
			violations = r.attribute(j.plan, c)
		}
		for _, v := range violations {
			j.add(r, api.Finding{Address: c.Address, Deposed: c.Deposed, Action: c.Label(), Path: v.path}, v.problem)
		}
	})
}

// each calls look for every change that the rule selects and counts them.
func (j *judgement) each(r *Rule, look func(*plan.Change)) int {
	n := 0
	for i := range j.plan.Changes {
		if c := &j.plan.Changes[i]; r.selects(c) {
			n++
			j.seen[i] = true
			look(c)
		}
	}
	return n
}

// add completes a finding: every message says what the author should do, then
// what is wrong, as seed 002 prints it.
func (j *judgement) add(r *Rule, f api.Finding, problem string) {
	f.Rule, f.Level, f.Positions = r.ID, r.Level, []string{r.Position}
	f.Message = r.Message + ": " + problem
	j.findings = append(j.findings, f)
}
