package scan

import (
	"maps"
	"path"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// A fact is what the configuration of one directory says that matters for the
// graph, in a form that outlives the syntax tree: it takes little memory, and a
// cache can keep it. It holds no text that may be a secret. What it says, it
// says of whatever the workspace is and whoever calls the directory.
type fact struct {
	Backend *backendFact      `json:"b,omitempty"`
	Calls   []callFact        `json:"c,omitempty"`
	Reads   []readFact        `json:"r,omitempty"`
	Cloud   map[string]saying `json:"p,omitempty"`

	Resources bool `json:"x,omitempty"`

	// Variables are those that the rest is made of, and no others: a default may
	// be a secret. Their values are not of the directory.
	Variables map[string]map[string]saying `json:"v,omitempty"`
}

type backendFact struct {
	Kind       string              `json:"k"`
	Attrs      map[string]saying   `json:"a,omitempty"`
	Workspaces []map[string]saying `json:"w,omitempty"`
	At         spot                `json:"@"`
}

type callFact struct {
	Name    string  `json:"n"`
	Source  *saying `json:"s,omitempty"`
	Version *saying `json:"v,omitempty"`
	At      spot    `json:"@"`
}

type readFact struct {
	Kind         string  `json:"k"`
	Name         string  `json:"n"`
	Backend      *saying `json:"b,omitempty"`
	Config       *saying `json:"c,omitempty"`
	Workspace    *saying `json:"w,omitempty"`
	Organization *saying `json:"o,omitempty"`
	ForEach      *saying `json:"e,omitempty"`
	At           spot    `json:"@"`
}

// A spot is where something is said.
type spot struct {
	File   string `json:"f"` // in the directory
	Line   int    `json:"l"`
	Column int    `json:"c"`
}

// A saying is an expression: a constant text, the source of what differs by
// workspace, place, element or stack, the members of an object that name a state, or,
// with none of them, one that is never constant.
type saying struct {
	Text   *string  `json:"t,omitempty"`
	Source string   `json:"s,omitempty"`
	File   string   `json:"f,omitempty"` // where Source is
	Pos    *hcl.Pos `json:"@,omitempty"`
	Object []member `json:"o,omitempty"`
	IsMap  bool     `json:"m,omitempty"` // Object counts, even an empty one
}

type member struct {
	Name  string `json:"n"`
	Value saying `json:"v"`
}

// revealing are the attributes that may hold a password.
var revealing = []string{"address", "conn_str"}

// A noter makes a fact. ok turns false for good when there is none: something
// depends on a local that is no constant, or may be a secret.
type noter struct {
	scope scope
	data  map[string][]byte // the files of the directory, by path
	ok    bool
	asked map[string]bool // the variables that what is noted is made of
}

// fact is what d says; ok is false where only its syntax tree says all of it.
func (d *directory) fact(data map[string][]byte) (f fact, ok bool) {
	n := &noter{d.scope("", ""), data, len(d.problems) == 0, map[string]bool{}}
	if b := d.backend; b != nil {
		f.Backend = &backendFact{Kind: b.kind, Attrs: n.all(b.said.attrs), At: at(b.at)}
		for _, block := range b.said.workspaces {
			f.Backend.Workspaces = append(f.Backend.Workspaces, n.all(block))
		}
	}
	for _, c := range d.calls {
		call := callFact{c.name, n.say(c.source), n.say(c.version), at(c.at)}
		if s := call.Source; s != nil && (s.Source != "" || s.Text != nil && withoutSecret(*s.Text) != *s.Text) {
			return f, false
		}
		f.Calls = append(f.Calls, call)
	}
	for _, r := range d.reads {
		f.Reads = append(f.Reads, readFact{
			Kind: r.kind, Name: r.name, Backend: n.say(r.backend), Config: n.config(r.config),
			Workspace: n.say(r.workspace), Organization: n.say(r.organization), ForEach: n.say(r.forEach), At: at(r.at),
		})
	}
	f.Cloud, f.Resources = n.all(d.cloud), d.resources
	f.Variables = n.variables(d.variables)
	return f, n.ok
}

// variables notes those that were asked for. What they default to is written
// where a state is named by it, and shown there.
func (n *noter) variables(declared map[string]variable) map[string]map[string]saying {
	all := map[string]map[string]saying{}
	for name := range n.asked {
		attrs := declared[name].says()
		if _, ok := declared[name]; !ok || hidden(attrs) {
			continue
		}
		all[name] = map[string]saying{}
		for attr, expr := range attrs {
			all[name][attr] = *n.source(expr)
		}
	}
	return all
}

func at(r hcl.Range) spot { return spot{path.Base(r.Filename), r.Start.Line, r.Start.Column} }

func (n *noter) all(attrs map[string]hcl.Expression) map[string]saying {
	all := map[string]saying{}
	for name, expr := range attrs {
		n.ok = n.ok && !slices.Contains(revealing, name)
		all[name] = *n.say(expr)
	}
	return all
}

// say notes an expression. What is constant where neither workspace nor place is
// known is so everywhere.
func (n *noter) say(expr hcl.Expression) *saying {
	if expr == nil {
		return nil
	}
	if text, ok := n.scope.text(expr); ok {
		return &saying{Text: &text}
	}
	if !small(expr) {
		return &saying{}
	}
	local := false
	for _, ref := range expr.Variables() {
		switch ref.RootName() {
		case "terraform", "path", "each":
		case "var":
			n.asked[attribute(ref)] = true
		case "local":
			local = true
		default:
			return &saying{}
		}
	}
	n.ok = n.ok && !local
	return n.source(expr)
}

// source notes an expression as it is written.
func (n *noter) source(expr hcl.Expression) *saying {
	r := expr.Range()
	said := saying{Source: string(r.SliceBytes(n.data[r.Filename])), File: path.Base(r.Filename), Pos: &r.Start}
	again, diags := hclsyntax.ParseExpression([]byte(said.Source), r.Filename, r.Start)
	_, native := expr.(hclsyntax.Expression)
	if !native || diags.HasErrors() || again.Range() != r {
		n.ok = false
	}
	return &said
}

// config notes the config of a read: its members that name a state.
func (n *noter) config(expr hcl.Expression) *saying {
	if expr == nil {
		return nil
	}
	pairs, diags := hcl.ExprMap(expr)
	if diags.HasErrors() {
		said := n.say(expr)
		n.ok = n.ok && said.Source == "" // it may hold anything
		return said
	}
	said := &saying{IsMap: true}
	for _, pair := range pairs {
		name, ok := n.scope.text(pair.Key)
		n.ok = n.ok && ok && !slices.Contains(revealing, name)
		if slices.Contains(identifying, name) || name == "workspaces" {
			said.Object = append(said.Object, member{name, *n.say(pair.Value)})
		}
	}
	return said
}

// recall makes d say what the fact says, and nothing else.
func (d *directory) recall(f fact) {
	d.backend, d.calls, d.reads, d.locals, d.cloud = nil, nil, nil, nil, d.expressions(f.Cloud)
	d.resources = f.Resources
	d.variables = make(map[string]variable, len(f.Variables))
	for name, attrs := range f.Variables {
		d.variables[name] = variable{attrs: d.expressions(attrs)}
	}
	if b := f.Backend; b != nil {
		d.backend = &backend{kind: b.Kind, said: said{attrs: d.expressions(b.Attrs)}, at: d.rangeOf(b.At)}
		for _, block := range b.Workspaces {
			d.backend.said.workspaces = append(d.backend.said.workspaces, d.expressions(block))
		}
	}
	for _, c := range f.Calls {
		d.calls = append(d.calls, &moduleCall{c.Name, d.expression(c.Source), d.expression(c.Version), d.rangeOf(c.At)})
	}
	for _, r := range f.Reads {
		d.reads = append(d.reads, &read{
			kind: r.Kind, name: r.Name, backend: d.expression(r.Backend), config: d.expression(r.Config),
			workspace: d.expression(r.Workspace), organization: d.expression(r.Organization), forEach: d.expression(r.ForEach), at: d.rangeOf(r.At),
		})
	}
}

func (d *directory) rangeOf(s spot) hcl.Range {
	return hcl.Range{Filename: path.Join(d.path, s.File), Start: hcl.Pos{Line: s.Line, Column: s.Column}}
}

func (d *directory) expressions(all map[string]saying) map[string]hcl.Expression {
	exprs := make(map[string]hcl.Expression, len(all))
	for name := range maps.Keys(all) {
		s := all[name]
		exprs[name] = d.expression(&s)
	}
	return exprs
}

func (d *directory) expression(s *saying) hcl.Expression {
	switch {
	case s == nil:
		return nil
	case s.Text != nil:
		return constant{text: *s.Text, known: true}
	case s.Source != "":
		expr, diags := hclsyntax.ParseExpression([]byte(s.Source), path.Join(d.path, s.File), *s.Pos)
		if diags.HasErrors() { // it was parsed when it was noted
			return constant{}
		}
		return expr
	case s.IsMap:
		o := object{pairs: []hcl.KeyValuePair{}} // nil would be no object
		for _, m := range s.Object {
			o.pairs = append(o.pairs, hcl.KeyValuePair{Key: constant{text: m.Name, known: true}, Value: d.expression(&m.Value)})
		}
		return o
	}
	return constant{}
}

// A constant is an expression that is a text, or that is known never to be a
// constant.
type constant struct {
	text  string
	known bool
}

func (c constant) Value(*hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if !c.known {
		return cty.DynamicVal, nil
	}
	return cty.StringVal(c.text), nil
}
func (constant) Variables() []hcl.Traversal { return nil }
func (constant) Range() hcl.Range           { return hcl.Range{} }
func (constant) StartRange() hcl.Range      { return hcl.Range{} }

// An object is one of which only some members matter.
type object struct {
	constant
	pairs []hcl.KeyValuePair
}

// ExprMap is what [hcl.ExprMap] asks for.
func (o object) ExprMap() []hcl.KeyValuePair { return o.pairs }
