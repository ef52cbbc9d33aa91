package convert

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/assize-iac/assize/internal/spec/convert/native"
	"github.com/assize-iac/assize/internal/spec/schema"
)

// A candidate is something that an attribute may be a reference to: it is one where
// its value is the attribute's, or a part of it.
type candidate struct {
	value     any
	sensitive bool
	of        *item // nil for a variable
	whole     bool  // only the whole value counts, because nobody said which attribute is meant
	write     func() string
}

// A reach is what some references lead to, and what of them leads nowhere.
type reach struct {
	all     []candidate
	items   []*item  // every instance that is referred to, in any way
	opaque  []string // references that the tools print nothing further of
	secrets []string // sensitive variables
}

// reach follows references from a place; i is the item that refers, or nil.
func (c *converter) reach(refs []string, at scope, i *item) *reach {
	r := &reach{}
	c.follow(r, refs, at, i, 0)
	return r
}

// depthMax bounds how many modules and local values a reference may lead through.
const depthMax = 50

func (c *converter) follow(r *reach, refs []string, at scope, i *item, depth int) {
	if depth > depthMax {
		return
	}
	for _, ref := range native.Longest(refs) {
		switch all := steps(ref); {
		case len(all) == 0:
		case all[0].name == "var" && len(all) > 1:
			c.variable(r, all[1].name, at, i, depth)
		case all[0].name == "local" && len(all) > 1:
			inner, known := c.sources[at.static()].Local(all[1].name)
			if !known {
				r.opaque = append(r.opaque, ref)
			}
			c.follow(r, inner, at, i, depth+1)
		case all[0].name == "module" && len(all) > 1:
			c.output(r, all[1:], at, i, depth)
		case all[0].name == "each" || all[0].name == "count":
			if i != nil && i.config != nil {
				c.follow(r, native.ExpressionOf(i.config.Each).References, i.at, nil, depth+1)
			}
		case slices.Contains([]string{"path", "terraform", "tofu", "self"}, all[0].name):
		case all[0].name == native.Data && len(all) > 2:
			c.resource(r, native.Data, all[1:], at, i)
		case len(all) > 1:
			c.resource(r, native.Managed, all, at, i)
		}
	}
}

// variable follows a variable: of a module, to what the module is called with.
func (c *converter) variable(r *reach, name string, at scope, i *item, depth int) {
	config := at.module.Variables[name]
	if config != nil && config.Sensitive {
		r.secrets = append(r.secrets, "var."+name)
	}
	if at.call != nil {
		c.follow(r, native.ExpressionOf(at.call.Expressions[name]).References, *at.up, i, depth+1)
		return
	}
	v, known := c.doc.Variables[name]
	if !known || v.Value == nil || config == nil || config.Sensitive {
		return
	}
	r.all = append(r.all, candidate{value: v.Value, write: func() string {
		if c.variables[name] == "" {
			c.variables[name] = "_" + strings.ReplaceAll(name, "-", "_")
		}
		return c.variables[name]
	}})
}

// output follows an output of a module into it: net.id, net["a"].id.
func (c *converter) output(r *reach, all []step, at scope, i *item, depth int) {
	call := at.module.Calls[all[0].name]
	if call == nil || call.Module == nil {
		return
	}
	inside := append(slices.Clone(at.steps), step{name: all[0].name})
	rest := all[1:]
	if len(rest) > 0 && rest[0].key != nil {
		inside, rest = append(inside, rest[0]), rest[1:]
	}
	var seen []string
	for _, other := range c.items {
		if !beginsWith(other.at.steps, inside) {
			continue
		}
		deeper := inside
		if len(other.at.steps) > len(inside) && other.at.steps[len(inside)].key != nil {
			deeper = other.at.steps[:len(inside)+1]
		}
		s := scope{module: call.Module, steps: deeper, up: &at, call: call}
		if slices.Contains(seen, s.address()) {
			continue
		}
		seen = append(seen, s.address())
		for name, o := range call.Module.Outputs {
			if len(rest) == 0 || rest[0].name == name {
				c.follow(r, native.ExpressionOf(o.Expression).References, s, i, depth+1)
			}
		}
	}
}

func beginsWith(all, start []step) bool {
	return len(all) >= len(start) && slices.Equal(all[:len(start)], start)
}

// resource is all instances that a reference may mean, and the attribute of each.
func (c *converter) resource(r *reach, mode string, all []step, at scope, i *item) {
	var found []*item
	rest := all[2:]
	for _, other := range c.items {
		if other != i && other.Mode == mode && other.Type == all[0].name && other.Name == all[1].name && slices.Equal(other.at.steps, at.steps) {
			found = append(found, other)
		}
	}
	if len(rest) > 0 && rest[0].key != nil {
		found = slices.DeleteFunc(found, func(other *item) bool { return other.Index != rest[0].key })
		rest = rest[1:]
	}
	if i != nil { // the one with the same key is more likely meant than any other
		slices.SortStableFunc(found, func(a, b *item) int { return same(b, i) - same(a, i) })
	}
	r.items = append(r.items, found...)
	for _, other := range found {
		if len(rest) > 0 {
			r.all = append(r.all, c.attribute(other, rest)...)
			continue
		}
		for _, name := range likely(other.schema) {
			for _, candidate := range c.attribute(other, []step{{name: name}}) {
				candidate.whole = true
				r.all = append(r.all, candidate)
			}
		}
	}
}

func same(a, b *item) int {
	if a.Index != nil && a.Index == b.Index {
		return 1
	}
	return 0
}

// likely are the attributes of a type that are text, the likeliest first.
func likely(s *schema.Schema) []string {
	var out []string
	for name, a := range s.Block.Attributes {
		if a.Type.Name == "string" {
			out = append(out, name)
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		if (a == "id") != (b == "id") {
			return map[bool]int{true: -1, false: 1}[a == "id"]
		}
		return strings.Compare(a, b)
	})
	return out
}

// attribute is the value at a way into an instance, and how CUE refers to it; none
// where CUE has no way there.
func (c *converter) attribute(i *item, way []step) []candidate {
	value, sensitive := any(i.Values), any(i.Sensitive)
	path := slices.Clone(i.path)
	attributes, blocks := i.schema.Block.Attributes, i.schema.Block.Blocks
	one, set := false, true // whether a number is left out; whether the configuration says what is there
	for n, s := range way {
		if value = into(value, s); value == nil {
			return nil
		}
		sensitive = intoMarks(sensitive, s)
		switch {
		case s.key != nil && one:
			one = false
			continue
		case s.key != nil && !set:
			return c.element(i, path, way[n:], value, sensitive)
		case s.key == nil && attributes[s.name] != nil:
			a := attributes[s.name]
			_, configured := i.config.Expressions[s.name]
			set = !a.Computed || configured && n == 0 || a.Type.Name == "object"
			attributes, blocks, one = nil, nil, false
			if a.Nesting != nil {
				set = set || a.Nesting.Mode == schema.Single
				attributes = a.Nesting.Attributes
			}
		case s.key == nil && blocks[s.name] != nil:
			b := blocks[s.name]
			attributes, blocks, one, set = b.Block.Attributes, b.Block.Blocks, b.One() && b.Mode != schema.Single && b.Mode != schema.Group, b.Mode != schema.Set || b.One()
		case !set:
			return nil
		}
		path = append(path, s)
	}
	return []candidate{{value: value, sensitive: sensitive == true, of: i, write: func() string { return c.refer(path) }}}
}

// element is one of a list that the provider fills in: only the tool can take it out.
func (c *converter) element(i *item, path []step, rest []step, value, sensitive any) []candidate {
	n, ok := rest[0].key.(int)
	if !ok || len(rest) > 1 {
		return nil
	}
	return []candidate{{value: value, sensitive: sensitive == true, of: i, whole: true, write: func() string {
		c.functions = true
		return fmt.Sprintf("(tofu.#element & {#args: [%s, %d]}).result", c.refer(path), n)
	}}}
}

// into is what is at a step of a value, nil where there is nothing.
func into(v any, s step) any {
	switch v := v.(type) {
	case map[string]any:
		return v[s.label()]
	case []any:
		if n, ok := s.key.(int); ok && n >= 0 && n < len(v) {
			return v[n]
		}
	}
	return nil
}

// intoMarks goes into what is said to be sensitive: all of what is.
func intoMarks(v any, s step) any {
	if v == true {
		return true
	}
	return into(v, s)
}

// equal compares values as JSON has them; a number is what it is written as.
func equal(a, b any) bool {
	if x, ok := a.(json.Number); ok {
		y, ok := b.(json.Number)
		return ok && x == y
	}
	return reflect.DeepEqual(a, b)
}
