package regoengine

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
)

// The names that conftest evaluates, and those that an author may take for
// one of them.
var (
	warnForm  = regexp.MustCompile(`^warn(_[a-zA-Z0-9]+)*$`)
	denyForm  = regexp.MustCompile(`^(deny|violation)(_[a-zA-Z0-9]+)*$`)
	lookalike = regexp.MustCompile(`(?i)^(deny|violation|warn)(_.*)?$`)
	helper    = regexp.MustCompile(`(?i)^(deny|violation|warn)`) // unless something uses it
)

// A rule is everything of one name in one package: a policy may add to the same
// set in many places, and an exception is for all of them.
type rule struct {
	namespace string
	name      string
	ref       ast.Ref
	level     api.Level
	at        *ast.Location // where it is defined first
}

// id names the rule in findings; the package is said where it is not the
// usual one, because several may have a rule deny.
func (r rule) id() string {
	if r.namespace == "main" {
		return r.name
	}
	return r.namespace + "." + r.name
}

// exception is the name by which an exception rule means r. Prefixes go one
// after the other, as in conftest: deny_warn_x is x.
func (r rule) exception() string {
	switch r.name {
	case "deny", "violation", "warn":
		return ""
	}
	name := r.name
	for _, prefix := range []string{"violation_", "deny_", "warn_"} {
		name = strings.TrimPrefix(name, prefix)
	}
	return name
}

// choose finds the rules of the packages that opts names. A package without
// one is an error, unless it is there by a pattern: conftest reports "0 tests"
// and passes, which is what a misspelt package looks like.
func choose(modules map[string]*ast.Module, opts policy.RegoOptions) ([]rule, error) {
	present, asked := namespaces(modules), opts.Namespaces
	chosen, err := chosen(present, opts)
	if err != nil {
		return nil, err
	}
	var out []rule
	for _, ns := range chosen {
		rules, err := rulesOf(modules, ns)
		if err != nil {
			return nil, err
		}
		if len(rules) == 0 && !opts.AllNamespaces && (len(asked) == 0 || slices.Contains(asked, ns)) {
			return nil, noRules(modules, present, ns)
		}
		out = append(out, rules...)
	}
	if len(out) == 0 {
		return nil, noRules(modules, present, "")
	}
	return out, nil
}

// chosen are the packages that opts names: main, if it names none.
func chosen(present []string, opts policy.RegoOptions) ([]string, error) {
	switch {
	case opts.AllNamespaces:
		return present, nil
	case len(opts.Namespaces) == 0:
		return []string{"main"}, nil
	}
	return match(present, opts.Namespaces)
}

// match resolves the namespaces as conftest does: a pattern anywhere makes
// patterns of all of them, in which a dot is like any other character. A pattern
// that matches nothing is an error, like a package that is not there.
func match(present, asked []string) ([]string, error) {
	if !strings.ContainsAny(strings.Join(asked, ""), "*?[") {
		return dedupe(asked), nil
	}
	var out []string
	for _, pattern := range asked {
		n := len(out)
		for _, ns := range present {
			ok, err := path.Match(pattern, ns)
			if err != nil {
				return nil, unjudged("namespace %q is no pattern", pattern)
			}
			if ok {
				out = append(out, ns)
			}
		}
		if len(out) == n {
			return nil, unjudged("no package matches %q", pattern).WithHint("the policy has: %s", strings.Join(present, ", "))
		}
	}
	return dedupe(out), nil
}

func dedupe(names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

func namespaces(modules map[string]*ast.Module) []string {
	set := map[string]bool{}
	for _, m := range modules {
		set[namespace(m)] = true
	}
	return slices.Sorted(maps.Keys(set))
}

func namespace(m *ast.Module) string {
	return strings.TrimPrefix(m.Package.Path.String(), "data.")
}

// noRules says where the rules are, if there are any: the usual cause is a
// package that has another name than the one that is judged.
func noRules(modules map[string]*ast.Module, present []string, ns string) *problem.Error {
	var elsewhere []string
	for _, other := range present {
		if rules, err := rulesOf(modules, other); err == nil && len(rules) > 0 {
			elsewhere = append(elsewhere, other)
		}
	}
	err := unjudged("no package has a deny, violation or warn rule")
	switch {
	case ns != "" && !slices.Contains(present, ns):
		err = unjudged("the policy has no package %s", ns)
	case ns != "":
		err = unjudged("package %s has no deny, violation or warn rule", ns)
	}
	if len(elsewhere) > 0 {
		return err.WithHint("there are rules in %s; name packages with --namespace, or all with --all-namespaces", strings.Join(elsewhere, ", "))
	}
	return err.WithHint("conftest's convention: package main, and rules such as deny contains msg if { ... }")
}

// rulesOf returns the rules of one package by name. conftest takes names that
// differ in case for one, and drops one of the two; here both count.
func rulesOf(modules map[string]*ast.Module, ns string) ([]rule, error) {
	found := map[string]rule{}
	for _, file := range slices.Sorted(maps.Keys(modules)) {
		m := modules[file]
		if namespace(m) != ns {
			continue
		}
		for _, r := range m.Rules {
			name := headName(r)
			if !lookalike.MatchString(name) {
				continue
			}
			if err := wellFormed(r, name); err != nil {
				return nil, err
			}
			if _, ok := found[name]; !ok {
				found[name] = rule{ns, name, m.Package.Path.Append(ast.StringTerm(name)), level(name), r.Location}
			}
		}
	}
	var out []rule
	for _, name := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[name])
	}
	return out, nil
}

// headName is the first part of a rule's head, which for deny.x and, without
// contains, for deny[x] is not the name that conftest looks at.
func headName(r *ast.Rule) string {
	name, _ := r.Head.Ref()[0].Value.(ast.Var)
	return string(name)
}

// level is what a finding of the rule asks for; there are only two forms.
func level(name string) api.Level {
	if warnForm.MatchString(name) {
		return api.Warn
	}
	return api.Deny
}

// wellFormed refuses what looks like a rule and is never evaluated
// (docs/policy.md, rule 25): conftest passes it over and says nothing. A
// function's name conftest takes for a rule's and stops.
func wellFormed(r *ast.Rule, name string) error {
	at := position(r.Location)
	switch {
	case !denyForm.MatchString(name) && !warnForm.MatchString(name):
		return unjudged("rule %s can never fire (%s)", name, at).
			WithHint("names are deny, violation or warn, alone or followed by parts of letters and digits: deny_public_bucket")
	case len(r.Head.Args) > 0:
		return unjudged("%s is a function, so it can never fire (%s)", name, at).
			WithHint("rename it, or make it a rule: %s contains msg if { ... }", name)
	case string(r.Head.Name) != name:
		return unjudged("%s is no set of messages, so it can never fire (%s)", r.Head.Ref(), at).
			WithHint("write %s contains msg if { ... }", name)
	}
	return nil
}

// canFire refuses a rule whose value cannot be a set or list of messages,
// whatever the plan: deny := true passes in conftest.
func (r rule) canFire(env *ast.TypeEnv) error {
	t := env.GetByRef(r.ref)
	if mayBeList(t) {
		return nil
	}
	return unjudged("%s is %s, not a set of messages, so it can never fire (%s)", r.id(), kind(t), position(r.at)).
		WithHint("write %s contains msg if { ... }", r.name)
}

// mayBeList says no only where the type checker is certain; what comes from the
// plan has any type, and is looked at when it is there.
func mayBeList(t types.Type) bool {
	switch t := t.(type) {
	case types.Boolean, types.Number, types.String, types.Null, *types.Object, *types.Function:
		return false
	case types.Any:
		return len(t) == 0 || slices.ContainsFunc(t, mayBeList)
	}
	return true
}

// kind names a type without its members.
func kind(t types.Type) string {
	switch t.(type) {
	case types.Boolean:
		return "a boolean"
	case types.Number:
		return "a number"
	case types.String:
		return "a string"
	case *types.Object:
		return "an object"
	}
	return "of type " + types.Sprint(t)
}

// leftOut notes packages with rules that nobody asked for. It is no error,
// because asking for some of them is what --namespace is for.
func leftOut(modules map[string]*ast.Module, chosen []rule) []string {
	var out []string
	for _, ns := range namespaces(modules) {
		if slices.ContainsFunc(chosen, func(r rule) bool { return r.namespace == ns }) {
			continue
		}
		if rules, err := rulesOf(modules, ns); err != nil || len(rules) > 0 {
			out = append(out, fmt.Sprintf("package %s has rules that were not judged; name it with --namespace", ns))
		}
	}
	return out
}

func position(loc *ast.Location) string {
	if loc == nil {
		return "unknown position"
	}
	if loc.Row == 0 {
		return loc.File // OPA's way of meaning the whole file
	}
	return fmt.Sprintf("%s:%d:%d", loc.File, loc.Row, loc.Col)
}
