package cuefile

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"

	"github.com/assize-iac/assize/internal/problem"
)

// checkMatchers refuses what counts how many constraints hold. They are tried
// out of Sight: one that needs a field adds it where the plan has none, and one
// that forbids a value holds of a value that is not known (docs/policy.md,
// rules 29 and 30).
func (r *Rule) checkMatchers() (bad *problem.Error) {
	r.uses(func(x ast.Expr, name string) {
		if bad == nil && slices.Contains([]string{"matchN", "matchIf", "__matchN", "__matchIf", "list.MatchN"}, name) {
			bad = r.unusable(x.Pos(), "%s also holds of what the plan does not show", strings.TrimPrefix(name, "__")).
				WithHint("write a disjunction or a guard instead, or for each element what is allowed")
		}
	})
	return bad
}

// LooseFields finds constraints on JSON or YAML in a string that have plain
// fields: Validate adds a concrete one where the text has none, and takes a type
// for good enough (docs/policy.md, rule 30).
func (r *Rule) LooseFields() (out []string) {
	checkers := []string{"encoding/json.Validate", "encoding/json.ValidatePartial", "encoding/yaml.Validate", "encoding/yaml.ValidatePartial"}
	ast.Walk(r.file, func(n ast.Node) bool {
		call, isCall := n.(*ast.CallExpr)
		if !isCall || !slices.Contains(checkers, r.function(call.Fun)) {
			return true
		}
		for _, arg := range call.Args {
			if f := r.plainField(arg, map[ast.Node]bool{}); f != nil {
				out = append(out, fmt.Sprintf("%s: a constraint on JSON or YAML also holds of a text without this field: "+
					"write name!: where it must be there, and name?: where not", Position(f.Pos())))
			}
		}
		return true
	}, nil)
	return out
}

// plainField finds a field that is neither required nor optional in a
// constraint, or in what the constraint refers to.
func (r *Rule) plainField(n ast.Node, seen map[ast.Node]bool) (plain *ast.Field) {
	ast.Walk(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			_, isPattern := n.Label.(*ast.ListLit)
			if plain == nil && n.Constraint == token.ILLEGAL && !isPattern && !isPrivate(n.Label) {
				plain = n
			}
		case *ast.Ident:
			origin := r.sources[n.Node]
			if f, isField := origin.(*ast.Field); isField {
				origin = f.Value
			}
			if n.Node != nil && origin != nil && !seen[n.Node] && plain == nil {
				seen[n.Node] = true
				plain = r.plainField(origin, seen)
			}
		}
		return plain == nil
	}, nil)
	return plain
}

// uses calls visit with every expression that names something, and the name. A
// label names a field and the last part of a selector a part of what is before.
func (r *Rule) uses(visit func(x ast.Expr, name string)) {
	labels := map[ast.Node]bool{}
	ast.Walk(r.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			labels[n.Label] = true
		case *ast.SelectorExpr:
			labels[n.Sel] = true
			visit(n, r.function(n))
		case *ast.Ident:
			if !labels[n] {
				visit(n, n.Name)
			}
		}
		return true
	}, nil)
}

// function is the name of what is called: a built-in's own, or that of its
// package with the whole path.
func (r *Rule) function(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		name, ok := x.X.(*ast.Ident)
		if !ok {
			return ""
		}
		sel, _, _ := ast.LabelName(x.Sel)
		if spec, ok := name.Node.(*ast.ImportSpec); ok {
			if path, err := literal.Unquote(spec.Path.Value); err == nil {
				path, _, _ = strings.Cut(path, ":")
				return path + "." + sel
			}
		}
	}
	return ""
}
