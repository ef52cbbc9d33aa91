package convert

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/literal"

	"github.com/assize-iac/assize/internal/spec/convert/cuetext"
	"github.com/assize-iac/assize/internal/spec/convert/native"
	"github.com/assize-iac/assize/internal/spec/naming"
	"github.com/assize-iac/assize/internal/spec/schema"
)

// An item is an instance of a resource, or of a data source.
type item struct {
	native.ResourceState
	at       scope
	config   *native.ResourceConfig
	schema   *schema.Schema
	provider *provider
	path     []step // in the specification
	used     []*item
}

// A scope is an instance of a module.
type scope struct {
	module *native.Module
	steps  []step // module names and keys; none for the root
	up     *scope
	call   *native.Call // nil for the root
}

func (s *scope) address() string {
	var b strings.Builder
	for _, step := range s.steps {
		if step.key == nil {
			b.WriteString(".module." + step.name)
		} else {
			b.WriteString(native.Bracket(step.key))
		}
	}
	return strings.TrimPrefix(b.String(), ".")
}

// static is the module without its keys: net.subnet.
func (s *scope) static() string {
	var names []string
	for _, step := range s.steps {
		if step.key == nil {
			names = append(names, step.name)
		}
	}
	return strings.Join(names, ".")
}

// collect finds what the state has and the configuration speaks of.
func (c *converter) collect() {
	c.enter(scope{module: c.doc.Configuration.Root}, c.doc.State.Values.Root)
}

func (c *converter) enter(at scope, state native.ModuleState) {
	for _, r := range state.Resources {
		i := &item{ResourceState: r, at: at}
		i.Index = key(r.Index)
		for _, config := range at.module.Resources {
			if config.Mode == r.Mode && config.Type == r.Type && config.Name == r.Name {
				i.config = config
			}
		}
		switch {
		case r.Deposed != "":
			c.leave(r.Address, "apply the stack, which deletes it", "an object that was replaced is still there")
		case i.config == nil:
			c.leave(r.Address, "", "it is in the state, and the configuration does not have it")
		default:
			c.items = append(c.items, i)
		}
	}
	for _, child := range state.Children {
		all := steps(child.Address)[2*len(names(at.steps))+keys(at.steps):]
		if len(all) < 2 {
			continue
		}
		of := at.module.Calls[all[1].name]
		if of == nil || of.Module == nil {
			c.leave(child.Address, "", "it is in the state, and the configuration does not have it")
			continue
		}
		up := at
		c.enter(scope{module: of.Module, steps: append(slices.Clone(at.steps), all[1:]...), up: &up, call: of}, child)
	}
}

// names and keys are how many of the steps of a scope are which.
func names(all []step) []step {
	return slices.DeleteFunc(slices.Clone(all), func(s step) bool { return s.key != nil })
}

func keys(all []step) int { return len(all) - len(names(all)) }

// place gives every item its path: modules and keys are structs within structs, and
// a name is the resource's own unless something else in its module has it too.
func (c *converter) place() {
	claims := map[string]map[string]bool{}
	for _, i := range c.items {
		name := i.at.static() + "/" + i.Name
		if claims[name] == nil {
			claims[name] = map[string]bool{}
		}
		claims[name][i.Mode+"."+i.Type] = true
	}
	for _, i := range c.items {
		i.path = slices.Clone(i.at.steps)
		name := i.Name
		if len(claims[i.at.static()+"/"+name]) > 1 || i.at.module.Calls[name] != nil {
			name = i.Type + "_" + name
			if i.Mode == native.Data && claims[i.at.static()+"/"+i.Name][native.Managed+"."+i.Type] {
				name = "data_" + name
			}
		}
		i.path = append(i.path, step{name: name})
		if i.Index != nil {
			i.path = append(i.path, step{key: i.Index})
		}
	}
	c.number()
	c.schemas()
}

// number makes keys of the numbers that no list could have: those of which some are
// missing.
func (c *converter) number() {
	there := map[string]map[any]bool{}
	each := func(do func(i *item, n int, before string)) {
		for _, i := range c.items {
			for n, s := range i.path {
				if _, number := s.key.(int); number {
					do(i, n, dotted(i.path[:n]))
				}
			}
		}
	}
	each(func(i *item, n int, before string) {
		if there[before] == nil {
			there[before] = map[any]bool{}
		}
		there[before][i.path[n].key] = true
	})
	each(func(i *item, n int, before string) {
		for k := range len(there[before]) {
			if !there[before][k] {
				i.path[n].key = strconv.Itoa(i.path[n].key.(int))
				return
			}
		}
	})
}

// schemas finds what the providers say of the items. What they do not know is left.
func (c *converter) schemas() {
	c.items = slices.DeleteFunc(c.items, func(i *item) bool {
		if p := c.stack.Providers[i.Provider]; p != nil {
			i.schema = p.Resources[i.Type]
			if i.Mode == native.Data {
				i.schema = p.Data[i.Type]
			}
		}
		if i.schema == nil {
			c.leave(i.Address, "", "its provider does not know it")
		}
		return i.schema == nil
	})
}

// dotted is the path as the naming of the tool wants it.
func dotted(path []step) string {
	var words []string
	for _, s := range path {
		words = append(words, s.label())
	}
	return strings.Join(words, ".")
}

func (s step) label() string {
	if s.key == nil {
		return s.name
	}
	return fmt.Sprint(s.key)
}

// from is the address that a resource has had, "" where it stays the same.
func (i *item) from() string {
	if i.Mode != native.Managed || i.Type+"."+naming.Tool(dotted(i.path)) == i.Address {
		return ""
	}
	return i.Address
}

// refer is a path as an expression, from anywhere in the specification.
func (c *converter) refer(path []step) string {
	top := path[0].label()
	c.tops[top] = true
	var b strings.Builder
	b.WriteString(top)
	if alias := c.aliases[top]; alias != "" {
		b.Reset()
		b.WriteString(alias)
	}
	for _, s := range path[1:] {
		b.WriteString(selector(s))
	}
	return b.String()
}

func selector(s step) string {
	if n, ok := s.key.(int); ok {
		return fmt.Sprintf("[%d]", n)
	}
	if text := cuetext.Field(s.label()); text[0] != '"' {
		return "." + text
	}
	return "[" + literal.String.Quote(s.label()) + "]"
}

// alias gives another name to each field that is referred to and whose own would not
// do: it is no identifier, or a field further inside has it as well.
func (c *converter) alias() {
	taken := func(name string) bool { return c.nested[name] || c.tops[name] }
	for _, i := range c.items {
		top := i.path[0].label()
		if !c.tops[top] || c.aliases[top] != "" || cuetext.Field(top)[0] != '"' && !c.nested[top] {
			continue
		}
		name := strings.Map(func(r rune) rune {
			if r == '-' {
				return '_'
			}
			return r
		}, strings.TrimLeft(top, "_")) + "_"
		for taken(name) || c.named(name) {
			name += "_"
		}
		c.aliases[top] = name
	}
}

// named reports whether a name is that of a field of the package or of an alias.
func (c *converter) named(name string) bool {
	for _, alias := range c.aliases {
		if alias == name {
			return true
		}
	}
	return slices.ContainsFunc(c.items, func(i *item) bool { return i.path[0].label() == name })
}
