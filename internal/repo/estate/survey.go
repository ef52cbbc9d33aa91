package estate

import (
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"
)

// This file is about finding what there is, and what may be there all the same.

// An item is a data source that reads a state.
type item struct {
	path string
	node *node
	of   foreign
}

// depthMax bounds how deep fields are looked into.
const depthMax = 100

// survey looks for items in the fields that make something (docs/spec.md, rule 10).
func (r *reader) survey(n *node, at []string) {
	n.expand()
	if len(at) > depthMax || !r.step() {
		return
	}
	for _, f := range n.foreign {
		if len(f.path) == 3 && slices.Contains(kinds, f.path[2]) {
			r.items = append(r.items, item{strings.Join(at, "."), n, f})
			r.covered[f.at] = true
		}
		if len(f.path) == 1 || len(f.path) == 3 { // a provider, or what is built from one
			return
		}
	}
	for _, missing := range slices.Concat(n.missing, n.hidden) {
		r.gaps[missing] = true
	}
	var all []element
	if len(n.lists) > 0 {
		known := false
		if all, known = n.elements(); !known {
			for _, l := range n.lists {
				r.gaps[l.expr] = true
			}
		}
	} else {
		for _, key := range n.keys() {
			all = append(all, element{strings.TrimPrefix(key, `"`), n.child(key)})
		}
	}
	for _, e := range all {
		if !strings.HasPrefix(e.key, "$") {
			r.survey(e.node, append(slices.Clip(at), e.key))
		}
	}
}

// reads are those of the whole specification, and the places at which there may be
// more.
func (r *reader) reads(root *node) (reads []Read, vague []string) {
	mentions := r.mentions(kinds)
	if vague = r.unseen; len(mentions) == 0 {
		return nil, vague
	}
	r.survey(root, nil)
	if r.steps <= 0 { // nothing is sure
		r.items, r.covered = nil, nil
		r.gaps = map[ast.Node]bool{mentions[0].node: true}
	}
	for _, i := range r.items {
		reads = append(reads, r.read(i))
	}
	reach := r.reach(kinds)
	for gap := range r.gaps {
		if reach.from(gap) {
			vague = append(vague, place(gap.Pos()))
		}
	}
	for _, m := range mentions {
		if !r.covered[m.node] && !slices.ContainsFunc(append(m.in, m.node), r.excused) {
			vague = append(vague, place(m.node.Pos()))
		}
	}
	slices.Sort(vague)
	return reads, slices.Compact(vague)
}

// excused reports whether what stands in n need not have become anything: it is a
// pattern, or a loop that was gone through, or is told of already.
func (r *reader) excused(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.LetClause:
		return true
	case *ast.Field:
		key, ok := keyOf(n.Label)
		return ok && !regular(key) || n.Constraint != token.ILLEGAL || r.gaps[n]
	}
	return r.covered[n] || r.gaps[n]
}

// A mention is a place at which the text names something, and what it is in.
type mention struct {
	node ast.Node
	in   []ast.Node
}

// mentions are the places that name one of words, other than as the name of a field.
func (r *reader) mentions(words []string) (all []mention) {
	for _, p := range r.order {
		for _, f := range p.files {
			var in []ast.Node
			labels := map[ast.Node]bool{}
			ast.Walk(f.file, func(n ast.Node) bool {
				if field, ok := n.(*ast.Field); ok {
					labels[field.Label] = true
				}
				if named(n, words) && !labels[n] {
					all = append(all, mention{n, slices.Clone(in)})
				}
				in = append(in, n)
				return true
			}, func(ast.Node) { in = in[:len(in)-1] })
		}
	}
	return all
}

// named reports whether a node is one of words, as a name or as a text.
func named(n ast.Node, words []string) bool {
	switch n := n.(type) {
	case *ast.Ident:
		return slices.Contains(words, n.Name)
	case *ast.BasicLit:
		if n.Kind != token.STRING {
			return false
		}
		text, err := literal.Unquote(n.Value)
		return err == nil && slices.Contains(words, text)
	}
	return false
}

// A reach says of any part of the text whether it may lead to words, through whatever
// it refers to. It goes by names alone, so it may say yes too often.
type reach struct {
	words []string
	names map[string]bool // fields and lets that do
	made  []ast.Node      // names of fields that do, and are evaluated
	steps int             // that are left; without any the answer is yes
}

func (r *reader) reach(words []string) *reach {
	reach := &reach{words: words, names: map[string]bool{}, steps: 10 * stepsMax}
	for grown := true; grown; {
		grown = false
		grow := func(name string, to ast.Node) {
			if !reach.names[name] && reach.from(to) {
				reach.names[name], grown = true, true
			}
		}
		for _, p := range r.order {
			for _, f := range p.files {
				ast.Walk(f.file, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.LetClause:
						grow(n.Ident.Name, n.Expr)
					case *ast.Alias:
						grow(n.Ident.Name, n.Expr)
					case *ast.ForClause:
						grow(n.Value.Name, n.Source)
					case *ast.Field:
						label := ast.Node(n.Label)
						if a, ok := label.(*ast.Alias); ok {
							grow(a.Ident.Name, n.Value)
							label = a.Expr
						}
						if key, ok := keyOf(label); ok {
							grow(key, n.Value)
						} else if !slices.Contains(reach.made, label) && reach.from(n.Value) {
							reach.made, grown = append(reach.made, label), true
						}
					}
					return true
				}, nil)
			}
		}
	}
	return reach
}

// from reports whether what stands at n may lead to the words. Of a selection only
// its end counts: what net.outputs.id is, is not what net is.
func (h *reach) from(n ast.Node) bool {
	found := false
	ast.Walk(n, func(n ast.Node) bool {
		h.steps--
		if found = found || h.steps < 0 || named(n, h.words); found {
			return false
		}
		switch n := n.(type) {
		case *ast.Ident:
			found = found || h.names[n.Name] // no name alone leads to a field whose own is evaluated
		case *ast.SelectorExpr:
			key, ok := keyOf(n.Sel)
			found = found || !ok || named(n.Sel, h.words) || h.names[key] || !resource(n) && h.mayBeMade(key) || !simple(n.X) && h.from(n.X)
			return false
		case *ast.Field:
			found = found || h.from(n.Value)
			if _, static := keyOf(n.Label); !static {
				found = found || h.from(n.Label)
			}
			return false
		}
		return !found
	}, nil)
	return found
}

// mayBeMade reports whether a field whose name is evaluated may be called so.
func (h *reach) mayBeMade(key string) bool {
	return slices.ContainsFunc(h.made, func(label ast.Node) bool {
		x, ok := label.(*ast.Interpolation)
		return regular(key) && (!ok || around(x, strings.TrimPrefix(key, `"`)))
	})
}

// resource reports whether a selection ends with a type of resources.
func resource(x *ast.SelectorExpr) bool {
	of, ok := x.X.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	name, _ := of.Sel.(*ast.Ident)
	return name != nil && (name.Name == "#Resource" || name.Name == "#Function")
}

// simple reports whether x is a name, or a selection that begins with one.
func simple(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return true
	case *ast.SelectorExpr:
		return simple(x.X)
	}
	return false
}

// state is where the state of the specification is, by its $settings.
func (r *reader) state(root *node) Where {
	w := Where{Kind: Value{"local", true}, Values: map[string]Value{}}
	if said := root.child("$settings").child("state"); said.present {
		w = backend(said)
	} else if said.open() {
		w.Kind.Known = false
	}
	w.Kind.Known = w.Kind.Known && r.steps > 0
	return w
}

// backend is what $settings.state says: one backend by its name.
func backend(n *node) Where {
	keys := n.keys()
	if len(keys) != 1 {
		return Where{Open: true}
	}
	w := where(n.child(keys[0]))
	w.Kind = Value{keys[0], true}
	return w
}

// where is what a struct says of a place, attribute by attribute.
func where(n *node) Where {
	w := Where{Values: map[string]Value{}}
	for _, key := range n.keys() {
		c := n.child(key)
		if key != "workspaces" {
			w.Values[key] = value(c)
			continue
		}
		if all, ok := c.elements(); ok && len(c.lists) > 0 && len(all) == 1 {
			c = all[0].node
		}
		inner := where(c)
		if inner.Open || len(inner.Values) == 0 {
			w.Values["workspaces.name"] = Value{}
		}
		for name, v := range inner.Values {
			w.Values["workspaces."+name] = v
		}
	}
	w.Open = n.open()
	return w
}

func value(n *node) Value {
	text, ok := n.text()
	return Value{text, ok}
}

// at is where the first thing is said of a node.
func (n *node) at() string {
	for _, p := range n.parts {
		if p.expr != nil {
			return place(p.expr.Pos())
		}
	}
	return ""
}

// read is what an item says.
func (r *reader) read(i item) Read {
	read := Read{Kind: i.of.path[2], Path: i.path, At: i.node.at()}
	said := where(i.node)
	if w, ok := said.Values["workspace"]; ok || said.Open {
		read.Workspace = &w
	}
	if read.Kind == "terraform_remote_state" {
		if config := i.node.child("config"); config.present {
			read.Config = where(config)
		} else {
			read.Config = Where{Open: said.Open}
		}
		read.Config.Kind = said.Values["backend"]
		return read
	}
	read.Config = Where{Kind: Value{"remote", true}, Values: map[string]Value{}, Open: said.Open}
	for _, name := range []string{"hostname", "organization"} {
		if base := i.of.base; slices.Contains(base.keys(), name) || base.child(name).open() {
			read.Config.Values[name] = value(base.child(name))
		}
	}
	if v, ok := said.Values["organization"]; ok {
		read.Config.Values["organization"] = v
	}
	return read
}
