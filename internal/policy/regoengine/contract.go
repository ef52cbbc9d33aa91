package regoengine

import (
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/decision"
	"github.com/assize-iac/assize/internal/policy/input"
	"github.com/assize-iac/assize/internal/policy/regoengine/builtins"
	"github.com/assize-iac/assize/internal/policy/regoengine/document"
	"github.com/assize-iac/assize/internal/problem"
)

// agreed returns the contract that a policy is judged by, or nil for
// conftest's convention. Whoever judges may have said which; else it is what the
// policy declares (docs/decision.md, rules 1 and 2). A policy that could be read
// in two ways is refused: half of it would be silently left out.
func agreed(modules map[string]*ast.Module, opts policy.RegoOptions) (*input.Contract, error) {
	present := namespaces(modules)
	var found []input.Contract
	for _, c := range input.Contracts() {
		if c.Name == opts.Contract || slices.ContainsFunc(present, func(ns string) bool { return claims(ns, c) }) {
			found = append(found, c)
		}
	}
	switch {
	case opts.Contract != "" && !slices.ContainsFunc(found, func(c input.Contract) bool { return c.Name == opts.Contract }):
		_, err := input.ContractNamed(opts.Contract)
		return nil, unjudged("%w", err).WithHint("%s", problem.Hint(err))
	case len(found) == 0:
		return nil, nil
	case len(found) > 1:
		return nil, unjudged("the policy would be judged by two contracts, %s and %s", found[0].Name, found[1].Name).
			WithHint("a policy has one entry point: keep package %s or package %s, and put the other in a policy of its own", found[0].Package(), found[1].Package())
	}
	c := found[0]
	return &c, fits(modules, present, c, opts)
}

// claims reports whether a package is the contract's, or stands where its rule
// should.
func claims(namespace string, c input.Contract) bool {
	at := c.Package() + "." + c.Rule()
	return namespace == c.Package() || namespace == at || strings.HasPrefix(namespace, at+".")
}

// fits refuses what a policy of a contract may not have, and the lack of what
// it must have (docs/decision.md, rules 2 and 3).
func fits(modules map[string]*ast.Module, present []string, c input.Contract, opts policy.RegoOptions) error {
	defined := false
	for _, file := range slices.Sorted(maps.Keys(modules)) {
		m := modules[file]
		if m.RegoVersionSpan().Min() != ast.RegoV1 {
			return unjudged("%s is in Rego v0, and the contract %s is in v1", file, c.Name).
				WithHint("`opa fmt --write --v0-v1 FILE` rewrites a file in v1: rules need if and contains")
		}
		for _, r := range m.Rules {
			if namespace(m) != c.Package() || headName(r) != c.Rule() {
				continue
			}
			if len(r.Head.Args) > 0 {
				return unjudged("%s is a function, so it decides nothing (%s)", c.Rule(), position(r.Location)).WithHint("%s", example)
			}
			defined = true
		}
	}
	if !defined {
		return unjudged("package %s has no rule %s", c.Package(), c.Rule()).WithHint("%s", example)
	}
	asked, err := chosen(present, opts)
	if err != nil {
		return nil // namespaces that are named for other policies
	}
	for _, ns := range asked {
		if rules, err := rulesOf(modules, ns); err != nil || len(rules) > 0 {
			return unjudged("the policy has %s, and conftest's rules in package %s: it would be judged in two ways", c.EntryPoint, ns).
				WithHint("put the rules of package %s in a policy of their own; --namespace and --all-namespaces choose conftest's packages", ns)
		}
	}
	return nil
}

// example recommends no default: it would make a pass of what is undefined.
const example = `write decision := {"findings": findings} and findings contains finding if { ... }: a set is empty where nothing is wrong, not undefined`

// demand makes the query for the decision.
func (c *compiled) demand() error {
	// A document there would be the decision where the rule is undefined.
	var below any = c.data
	path := strings.Split(c.contract.Package(), ".")
	for _, name := range path {
		object, _ := below.(map[string]any)
		if below = object[name]; below == nil {
			break
		}
	}
	if below != nil {
		return unjudged("a data file sets data.%s, where the contract's package is", c.contract.Package()).
			WithHint("put the data under another key")
	}
	body, err := ast.ParseBody("answers = [" + c.contract.EntryPoint + "]")
	if err != nil {
		return explain(err)
	}
	if _, err := c.compiler.QueryCompiler().Compile(body.Copy()); err != nil {
		return explain(err)
	}
	c.query = body
	return c.mayDecide()
}

// mayDecide refuses a rule of which the type checker is certain that it gives no
// decision, whatever the plan.
func (c *compiled) mayDecide() error {
	t := c.compiler.TypeEnv.GetByRef(ast.MustParseRef(c.contract.EntryPoint))
	switch t.(type) {
	case types.Boolean, types.Number, types.String, types.Null, *types.Array, *types.Set:
		return unjudged("%s is %s, not an object with findings", c.contract.EntryPoint, kind(t)).WithHint("%s", example)
	}
	return nil
}

// decide judges a plan by the contract. Whatever goes wrong is an errored
// verdict and no error, so that it says what it was bound to (docs/decision.md,
// rules 7 and 9).
func (c *compiled) decide(p *plan.Plan) api.Verdict {
	v := api.Verdict{
		Contract: c.agreement(),
		Notes:    slices.Clone(c.notes), // a verdict's texts are searched for secrets in place
	}
	seen, digest, err := c.input(p)
	v.Contract.PolicyInput = digest // "" where there is none
	if err == nil {
		v.Findings, err = c.decision(seen)
	}
	if err != nil {
		v.Outcome, v.Error, v.Hint = api.Errored, err.Error(), problem.Hint(err)
		return v
	}
	locate(v.Findings, p)
	if v.Matched = len(p.Changes); v.Matched > 0 {
		v.Rules = []api.RuleCount{{Rule: c.contract.Rule(), Matched: v.Matched}}
	}
	return v
}

// agreement is what a verdict says of its contract, whatever the plan.
func (c *compiled) agreement() *api.Contract {
	return &api.Contract{
		Name: c.contract.Name, EntryPoint: c.contract.EntryPoint, InputVersion: c.contract.InputVersion,
		Capabilities: builtins.Name, CapabilitiesDigest: builtins.Digest,
	}
}

// decision evaluates the entry point on what the policy is shown.
func (c *compiled) decision(seen ast.Value) ([]api.Finding, error) {
	result, err := c.evaluate(seen)
	if err != nil {
		return nil, err
	}
	answers, _ := result.([]any)
	if len(answers) != 1 {
		return nil, unjudged("%s is undefined for this plan", c.contract.EntryPoint).WithHint("%s", example)
	}
	return decision.Read(answers[0])
}

// input is the policy input of a plan, as its own text has it, and its digest.
func (c *compiled) input(p *plan.Plan) (ast.Value, string, error) {
	in, err := input.Build(*c.contract, p, c.run.Of(p), c.run.Bounds)
	if err != nil {
		return nil, "", err
	}
	seen, err := document.Of(in.Text)
	return seen, in.Digest, err
}

// sees is what the policy is shown of a plan.
func (c *compiled) sees(p *plan.Plan) (ast.Value, error) {
	if c.contract == nil {
		return document.OfPlan(p, c.shape, c.seen)
	}
	seen, _, err := c.input(p)
	return seen, err
}
