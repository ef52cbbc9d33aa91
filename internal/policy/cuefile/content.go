package cuefile

import (
	"reflect"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// checkPackage refuses a file of a specification, which would be part of what
// it judges (docs/policy.md, rule 31).
func (r *Rule) checkPackage() *problem.Error {
	if r.file.PackageName() != "estate" {
		return nil
	}
	return r.unusable(r.file.Pos(), "package estate is a specification, not a policy").
		WithHint("a policy would be part of what it judges there; move it to another directory, and call its package policy")
}

// checkContent refuses a file that asks nothing of any plan (docs/policy.md,
// rules 2 and 31). What the text does not plainly show to be idle is a rule.
func (r *Rule) checkContent() *problem.Error {
	if r.judge(r.file.Decls) {
		return nil
	}
	return r.unusable(token.NoPos, "the file holds no rule").
		WithHint("comments, definitions, hidden fields and fields that take any value do not judge a plan; " +
			"write a field of the document, such as summary: destroy: 0")
}

// judge reports whether one of these declarations, which stand at the top of
// the document, can be violated.
func (r *Rule) judge(decls []ast.Decl) bool {
	for _, d := range decls {
		switch d := d.(type) {
		case *ast.Field:
			if !isPrivate(d.Label) && (constrains(d.Value) || r.needs(d)) {
				return true
			}
		case *ast.EmbedDecl:
			if r.embeds(d.Expr) {
				return true
			}
		case *ast.Comprehension:
			if !isNever(d) {
				return true
			}
		case *ast.Ellipsis:
			if d.Type != nil && constrains(d.Type) {
				return true
			}
		default:
			if isStatement(d) {
				return true
			}
		}
	}
	return false
}

// embeds is judge for an expression at the top. A disjunction with an idle side
// always holds.
func (r *Rule) embeds(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.StructLit:
		return r.judge(x.Elts)
	case *ast.ParenExpr:
		return r.embeds(x.X)
	case *ast.UnaryExpr:
		return x.Op != token.MUL || r.embeds(x.X)
	case *ast.BinaryExpr:
		if x.Op == token.OR {
			return r.embeds(x.X) && r.embeds(x.Y)
		}
		return true
	}
	return constrains(x)
}

// needs reports whether a field that takes any value still matters: a private
// constraint looks at it, or the document may lack it, so that it must be there.
func (r *Rule) needs(f *ast.Field) bool {
	name, _, err := ast.LabelName(f.Label)
	if err != nil {
		return false
	}
	known, _ := Field(reflect.TypeFor[api.Document](), name)
	return r.mentions(name) > r.labels(name) || strings.HasSuffix(known.Tag.Get("json"), ",omitempty")
}

// labels counts the fields called name, which mention it and look at nothing.
func (r *Rule) labels(name string) (n int) {
	ast.Walk(r.file, func(node ast.Node) bool {
		if f, ok := node.(*ast.Field); ok {
			if label, _, err := ast.LabelName(f.Label); err == nil && label == name {
				n++
			}
		}
		return true
	}, nil)
	return n
}

// constrains reports whether the value of a top-level field asks for anything.
// Further down, even _ does: it must be there.
func constrains(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name != "_"
	case *ast.ParenExpr:
		return constrains(x.X)
	case *ast.StructLit:
		for _, elt := range x.Elts {
			if e, ok := elt.(*ast.Ellipsis); (!ok || e.Type != nil) && isStatement(elt) {
				return true
			}
		}
		return false
	case *ast.ListLit:
		if len(x.Elts) != 1 {
			return true
		}
		e, ok := x.Elts[0].(*ast.Ellipsis)
		return !ok || e.Type != nil && constrains(e.Type)
	}
	return true
}

// isNever reports whether a comprehension is written not to apply.
func isNever(c *ast.Comprehension) bool {
	guard, ok := c.Clauses[0].(*ast.IfClause)
	if !ok || c.Fallback != nil {
		return false
	}
	lit, ok := guard.Condition.(*ast.BasicLit)
	return ok && lit.Kind == token.FALSE
}

// isPrivate reports whether label is the author's own: a hidden field or a
// definition, which the document cannot have.
func isPrivate(label ast.Label) bool {
	name, isIdent, err := ast.LabelName(label)
	return err == nil && isIdent && (strings.HasPrefix(name, "_") || strings.HasPrefix(name, "#"))
}
