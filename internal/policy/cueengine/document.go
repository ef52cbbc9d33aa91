package cueengine

import (
	"bytes"
	"encoding/json"
	"iter"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/token"
	cuejson "cuelang.org/go/encoding/json"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/problem"
)

// The evaluator keeps everything it ever saw of a value: ten thousand changes
// take a gigabyte as one value, and a third of that in chunks. Smaller plans
// are as fast in one piece, and need no argument about what a chunk may hide.
const (
	wholeUpTo = 2000
	chunkSize = 250
)

// A document is one plan in the three forms that judging needs: as the types
// that name its changes, as plain data, and as CUE syntax.
type document struct {
	plan      *plan.Plan
	changes   []api.Change
	data      map[string]any
	syntax    *ast.StructLit
	list      *ast.ListLit // the value of changes in syntax
	whole     *part        // made when the first policy needs it
	wholeUpTo int
	chunkSize int
	unknown   bool // some value is known only after apply
}

// A part is the document, or as much of it as a chunk shows.
type part struct {
	ctx   *cue.Context
	value cue.Value
	from  int // the index of the first change in the whole list
	count int
}

func newDocument(p *plan.Plan) (*document, error) {
	text := p.DocumentJSON(plan.Labels{})
	d := &document{plan: p, changes: p.Document(plan.Labels{}).Changes, wholeUpTo: wholeUpTo, chunkSize: chunkSize}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&d.data); err != nil {
		return nil, problem.New(api.Internal, "the plan document is no JSON object: %w", err)
	}
	// Extract, not CompileBytes: the latter adds a position of its own, and
	// encoding the data would turn integers into floats.
	x, err := cuejson.Extract("plan", text)
	if err != nil {
		return nil, problem.New(api.Internal, "the plan document is no CUE: %w", err)
	}
	d.syntax, _ = d.closeUnknowns(x).(*ast.StructLit)
	if field := changesField(d.syntax); field != nil {
		d.list, _ = field.Value.(*ast.ListLit)
	}
	if d.list == nil || len(d.list.Elts) != len(d.changes) {
		return nil, problem.New(api.Internal, "the plan document has no list of changes")
	}
	return d, nil
}

// closeUnknowns makes every {"$unknown": true} a closed struct. Open, it would
// take whatever a policy adds: `id: deep: "x"` would hold of an unknown id
// (docs/policy.md, rule 30).
// __close cannot be captured by an attribute of the plan: labels that begin
// with an underscore stay quoted and are no identifiers.
func (d *document) closeUnknowns(x ast.Expr) ast.Expr {
	switch x := x.(type) {
	case *ast.StructLit:
		if isUnknown(x) {
			d.unknown = true
			return &ast.CallExpr{Fun: ast.NewIdent("__close"), Args: []ast.Expr{x}}
		}
		for _, elt := range x.Elts {
			if f, ok := elt.(*ast.Field); ok {
				f.Value = d.closeUnknowns(f.Value)
			}
		}
	case *ast.ListLit:
		for i, elt := range x.Elts {
			x.Elts[i] = d.closeUnknowns(elt)
		}
	}
	return x
}

func isUnknown(s *ast.StructLit) bool {
	if len(s.Elts) != 1 {
		return false
	}
	f, ok := s.Elts[0].(*ast.Field)
	if !ok {
		return false
	}
	name, _, _ := ast.LabelName(f.Label)
	value, _ := f.Value.(*ast.BasicLit)
	return name == "$unknown" && value != nil && value.Kind == token.TRUE
}

// changesField is the top-level field changes; those of the same name further
// down are attributes.
func changesField(s *ast.StructLit) *ast.Field {
	if s == nil {
		return nil
	}
	for _, elt := range s.Elts {
		if f, ok := elt.(*ast.Field); ok {
			if name, _, _ := ast.LabelName(f.Label); name == "changes" {
				return f
			}
		}
	}
	return nil
}

// parts is the whole document as one value; or in chunks, when it is large and
// r says something about each change alone.
func (d *document) parts(r rule) iter.Seq[part] {
	return func(yield func(part) bool) {
		if len(d.changes) <= d.wholeUpTo || !r.elementwise() {
			if d.whole == nil {
				ctx := cuecontext.New()
				d.whole = &part{ctx: ctx, value: ctx.BuildExpr(d.syntax), count: len(d.changes)}
			}
			yield(*d.whole)
			return
		}
		for from := 0; from < len(d.changes); from += d.chunkSize {
			if !yield(d.chunk(from, min(from+d.chunkSize, len(d.changes)))) {
				return
			}
		}
	}
}

// chunk is the document with only some of its changes. A context of its own
// lets the memory go; the syntax is shared, so that positions stay those of
// the whole text.
func (d *document) chunk(from, to int) part {
	s := &ast.StructLit{Lbrace: d.syntax.Lbrace, Rbrace: d.syntax.Rbrace}
	for _, elt := range d.syntax.Elts {
		if f, ok := elt.(*ast.Field); ok && f.Value == ast.Expr(d.list) {
			list := *d.list
			list.Elts = d.list.Elts[from:to]
			field := *f
			field.Value = &list
			elt = &field
		}
		s.Elts = append(s.Elts, elt)
	}
	ctx := cuecontext.New()
	return part{ctx: ctx, value: ctx.BuildExpr(s), from: from, count: to - from}
}

// elementwise reports whether r is nothing but a template for every element of
// changes, and private helpers that do not look at the list. Only then does
// judging the list in pieces say the same.
func (r *rule) elementwise() bool {
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
func (r *rule) mentions(name string) (n int) {
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
