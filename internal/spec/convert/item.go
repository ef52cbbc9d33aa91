package convert

import (
	"maps"
	"slices"
	"strings"

	"github.com/assize-iac/assize/internal/spec/convert/cuetext"
	"github.com/assize-iac/assize/internal/spec/convert/native"
	"github.com/assize-iac/assize/internal/spec/schema"
)

// itemText is a resource or data source.
func (c *converter) itemText(i *item) string {
	kind := "#Resource"
	if i.Mode == native.Data {
		kind = "#Data"
	}
	text := i.provider.name + "." + kind + selector(step{name: i.Type})
	fields := c.block(i, "", i.Values, i.Sensitive, []map[string]any{i.config.Expressions}, &i.schema.Block)
	fields = append(fields, c.meta(i)...)
	if len(fields) > 0 {
		text += " & " + cuetext.Struct(fields)
	}
	return text
}

// meta is what is the tool's business.
func (c *converter) meta(i *item) []string {
	var fields []string
	if after := c.after(i); len(after) > 0 {
		fields = append(fields, "$depends_on: "+cuetext.List(after))
	}
	if s := c.sources[i.at.static()]; s != nil && i.Mode == native.Managed {
		if l := s.Lifecycles[i.Type+"."+i.Name]; l != nil {
			fields = append(fields, c.lifecycle(i, l)...)
		}
	}
	if from := i.from(); from != "" {
		fields = append(fields, "$from: "+cuetext.Quoted(from))
	}
	if len(i.config.Provisioners) > 0 {
		c.leave(i.Address, "", "a specification has no provisioners: they run when it is made, and it is there already")
	}
	return fields
}

func (c *converter) lifecycle(i *item, l *native.Lifecycle) []string {
	var fields, ignored []string
	for _, name := range l.True {
		fields = append(fields, name+": true")
	}
	for _, name := range l.Ignore {
		ignored = append(ignored, cuetext.Quoted(name))
	}
	if l.IgnoreAll {
		fields = append(fields, `ignore_changes: "all"`)
	} else if len(ignored) > 0 {
		fields = append(fields, "ignore_changes: "+cuetext.List(ignored))
	}
	if len(l.Left) > 0 {
		c.leave(i.Address, "", "of its lifecycle, %s is not written", strings.Join(l.Left, ", "))
	}
	if len(fields) == 0 {
		return nil
	}
	return []string{"$lifecycle: " + cuetext.Struct(fields)}
}

// after is what the configuration says it depends on, and what it refers to with no
// reference left that shows it.
func (c *converter) after(i *item) []string {
	var all []*item
	for _, ref := range i.config.DependsOn {
		all = append(all, c.meant(ref, i.at)...)
	}
	for up := &i.at; up != nil && up.call != nil; up = up.up {
		for _, ref := range up.call.DependsOn {
			all = append(all, c.meant(ref, *up.up)...)
		}
	}
	if i.Mode == native.Managed {
		for _, refs := range native.References(i.config.Expressions) {
			r := c.reach(refs, i.at, i)
			if !slices.ContainsFunc(r.items, func(other *item) bool { return slices.Contains(i.used, other) }) {
				all = append(all, r.items...)
			}
		}
	}
	var out []string
	for _, other := range all {
		if text := c.refer(other.path); other != i && !slices.Contains(i.used, other) && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// meant is what an entry of depends_on names: a resource, or all of a module.
func (c *converter) meant(ref string, at scope) []*item {
	all := steps(ref)
	if len(all) == 2 && all[0].name == "module" {
		var found []*item
		for _, other := range c.items {
			if beginsWith(other.at.steps, append(slices.Clone(at.steps), all[1])) && other.Mode == native.Managed {
				found = append(found, other)
			}
		}
		return found
	}
	return c.reach([]string{ref}, at, nil).items
}

// block is the fields of a block: those that the configuration sets, with the values
// of the state. Several expressions are those of blocks of which nobody knows which
// is which: what one of them sets counts as set.
func (c *converter) block(i *item, at string, values map[string]any, marks any, exprs []map[string]any, b *schema.Block) []string {
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(b.Attributes)) {
		e, set := merged(exprs, name)
		if a := b.Attributes[name]; set && (!a.Computed || a.Optional) {
			if text := c.set(i, dot(at, name), values[name], intoMarks(marks, step{name: name}), e, a); text != "" {
				c.nested[name] = true
				fields = append(fields, cuetext.Field(name)+": "+text)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Blocks)) {
		var inner []any
		for _, e := range exprs {
			if e[name] != nil {
				inner = append(inner, e[name])
			}
		}
		if text := c.blocks(i, dot(at, name), values[name], intoMarks(marks, step{name: name}), inner, b.Blocks[name]); text != "" {
			c.nested[name] = true
			fields = append(fields, cuetext.Field(name)+": "+text)
		}
	}
	return fields
}

// merged is an expression of which every one of several may be meant.
func merged(exprs []map[string]any, name string) (e native.Expression, set bool) {
	for n, fields := range exprs {
		v, ok := fields[name]
		if !ok {
			continue
		}
		one := native.ExpressionOf(v)
		e.References = append(e.References, one.References...)
		e.Constant, e.IsConstant = one.Constant, one.IsConstant && n == 0 && len(exprs) == 1
		set = true
	}
	return e, set
}

// set is the value of an attribute, "" where there is none to write.
func (c *converter) set(i *item, name string, value, marks any, e native.Expression, a *schema.Attribute) string {
	secretly := "write it in a file that is not committed, such as secrets.cue: " + within(i.path, strings.ReplaceAll(name, ".", ": ")+": ...")
	if a.WriteOnly {
		c.leave(i.Address, secretly, "%s is write-only: no state has it", name)
		return ""
	}
	if value == nil {
		return ""
	}
	if a.Nesting != nil {
		if value = native.Prune(value, a.Nesting); e.IsConstant && e.Constant != nil {
			value = e.Constant
		}
	}
	if a.Sensitive {
		marks = true
	}
	w := &writing{reach: c.reach(e.References, i.at, i), c: c}
	text := w.write(value, marks)
	if w.secret {
		c.leave(i.Address, secretly, "%s is sensitive and is not written", name)
		return ""
	}
	i.used = append(i.used, w.used...)
	c.explain(i.Address, name, w, e)
	return text
}

// within is a value as one writes it at a path in another file of CUE. An element of a
// list stands behind those before it.
func within(path []step, value string) string {
	for _, s := range slices.Backward(path) {
		if n, is := s.key.(int); is {
			value = "[" + strings.Repeat("_, ", n) + "{" + value + "}, ...]"
		} else {
			value = cuetext.Field(s.label()) + ": " + value
		}
	}
	return value
}

// blocks is a block within a block: one struct, a list, or structs under keys.
func (c *converter) blocks(i *item, at string, values, marks any, exprs []any, n *schema.Nested) string {
	if n.Mode == schema.Map {
		return c.keyed(i, at, values, marks, exprs, n)
	}
	objects, said := native.Flat(values), native.Flat(exprs)
	if len(objects) == 0 {
		return ""
	}
	if len(said) == 0 {
		if native.Empty(objects) {
			return ""
		}
		c.leave(i.Address, "", "%s is written as the state has it: the configuration makes it in a dynamic block", at)
	}
	var out []string
	for k, o := range objects {
		inner := said
		if len(said) == len(objects) && (n.Mode != schema.Set || len(said) == 1) {
			inner = said[k : k+1]
		}
		if len(said) == 0 {
			inner = []map[string]any{native.Everything(o, &n.Block)}
		}
		mark := marks
		if _, several := values.([]any); several {
			mark = intoMarks(marks, step{key: k})
		}
		out = append(out, cuetext.Struct(c.block(i, at, o, mark, inner, &n.Block)))
	}
	if n.One() {
		return out[0]
	}
	return cuetext.List(out)
}

func (c *converter) keyed(i *item, at string, values, marks any, exprs []any, n *schema.Nested) string {
	entries, _ := values.(map[string]any)
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		o, _ := entries[name].(map[string]any)
		var said []map[string]any
		for _, e := range exprs {
			all, _ := e.(map[string]any)
			said = append(said, native.Flat(all[name])...)
		}
		if len(said) == 0 {
			said = []map[string]any{native.Everything(o, &n.Block)}
		}
		c.nested[name] = true
		fields = append(fields, cuetext.Field(name)+": "+cuetext.Struct(c.block(i, at, o, intoMarks(marks, step{name: name}), said, &n.Block)))
	}
	if len(fields) == 0 {
		return ""
	}
	return "{\n" + strings.Join(fields, "\n") + "\n}"
}

func dot(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}
