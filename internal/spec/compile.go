package spec

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/spec/naming"
	"github.com/assize-iac/assize/internal/spec/schema"
)

// A compiler emits one specification.
type compiler struct {
	src       *source
	tools     Toolbox
	value     cue.Value
	providers map[string]*provider // by the path of their struct
	items     map[string]*item     // by the tool's address
	emitting  string               // the address of the item, or the provider
	needs     map[string][]need    // by what is emitted
	counts    Counts
	out       configuration
}

// A provider is one configuration of a provider.
type provider struct {
	path   string // of its struct, such as $random
	source string
	local  string // what the tool calls the provider in this configuration
	alias  string // "" for the default configuration
	schema *schema.Provider
	value  cue.Value
}

// An item is a resource, a data source, an ephemeral resource or a call.
type item struct {
	kind, typ, path, at string
	place               string // the field that holds it; path, unless it is held twice
	provider            *provider
	value               cue.Value
}

// A configuration is the file that is emitted, by the names of its blocks.
type configuration struct {
	Terraform map[string]any                       `json:"terraform,omitempty"`
	Providers map[string][]any                     `json:"provider,omitempty"`
	Locals    map[string]any                       `json:"locals,omitempty"`
	Resources map[string]map[string]map[string]any `json:"resource,omitempty"`
	Data      map[string]map[string]map[string]any `json:"data,omitempty"`
	Ephemeral map[string]map[string]map[string]any `json:"ephemeral,omitempty"`
	Outputs   map[string]map[string]any            `json:"output,omitempty"`
	Moved     []map[string]any                     `json:"moved,omitempty"`
	Imports   []map[string]any                     `json:"import,omitempty"`
}

func (c *compiler) compile() (*Specification, error) {
	found := survey(c.value, c.tools)
	if err := c.whole(c.value); err != nil {
		return nil, err
	}
	if err := c.src.slips(); err != nil {
		return nil, err
	}
	for _, t := range found.strays {
		return nil, c.stray(t)
	}
	if err := c.configure(found.providers); err != nil {
		return nil, err
	}
	for _, t := range found.items {
		if err := c.add(t); err != nil {
			return nil, err
		}
	}
	if err := c.all(found.providers); err != nil {
		return nil, err
	}
	if err := c.outputs(); err != nil {
		return nil, err
	}
	s := &Specification{Places: c.places()}
	if err := c.settings(s); err != nil {
		return nil, err
	}
	s.Counts = c.counts
	var err error
	s.Config, err = c.encode()
	return s, err
}

// encode writes the configuration: the same one makes the same bytes.
func (c *compiler) encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(c.out); err != nil {
		return nil, problem.New(api.Internal, "the configuration cannot be written: %w", err)
	}
	return b.Bytes(), nil
}

// whole refuses a struct that cannot be told as a whole: which fields it has depends
// on a value that is known only after apply. CUE would leave them out in silence.
func (c *compiler) whole(v cue.Value) error {
	if err := v.Err(); err != nil {
		return c.src.refuse(err)
	}
	it, err := v.Fields()
	for err == nil && it.Next() {
		field := it.Value()
		switch field.IncompleteKind() {
		case cue.BottomKind:
			if err := field.Err(); err != nil {
				return c.src.refuse(err)
			}
		case cue.StructKind:
			if err := c.whole(field); err != nil {
				return err
			}
		}
	}
	return nil
}

// stray refuses a field that begins with $ and means nothing: what somebody meant by
// it would be missing in silence.
func (c *compiler) stray(t thing) error {
	word := name(t.path[len(t.path)-1])
	if slices.Contains(ofPackage, word) {
		return c.src.wrong(t.value, "it counts in the package itself, and not here").
			WithHint("say it beside the providers: %s", map[string]string{
				"$output": "$output: NAME: VALUE", "$settings": "$settings: refresh: false"}[word])
	}
	if slices.Contains(ofResource, word) {
		return c.src.wrong(t.value, "it counts in a resource or a provider, and this is neither").
			WithHint("say it in what it is for; what several take together is a hidden field or a definition, as in _kept: %s: ...", word)
	}
	hint := "what begins with $ is a provider, $output or $settings (docs/spec.md, rule 21)"
	if best := closest(word, ofPackage); best != "" {
		hint = "did you mean " + best + "?"
	}
	return c.src.wrong(t.value, "this field means nothing").WithHint("%s", hint)
}

// configure makes the providers. The struct that is named like the package is the
// default configuration of its provider; every other one is an alias (docs/spec.md,
// rule 6).
func (c *compiler) configure(structs []thing) error {
	sources := map[string]bool{}
	for _, t := range structs {
		if word := name(t.path[len(t.path)-1]); !strings.HasPrefix(word, "$") {
			return c.src.wrong(t.value, "the name of a provider begins with $").
				WithHint("call it $%s; a component takes one in a definition, as in #%s: rnd.#Provider", word, word)
		}
		p := &provider{path: t.String(), source: t.source, value: t.value}
		p.schema = c.tools.Providers[p.source]
		if p.schema == nil {
			return c.src.unknownImport(p.source)
		}
		p.local = c.local(p.source)
		if name := strings.TrimPrefix(p.path, "$"); name != packageName(p.source) {
			p.alias = naming.Tool(name)
		}
		sources[p.source] = true
		c.providers[p.path] = p
	}
	c.counts.Providers = len(sources)
	return nil
}

// all emits the providers, and then everything that is built with them.
func (c *compiler) all(structs []thing) error {
	for _, t := range structs {
		p := c.providers[t.String()]
		c.emitting = ofProvider(p)
		if err := c.provider(p); err != nil {
			return err
		}
	}
	for _, at := range slices.Sorted(maps.Keys(c.items)) {
		c.emitting = at
		if err := c.emit(c.items[at]); err != nil {
			return err
		}
	}
	return c.acyclic()
}

// local is what the tool calls a provider: the last word of its source, or all of
// it if another source ends like it.
func (c *compiler) local(source string) string {
	for other := range c.src.imports {
		if other != source && path.Base(other) == path.Base(source) {
			return naming.Tool(strings.ReplaceAll(source, "/", "_"))
		}
	}
	return path.Base(source)
}

// builtin reports whether a provider is part of the tool: it is required by nobody
// and has no configuration.
func builtin(source string) bool { return strings.HasPrefix(source, "terraform.io/builtin/") }

func (c *compiler) provider(p *provider) error {
	if builtin(p.source) {
		p.alias = ""
		return nil
	}
	c.require(p.local, required(p.value, p.source))
	body, err := c.block(p.value, &p.schema.Config.Block, "")
	if err != nil {
		return err
	}
	config, _ := body.json().(map[string]any)
	if p.alias != "" {
		config["alias"] = p.alias
	}
	if c.out.Providers == nil {
		c.out.Providers = map[string][]any{}
	}
	c.out.Providers[p.local] = append(c.out.Providers[p.local], config)
	return nil
}

// required is what a struct of a provider requires of it.
func required(v cue.Value, source string) map[string]any {
	all := map[string]any{"source": source}
	if version, err := v.LookupPath(cue.MakePath(cue.Str("$version"))).String(); err == nil {
		all["version"] = version
	}
	return all
}

// require adds a provider to those that are required. Of several structs of one,
// any that says a version counts.
func (c *compiler) require(local string, required map[string]any) {
	all, _ := c.out.Terraform["required_providers"].(map[string]any)
	if all == nil {
		all = map[string]any{}
		c.terraform("required_providers", all)
	}
	if old, ok := all[local].(map[string]any); ok && required["version"] == nil {
		required = old
	}
	all[local] = required
}

// add notes an item at its address.
func (c *compiler) add(t thing) error {
	if err := t.value.Err(); err != nil {
		return c.src.refuse(err)
	}
	i := &item{kind: t.kind, typ: t.typ, path: text(t.value, "path"), at: text(t.value, "at"), place: t.String(), value: t.value}
	if i.at == "" {
		return c.src.wrong(t.value, "this resource was not there when the specification was first looked at: what exists depends on what is known only after apply").
			WithHint("decide what exists by values that are in the specification")
	}
	if i.path == "" {
		return c.src.wrong(t.value, "this resource is in a field without a name").WithHint("give the field a name: the tool calls the resource by it")
	}
	i.provider = c.providers[text(t.value, "provider")]
	if i.provider == nil {
		return c.src.wrong(t.value, "the struct of the provider that it is built from is in no field of the specification").
			WithHint("write: $%s: <package>.#Provider, and build the resource from $%s.#Resource", strings.SplitN(i.typ, "_", 2)[0], strings.SplitN(i.typ, "_", 2)[0])
	}
	if other := c.items[i.at]; other != nil {
		hint := "derive both from a hidden field or a definition"
		if other.place == i.place {
			hint = "a dot in the name of a field divides it like the dots of a path: give one of the two another name"
		}
		return c.src.wrong(t.value, "it is the same resource as %s", other.path).WithHint("%s", hint)
	}
	c.items[i.at] = i
	return nil
}

// resolve splits an address into the item and the way from there.
func (c *compiler) resolve(ref string) (*item, []cue.Selector) {
	ref = strings.NewReplacer("one(", "", ")", "[0]").Replace(ref)
	words := strings.SplitN(ref, ".", 4)
	for n := 2; n <= 3 && n <= len(words); n++ {
		if i := c.items[strings.Join(words[:n], ".")]; i != nil {
			return i, selectors(strings.TrimPrefix(ref, strings.Join(words[:n], ".")), i)
		}
	}
	return nil, nil
}

// selectors is the way that the rest of an address describes: .disk[0].tags["a"]. An
// object that a specification writes as a struct has no number in CUE.
func selectors(rest string, i *item) []cue.Selector {
	var way []cue.Selector
	if i.kind == "call" {
		way = append(way, cue.Str("result"))
	}
	for rest != "" {
		switch {
		case rest[0] == '.':
			end := strings.IndexAny(rest[1:]+".", ".[") + 1
			way, rest = append(way, cue.Str(rest[1:end])), rest[end:]
		case strings.HasPrefix(rest, `["`):
			key, err := strconv.QuotedPrefix(rest[1:])
			if err != nil {
				return nil
			}
			name, _ := strconv.Unquote(key)
			way, rest = append(way, cue.Str(name)), rest[1+len(key)+1:]
		default:
			end := strings.IndexByte(rest, ']')
			n, err := strconv.Atoi(rest[1:max(end, 1)])
			if err != nil {
				return nil
			}
			at := append(slices.Clone(way), cue.Index(n))
			if i.value.LookupPath(cue.MakePath(at...)).Exists() {
				way = at
			}
			rest = rest[end+1:]
		}
	}
	return way
}
