package native

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
)

// A Source is what only the files of a module say, and no plan prints: local values,
// what becomes of resources, and whether an attribute is a reference and nothing else.
type Source struct {
	Locals     map[string][]string   // what each refers to
	Lifecycles map[string]*Lifecycle // by type.name
	Providers  map[string]bool       // provider.attribute, or provider.alias.attribute, that is one reference
	Others     []string              // blocks that a specification has nothing for
}

// A Lifecycle is the block of a resource.
type Lifecycle struct {
	True      []string // settings that are true
	IgnoreAll bool
	Ignore    []string // attributes whose changes are ignored
	Left      []string // what a specification has nothing for
}

// Local is what a local value refers to; not known where no file has it.
func (s *Source) Local(name string) (refs []string, known bool) {
	if s == nil {
		return nil, false
	}
	refs, known = s.Locals[name]
	return refs, known
}

// Read reads the files of modules. One that cannot be read says nothing: the tool
// has read it, and a plan was made of it.
func Read(modules map[string]map[string][]byte) map[string]*Source {
	all := map[string]*Source{}
	for module, files := range modules {
		s := &Source{Locals: map[string][]string{}, Lifecycles: map[string]*Lifecycle{}, Providers: map[string]bool{}}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if body := parse(files[name], name); body != nil {
				s.read(body, module)
			}
		}
		all[module] = s
	}
	return all
}

func within(module, what string) string {
	if module == "" {
		return what
	}
	return "module." + strings.ReplaceAll(module, ".", ".module.") + "." + what
}

// parse is a file in either notation of the tools; nil if it is none.
func parse(data []byte, name string) hcl.Body {
	f, diags := hclsyntax.ParseConfig(data, name, hcl.InitialPos)
	if strings.HasSuffix(name, ".json") {
		f, diags = json.Parse(data, name)
	}
	if diags.HasErrors() {
		return nil
	}
	return f.Body
}

// ofFile, ofResource and ofLifecycle are what is read of a file. Neither notation can
// be read without saying what is looked for.
var (
	ofFile = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "locals"}, {Type: "resource", LabelNames: []string{"type", "name"}},
		{Type: "provider", LabelNames: []string{"name"}}, {Type: "check", LabelNames: []string{"name"}}}}
	ofResource  = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "lifecycle"}}}
	ofLifecycle = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "precondition"}, {Type: "postcondition"}}}
)

func (s *Source) read(body hcl.Body, module string) {
	content, _, _ := body.PartialContent(ofFile)
	for _, b := range content.Blocks {
		switch b.Type {
		case "locals":
			all, _ := b.Body.JustAttributes()
			for name, a := range all {
				s.Locals[name] = traversals(a.Expr)
			}
		case "resource":
			s.resource(b)
		case "provider":
			s.provider(b)
		case "check":
			s.Others = append(s.Others, within(module, "check."+b.Labels[0]))
		}
	}
}

// traversals are the references in an expression, as a plan prints them.
func traversals(e hcl.Expression) []string {
	var refs []string
	for _, t := range e.Variables() {
		refs = append(refs, traversal(t))
	}
	return refs
}

func traversal(t hcl.Traversal) string {
	var b strings.Builder
	for _, part := range t {
		switch part := part.(type) {
		case hcl.TraverseRoot:
			b.WriteString(part.Name)
		case hcl.TraverseAttr:
			b.WriteString("." + part.Name)
		case hcl.TraverseIndex:
			if part.Key.Type().FriendlyName() == "string" {
				b.WriteString(Bracket(part.Key.AsString()))
			} else {
				b.WriteString("[" + part.Key.AsBigFloat().String() + "]")
			}
		}
	}
	return b.String()
}

func (s *Source) provider(b *hcl.Block) {
	name := b.Labels[0]
	all, _ := b.Body.JustAttributes()
	if a := all["alias"]; a != nil {
		if v, diags := a.Expr.Value(nil); !diags.HasErrors() && v.Type().FriendlyName() == "string" {
			name += "." + v.AsString()
		}
	}
	for attribute, a := range all {
		if _, ok := a.Expr.(*hclsyntax.ScopeTraversalExpr); ok {
			s.Providers[name+"."+attribute] = true
		}
	}
}

func (s *Source) resource(b *hcl.Block) {
	l := &Lifecycle{}
	content, _, _ := b.Body.PartialContent(ofResource)
	for _, inner := range content.Blocks {
		l.read(inner.Body)
	}
	s.Lifecycles[strings.Join(b.Labels, ".")] = l
}

func (l *Lifecycle) read(body hcl.Body) {
	content, rest, _ := body.PartialContent(ofLifecycle)
	all, _ := rest.JustAttributes()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		expr := all[name].Expr
		switch name {
		case "create_before_destroy", "prevent_destroy":
			v, diags := expr.Value(nil)
			if diags.HasErrors() || v.Type().FriendlyName() != "bool" {
				l.Left = append(l.Left, name)
			} else if v.True() {
				l.True = append(l.True, name)
			}
		case "ignore_changes":
			l.ignore(expr)
		default:
			l.Left = append(l.Left, name)
		}
	}
	for _, b := range content.Blocks {
		l.Left = append(l.Left, b.Type)
	}
}

// ignore reads the attributes whose changes are ignored.
func (l *Lifecycle) ignore(expr hcl.Expression) {
	if hcl.ExprAsKeyword(expr) == "all" {
		l.IgnoreAll = true
		return
	}
	elements, diags := hcl.ExprList(expr)
	var names []string
	for _, e := range elements {
		t, wrong := hcl.RelTraversalForExpr(e)
		if wrong.HasErrors() {
			diags = append(diags, wrong...)
			continue
		}
		names = append(names, strings.TrimPrefix(traversal(t), "."))
	}
	if diags.HasErrors() {
		l.Left = append(l.Left, "ignore_changes")
		return
	}
	l.Ignore = names
}

// Bracket is a key as an address has it.
func Bracket(key any) string {
	if text, ok := key.(string); ok {
		return "[" + strconv.Quote(text) + "]"
	}
	return fmt.Sprintf("[%v]", key)
}
