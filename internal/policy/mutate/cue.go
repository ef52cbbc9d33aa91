package mutate

import (
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/assize-iac/assize/internal/policy"
)

// cueEdits are the ways to weaken a file in CUE. CUE has no rules inside a file:
// the file is the rule.
func cueEdits(f policy.File) ([]edit, error) {
	file, err := parser.ParseFile(f.Name, f.Data, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	r := cueReader{text: string(f.Data), rule: strings.TrimSuffix(f.Name, ".cue")}
	r.declarations(file.Decls, statements(file.Decls) > 1)
	return r.edits, nil
}

type cueReader struct {
	text  string
	rule  string
	edits []edit
}

func (r *cueReader) replace(n ast.Node, with, change string) {
	pos := n.Pos()
	r.edits = append(r.edits, edit{from: pos.Offset(), to: n.End().Offset(), with: with, line: pos.Line(), rule: r.rule, change: change})
}

func (r *cueReader) source(n ast.Node) string { return r.text[n.Pos().Offset():n.End().Offset()] }

// statements counts what says something.
func statements(decls []ast.Decl) (n int) {
	for _, d := range decls {
		switch d.(type) {
		case *ast.Package, *ast.ImportDecl, *ast.CommentGroup, *ast.Attribute, *ast.LetClause, *ast.Ellipsis:
		default:
			n++
		}
	}
	return n
}

// declarations edits what stands between two braces, or in a file. What is the
// only statement of a file is not dropped: the file would not load.
func (r *cueReader) declarations(decls []ast.Decl, droppable bool) {
	for _, d := range decls {
		switch d := d.(type) {
		case *ast.Field:
			r.field(d, droppable)
		case *ast.EmbedDecl:
			r.value(d.Expr)
		case *ast.Comprehension:
			r.comprehension(d)
		case *ast.LetClause:
			r.comparisons(d.Expr)
		case *ast.Ellipsis:
			if d.Type != nil {
				r.value(d.Type)
			}
		}
	}
}

// field drops a field, misspells its label and weakens its value. A field such
// as type: string is there to be read by guards: it says nothing of its own.
func (r *cueReader) field(f *ast.Field, droppable bool) {
	name, _, err := ast.LabelName(f.Label)
	private := err != nil || strings.HasPrefix(name, "_") || strings.HasPrefix(name, "#")
	if _, declares := f.Value.(*ast.Ident); declares && !private {
		return
	}
	if !private {
		if droppable {
			// Not cut out: what it refers to must stay in use, or the file would not load.
			r.replace(f, "if false {"+r.source(f)+"}", "dropped "+brief(r.source(f)))
		}
		label := r.source(f.Label)
		r.replace(f.Label, misspelt(label), "changed "+label+" to "+misspelt(label)+" in "+brief(r.source(f)))
	}
	r.value(f.Value)
}

// value weakens a constraint: part by part where it has parts.
func (r *cueReader) value(x ast.Expr) {
	switch x := x.(type) {
	case *ast.StructLit:
		r.declarations(x.Elts, x.Lbrace.IsValid())
	case *ast.ListLit:
		for _, elt := range x.Elts {
			if e, ok := elt.(*ast.Ellipsis); ok && e.Type != nil {
				r.value(e.Type)
			} else if !ok {
				r.value(elt)
			}
		}
	case *ast.ParenExpr:
		r.value(x.X)
	case *ast.BinaryExpr:
		if x.Op == token.AND || x.Op == token.OR {
			r.value(x.X)
			r.value(x.Y)
			return
		}
		r.comparisons(x)
	case *ast.UnaryExpr:
		r.bound(x)
	case *ast.BasicLit:
		if x.Kind != token.NULL {
			r.widen(x, kindOf(x))
		}
	case *ast.Comprehension:
		r.comprehension(x)
	default:
		r.comparisons(x)
	}
}

// bound turns a bound round and widens it to all values of its kind.
func (r *cueReader) bound(x *ast.UnaryExpr) {
	op := opposite(x.Op.String())
	if op == "" {
		r.widen(x, kindOf(x.X))
		return
	}
	written := op + r.source(x.X)
	if op == "==" {
		written = r.source(x.X)
	}
	r.replace(x, written, "turned "+brief(r.source(x))+" into "+brief(written))
	r.widen(x, kindOf(x.X))
}

func (r *cueReader) widen(x ast.Expr, kind string) {
	r.replace(x, kind, "widened "+brief(r.source(x))+" to "+kind)
}

// kindOf is the type of a literal, and of everything else, any.
func kindOf(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.UnaryExpr: // a sign
		return kindOf(x.X)
	case *ast.Interpolation:
		return "string"
	case *ast.BasicLit:
		switch x.Kind {
		case token.STRING:
			return "string"
		case token.INT, token.FLOAT:
			return "number"
		case token.TRUE, token.FALSE:
			return "bool"
		}
	}
	return "_"
}

// comprehension makes guards false, and edits them and what they guard.
func (r *cueReader) comprehension(c *ast.Comprehension) {
	for _, clause := range c.Clauses {
		if guard, ok := clause.(*ast.IfClause); ok {
			r.replace(guard.Condition, "false && ("+r.source(guard.Condition)+")", "turned the guard "+brief(r.source(guard.Condition))+" into false")
			r.comparisons(guard.Condition)
		}
	}
	r.value(c.Value)
}

// comparisons turns each comparison in an expression round, and misspells the
// strings that something is compared with.
func (r *cueReader) comparisons(x ast.Expr) {
	ast.Walk(x, func(n ast.Node) bool {
		b, ok := n.(*ast.BinaryExpr)
		if !ok {
			return true
		}
		op := opposite(b.Op.String())
		if op == "" {
			return true
		}
		at := b.OpPos.Offset()
		r.edits = append(r.edits, edit{
			from: at, to: at + len(b.Op.String()), with: op, line: b.OpPos.Line(), rule: r.rule,
			change: "turned " + b.Op.String() + " into " + op + " in " + brief(r.source(b)),
		})
		for _, side := range []ast.Expr{b.X, b.Y} {
			if lit, ok := side.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				r.replace(lit, misspelt(lit.Value), "turned "+brief(lit.Value)+" into "+brief(misspelt(lit.Value)))
			}
		}
		return true
	}, nil)
}
