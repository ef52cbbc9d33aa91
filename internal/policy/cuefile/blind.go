package cuefile

import (
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"
)

// A Blind is a place that decides by an attribute without being a constraint on
// it, so that a value that is known only after apply is let pass (docs/policy.md,
// rule 32).
type Blind struct {
	Pos   token.Pos
	What  string   // what the place is, for a note
	Path  []string // from after or before down to the attribute; [Any] for any field or element
	Below bool     // what is unknown below the attribute matters as well
}

// Any stands in the path of a [Blind] for every field or element.
const Any = "*"

// Blinds finds guards that compare with ==, ask for presence, or hand an
// attribute to a function; loops over what may be unknown; len, which counts 1;
// and texts that are made of a value, which hold only the mark of it.
func (r *Rule) Blinds() []Blind {
	var out []Blind
	ast.Walk(r.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Comprehension:
			if asksKind(n) {
				return false
			}
			for _, clause := range n.Clauses {
				out = append(out, r.blindClause(clause)...)
			}
		case *ast.CallExpr:
			name := r.function(n.Fun)
			if isText := strings.Contains(name, ".Marshal"); name == "len" || isText {
				out = append(out, r.blindArguments(n, name, isText)...)
			}
		}
		return true
	}, nil)
	return out
}

func (r *Rule) blindArguments(call *ast.CallExpr, what string, below bool) (out []Blind) {
	for _, arg := range call.Args {
		if path := r.attribute(arg); path != nil {
			out = append(out, Blind{Pos: call.Pos(), What: what, Path: path, Below: below})
		}
	}
	return out
}

// blindClause is what in a clause does not hold of an unknown value. A !=
// between values is not meant: an unknown value differs from everything, so a
// guard with it lets it in; nor is == _|_.
func (r *Rule) blindClause(clause ast.Clause) (out []Blind) {
	if loop, ok := clause.(*ast.ForClause); ok {
		if path := r.attribute(loop.Source); path != nil {
			out = append(out, Blind{Pos: loop.For, What: "a loop", Path: path})
		}
		return out
	}
	guard, ok := clause.(*ast.IfClause)
	if !ok {
		return nil
	}
	ast.Walk(guard.Condition, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.BinaryExpr:
			for _, operand := range []ast.Expr{x.X, x.Y} {
				path := r.attribute(operand)
				switch isBottom := isBottom(x.X) || isBottom(x.Y); {
				case path == nil:
				case x.Op == token.EQL && !isBottom:
					out = append(out, Blind{Pos: guard.If, What: "an == guard", Path: path})
				case x.Op == token.NEQ && isBottom && len(path) > 1: // what is unknown itself is present
					out = append(out, Blind{Pos: guard.If, What: "a guard with != _|_", Path: path[:len(path)-1]})
				}
			}
		case *ast.CallExpr:
			if name := r.function(x.Fun); name != "" && name != "len" {
				out = append(out, r.blindArguments(x, "a guard with "+name, false)...)
			}
		}
		return true
	}, nil)
	return out
}

// callsError reports whether error(...) is called anywhere in x.
func callsError(x ast.Expr) (found bool) {
	ast.Walk(x, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if fn, ok := call.Fun.(*ast.Ident); ok && strings.TrimPrefix(fn.Name, "__") == "error" {
			found = true
		}
		return true
	}, nil)
	return found
}

// asksKind reports whether a guard asks first what kind of value it looks at,
// as in (after.x & string) != _|_. What is unknown is a struct. Where the
// question is about a value, as in (after.x & "bad") != _|_, nothing is asked.
func asksKind(c *ast.Comprehension) (asks bool) {
	for _, clause := range c.Clauses {
		ast.Walk(clause, func(n ast.Node) bool {
			b, ok := n.(*ast.BinaryExpr)
			if !ok || b.Op != token.NEQ || !isBottom(b.Y) {
				return true
			}
			paren, isParen := b.X.(*ast.ParenExpr)
			asks = asks || isParen && !hasLiteral(paren)
			return true
		}, nil)
	}
	return asks
}

func hasLiteral(x ast.Expr) (has bool) {
	ast.Walk(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IndexExpr:
			has = has || hasLiteral(n.X)
			return false
		case *ast.BasicLit:
			has = true
		}
		return !has
	}, nil)
	return has
}

func isBottom(x ast.Expr) bool {
	_, is := x.(*ast.BottomLit)
	return is
}

// attribute is the path from after or before on of what x begins at, or is an
// element of; nil for anything else.
func (r *Rule) attribute(x ast.Expr) []string {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return r.attribute(x.X)
	case *ast.SelectorExpr:
		name, _, _ := ast.LabelName(x.Sel)
		if path := r.attribute(x.X); path != nil {
			return append(slices.Clip(path), name)
		}
		return side(name)
	case *ast.IndexExpr:
		if path := r.attribute(x.X); path != nil {
			return append(slices.Clip(path), key(x.Index))
		}
		return side(key(x.Index))
	case *ast.BinaryExpr: // (after.x & "bad") != _|_
		if x.Op == token.AND {
			if path := r.attribute(x.X); path != nil {
				return append(slices.Clip(path), "")
			}
		}
	case *ast.Ident:
		if source, isExpr := r.sources[x.Node].(ast.Expr); isExpr && x.Node != nil {
			path := r.attribute(source)
			if _, isVariable := x.Node.(*ast.Ident); isVariable && path != nil { // of a loop
				return append(slices.Clip(path), Any)
			}
			return path
		}
		return side(x.Name)
	}
	return nil
}

func side(name string) []string {
	if name == "after" || name == "before" {
		return []string{name}
	}
	return nil
}

// key is what an index says, as far as it is written out.
func key(x ast.Expr) string {
	lit, ok := x.(*ast.BasicLit)
	if !ok {
		return Any
	}
	if text, err := literal.Unquote(lit.Value); err == nil {
		return text
	}
	return lit.Value
}
