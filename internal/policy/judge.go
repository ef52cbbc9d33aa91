package policy

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy/input"
	"github.com/assize-iac/assize/internal/problem"
)

// An Excuse says why a finding does not count, or nil when it does. It sees
// the finding as the policy made it, before secrets are replaced, and may be
// called by several policies at once.
type Excuse func(api.Finding) *api.Exception

// Judge runs one policy on one plan. It always returns a verdict: an engine
// that fails, panics, or returns something inconsistent has judged nothing,
// and the verdict is errored (docs/policy.md, rule 1), which nothing excuses.
func Judge(engines []Engine, src Source, p *plan.Plan, excuses ...Excuse) api.Verdict {
	e := engine(engines, src.Language)
	return judge(e, src, src.Digest(), p, excuses, func() (api.Verdict, error) {
		if e == nil {
			return api.Verdict{}, noEngine(src.Language)
		}
		return e.Judge(src, p)
	})
}

// judge makes what an engine said into a verdict. It is the one way to get one.
func judge(e Engine, src Source, digest string, p *plan.Plan, excuses []Excuse, ask func() (api.Verdict, error)) (v api.Verdict) {
	defer func() {
		if recover() != nil {
			v = errored(src, digest, panicked(src.Language))
		}
		v.Input = p.Digest
		scrub(&v, p)
		v = Withhold(v, src.Run.From.Secrets)
	}()
	v, err := ask()
	if err != nil {
		v = errored(src, digest, err)
		if e != nil {
			v.Evaluator = e.Evaluator()
		}
		return v
	}
	return complete(v, src, digest, e, p, excuses)
}

// Check reports why a policy cannot judge any plan, or nil.
func Check(engines []Engine, src Source) (err error) {
	defer func() {
		if recover() != nil {
			err = panicked(src.Language)
		}
	}()
	e := engine(engines, src.Language)
	if e == nil {
		return noEngine(src.Language)
	}
	return e.Check(src)
}

// Errored is the verdict of a policy that could not judge.
func Errored(src Source, err error) api.Verdict { return errored(src, src.Digest(), err) }

func errored(src Source, digest string, err error) api.Verdict {
	v := api.Verdict{
		Path: src.Path, Engine: src.Language, Enforcement: enforcement(src),
		Outcome: api.Errored, Error: err.Error(), Hint: problem.Hint(err),
		Rules: []api.RuleCount{}, Notes: []string{},
	}
	if len(src.Files) > 0 {
		v.Digest = digest
	}
	if src.Bundle != nil {
		v.Bundle = src.Bundle.Digest
	}
	return v
}

func engine(engines []Engine, lang api.Language) Engine {
	for _, e := range engines {
		if e.Language() == lang {
			return e
		}
	}
	return nil
}

// enforcement is the strictest where nothing was said.
func enforcement(src Source) api.Enforcement {
	if src.Enforcement == "" {
		return api.HardMandatory
	}
	return src.Enforcement
}

// complete fills in what every verdict has, whatever the engine, and derives
// the outcome from the findings so that the two cannot contradict each other.
func complete(v api.Verdict, src Source, digest string, e Engine, p *plan.Plan, excuses []Excuse) api.Verdict {
	v.Path, v.Engine, v.Evaluator = src.Path, src.Language, e.Evaluator()
	v.Digest, v.Enforcement = digest, enforcement(src)
	if b := src.Bundle; b != nil {
		v.Bundle = b.Digest
		if b.Evaluator != "" && b.Evaluator != e.Evaluator() {
			v.Notes = append(v.Notes, fmt.Sprintf("the bundle was checked by %s when it was built", b.Evaluator))
		}
	}
	if v.Outcome == api.Errored {
		return v
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		f.Policy, f.Engine = src.Path, src.Language
		if f.Action == "" {
			f.Action = action(p, f.Address, f.Deposed)
		}
		excuse(f, excuses)
	}
	v.Outcome = Derive(v.Findings)
	for _, r := range v.Rules {
		if r.Matched == 0 {
			v.Notes = append(v.Notes, fmt.Sprintf("rule %s looked at nothing in this plan", r.Rule))
		}
	}
	return v
}

// excuse marks a finding that the first of the excuses covers. What a policy
// has excepted by itself needs none.
func excuse(f *api.Finding, excuses []Excuse) {
	for _, covered := range excuses {
		if f.Excepted {
			return
		}
		f.Exception = covered(*f)
		f.Excepted = f.Exception != nil
	}
}

// Derive is what findings come to: a deny that no exception covers fails.
func Derive(findings []api.Finding) api.Outcome {
	for _, f := range findings {
		if f.Level == api.Deny && !f.Excepted {
			return api.Failed
		}
	}
	return api.Passed
}

func action(p *plan.Plan, address, deposed string) string {
	for i := range p.Changes {
		if c := &p.Changes[i]; c.Address == address && c.Deposed == deposed {
			return c.Label()
		}
	}
	return ""
}

// Scrub removes the plan's secrets from a verdict that [Judge] has not made.
func Scrub(v api.Verdict, p *plan.Plan) api.Verdict {
	scrub(&v, p)
	return v
}

// scrub removes the plan's secrets from every text of a verdict. It is the one
// place, so that no engine and no report can forget it (docs/policy.md, rule 4).
func scrub(v *api.Verdict, p *plan.Plan) {
	v.Error, v.Hint = p.Redact(v.Error), p.Redact(v.Hint)
	for i := range v.Notes {
		v.Notes[i] = p.Redact(v.Notes[i])
	}
	for i := range v.Rules {
		v.Rules[i].Rule = p.Redact(v.Rules[i].Rule)
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		f.Address = p.RedactAddress(f.Address)
		f.Message, f.Rule, f.Path = p.Redact(f.Message), p.Redact(f.Rule), p.Redact(f.Path)
		f.Title = p.Redact(f.Title)
		for j := range f.Positions {
			f.Positions[j] = p.Redact(f.Positions[j])
		}
		f.Details, _ = scrubValue(f.Details, p).(map[string]any)
		if e := f.Exception; e != nil {
			// A copy: the exception is that of every finding it covers.
			f.Exception = &api.Exception{Reason: p.Redact(e.Reason), Owner: p.Redact(e.Owner), Expires: p.Redact(e.Expires), At: p.Redact(e.At)}
		}
	}
	if v.Rules == nil {
		v.Rules = []api.RuleCount{}
	}
	if v.Notes == nil {
		v.Notes = []string{}
	}
}

func scrubValue(v any, p *plan.Plan) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return nil
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[p.Redact(k)] = scrubValue(e, p)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = scrubValue(e, p)
		}
		return out
	case string:
		return p.Redact(v)
	case nil, bool:
		return v
	default: // a number: its text may be a secret
		if text := fmt.Sprint(v); p.Redact(text) != text {
			return "(sensitive)"
		}
		return v
	}
}

// said is every text that a policy has a say in, or its exceptions, as JSON.
func said(v api.Verdict) []byte {
	findings := make([]any, len(v.Findings))
	for i, f := range v.Findings {
		findings[i] = []any{f.Rule, f.Title, f.Address, f.Deposed, f.Path, f.Message, f.Positions, f.Details, f.Exception}
	}
	// What cannot be written cannot be searched, and Refuse refuses it.
	text, _ := json.Marshal(map[string]any{"findings": findings, "notes": v.Notes, "rules": v.Rules, "error": []string{v.Error, v.Hint}})
	return text
}

// Withhold puts an errored verdict in the place of one that holds a declared
// secret (docs/decision.md, rule 10). It keeps what did not come from the policy.
func Withhold(v api.Verdict, secrets input.Canaries) api.Verdict {
	if len(secrets) == 0 {
		return v
	}
	what := "what the policy says"
	if v.Engine == api.Exceptions {
		what = "what the file of exceptions says"
	}
	err := secrets.Refuse(what, said(v))
	if err == nil {
		return v
	}
	return api.Verdict{
		Path: v.Path, Digest: v.Digest, Bundle: v.Bundle, Engine: v.Engine, Evaluator: v.Evaluator, Contract: v.Contract,
		Enforcement: v.Enforcement, Input: v.Input, Outcome: api.Errored, Error: err.Error(), Hint: problem.Hint(err),
		Rules: []api.RuleCount{}, Notes: []string{},
	}
}

// Short is the first twelve digits of a digest, as people see it.
func Short(digest string) string {
	hex := strings.TrimPrefix(digest, "sha256:")
	return hex[:min(12, len(hex))]
}
