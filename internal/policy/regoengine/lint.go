package regoengine

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// patternOperand is where each built-in takes its regular expression. Those that
// take a template of one are left to evaluation.
func patternOperand(builtin string) (int, bool) {
	switch builtin {
	case "regex.match", "regex.split", "regex.find_n", "regex.find_all_string_submatch_n", "re_match":
		return 0, true
	case "regex.replace":
		return 1, true
	}
	return 0, false
}

// literalPatterns refuses regular expressions that cannot be compiled, such as
// those with look-ahead, which RE2 lacks. In conftest the built-in fails, the
// rule is undefined, and the plan passes. Evaluation would find them too, but
// only with a plan that gets there.
func literalPatterns(c *ast.Compiler) (err error) {
	for _, file := range slices.Sorted(maps.Keys(c.Modules)) {
		ast.WalkExprs(c.Modules[file], func(e *ast.Expr) bool {
			i, ok := patternOperand(e.Operator().String())
			if !ok || err != nil || e.Operand(i) == nil {
				return err != nil
			}
			pattern, ok := e.Operand(i).Value.(ast.String)
			if !ok {
				return false
			}
			if _, bad := regexp.Compile(string(pattern)); bad != nil {
				err = unjudged("%v (%s)", bad, position(e.Location)).
					WithHint("regular expressions are RE2: no look-around, no back-references")
			}
			return err != nil
		})
	}
	return err
}

// undefinedData notes references to data that neither a package nor a data
// file defines. They are undefined, and a rule that needs one never fires; it
// is no error because policies may well treat data as optional. What conftest
// itself puts there cannot be had: a verdict does not depend on where a plan
// lies.
func (c *compiled) undefinedData() ([]string, error) {
	var notes []string
	var err error
	for _, file := range slices.Sorted(maps.Keys(c.compiler.Modules)) {
		ast.WalkRefs(c.compiler.Modules[file], func(r ast.Ref) bool {
			if err != nil || len(r) < 2 || !r.HasPrefix(ast.DefaultRootRef) || c.defines(r) {
				return err != nil
			}
			name := r.ConstantPrefix()
			if name.HasPrefix(ast.MustParseRef("data.conftest.file")) {
				err = unjudged("data.conftest.file is not available (%s)", position(r[0].Location)).
					WithHint("a verdict must not depend on where a plan lies; pass what the policy needs with --data")
			}
			notes = append(notes, fmt.Sprintf("%s is defined by no package and no --data file (%s)", name, file))
			return false
		})
	}
	return dedupe(notes), err
}

// defines follows r through the rules of the policy; in documents only the
// first step is looked at, because the rest may be optional.
func (c *compiled) defines(r ast.Ref) bool {
	first, ok := r[1].Value.(ast.String)
	if _, given := c.data[string(first)]; !ok || given {
		return true
	}
	node := c.compiler.RuleTree.Child(r[0].Value)
	for _, t := range r[1:] {
		if node == nil {
			return false
		}
		if len(node.Values) > 0 || !t.IsGround() {
			return true
		}
		node = node.Child(t.Value)
	}
	return node != nil
}

// strictNotes are the remarks of OPA's strict mode: unused imports and
// variables, often a typing mistake. conftest accepts them, and most policies
// that were written for it have some, so they refuse nothing here either.
func strictNotes(modules map[string]*ast.Module, caps *ast.Capabilities) []string {
	c := ast.NewCompiler().WithCapabilities(caps).WithEnablePrintStatements(true).WithStrict(true)
	c.Compile(modules)
	var notes []string
	for _, e := range c.Errors {
		notes = append(notes, "strict Rego: "+strings.TrimSpace(e.Message)+" ("+position(e.Location)+")")
	}
	notes = dedupe(notes)
	if len(notes) > maxShown {
		rest := len(notes) - maxShown
		notes = append(notes[:maxShown], fmt.Sprintf("strict Rego: %d more", rest))
	}
	return notes
}
