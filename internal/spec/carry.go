package spec

import (
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/ast/astutil"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"
)

// carry rewrites every "\(x)-y" of a file into a string that also carries its
// parts:
//
//	{#parts: [x, "-y"], if "\(x)-y" != _|_ {"\(x)-y"}, if "\(x)-y" == _|_ {string}}
//
// If x is known this is an ordinary string in every respect. If it is not, CUE
// knows that it is some string, and the parts say which (docs/spec.md, rule 15).
// Labels stay as they are: what a field is called cannot wait for an apply.
func carry(f *ast.File) error {
	var failed error
	before := func(c astutil.Cursor) bool {
		switch n := c.Node().(type) {
		case *ast.ImportDecl, *ast.Attribute:
			return false
		case *ast.Interpolation:
			field, ok := c.Parent().Node().(*ast.Field)
			return !ok || field.Label != n
		}
		return true
	}
	after := func(c astutil.Cursor) bool {
		n, ok := c.Node().(*ast.Interpolation)
		if !ok || !before(c) {
			return true
		}
		carried, err := withParts(n)
		if err != nil {
			failed = err
		} else if carried != nil {
			c.Replace(carried)
		}
		return true
	}
	astutil.Apply(f, before, after)
	return failed
}

// withParts is an interpolation that carries its parts; nil for one of bytes, which
// no tool has.
func withParts(n *ast.Interpolation) (ast.Expr, error) {
	first, last := n.Elts[0].(*ast.BasicLit).Value, n.Elts[len(n.Elts)-1].(*ast.BasicLit).Value
	quotes, open, _, err := literal.ParseQuotes(first, last)
	if err != nil {
		return nil, err
	}
	if !quotes.IsDouble() {
		return nil, nil
	}
	parts := &ast.ListLit{}
	for i, e := range n.Elts {
		lit, isText := e.(*ast.BasicLit)
		if !isText || i%2 == 1 {
			parts.Elts = append(parts.Elts, e)
			continue
		}
		text := lit.Value
		if i == 0 {
			text = text[open:]
		} else {
			text = strings.TrimPrefix(text, ")")
		}
		plain, err := quotes.Unquote(text)
		if err != nil {
			return nil, err
		}
		parts.Elts = append(parts.Elts, &ast.BasicLit{ValuePos: e.Pos(), Kind: token.STRING, Value: literal.String.Quote(plain)})
	}
	return &ast.StructLit{Lbrace: n.Pos(), Elts: []ast.Decl{
		&ast.Field{Label: ast.NewIdent("#parts"), Value: parts},
		when(n, token.NEQ, n),
		when(n, token.EQL, ast.NewIdent("string")),
	}}, nil
}

// when is: if n op _|_ {value}.
func when(n ast.Expr, op token.Token, value ast.Expr) ast.Decl {
	return &ast.Comprehension{
		Clauses: []ast.Clause{&ast.IfClause{Condition: &ast.BinaryExpr{X: n, Op: op, Y: &ast.BottomLit{}}}},
		Value:   &ast.StructLit{Elts: []ast.Decl{&ast.EmbedDecl{Expr: value}}},
	}
}
