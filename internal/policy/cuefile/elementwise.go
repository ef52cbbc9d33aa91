package cuefile

import (
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// Elementwise reports whether r is nothing but a template for every element of
// changes, and private helpers that do not look at the list. Only then does
// judging the list in pieces say the same.
func (r *Rule) Elementwise() bool {
	templates := 0
	for _, d := range r.file.Decls {
		switch d := d.(type) {
		case *ast.Package, *ast.ImportDecl, *ast.CommentGroup, *ast.LetClause:
		case *ast.Field:
			if template(d) != nil {
				templates++
			} else if !isPrivate(d.Label) {
				return false
			}
		default:
			return false
		}
	}
	return templates > 0 && templates == r.mentions("changes")
}

// mentions counts the identifiers called name, labels included. It errs on the
// side of more: a text that only says "changes" keeps the plan in one piece.
func (r *Rule) mentions(name string) (n int) {
	ast.Walk(r.file, func(node ast.Node) bool {
		switch x := node.(type) {
		case *ast.Ident:
			if x.Name == name {
				n++
			}
		case *ast.BasicLit:
			if label, _, _ := ast.LabelName(x); label == name {
				n++
			}
		}
		return true
	}, nil)
	return n
}

// template is T when f is plainly `changes: [...T]`, else nil. Any other way to
// write it may say something about the list, such as how long it is.
func template(f *ast.Field) ast.Expr {
	if _, isAlias := f.Label.(*ast.Alias); isAlias {
		return nil // the list can be looked at under another name
	}
	name, _, err := ast.LabelName(f.Label)
	list, ok := f.Value.(*ast.ListLit)
	if err != nil || name != "changes" || f.Constraint != token.ILLEGAL || f.Alias != nil || !ok || len(list.Elts) != 1 {
		return nil
	}
	if e, ok := list.Elts[0].(*ast.Ellipsis); ok {
		return e.Type
	}
	return nil
}
