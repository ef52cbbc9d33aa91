package cueengine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/token"
	cuejson "cuelang.org/go/encoding/json"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy/cuefile"
	"github.com/assize-iac/assize/internal/problem"
)

// The evaluator keeps everything it ever saw of a value: ten thousand changes
// take a gigabyte as one value, and a third of that in chunks. Smaller plans
// are as fast in one piece, and need no argument about what a chunk may hide.
const (
	wholeUpTo = 2000
	chunkSize = 250
)

// A document is one plan in the forms that judging needs: as the types that
// name its entries, as text, and as plain data. Of a large one, only what is
// being judged is there as data and as CUE syntax, which take many times the
// room of the text.
type document struct {
	plan      *plan.Plan
	doc       api.Document
	text      []byte
	changes   [][2]int       // where each change begins and ends in text
	data      map[string]any // the changes are nil but for those of the current part
	whole     *part          // made when the first policy needs it
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
	begin int // in the text of the part: where its changes begin,
	end   int // and end
	left  int // how many bytes of changes were left out before them,
	after int // and after them
}

// byteOrderMark is a character like any other in a string of JSON; in CUE's
// text it must be escaped.
var byteOrderMark = []byte("\ufeff")

func newDocument(p *plan.Plan) (*document, error) {
	d := &document{plan: p, doc: p.Document(p.Flags.Labels), wholeUpTo: wholeUpTo, chunkSize: chunkSize}
	d.text = bytes.ReplaceAll(p.DocumentJSON(p.Flags.Labels), byteOrderMark, []byte(`\ufeff`))
	d.unknown = bytes.Contains(d.text, []byte(`{"$unknown":true}`))
	if err := d.index(); err != nil {
		return nil, problem.New(api.Internal, "the plan document is no JSON object: %w", err)
	}
	if len(d.changes) != len(d.doc.Changes) {
		return nil, problem.New(api.Internal, "the plan document has no list of changes")
	}
	return d, nil
}

// index decodes everything but the changes, and finds where these are.
func (d *document) index() error {
	dec := json.NewDecoder(bytes.NewReader(d.text))
	dec.UseNumber()
	d.data = map[string]any{}
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		if name == "changes" {
			err = d.indexChanges(dec)
		} else {
			var v any
			err = dec.Decode(&v)
			d.data[name.(string)] = v
		}
		if err != nil {
			return err
		}
	}
	d.data["changes"] = make([]any, len(d.changes))
	return nil
}

func (d *document) indexChanges(dec *json.Decoder) error {
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		end := int(dec.InputOffset())
		d.changes = append(d.changes, [2]int{end - len(raw), end})
	}
	_, err := dec.Token()
	return err
}

// load decodes some changes, and forgets all others.
func (d *document) load(from, to int) {
	list := d.data["changes"].([]any)
	clear(list)
	for i := from; i < to; i++ {
		dec := json.NewDecoder(bytes.NewReader(d.text[d.changes[i][0]:d.changes[i][1]]))
		dec.UseNumber()
		if err := dec.Decode(&list[i]); err != nil {
			panic(err) // it was decoded before
		}
	}
}

// closeUnknowns makes every {"$unknown": true} a closed struct. Open, it would
// take whatever a policy adds: `id: deep: "x"` would hold of an unknown id
// (docs/policy.md, rule 30).
// __close cannot be captured by an attribute of the plan: labels that begin
// with an underscore stay quoted and are no identifiers.
func closeUnknowns(x ast.Expr) ast.Expr {
	switch x := x.(type) {
	case *ast.StructLit:
		if isUnknown(x) {
			return &ast.CallExpr{Fun: ast.NewIdent("__close"), Args: []ast.Expr{x}}
		}
		for _, elt := range x.Elts {
			if f, ok := elt.(*ast.Field); ok {
				f.Value = closeUnknowns(f.Value)
			}
		}
	case *ast.ListLit:
		for i, elt := range x.Elts {
			x.Elts[i] = closeUnknowns(elt)
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

// parts is the whole document as one value; or in chunks, when it is large and
// r says something about each change alone.
func (d *document) parts(r cuefile.Rule) iter.Seq2[part, error] {
	return func(yield func(part, error) bool) {
		if len(d.changes) <= d.wholeUpTo || !r.Elementwise() {
			if d.whole == nil {
				p, err := d.part(0, len(d.changes))
				if err != nil {
					yield(p, err)
					return
				}
				d.whole = &p
			}
			d.load(0, len(d.changes))
			yield(*d.whole, nil)
			return
		}
		for from := 0; from < len(d.changes); from += d.chunkSize {
			to := min(from+d.chunkSize, len(d.changes))
			d.load(from, to)
			if !yield(d.part(from, to)) {
				return
			}
		}
	}
}

// part is the document with only some of its changes. A context of its own lets
// the memory go.
func (d *document) part(from, to int) (part, error) {
	p := part{ctx: cuecontext.New(), from: from, count: to - from}
	text := d.text
	if p.count > 0 {
		begin, end := d.changes[from][0], d.changes[to-1][1]
		p.begin = d.changes[0][0]
		p.end = p.begin + end - begin
		p.left = begin - p.begin
		p.after = d.changes[len(d.changes)-1][1] - end
		text = slices.Concat(d.text[:p.begin], d.text[begin:end], d.text[end+p.after:])
	}
	// Extract, not CompileBytes: the latter adds a position of its own, and
	// encoding the data would turn integers into floats.
	x, err := cuejson.Extract(documentName, text)
	if err != nil {
		return p, problem.New(api.Internal, "the plan document is no CUE: %w", err)
	}
	p.value = p.ctx.BuildExpr(closeUnknowns(x))
	return p, nil
}

// documentName is what positions call the document.
const documentName = "plan"

// offset is that of a position in the whole text of its file.
func (p part) offset(pos token.Pos) int {
	n := pos.Offset()
	switch {
	case pos.Filename() != documentName || n < p.begin:
		return n
	case n < p.end:
		return n + p.left
	}
	return n + p.left + p.after
}

// position is a place as CUE prints it under an error. The document is one line.
func (p part) position(pos token.Pos) string {
	if pos.Filename() == documentName && pos.IsValid() {
		return fmt.Sprintf("%s:1:%d", documentName, p.offset(pos)+1)
	}
	return cuefile.Position(pos)
}
