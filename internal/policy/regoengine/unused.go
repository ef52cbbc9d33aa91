package regoengine

import (
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// unused refuses a set in a package that is judged which is called like a rule,
// is not asked for, and which nothing uses: denyAll, or the deny of a policy whose
// decision leaves it out. Its author meant it to deny something, and nobody
// would hear of it (docs/policy.md, rules 2 and 25).
func (c *compiled) unused() error {
	var packages []string
	if c.contract != nil {
		packages = []string{c.contract.Package()}
	}
	for _, r := range c.rules {
		packages = append(packages, r.namespace)
	}
	for _, file := range slices.Sorted(maps.Keys(c.compiler.Modules)) {
		m := c.compiler.Modules[file]
		if !slices.Contains(packages, namespace(m)) {
			continue
		}
		for _, r := range m.Rules {
			name := headName(r)
			isAsked := slices.ContainsFunc(c.rules, func(a rule) bool { return a.namespace == namespace(m) && a.name == name })
			if isAsked || !helper.MatchString(name) || r.Head.RuleKind() != ast.MultiValue || c.uses(r) {
				continue
			}
			return unjudged("nothing uses %s, so it can never fire (%s)", name, position(r.Location)).
				WithHint("rules are called deny, violation or warn, alone or followed by _ and more; a decision lists its findings itself")
		}
	}
	return nil
}

// uses reports whether anything refers to what the rule is part of, or to a
// value of its package that may be it. The compiler has resolved every name.
func (c *compiled) uses(r *ast.Rule) (used bool) {
	whole := r.Module.Package.Path.Append(ast.StringTerm(headName(r)))
	for _, m := range c.compiler.Modules {
		for _, other := range m.Rules {
			ast.WalkRefs(other, func(ref ast.Ref) bool {
				known := ref.ConstantPrefix()
				used = used || ref.HasPrefix(ast.DefaultRootRef) && (known.HasPrefix(whole) || whole.HasPrefix(known))
				return used
			})
		}
	}
	return used
}
