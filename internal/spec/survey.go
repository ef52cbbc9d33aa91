package spec

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"

	"github.com/assize-iac/assize/internal/spec/naming"
	"github.com/assize-iac/assize/internal/spec/schema"
)

// A found is what a survey came across: every provider and every resource that a
// field of the specification holds, in the order of the text.
type found struct {
	tools     Toolbox
	providers []thing
	items     []thing
	strays    []thing // fields that begin with $ and mean nothing where they are
}

// A thing is something at a place.
type thing struct {
	path              []cue.Selector // fields and elements of lists
	value             cue.Value
	kind, typ, source string // #kind, #type and #source of the value
	place             Place  // once the value is forgotten
}

// forget lets go of the values, with everything that was evaluated for them. Where they
// are stays.
func (f *found) forget(where func(cue.Value) (file string, line int)) {
	for _, things := range [][]thing{f.providers, f.items, f.strays} {
		for i := range things {
			things[i].place.File, things[i].place.Line = where(things[i].value)
			things[i].value = cue.Value{}
		}
	}
}

// String is the path as CUE shows it.
func (t thing) String() string {
	var names []string
	for _, s := range t.path {
		names = append(names, name(s))
	}
	return strings.Join(names, ".")
}

// name is that of a field, or the number of an element.
func name(s cue.Selector) string {
	switch s.LabelType() {
	case cue.IndexLabel:
		return strconv.Itoa(s.Index())
	case cue.StringLabel:
		return s.Unquoted()
	}
	return s.String()
}

// survey walks what the specification says. Only what can be read is looked at: what
// cannot is for the second evaluation to complain about, with addresses.
func survey(v cue.Value, tools Toolbox) *found {
	f := &found{tools: tools}
	f.walk(v, nil)
	return f
}

// walk looks into regular fields and lists, as deep as there is neither a provider
// nor a resource.
func (f *found) walk(v cue.Value, at []cue.Selector) {
	if v.IncompleteKind() == cue.ListKind {
		it, err := v.List()
		for i := 0; err == nil && it.Next(); i++ {
			f.look(it.Value(), append(at, cue.Index(i)))
		}
		return
	}
	it, err := v.Fields()
	for err == nil && it.Next() {
		f.look(it.Value(), append(at, it.Selector()))
	}
}

func (f *found) look(v cue.Value, at []cue.Selector) {
	at = slices.Clone(at)
	t := thing{path: at, value: v, kind: text(v, "kind")}
	switch {
	case t.kind == "provider":
		t.source = text(v, "source")
		f.providers = append(f.providers, t)
	case t.kind != "":
		if t.typ = text(v, "type"); !alias(v) {
			f.items = append(f.items, t)
		}
	case strings.HasPrefix(name(at[len(at)-1]), "$"): // no place for resources
		if !meant(at) {
			f.strays = append(f.strays, t)
		}
	case v.IncompleteKind() == cue.StructKind, v.IncompleteKind() == cue.ListKind:
		f.walk(v, at)
	}
}

// ofPackage and ofResource are the fields that begin with $, by what they stand in
// (docs/spec.md, rule 21).
var (
	ofPackage  = []string{"$output", "$settings"}
	ofResource = []string{"$depends_on", "$from", "$import", "$lifecycle", "$version"}
)

// meant reports whether a field that begins with $ has a meaning at a path.
func meant(at []cue.Selector) bool {
	word := name(at[len(at)-1])
	return len(at) == 1 && slices.Contains(ofPackage, word)
}

// alias reports whether a field is nothing but another name of a resource that
// stands in a field, so that it is not another resource.
func alias(v cue.Value) bool {
	_, p := v.ReferencePath()
	selectors := p.Selectors()
	for _, s := range selectors {
		if s.IsDefinition() || s.PkgPath() != "" {
			return false
		}
	}
	return len(selectors) > 0
}

// addresses is a file of CUE that tells every provider its name and every resource,
// and every object in its lists, its address.
func (f *found) addresses() []byte {
	root := &tree{}
	for _, p := range f.providers {
		root.at(p.path).text = fmt.Sprintf("#name: %q", p)
	}
	for _, i := range f.items {
		at := text(i.value, "prefix") + i.typ + "." + naming.Tool(i.String())
		if i.kind == "call" {
			at = "local." + naming.Tool(i.String())
		}
		root.at(i.path).text = fmt.Sprintf("#path: %q, #at: %q%s", i, at, f.inner(i.value, i.kind, i.typ, at))
	}
	return fmt.Appendf(nil, "package %s\n\n%s\n", Package, root)
}

// inner are the addresses of the objects in the lists of a resource.
func (f *found) inner(v cue.Value, kind, typ, at string) string {
	s := f.tools.schema(kind, typ)
	if s == nil {
		return ""
	}
	return block(v, &s.Block, at)
}

// schema is that of a type; of several providers that have it, that of any: they
// differ in nothing that the names of lists could show.
func (t Toolbox) schema(kind, typ string) *schema.Schema {
	for _, p := range t.Providers {
		of := map[string]map[string]*schema.Schema{"managed": p.Resources, "data": p.Data, "ephemeral": p.Ephemeral}[kind]
		if of[typ] != nil {
			return of[typ]
		}
	}
	return nil
}

// block are the addresses of all objects in the lists of a block.
func block(v cue.Value, b *schema.Block, at string) string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(b.Blocks)) {
		n, field := b.Blocks[name], v.LookupPath(cue.MakePath(cue.Str(name)))
		if field.Exists() {
			out.WriteString(objects(field, name, n.Mode, n.One(), at+"."+name, func(v cue.Value, at string) string { return block(v, &n.Block, at) }))
		}
	}
	out.WriteString(attributes(v, b.Attributes, at))
	return out.String()
}

func attributes(v cue.Value, all map[string]*schema.Attribute, at string) string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a, field := all[name], v.LookupPath(cue.MakePath(cue.Str(name)))
		if a.Nesting == nil && a.Computed && !a.Optional && a.Type.Name == "" && field.IncompleteKind() == cue.StructKind {
			out.WriteString(fmt.Sprintf(", %q: {%s}", name, parts(field, at+"."+name)))
		}
		if a.Nesting != nil && field.Exists() {
			out.WriteString(objects(field, name, a.Nesting.Mode, a.Nesting.Mode == schema.Single, at+"."+name,
				func(v cue.Value, at string) string { return attributes(v, a.Nesting.Attributes, at) }))
		}
	}
	return out.String()
}

// parts are the addresses of what a specification says that there will be in a value
// of which its provider says nothing, such as the outputs of another state.
func parts(v cue.Value, at string) string {
	var fields []string
	it, err := v.Fields()
	for err == nil && it.Next() {
		name := it.Selector().Unquoted()
		place := at + "." + name
		if !identifier.MatchString(name) {
			place = addressOf(at, name)
		}
		inner := "_"
		if it.Value().IncompleteKind() == cue.StructKind {
			inner = parts(it.Value(), place)
		}
		fields = append(fields, fmt.Sprintf("%q: {#refs: {%q: true, ...}, %s}", name, place, inner))
	}
	return strings.Join(append(fields, "..."), ", ")
}

// identifier matches a name that an address can have after a dot.
var identifier = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]*$`)

// objects are the addresses of one object, of those in a list, or of those under
// keys, as further fields of a struct.
func objects(v cue.Value, name string, mode schema.Mode, one bool, at string, inner func(cue.Value, string) string) string {
	switch {
	case one:
		if in := inner(v, schema.OneOf(mode, at)); in != "" {
			return fmt.Sprintf(", %q: {%s}", name, in[2:])
		}
		return ""
	case mode == schema.Map:
		out := ""
		for _, key := range keys(v) {
			if in := inner(v.LookupPath(cue.MakePath(cue.Str(key))), at+"["+strconv.Quote(key)+"]"); in != "" {
				out += fmt.Sprintf(", %q: %q: {%s}", name, key, in[2:])
			}
		}
		return out
	}
	var elements []cue.Value
	it, err := v.List()
	for err == nil && it.Next() {
		elements = append(elements, it.Value())
	}
	var out []string
	for i, e := range elements {
		at := elementAt(mode, at, i, len(elements))
		out = append(out, fmt.Sprintf("{#at: %q%s}", at, inner(e, at)))
	}
	if len(out) == 0 {
		return ""
	}
	return fmt.Sprintf(", %q: [%s]", name, strings.Join(out, ", "))
}

// nowhere is the address of what has none: an object in a set of several.
const nowhere = "?"

// elementAt is the address of an element. In a set nothing has a number.
func elementAt(mode schema.Mode, at string, i, of int) string {
	switch {
	case strings.HasPrefix(at, nowhere) || mode == schema.Set && of > 1:
		return nowhere
	case mode == schema.Set:
		return "one(" + at + ")"
	}
	return at + "[" + strconv.Itoa(i) + "]"
}

// A tree is fields within fields, and elements of lists.
type tree struct {
	selector cue.Selector
	text     string
	children []*tree
}

// at is the node at a path, made if need be.
func (t *tree) at(path []cue.Selector) *tree {
	for _, s := range path {
		i := slices.IndexFunc(t.children, func(c *tree) bool { return c.selector == s })
		if i < 0 {
			i = len(t.children)
			t.children = append(t.children, &tree{selector: s})
		}
		t = t.children[i]
	}
	return t
}

// String is the fields as CUE.
func (t *tree) String() string {
	if len(t.children) == 0 {
		return "{" + t.text + "}"
	}
	var out []string
	if t.children[0].selector.LabelType() != cue.IndexLabel {
		for _, c := range t.children {
			out = append(out, fmt.Sprintf("%s: %s", c.selector, c))
		}
		return "{" + strings.Join(out, ", ") + "}"
	}
	for _, c := range t.children {
		for len(out) < c.selector.Index() {
			out = append(out, "_")
		}
		out = append(out, c.String())
	}
	return "[" + strings.Join(out, ", ") + ", ...]"
}
