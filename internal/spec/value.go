package spec

import (
	"encoding/json"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
)

// expression is what stands for a value of CUE; nil if it is not set. at is the address
// of the place that the value stands in, "" where it has none: a value that knows
// no other address than its own is no reference.
func (c *compiler) expression(v cue.Value, at string) (expression, error) {
	if unplaced(v) {
		return nil, c.src.wrong(v, "it refers to a resource that no field of the specification holds, so that nobody makes it").
			WithHint("put the resource into a regular field: what a hidden field, a definition or a let holds is not made")
	}
	refs := references(v, at)
	if len(refs) > 0 {
		ref, err := c.nearest(v, refs)
		if err != nil {
			return nil, err
		}
		c.refer(ref, v)
		return address(ref), nil
	}
	if call := called(v); call.Exists() {
		return c.call(v, call)
	}
	if parts := v.LookupPath(cue.MakePath(cue.Def("parts"))); parts.Exists() {
		return c.template(v, parts)
	}
	if err := v.Err(); err != nil {
		return nil, c.src.refuse(err)
	}
	switch v.IncompleteKind() {
	case cue.ListKind:
		return c.list(v)
	case cue.StructKind:
		return c.fields(v, at)
	}
	if !v.IsConcrete() {
		return nil, nil
	}
	if s, err := v.String(); err == nil {
		return plain(s), nil
	}
	data, err := v.MarshalJSON()
	return atom(data), err
}

// references are the addresses that a value carries besides that of its own place.
func references(v cue.Value, own string) []string {
	refs := beside(v, "refs")
	if !refs.Exists() {
		return nil
	}
	return slices.DeleteFunc(keys(refs), func(ref string) bool {
		return ref == own || strings.HasPrefix(ref, nowhere) || strings.HasPrefix(ref, "one("+nowhere)
	})
}

// called is the call of a function of the tool that makes a value; it does not exist for
// any other value.
func called(v cue.Value) cue.Value { return beside(v, "call") }

// beside is a definition beside a value, also where it is still one of two.
func beside(v cue.Value, definition string) cue.Value {
	path := cue.MakePath(cue.Def(definition))
	if found := v.LookupPath(path); found.Exists() {
		return found
	}
	return either(v).LookupPath(path)
}

// unplaced reports whether a value is to come from a resource without an address. The
// name of that reference cannot be told, and CUE does not list it among the others.
func unplaced(v cue.Value) bool {
	refs := v.LookupPath(cue.MakePath(cue.Def("refs")))
	return refs.Exists() && refs.Err() != nil && !v.IsConcrete()
}

// either is a collection that the provider fills in, which is one of two, itself or
// null, until something asks which.
func either(v cue.Value) cue.Value {
	switch v.IncompleteKind() {
	case cue.NullKind | cue.ListKind:
		return v.Unify(cuecontext.New().CompileString("[...]"))
	case cue.NullKind | cue.StructKind:
		return v.Unify(cuecontext.New().CompileString("{...}"))
	}
	return v
}

// nearest is of several references the one whose own value carries all others:
// c: b.prefix carries that of b, and that of a, from which b has it. If there is
// none, two values that are known only after apply were unified, and nothing shows
// before that they are equal.
func (c *compiler) nearest(v cue.Value, refs []string) (string, error) {
	if len(refs) == 1 {
		return refs[0], nil
	}
	for _, ref := range refs {
		carried := references(c.lookup(ref), "")
		if !slices.ContainsFunc(refs, func(r string) bool { return !slices.Contains(carried, r) }) {
			return ref, nil
		}
	}
	slices.Sort(refs)
	return "", c.src.wrong(v, "it unifies values that are known only after apply: %s", strings.Join(refs, ", ")).
		WithHint("nothing shows before an apply that they are equal; use one of them, or compare them in a policy on the plan")
}

// lookup is the value at an address of the tool.
func (c *compiler) lookup(ref string) cue.Value {
	item, path := c.resolve(ref)
	if item == nil {
		return cue.Value{}
	}
	return item.value.LookupPath(cue.MakePath(path...))
}

// call is the value that one of the tool's functions returns.
func (c *compiler) call(v, call cue.Value) (expression, error) {
	name, _ := call.LookupPath(cue.ParsePath("name")).String()
	it, err := call.LookupPath(cue.ParsePath("args")).List()
	if err != nil {
		return nil, c.src.refuse(err)
	}
	var args []string
	for it.Next() {
		arg, err := c.argument(it.Value())
		if err != nil {
			return nil, err
		}
		args = append(args, arg.code())
	}
	if err := c.counted(v, name, len(args)); err != nil {
		return nil, err
	}
	return code(name + "(" + strings.Join(args, ", ") + ")"), nil
}

// counted refuses a call with more or fewer arguments than the function takes.
func (c *compiler) counted(v cue.Value, name string, given int) error {
	f := c.tools.Functions[name]
	if f == nil {
		return nil
	}
	least, takes := len(f.Parameters), []string{}
	for _, p := range f.Parameters {
		takes = append(takes, p.Name)
	}
	if f.Variadic != nil {
		takes = append(takes, f.Variadic.Name+"...")
	}
	if given >= least && (f.Variadic != nil || given == least) {
		return nil
	}
	return c.src.wrong(v, "%s is called with %d arguments, and takes %d", name, given, least).
		WithHint("write (tofu.#%s & {#args: [%s]}).result", name, strings.Join(takes, ", "))
}

// argument is a value that must be there.
func (c *compiler) argument(v cue.Value) (expression, error) {
	e, err := c.expression(v, "")
	if err == nil && e == nil {
		return nil, c.src.wrong(v, "the value is needed here, and it has none").
			WithHint("give it a value: what stands there is only a type or a constraint")
	}
	return e, err
}

// template is an interpolation: plain text if all of it is known.
func (c *compiler) template(v, parts cue.Value) (expression, error) {
	it, err := parts.List()
	if err != nil {
		return nil, c.src.refuse(err)
	}
	var all template
	for it.Next() {
		e, err := c.argument(it.Value())
		if err != nil {
			return nil, err
		}
		switch e := e.(type) {
		case template:
			all = append(all, e...)
		case atom:
			all = append(all, plain(e))
		case plain, code:
			all = append(all, e)
		default:
			return nil, c.src.wrong(it.Value(), "a list or a struct cannot stand in a text").
				WithHint("of a resource, take an attribute, as in \\(name.id); of a list, what tofu.#join or tofu.#jsonencode makes of it")
		}
	}
	if s, err := v.String(); err == nil && !slices.ContainsFunc(all, func(e expression) bool { _, is := e.(code); return is }) {
		return plain(s), nil
	}
	return all, nil
}

func (c *compiler) list(v cue.Value) (expression, error) {
	if !v.IsConcrete() {
		return nil, nil
	}
	it, err := v.List()
	if err != nil {
		return nil, c.src.refuse(err)
	}
	all := tuple{}
	for it.Next() {
		e, err := c.expression(it.Value(), "")
		if err != nil {
			return nil, err
		}
		all = append(all, orNull(e))
	}
	if len(all) == 0 && len(references(v, "")) > 0 && v.LookupPath(cue.MakePath(cue.AnyIndex)).Exists() {
		return nil, nil // open, and nobody has put anything in
	}
	return all, nil
}

// fields is a map or an object. A field that has no value is null; if none has one,
// and all are for the provider to decide, nobody has set anything.
func (c *compiler) fields(v cue.Value, at string) (expression, error) {
	it, err := v.Fields()
	if err != nil {
		return nil, c.src.refuse(err)
	}
	all, set, decided := object{}, false, true
	for it.Next() {
		name := it.Selector().Unquoted()
		own := ""
		if at != "" {
			own = inside(it.Value(), at, name)
		}
		e, err := c.expression(it.Value(), own)
		if err != nil {
			return nil, err
		}
		set = set || e != nil
		decided = decided && own == at+"."+name && it.Value().LookupPath(cue.MakePath(cue.Def("refs"))).Exists()
		all[name] = orNull(e)
	}
	if !set && at != "" && len(all) > 0 && decided {
		return nil, nil
	}
	return all, nil
}

// inside is the address of a field: an attribute of an object, or an entry of a map.
func inside(v cue.Value, at, name string) string {
	refs := v.LookupPath(cue.MakePath(cue.Def("refs")))
	if entry := addressOf(at, name); refs.LookupPath(cue.MakePath(cue.Str(entry))).Exists() {
		return entry
	}
	return at + "." + name
}

func orNull(e expression) expression {
	if e == nil {
		return atom(json.RawMessage("null"))
	}
	return e
}
