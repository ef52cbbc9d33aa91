package spec

import (
	"maps"
	"regexp"
	"slices"

	"cuelang.org/go/cue"

	"github.com/assize-iac/assize/internal/spec/naming"
	"github.com/assize-iac/assize/internal/spec/schema"
)

// emit writes one item into the configuration.
func (c *compiler) emit(i *item) error {
	c.need(ofProvider(i.provider), i.value)
	switch i.kind {
	case "managed":
		c.counts.Resources++
		return c.resource(i, i.provider.schema.Resources[i.typ], &c.out.Resources)
	case "data":
		c.counts.Data++
		return c.resource(i, i.provider.schema.Data[i.typ], &c.out.Data)
	case "ephemeral":
		c.counts.Ephemeral++
		return c.resource(i, i.provider.schema.Ephemeral[i.typ], &c.out.Ephemeral)
	}
	c.counts.Calls++
	return c.function(i, i.provider.schema.Functions[i.typ])
}

// resource writes an item that has a block of its own.
func (c *compiler) resource(i *item, s *schema.Schema, into *map[string]map[string]map[string]any) error {
	body, err := c.block(i.value, &s.Block, i.at)
	if err != nil {
		return err
	}
	config := body.json().(map[string]any)
	if i.provider.alias != "" {
		config["provider"] = i.provider.local + "." + i.provider.alias
	} else if !builtin(i.provider.source) {
		config["provider"] = i.provider.local
	}
	if err := c.meta(i, config); err != nil {
		return err
	}
	if *into == nil {
		*into = map[string]map[string]map[string]any{}
	}
	if (*into)[i.typ] == nil {
		(*into)[i.typ] = map[string]map[string]any{}
	}
	(*into)[i.typ][naming.Tool(i.path)] = config
	return nil
}

// meta writes what is the tool's business and not the provider's.
func (c *compiler) meta(i *item, config map[string]any) error {
	field := func(name string) cue.Value { return i.value.LookupPath(cue.MakePath(cue.Str(name))) }
	if v := field("$depends_on"); v.Exists() {
		all, err := c.addresses(v)
		if err != nil {
			return err
		}
		config["depends_on"] = all
	}
	if v := field("$lifecycle"); v.Exists() {
		if err := c.lifecycle(v, config); err != nil {
			return err
		}
	}
	if from, err := field("$from").String(); err == nil {
		c.out.Moved = append(c.out.Moved, map[string]any{"from": moved(i.typ, from), "to": i.at})
	}
	if v := field("$import"); v.Exists() {
		id, err := c.argument(v)
		if err != nil {
			return err
		}
		c.out.Imports = append(c.out.Imports, map[string]any{"to": i.at, "id": id.json()})
	}
	return nil
}

// moved is the address of what was somewhere before. That is a path in CUE, or, of what
// no specification has made, an address of the tool: one that ends with the type and a
// name (docs/spec.md, rule 21).
func moved(typ, from string) string {
	if regexp.MustCompile(`^(module\.[\w-]+` + index + `\.)*` + regexp.QuoteMeta(typ) + `\.[\w-]+` + index + `$`).MatchString(from) {
		return from
	}
	return typ + "." + naming.Tool(naming.Dotted(from))
}

// index matches the key of an instance in an address, where there is one.
const index = `(\[(\d+|"([^"\\]|\\.)*")\])?`

// addresses are those of a list of resources.
func (c *compiler) addresses(v cue.Value) ([]any, error) {
	it, err := v.List()
	if err != nil {
		return nil, c.src.refuse(err)
	}
	var all []any
	for it.Next() {
		at := text(it.Value(), "at")
		if at == "" {
			return nil, c.src.wrong(it.Value(), "it is no resource").WithHint("name the field of a resource, as in $depends_on: [web]")
		}
		c.need(at, it.Value())
		all = append(all, at)
	}
	return all, nil
}

func (c *compiler) lifecycle(v cue.Value, config map[string]any) error {
	all := map[string]any{}
	it, err := v.Fields()
	if err != nil {
		return c.src.refuse(err)
	}
	for it.Next() {
		name := it.Selector().Unquoted()
		if name == "replace_triggered_by" {
			triggers, err := c.triggers(it.Value())
			if err != nil {
				return err
			}
			all[name] = triggers
			continue
		}
		e, err := c.argument(it.Value())
		if err != nil {
			return err
		}
		all[name] = e.json()
	}
	config["lifecycle"] = all
	return nil
}

// triggers are resources, and attributes of resources.
func (c *compiler) triggers(v cue.Value) ([]any, error) {
	it, err := v.List()
	if err != nil {
		return nil, c.src.refuse(err)
	}
	var all []any
	for it.Next() {
		at := text(it.Value(), "at")
		if at == "" {
			refs := references(it.Value(), "")
			if len(refs) == 0 {
				return nil, c.src.wrong(it.Value(), "it is neither a resource nor an attribute of one").
					WithHint("name one, as in replace_triggered_by: [web, web.name]")
			}
			if at, err = c.nearest(it.Value(), refs); err != nil {
				return nil, err
			}
		}
		if item, _ := c.resolve(at); item != nil {
			c.need(item.at, it.Value())
		}
		all = append(all, at)
	}
	return all, nil
}

// function writes a call as a local value, which everything that takes its result
// refers to.
func (c *compiler) function(i *item, f *schema.Function) error {
	args := ""
	for _, p := range f.Parameters {
		arg, err := c.argument(i.value.LookupPath(cue.MakePath(cue.Str(p.Name))))
		if err != nil {
			return err
		}
		args += ", " + arg.code()
	}
	if f.Variadic != nil {
		it, err := i.value.LookupPath(cue.MakePath(cue.Str(f.Variadic.Name))).List()
		for err == nil && it.Next() {
			arg, err := c.argument(it.Value())
			if err != nil {
				return err
			}
			args += ", " + arg.code()
		}
	}
	if c.out.Locals == nil {
		c.out.Locals = map[string]any{}
	}
	if args != "" {
		args = args[2:]
	}
	c.out.Locals[naming.Tool(i.path)] = code("provider::" + i.provider.local + "::" + i.typ + "(" + args + ")").json()
	return nil
}

// block is the attributes and blocks of a block at an address.
func (c *compiler) block(v cue.Value, b *schema.Block, at string) (object, error) {
	body, err := c.attributes(v, b.Attributes, at)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(b.Blocks)) {
		n := b.Blocks[name]
		field := v.LookupPath(cue.MakePath(cue.Str(name)))
		if !field.Exists() {
			continue
		}
		e, err := c.objects(field, n.Mode, n.One(), dot(at, name), func(v cue.Value, at string) (object, error) { return c.block(v, &n.Block, at) })
		if err != nil {
			return nil, err
		}
		body[name] = e
	}
	return body, nil
}

// attributes are those that are set. One that the provider alone decides cannot be.
func (c *compiler) attributes(v cue.Value, all map[string]*schema.Attribute, at string) (object, error) {
	body := object{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a := all[name]
		field := v.LookupPath(cue.MakePath(cue.Str(name)))
		if !field.Exists() {
			if a.Required {
				return nil, c.src.wrong(v, "%s is required, and it is not there", name).WithHint("set it; the provider needs it")
			}
			continue
		}
		e, err := c.attribute(field, a, dot(at, name))
		switch {
		case err != nil:
			return nil, err
		case e == nil && a.Required:
			return nil, c.src.wrong(field, "it is required, and it has no value").WithHint("give it a value: what stands there is only a type or a constraint")
		case e == nil, a.Computed && !a.Optional && !set(e): // what will be there was only described
		case a.Computed && !a.Optional:
			return nil, c.src.wrong(field, "the provider decides this attribute").WithHint("remove it; it can be read, but not set")
		default:
			body[name] = e
		}
	}
	return body, nil
}

func (c *compiler) attribute(v cue.Value, a *schema.Attribute, at string) (expression, error) {
	if a.Nesting == nil || len(references(v, at)) > 0 {
		return c.expression(v, at)
	}
	e, err := c.objects(v, a.Nesting.Mode, a.Nesting.Mode == schema.Single, at,
		func(v cue.Value, at string) (object, error) { return c.attributes(v, a.Nesting.Attributes, at) })
	if o, ok := e.(object); ok && len(o) == 0 && a.Computed {
		return nil, err // nobody has set anything in what the provider fills in
	}
	return e, err
}

// objects are one object, those of a list, or those under keys.
func (c *compiler) objects(v cue.Value, mode schema.Mode, one bool, at string, body func(cue.Value, string) (object, error)) (expression, error) {
	if err := v.Err(); err != nil {
		return nil, c.src.refuse(err)
	}
	switch {
	case one:
		if at != "" {
			at = schema.OneOf(mode, at)
		}
		return body(v, at)
	case mode == schema.Map:
		all := object{}
		it, err := v.Fields()
		if err != nil {
			return nil, c.src.refuse(err)
		}
		for it.Next() {
			key := it.Selector().Unquoted()
			e, err := body(it.Value(), addressOf(at, key))
			if err != nil {
				return nil, err
			}
			all[key] = e
		}
		return all, nil
	}
	if !v.IsConcrete() {
		return nil, nil
	}
	it, err := v.List()
	if err != nil {
		return nil, c.src.refuse(err)
	}
	all := tuple{}
	for it.Next() {
		e, err := body(it.Value(), text(it.Value(), "at"))
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

func dot(at, name string) string {
	if at == "" {
		return ""
	}
	return at + "." + name
}
