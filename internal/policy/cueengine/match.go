package cueengine

import (
	"reflect"
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/assize-iac/assize/api"
)

// marker is a definition, which no document has and no closed struct refuses.
const marker = "#assizeMatched"

// match adds the changes of p that r looks at, for a green that judged nothing
// should look like one (docs/policy.md, rule 2): where everything a template says stands under
// guards, a change counts when a guard lets it in. The guards are watched in a
// copy of the policy, so that watching cannot change the verdict.
func (r *rule) match(o *outcome, p part) {
	guarded, looks := r.watched()
	if !looks {
		return
	}
	var result cue.Value
	if guarded != nil {
		result = p.value.Unify(p.ctx.BuildFile(guarded))
	}
	for i := range p.count {
		if guarded == nil || isMarked(result, i) {
			o.matched[p.from+i] = true
		}
	}
}

// isMarked counts a change in error as looked at: something found the error.
func isMarked(result cue.Value, i int) bool {
	change := result.LookupPath(cue.MakePath(cue.Str("changes"), cue.Index(i)))
	return change.Err() != nil || change.LookupPath(cue.MakePath(cue.Def(marker))).Exists()
}

// watched is a copy of r whose guards leave a mark, or nil when r looks at
// every change. A file that mentions no field of the document looks at none.
// Where the text does not show it plainly, every change counts: a false alarm
// on a sound policy would teach people to overlook the true ones.
func (r *rule) watched() (guarded *ast.File, looks bool) {
	file, err := parser.ParseFile(r.path, r.data)
	if err != nil {
		return nil, true
	}
	templates := 0
	for _, d := range file.Decls {
		f, ok := d.(*ast.Field)
		switch {
		case !ok && isStatement(d):
			return nil, true
		case !ok || isPrivate(f.Label):
		case template(f) != nil && mark(template(f)):
			templates++
		default:
			name, _, err := ast.LabelName(f.Label)
			if _, known := jsonField(reflect.TypeFor[api.Document](), name); err != nil || known {
				return nil, true
			}
		}
	}
	if templates == 0 {
		return nil, false
	}
	return file, true
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
			body.Elts = append(body.Elts, &ast.Field{Label: ast.NewIdent(marker), Value: ast.NewBool(true)})
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
