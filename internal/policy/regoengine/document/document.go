// Package document turns JSON into the document that Rego sees as its input,
// once for all rules, and only those parts of it that a policy can reach. It
// must not know what a policy says of it.
package document

import (
	"bytes"
	"encoding/json"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/problem"
)

// Keys are the top-level keys of the plan that a policy can reach. Half of a
// big plan is planned_values and prior_state, which few policies look at, and
// OPA needs some thirteen bytes of memory for each byte of text.
type Keys struct {
	all   bool
	names map[string]bool
}

// Everything is every key.
func Everything() Keys { return Keys{all: true} }

// Reachable collects the keys that the compiled modules refer to by name. Any
// other use of input (walk(input), input[x], object.get(input, ...)) may reach
// everything. It must never leave out what a policy can see: a value that is
// missing is no finding. The compiler has resolved imports and aliases by then,
// and moved references out of rule heads, so every use of input is a reference
// that begins with it.
func Reachable(c *ast.Compiler, shape string) Keys {
	k := Keys{names: map[string]bool{}}
	var visitor *ast.GenericVisitor
	visitor = ast.NewGenericVisitor(func(x any) bool {
		switch x := x.(type) {
		case ast.Ref:
			if !x.HasPrefix(ast.InputRootRef) {
				return false
			}
			k.add(x[1:], shape)
			for _, t := range x[1:] {
				visitor.Walk(t)
			}
			return true
		case ast.Var: // not in a reference, which the case above does not descend to
			k.all = k.all || x.Equal(ast.InputRootDocument.Value)
		}
		return false
	})
	for _, m := range c.Modules {
		visitor.Walk(m)
	}
	return k
}

// add notes one reference below input. Where the plan is wrapped, the first
// step is the wrapper's name.
func (k *Keys) add(path ast.Ref, shape string) {
	if wrapped(shape) && len(path) > 0 {
		name, ok := path[0].Value.(ast.String)
		if ok && string(name) != shape {
			return // undefined: nothing but the plan is below input
		}
		if ok {
			path = path[1:]
		} else {
			path = nil
		}
	}
	if len(path) == 0 {
		k.all = true
		return
	}
	name, ok := path[0].Value.(ast.String)
	if !ok {
		k.all = true
		return
	}
	k.names[string(name)] = true
}

func (k Keys) has(name string) bool { return k.all || k.names[name] }

func wrapped(shape string) bool { return shape != "" && shape != "root" }

// Read turns a text that has been found to be in order, a plan's or a policy
// input's, into the input, once for all rules: doing it again for each of them
// took conftest minutes (open-policy-agent/conftest#1347). shape is the name that
// it stands under, "" or root for the root.
func Read(raw []byte, shape string, want Keys) (ast.Value, error) {
	switch shape {
	case "", "root", "plan", "tfplan", "terraform":
	default:
		return nil, problem.New(api.Invalid, "could not judge: unknown input shape %q", shape).WithHint("shapes are root, plan, tfplan and terraform")
	}
	r := reader{json.NewDecoder(bytes.NewReader(raw))}
	r.dec.UseNumber()
	if tok, err := r.dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, problem.New(api.Invalid, "could not judge: the plan is no JSON object")
	}
	input, err := r.object(3, want.has)
	if err != nil {
		return nil, problem.New(api.Invalid, "could not judge: reading the plan: %w", err)
	}
	if wrapped(shape) {
		input = ast.NewObject(ast.Item(ast.StringTerm(shape), ast.NewTerm(input)))
	}
	return input, nil
}

// A reader reads values piece by piece down to some depth, so that the decoder
// buffers one resource at a time and not the whole list of them: for the text of
// resource_changes alone that would be a second copy of half of a plan. It need
// not look for duplicate keys or bad UTF-8, for plan.Decode has refused them.
type reader struct{ dec *json.Decoder }

func (r reader) value(depth int) (ast.Value, error) {
	if depth == 0 {
		var v any
		if err := r.dec.Decode(&v); err != nil {
			return nil, err
		}
		return convert(v)
	}
	tok, err := r.dec.Token()
	switch {
	case err != nil:
		return nil, err
	case tok == json.Delim('{'):
		return r.object(depth, func(string) bool { return true })
	case tok == json.Delim('['):
		return r.array(depth)
	}
	return convert(tok)
}

// object reads what follows a brace.
func (r reader) object(depth int, want func(string) bool) (ast.Value, error) {
	var items [][2]*ast.Term
	for r.dec.More() {
		tok, err := r.dec.Token()
		if err != nil {
			return nil, err
		}
		key, _ := tok.(string) // the decoder accepts nothing else here
		if !want(key) {
			if err := r.dec.Decode(&skipped{}); err != nil {
				return nil, err
			}
			continue
		}
		v, err := r.value(depth - 1)
		if err != nil {
			return nil, err
		}
		items = append(items, ast.Item(ast.StringTerm(key), ast.NewTerm(v)))
	}
	_, err := r.dec.Token()
	return ast.NewObject(items...), err
}

// array reads what follows a bracket.
func (r reader) array(depth int) (ast.Value, error) {
	var elements []*ast.Term
	for r.dec.More() {
		v, err := r.value(depth - 1)
		if err != nil {
			return nil, err
		}
		elements = append(elements, ast.NewTerm(v))
	}
	_, err := r.dec.Token()
	return ast.NewArray(elements...), err
}

// skipped is a value that is read and not kept.
type skipped struct{}

func (*skipped) UnmarshalJSON([]byte) error { return nil }

// convert gives numbers the one spelling of a plan and keeps them exact
// (docs/policy.md, rule 3); conftest rounds them to 53 bits, and a limit of
// 9007199254740992 lets 9007199254740993 pass. The spelling matters because
// sprintf shows it.
func convert(v any) (ast.Value, error) {
	v, err := spelt(v)
	if err != nil {
		return nil, err
	}
	return ast.InterfaceToValue(v)
}

func spelt(v any) (any, error) {
	var err error
	switch x := v.(type) {
	case json.Number:
		return plan.Number(string(x))
	case []any:
		for i := range x {
			if x[i], err = spelt(x[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range x {
			if x[key], err = spelt(x[key]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
