package cuefile

import (
	"reflect"
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/assize-iac/assize/api"
)

// Marker is a definition, which no document has and no closed struct refuses.
const Marker = "#assizeMatched"

// A Sight is what a file looks at, as far as its text shows it plainly.
type Sight struct {
	Every   bool      // every change
	Guarded *ast.File // a copy whose guards leave a mark at the changes that they let in
	Lists   []string  // what else there may be many of: module calls, checks
}

// Watched is what r looks at. A file that mentions no field of the document
// looks at none. Where the text does not show it plainly, every change counts: a
// false alarm on a sound policy would teach people to overlook the true ones.
func (r *Rule) Watched() (s Sight) {
	file, err := parser.ParseFile(r.Path, r.data)
	if err != nil {
		return Sight{Every: true}
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.Field)
		switch {
		case !ok:
			s.Every = s.Every || isStatement(d)
		case isPrivate(f.Label):
		case template(f) != nil && mark(template(f)):
			s.Guarded = file
		default:
			name, _, err := ast.LabelName(f.Label)
			_, known := Field(reflect.TypeFor[api.Document](), name)
			if slices.Contains([]string{"modules", "checks", "deferred", "outputs"}, name) {
				s.Lists = append(s.Lists, name)
			} else if err != nil || known {
				s.Every = true
			}
		}
	}
	return s
}

// isStatement reports whether a declaration of a file can judge something.
func isStatement(d ast.Decl) bool {
	switch d.(type) {
	case *ast.Package, *ast.ImportDecl, *ast.CommentGroup, *ast.Attribute, *ast.LetClause:
		return false
	}
	return true
}

// mark puts a mark under every guard of a template, and reports false when the
// template says something outside guards, which is then about every change.
func mark(x ast.Expr) bool {
	t, ok := x.(*ast.StructLit)
	if !ok {
		return false
	}
	guards := 0
	for _, elt := range t.Elts {
		switch elt := elt.(type) {
		case *ast.CommentGroup, *ast.Attribute, *ast.LetClause:
		case *ast.Ellipsis:
			if elt.Type != nil {
				return false
			}
		case *ast.Field:
			if !isPrivate(elt.Label) && !isDeclaration(elt) {
				return false
			}
		case *ast.Comprehension:
			// A guard over error(...) is the rule itself: it looks at everything.
			body, ok := elt.Value.(*ast.StructLit)
			if !ok || elt.Fallback != nil || callsError(body) {
				return false
			}
			body.Elts = append(body.Elts, &ast.Field{Label: ast.NewIdent(Marker), Value: ast.NewBool(true)})
			guards++
		default:
			return false
		}
	}
	return guards > 0
}

// isDeclaration reports whether a field only lets guards read what every
// change has, so that it requires nothing.
func isDeclaration(f *ast.Field) bool {
	name, _, err := ast.LabelName(f.Label)
	if err != nil || f.Constraint != token.ILLEGAL {
		return false
	}
	value, ok := f.Value.(*ast.Ident)
	return ok && (value.Name == "string" || value.Name == "_") &&
		slices.Contains([]string{"addr", "mode", "type", "name", "action"}, name)
}
