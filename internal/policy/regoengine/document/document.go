// Package document turns JSON into the document that Rego sees as its input,
// once for all rules, and only those parts of it that a policy can reach. It
// must not know what a policy says of it.
package document

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy/regoengine/reach"
	"github.com/assize-iac/assize/internal/problem"
)

// ListOfChanges is where the input of a plan has its changes. shape is the name
// that the plan stands under, "" or root for the root.
func ListOfChanges(shape string) []string {
	if wrapped(shape) {
		return []string{shape, "resource_changes"}
	}
	return []string{"resource_changes"}
}

func wrapped(shape string) bool { return shape != "" && shape != "root" }

// Of turns a text that has been found to be in order into the input, whole.
func Of(text []byte) (ast.Value, error) {
	return newReader(text).read(&reach.Tree{Whole: true})
}

// OfPlan turns a plan's text into the input, once for all rules: doing it again
// for each of them took conftest minutes (open-policy-agent/conftest#1347). What
// no rule can see is left out, for OPA needs some thirteen bytes of memory for
// each byte of text, and most of a big plan is looked at by few policies.
func OfPlan(p *plan.Plan, shape string, seen *reach.Tree) (ast.Value, error) {
	switch shape {
	case "", "root", "plan", "tfplan", "terraform":
	default:
		return nil, problem.New(api.Invalid, "could not judge: unknown input shape %q", shape).WithHint("shapes are root, plan, tfplan and terraform")
	}
	if wrapped(shape) {
		seen = seen.Member(shape)
	}
	if seen == nil {
		seen = &reach.Tree{}
	}
	r := newReader(p.Raw)
	r.apart = !slices.ContainsFunc(p.Changes, func(c plan.Change) bool { return c.Deposed != "" })
	input, err := r.read(seen)
	if err != nil || !wrapped(shape) {
		return input, err
	}
	return ast.NewObject(ast.Item(ast.StringTerm(shape), ast.NewTerm(input))), nil
}

// read reads the whole text, which holds an object.
func (r *reader) read(seen *reach.Tree) (ast.Value, error) {
	if r.dec.PeekKind() != '{' {
		return nil, problem.New(api.Invalid, "could not judge: the plan is no JSON object")
	}
	input, err := r.value(seen)
	if err != nil {
		return nil, problem.New(api.Invalid, "could not judge: reading the plan: %w", err)
	}
	return input.Value, nil
}

// A reader makes terms of a plan's text, in one pass and with no other form
// in between. It need not look for duplicate names or bad UTF-8, for
// plan.Decode has refused them.
type reader struct {
	dec *jsontext.Decoder
	// apart says that the address of a change is enough to tell it from all
	// others, and to put them in order.
	apart bool
	// scalars holds short texts and what they stand for: a large plan repeats a
	// few hundred of them a million times. Terms are not changed once made.
	scalars  map[string]*ast.Term
	items    [][2]*ast.Term // of the objects that are being read, innermost last
	elements []*ast.Term    // the same for lists
}

func newReader(text []byte) *reader {
	return &reader{
		dec:     jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
		scalars: map[string]*ast.Term{},
	}
}

func (r *reader) value(seen *reach.Tree) (*ast.Term, error) {
	switch r.dec.PeekKind() {
	case '{':
		return r.object(seen)
	case '[':
		return r.array(seen.Element())
	}
	return r.scalar()
}

func (r *reader) object(seen *reach.Tree) (*ast.Term, error) {
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, err
	}
	start := len(r.items)
	for r.dec.PeekKind() != '}' {
		name, err := r.scalar()
		if err != nil {
			return nil, err
		}
		member := r.member(seen, name)
		if member == nil {
			if err := r.dec.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		v, err := r.value(member)
		if err != nil {
			return nil, err
		}
		r.items = append(r.items, ast.Item(name, v))
	}
	object := ast.ObjectTerm(r.items[start:]...)
	r.items = r.items[:start]
	_, err := r.dec.ReadToken()
	return object, err
}

// member is what is seen of a member of an object. OPA puts objects in order by
// their first names, then by what has them, then by the names after those. The
// names up to address therefore decide how two changes with different
// addresses differ, whatever else they have.
func (r *reader) member(seen *reach.Tree, name *ast.Term) *reach.Tree {
	text, _ := name.Value.(ast.String) // names are nothing else
	if seen.Apart && (!r.apart || text <= "address") {
		return &reach.Tree{Whole: true}
	}
	return seen.Member(string(text))
}

func (r *reader) array(seen *reach.Tree) (*ast.Term, error) {
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, err
	}
	start := len(r.elements)
	for r.dec.PeekKind() != ']' {
		v, err := r.value(seen)
		if err != nil {
			return nil, err
		}
		r.elements = append(r.elements, v)
	}
	array := ast.ArrayTerm(slices.Clone(r.elements[start:])...)
	r.elements = r.elements[:start]
	_, err := r.dec.ReadToken()
	return array, err
}

const (
	maxShort  = 40      // bytes of a text that is worth looking up
	maxShorts = 1 << 14 // texts to remember: names, types, zones, and not every address
)

func (r *reader) scalar() (*ast.Term, error) {
	text, err := r.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	if term, ok := r.scalars[string(text)]; ok {
		return term, nil
	}
	v, err := scalar(text)
	if err != nil {
		return nil, err
	}
	term := ast.NewTerm(v)
	if len(text) <= maxShort && len(r.scalars) < maxShorts {
		r.scalars[string(text)] = term
	}
	return term, nil
}

// scalar gives numbers the one spelling of a plan and keeps them exact
// (docs/policy.md, rule 3); conftest rounds them to 53 bits, and a limit of
// 9007199254740992 lets 9007199254740993 pass. The spelling matters because
// sprintf shows it.
func scalar(text jsontext.Value) (ast.Value, error) {
	switch text.Kind() {
	case '"':
		plain, err := jsontext.AppendUnquote(nil, text)
		return ast.String(plain), err
	case '0':
		n, err := plan.Number(string(text))
		return ast.Number(n), err
	case 't', 'f':
		return ast.Boolean(text.Kind() == 't'), nil
	}
	return ast.Null{}, nil
}
