// Package regoengine judges plans by Rego policies, in one of two ways. In
// conftest's convention the deny, violation and warn rules of a package say what
// is wrong with the plan, which is their input. By the decision contract one
// rule gives a decision on a sanitised input (docs/decision.md). It talks to OPA alone, inside the process, and
// lets a policy reach nothing but its input and its data: no file, network,
// clock, randomness or environment (package builtins).
//
// In the convention it finds what conftest finds and passes what conftest passes, except where
// conftest passes what it could not judge: there the verdict is errored, and
// its text begins with "could not judge" (docs/policy.md). It must not know
// where policies and plans come from, and it does not bound what a policy may
// use: policy/confine runs it in a process that is bounded.
package regoengine

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/version"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/regoengine/builtins"
	"github.com/assize-iac/assize/internal/problem"
)

// An Engine judges by Rego. It holds nothing: what a verdict depends on is in
// its arguments and in the manifest of this build.
type Engine struct{}

// New returns the engine.
func New() Engine { return Engine{} }

// Language implements [policy.Engine].
func (Engine) Language() api.Language { return api.Rego }

// Evaluator names OPA's version, because its releases have changed verdicts,
// and the built-ins that policies may call.
func (Engine) Evaluator() string {
	return "opa/" + version.Version + " capabilities sha256:" + policy.Short(builtins.Manifests())
}

// Check implements [policy.Engine]. It does all that needs no plan, so a policy
// that can never judge is refused before a plan is made.
func (Engine) Check(src policy.Source) error {
	_, err := compile(src)
	return err
}

// Contract implements [policy.Contractor].
func (Engine) Contract(src policy.Source) (*api.Contract, error) {
	c, err := compile(src)
	if err != nil || c.contract == nil {
		return nil, err
	}
	return c.agreement(), nil
}

// Judge implements [policy.Engine].
func (e Engine) Judge(src policy.Source, p *plan.Plan) (api.Verdict, error) {
	c, err := compile(src)
	if err != nil {
		return api.Verdict{}, err
	}
	return c.judge(p)
}

// locate compares where findings say they are with what is in the plan. One
// about a module call has the action that rules give it (docs/policy.md, rule
// 14). An address that the plan lacks is text that the policy made up, perhaps
// out of a secret; those of the plan must stay as they are, byte for byte.
func locate(findings []api.Finding, p *plan.Plan) {
	known := map[string]bool{"": true}
	for _, c := range slices.Concat(p.Changes, p.Deferred) {
		known[c.Address], known[c.PreviousAddress], known[c.Deposed] = true, true, true
	}
	calls := map[string]bool{}
	for _, m := range p.Modules {
		calls[m.Address] = true
	}
	for i := range findings {
		f := &findings[i]
		if calls[f.Address] {
			f.Action = "config"
		} else if !known[f.Address] {
			f.Address = p.Redact(f.Address)
		}
		if !known[f.Deposed] {
			f.Deposed = p.Redact(f.Deposed)
		}
	}
}

// counts says that each rule looked at every change: Rego cannot tell what a
// rule looked at, only what it said. An empty plan yields no counts, because a
// rule may well have looked at something else, such as a module call.
func (c *compiled) counts(changes int) []api.RuleCount {
	if changes == 0 {
		return nil
	}
	var out []api.RuleCount
	for _, r := range c.rules {
		out = append(out, api.RuleCount{Rule: r.id(), Matched: changes})
	}
	return out
}

// unjudged is the error of a policy or plan that says nothing either way.
func unjudged(format string, args ...any) *problem.Error {
	return problem.New(api.Invalid, "could not judge: "+format, args...)
}
