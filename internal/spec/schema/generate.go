package schema

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Package says which CUE package is wanted.
type Package struct {
	Name   string // of the package
	Source string // the provider's address, such as registry.opentofu.org/hashicorp/random

	// Wanted limits the types to those that a specification names: the largest
	// providers have over a thousand. nil wants all.
	Wanted func(typ string) bool

	// Survey leaves out where things will be. It is how a specification is evaluated
	// first, to find out what there is; without it every resource waits to be told
	// its address (docs/spec.md, rule 12).
	Survey bool

	// Plain leaves out what values carry with them, which is for evaluating a
	// specification: what is left are types, which a person can read (docs/spec.md,
	// rule 24).
	Plain bool
}

// at is the address that the values of a type carry.
func (p Package) at() string {
	if p.Plain {
		return ""
	}
	return `\(#at)`
}

// Generate is the CUE package of one provider. The same provider and package make
// the same bytes.
func (p *Provider) Generate(pkg Package) string {
	w := &writer{pkg: pkg}
	w.depth++
	w.line(`#kind:   "provider"`)
	w.line("#source: %q", pkg.Source)
	w.line("#name: string%s", w.surveyed())
	w.line("$version?: string")
	w.block(&p.Config.Block, "")
	w.group("Resource", "managed", "", p.Resources)
	w.group("Data", "data", "data.", p.Data)
	w.group("Ephemeral", "ephemeral", "ephemeral.", p.Ephemeral)
	w.open("#Function: {")
	for _, name := range slices.Sorted(maps.Keys(p.Functions)) {
		if pkg.Wanted == nil || pkg.Wanted(name) {
			w.call(name, p.Functions[name])
		}
	}
	w.close("}")
	w.close("}")
	body := w.text.String()
	head, begin := "package "+pkg.Name+"\n\n", "#Provider: {\n"
	if strings.Contains(body, "strconv.Quote") { // CUE refuses an import that nothing uses,
		head += "import \"strconv\"\n\n"
	}
	if strings.Contains(body, "P.#name") { // and an alias
		begin = "#Provider: P={\n"
	}
	return head + begin + body
}

// A writer writes one package.
type writer struct {
	pkg   Package
	text  strings.Builder
	depth int
}

func (w *writer) line(format string, args ...any) {
	w.text.WriteString(strings.Repeat("\t", w.depth))
	fmt.Fprintf(&w.text, format, args...)
	w.text.WriteByte('\n')
}

func (w *writer) open(format string, args ...any) {
	w.line(format, args...)
	w.depth++
}

func (w *writer) close(end string) {
	w.depth--
	w.line("%s", end)
}

// surveyed gives a string that is filled in later a value in a survey, so that
// nothing is incomplete for want of it.
func (w *writer) surveyed() string {
	if w.pkg.Survey {
		return ` & "_"`
	}
	return ""
}

// comment writes what the provider says of something, and what else there is to know.
func (w *writer) comment(text string, remarks ...string) {
	for line := range strings.Lines(text) {
		w.line("// %s", strings.TrimSpace(line))
	}
	for _, remark := range remarks {
		w.line("// %s", remark)
	}
}

// group writes all wanted types of one kind.
func (w *writer) group(name, kind, prefix string, types map[string]*Schema) {
	w.open("#%s: {", name)
	for _, typ := range slices.Sorted(maps.Keys(types)) {
		if w.pkg.Wanted == nil || w.pkg.Wanted(typ) {
			w.resource(kind, prefix, typ, types[typ])
		}
	}
	w.close("}")
}

// resource writes one type. #at is the address that the tool will know it by.
func (w *writer) resource(kind, prefix, typ string, s *Schema) {
	w.comment(s.Block.Description, deprecated(s.Block.Deprecated)...)
	w.open("%q: {", typ)
	w.line("#kind: %q", kind)
	w.line("#type: %q", typ)
	w.line("#prefix: %q", prefix)
	w.line("#provider: P.#name")
	w.line("#path: string%s", w.surveyed())
	w.line("#at: string%s", w.surveyed())
	w.line("$depends_on?: [...]")
	if kind == "managed" {
		w.line("$from?: string")
		w.line("$import?: string")
		w.line(`$lifecycle?: {ignore_changes?: "all" | [...string], prevent_destroy?: bool, create_before_destroy?: bool, replace_triggered_by?: [...]}`)
	}
	w.block(&s.Block, w.pkg.at())
	w.close("}")
}

// call writes one function. Its result is what it will return.
func (w *writer) call(name string, f *Function) {
	w.comment(f.Description)
	w.open("%q: {", name)
	w.line(`#kind: "call"`)
	w.line("#type: %q", name)
	w.line(`#prefix: "local."`)
	w.line("#provider: P.#name")
	w.line("#path: string%s", w.surveyed())
	w.line("#at: string%s", w.surveyed())
	for _, p := range f.Parameters {
		null := ""
		if p.Nullable {
			null = " | null"
		}
		w.line("%q!: %s%s", p.Name, p.Type.cue(""), null)
	}
	if f.Variadic != nil {
		w.line("%q?: [...%s]", f.Variadic.Name, f.Variadic.Type.cue(""))
	}
	w.line("result: %s", f.Return.computed(w.pkg.at()))
	w.close("}")
}

// block writes the attributes and blocks of a block that is at this address.
func (w *writer) block(b *Block, at string) {
	w.attributes(b.Attributes, at)
	for _, name := range slices.Sorted(maps.Keys(b.Blocks)) {
		n := b.Blocks[name]
		mark := "?"
		if n.Min > 0 {
			mark = "!"
		}
		if n.Mode == Group {
			mark = ""
		}
		w.comment(n.Block.Description, deprecated(n.Block.Deprecated)...)
		w.nested(name, mark, nesting{mode: n.Mode, one: n.One()}, at, func(at string) { w.block(&n.Block, at) })
	}
}

// attributes writes attributes: one that is required must be set, one that the
// provider computes is there to be read, and any other may be set.
func (w *writer) attributes(all map[string]*Attribute, at string) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a := all[name]
		mark := "?"
		switch {
		case a.Required:
			mark = "!"
		case a.Computed:
			mark = ""
		}
		w.comment(a.Description, a.remarks()...)
		switch {
		case a.Nesting != nil:
			w.nested(name, mark, nesting{mode: a.Nesting.Mode, one: a.Nesting.Mode == Single, computed: a.Computed}, at, func(at string) { w.attributes(a.Nesting.Attributes, at) })
		case a.Computed:
			w.line("%q%s: %s", name, mark, a.Type.computed(dot(at, name)))
		default:
			w.line("%q%s: %s", name, mark, a.Type.cue(dot(at, name)))
		}
	}
}

// nested writes objects in an object. One that is found by its place in a list is
// told where it is when that is known. Those that the provider may fill in are
// marked as what it fills in is (see [Type.computed]).
func (w *writer) nested(name, mark string, n nesting, at string, body func(at string)) {
	at = dot(at, name)
	before, after := "", ""
	if n.computed && at != "" {
		before, after = marked(at, ""), " | "+marked(at, "null")
		before = strings.TrimSuffix(before, "}")
	}
	begin, end := "{", "}"
	switch {
	case n.one:
		after = strings.TrimSuffix(after, " | "+marked(at, "null"))
		at = OneOf(n.mode, at)
	case n.mode == Map:
		key := keyName(at)
		begin, at = "["+key+"=string]: {", entry(at, key)
	case at == "":
		begin, end = "[...{", "}]"
	default:
		begin, end, at = "[...{#at: string"+w.surveyed(), "}]", `\(#at)`
	}
	if !n.one && n.mode == Map || before != "" {
		begin, end = cmp.Or(before, "{")+begin, end+"}"
	}
	w.open("%q%s: %s", name, mark, begin)
	body(at)
	w.close(end + after)
}

// A nesting says how objects are nested.
type nesting struct {
	mode     Mode
	one      bool // they are written as one struct
	computed bool // the provider may fill them in
}

// OneOf is the address of the one object in a block of this mode, which a
// specification writes as a struct.
func OneOf(mode Mode, at string) string {
	switch {
	case at == "" || mode == Single || mode == Group:
		return at
	case mode == Set:
		return "one(" + at + ")"
	}
	return at + "[0]"
}

// remarks are what a reader should know of an attribute besides its type.
func (a *Attribute) remarks() []string {
	remarks := deprecated(a.Deprecated)
	if a.Sensitive {
		remarks = append(remarks, "Sensitive: it is masked wherever it is shown.")
	}
	if a.WriteOnly {
		remarks = append(remarks, "Write-only: it is sent to the provider and kept nowhere.")
	}
	if a.Computed && !a.Optional {
		remarks = append(remarks, "Read-only: the provider decides it.")
	}
	return remarks
}

func deprecated(is bool) []string {
	if is {
		return []string{"Deprecated."}
	}
	return nil
}

// Root is the way from where the configuration lies to the specification
// (docs/spec.md, rule 20).
const Root = "../.."

// Functions is the CUE package of the tool's own functions, as "tofu metadata
// functions -json" lists them. A result carries its call wherever it is used. What is
// listed as core::upper as well is upper: no definition could be called like that.
func Functions(pkg Package, all map[string]*Function) string {
	w := &writer{pkg: pkg}
	w.comment("The directory of the specification, from where the tool works: a relative path begins there.")
	w.line("#root: %q", Root)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.Contains(name, "::") {
			continue
		}
		f := all[name]
		w.comment(f.Description)
		w.open("#%s: {", strconv.Quote(name)[1:len(name)+1])
		w.line("#args: [...]")
		call := fmt.Sprintf(`{#call: {name: %q, args: #args}`, name)
		switch result := f.Return.cue(""); {
		case pkg.Plain:
			w.line("result: %s", result)
		case f.Return.Scalar():
			w.line("result: %s, %s}", call, result)
		case f.Return.Name == "":
			w.line("result: %s, _, ...}", call)
		default:
			w.line("result: %s, %s} | %s, null}", call, strings.TrimSuffix(strings.TrimPrefix(result, "{"), "}"), call)
		}
		w.close("}")
	}
	return "package " + pkg.Name + "\n\n" + w.text.String()
}

// Stub is a package of a provider of which nothing is known yet: everything is
// allowed, and nothing but $version means anything.
func Stub(pkg, source string) string {
	return fmt.Sprintf("package %s\n\n#Provider: {#kind: \"provider\", #source: %q, #name: _, $version?: string, ...}\n", pkg, source)
}
