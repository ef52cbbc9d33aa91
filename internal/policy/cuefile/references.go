package cuefile

import (
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// LeadsOut reports whether the field that stands at a position mentions, by
// whatever helpers, a regular field outside of the helper that it is part of.
func (r *Rule) LeadsOut(pos token.Pos) bool {
	var outer, inner *ast.Field
	ast.Walk(r.file, func(n ast.Node) bool {
		f, isField := n.(*ast.Field)
		if !isField || !encloses(f, pos) {
			return true
		}
		if inner = f; outer == nil && isPrivate(f.Label) {
			outer = f
		}
		return true
	}, nil)
	return outer == nil || r.leads(inner.Value, outer, map[ast.Node]bool{})
}

// HandsOver reports whether a helper on the path, which looks at the document,
// is in error for what stands elsewhere: in a template that it fills in.
func (r *Rule) HandsOver(path []string, pos token.Pos) (hands bool) {
	ast.Walk(r.file, func(n ast.Node) bool {
		f, isField := n.(*ast.Field)
		if !isField || !isPrivate(f.Label) {
			return true
		}
		name, _, _ := ast.LabelName(f.Label)
		if slices.Contains(path, name) && !encloses(f, pos) && r.leads(f.Value, f, map[ast.Node]bool{}) {
			hands = true
		}
		return true
	}, nil)
	return hands
}

func encloses(n ast.Node, pos token.Pos) bool {
	return pos.IsValid() && n.Pos().Offset() <= pos.Offset() && pos.Offset() < n.End().Offset()
}

// Computes reports whether the field that stands at a position makes its value
// of the document.
func (r *Rule) Computes(pos token.Pos) bool {
	var inner *ast.Field
	ast.Walk(r.file, func(n ast.Node) bool {
		if f, isField := n.(*ast.Field); isField && encloses(f, pos) {
			inner = f
		}
		return true
	}, nil)
	return inner != nil && r.leads(inner.Value, inner, map[ast.Node]bool{})
}

// Takes reports whether the expression at a position, or that of the field
// there, is a part of the document as it stands, or what a function read from
// one: a reference or a call.
func (r *Rule) Takes(pos token.Pos) (takes bool) {
	ast.Walk(r.file, func(n ast.Node) bool {
		if takes || !encloses(n, pos) {
			return false
		}
		x, isExpr := n.(ast.Expr)
		if f, isField := n.(*ast.Field); isField {
			x, isExpr = f.Value, true
		}
		if isExpr && n.Pos().Offset() == pos.Offset() {
			switch x.(type) {
			case *ast.Ident, *ast.SelectorExpr, *ast.IndexExpr, *ast.CallExpr:
				takes = r.leads(x, x, map[ast.Node]bool{})
			}
		}
		return true
	}, nil)
	return takes
}

func (r *Rule) leads(n, helper ast.Node, seen map[ast.Node]bool) (out bool) {
	ast.Walk(n, func(n ast.Node) bool {
		name, isIdent := n.(*ast.Ident)
		if !isIdent || name.Node == nil || out || seen[name.Node] {
			return !out
		}
		seen[name.Node] = true
		origin := r.sources[name.Node]
		if f, isField := origin.(*ast.Field); isField {
			out = !isPrivate(f.Label) && !encloses(helper, f.Pos())
			origin = f.Value
		}
		out = out || origin != nil && r.leads(origin, helper, seen)
		return true
	}, nil)
	return out
}

// origins are where what an identifier refers to comes from: the whole field,
// or the expression behind a let clause or a loop's variable.
func origins(file *ast.File) map[ast.Node]ast.Node {
	out := map[ast.Node]ast.Node{}
	ast.Walk(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			out[n], out[n.Value] = n, n
			if alias, ok := n.Value.(*ast.Alias); ok {
				out[alias.Expr] = n
			}
		case *ast.LetClause:
			out[n], out[n.Ident] = n.Expr, n.Expr
		case *ast.Alias:
			out[n] = n.Expr
		case *ast.ForClause:
			out[n.Value] = n.Source
			if n.Key != nil {
				out[n.Key] = n.Source
			}
		}
		return true
	}, nil)
	return out
}
