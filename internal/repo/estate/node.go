package estate

import (
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// A node is one field, or anything else that has a value: all that is said of it.
type node struct {
	r     *reader
	parts []part

	present bool       // a field that is there; else it has only constraints
	hidden  []ast.Node // what may say more of it, and is not understood

	state    int // of what follows
	bodies   []*env
	extra    map[string][]part // fields whose names were evaluated, by key
	lists    []part
	leaves   []part // what is no struct and no list
	foreign  []foreign
	missing  []ast.Node // parts that are not understood
	referred map[*node]bool
	children map[string]*node
	asked    bool // its text is being evaluated
}

// A part is one thing that is said of a node: an expression, a file of a package,
// something of a provider, or a text.
type part struct {
	expr    ast.Expr
	env     *env
	source  *source
	foreign *foreign
	text    *string
}

// A foreign is something in a package that is not in the module: a provider.
type foreign struct {
	source string   // the import path
	path   []string // in it, such as #Provider #Data terraform_remote_state
	base   *node    // the provider, where the path goes on from it
	at     ast.Node // where the text takes it
}

const (
	fresh = iota
	expanding
	expanded
)

// expand makes structs, lists and the rest out of the parts. What is said by a loop,
// or in a field whose name is evaluated, comes last: that may look at the others.
func (n *node) expand() {
	if n.state != fresh {
		return
	}
	n.state = expanding
	for _, p := range n.parts {
		n.add(p)
	}
	for i := 0; i < len(n.bodies); i++ {
		e := n.bodies[i]
		for _, f := range e.index.dynamic {
			n.addDynamic(f, e)
		}
		for _, l := range e.index.loops {
			scopes, ok := n.r.iterate(l.Clauses, e)
			if !ok || l.Fallback != nil {
				n.missing = append(n.missing, l)
				continue
			}
			n.r.covered[l] = true
			for _, scope := range scopes {
				n.add(part{expr: l.Value, env: scope})
			}
		}
	}
	n.state, n.children = expanded, nil
}

// add adds what one part says.
func (n *node) add(p part) {
	switch {
	case p.source != nil && p.source.when:
		n.missing = append(n.missing, p.source.file)
		return
	case p.source != nil:
		n.body(p.source.env)
		return
	case p.foreign != nil:
		n.foreign = append(n.foreign, *p.foreign)
		return
	case p.text != nil:
		n.leaves = append(n.leaves, p)
		return
	}
	if !n.r.step() {
		n.missing = append(n.missing, p.expr)
		return
	}
	switch x := p.expr.(type) {
	case *ast.StructLit:
		e := &env{up: p.env, node: n, index: n.r.index(x, x.Elts), names: map[string]*node{}, source: p.env.source}
		e.declare()
		n.body(e)
	case *ast.ParenExpr:
		n.add(part{expr: x.X, env: p.env})
	case *ast.Alias:
		n.add(part{expr: x.Expr, env: p.env.with(x.Ident.Name, n)})
	case *ast.ListLit:
		n.lists = append(n.lists, p)
	case *ast.Ident, *ast.SelectorExpr, *ast.IndexExpr:
		n.refer(x, p)
	case *ast.BinaryExpr:
		if x.Op == token.AND {
			n.add(part{expr: x.X, env: p.env})
			n.add(part{expr: x.Y, env: p.env})
			return
		}
		n.leaves = append(n.leaves, p)
	case *ast.BasicLit, *ast.Interpolation, *ast.UnaryExpr:
		n.leaves = append(n.leaves, p)
	default:
		n.missing = append(n.missing, p.expr)
	}
}

// body adds the declarations of a struct or a file.
func (n *node) body(e *env) {
	n.bodies = append(n.bodies, e)
	for _, x := range e.index.embedded {
		n.add(part{expr: x, env: e})
	}
}

// refer adds what a reference leads to. It is said of n now: what the structs that it
// leads to say of themselves, they say of n.
func (n *node) refer(x ast.Expr, p part) {
	if id, ok := x.(*ast.Ident); ok && types[id.Name] && p.env.find(id.Name) == nil {
		n.leaves = append(n.leaves, p)
		return
	}
	to, at := n.r.resolve(x, p.env)
	if to == nil {
		n.missing = append(n.missing, x)
		return
	}
	if to == n || n.referred[to] { // what is said twice is said
		return
	}
	if n.referred == nil {
		n.referred = map[*node]bool{}
	}
	n.referred[to] = true
	n.hidden = append(n.hidden, to.hidden...)
	for _, q := range to.parts {
		if q.foreign != nil {
			f := *q.foreign
			f.at = at
			q.foreign = &f
		}
		n.add(q)
	}
}

// types are CUE's own names that say of what kind a value is.
var types = map[string]bool{"string": true, "number": true, "int": true, "bool": true, "float": true, "bytes": true, "_": true}

// addDynamic adds a field whose name is evaluated.
func (n *node) addDynamic(f *ast.Field, e *env) {
	label := ast.Node(f.Label)
	if paren, ok := label.(*ast.ParenExpr); ok {
		label = paren.X
	}
	name, ok := "", false
	if x, isExpr := label.(ast.Expr); isExpr {
		name, ok = n.r.value(x, e).text()
	}
	if !ok || f.Constraint != token.ILLEGAL {
		n.missing = append(n.missing, f)
		return
	}
	if n.extra == nil {
		n.extra = map[string][]part{}
	}
	n.extra[textKey(name)] = append(n.extra[textKey(name)], part{expr: f.Value, env: e})
}

// child is the field of a key. It may have nothing but constraints, or nothing at
// all.
func (n *node) child(key string) *node {
	n.expand()
	if c := n.children[key]; c != nil {
		return c
	}
	c := &node{r: n.r, hidden: slices.Clone(n.hidden)}
	c.hide(n.missing, key)
	for _, e := range n.bodies {
		if n.state == expanding {
			c.hide(e.index.later, key)
		}
		for _, f := range e.index.fields[plain(key)] {
			if e.key(plain(key)) == key {
				c.parts = append(c.parts, part{expr: f.Value, env: e})
				c.present = c.present || f.Constraint == token.ILLEGAL
			}
		}
		for _, f := range e.index.patterns {
			c.constrain(f, key, e)
		}
	}
	for _, p := range n.extra[key] {
		c.parts, c.present = append(c.parts, p), true
	}
	for _, f := range n.foreign {
		base := f.base
		if len(f.path) == 1 {
			base = n
		}
		c.parts = append(c.parts, part{foreign: &foreign{source: f.source, path: append(slices.Clip(f.path), key), base: base}})
		c.present = true
	}
	if n.state == expanded {
		if n.children == nil {
			n.children = map[string]*node{}
		}
		n.children[key] = c
	}
	return c
}

// hide notes those of the gaps in a struct that may be about the field of that key.
func (n *node) hide(gaps []ast.Node, key string) {
	for _, gap := range gaps {
		if about(gap, key) {
			n.hidden = append(n.hidden, gap)
		}
	}
}

// open reports whether more may be said of n than is known.
func (n *node) open() bool { return len(n.hidden)+len(n.missing) > 0 }

// plain is a key without the package that a hidden one is of.
func plain(key string) string {
	if strings.HasPrefix(key, "_") {
		key, _, _ = strings.Cut(key, " ")
	}
	return key
}

// constrain adds what a pattern says of a field. Which fields one with a condition is
// about is not told.
func (n *node) constrain(f *ast.Field, key string, e *env) {
	list, ok := f.Label.(*ast.ListLit)
	if a, isAlias := f.Label.(*ast.Alias); isAlias {
		list, ok = a.Expr.(*ast.ListLit)
	}
	if !regular(key) {
		return
	}
	if !ok || len(list.Elts) != 1 {
		n.hidden = append(n.hidden, f)
		return
	}
	match := list.Elts[0]
	if a, ok := match.(*ast.Alias); ok {
		match, e = a.Expr, e.with(a.Ident.Name, &node{r: n.r, parts: []part{{text: &key}}})
	}
	if id, ok := match.(*ast.Ident); ok && (id.Name == "string" || id.Name == "_") {
		n.parts = append(n.parts, part{expr: f.Value, env: e})
		return
	}
	n.hidden = append(n.hidden, f)
}

// keys are those of the regular fields that are there, in the order of the text.
func (n *node) keys() (keys []string) {
	n.expand()
	seen := map[string]bool{}
	add := func(key string) {
		if !seen[key] && regular(key) {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	for _, e := range n.bodies {
		for _, key := range e.index.keys {
			if slices.ContainsFunc(e.index.fields[key], func(f *ast.Field) bool { return f.Constraint == token.ILLEGAL }) {
				add(key)
			}
		}
	}
	for _, key := range sorted(n.extra) {
		add(key)
	}
	return keys
}

// resolve is what a reference leads to, nil where that is not known, and the place at
// which the text says the last step.
func (r *reader) resolve(x ast.Expr, e *env) (to *node, at ast.Node) {
	switch x := x.(type) {
	case *ast.Ident:
		return e.find(x.Name), x
	case *ast.SelectorExpr:
		key, ok := keyOf(x.Sel)
		if !ok {
			return nil, nil
		}
		return r.value(x.X, e).child(e.key(key)), x.Sel
	case *ast.IndexExpr:
		name, ok := r.value(x.Index, e).text()
		if !ok {
			return nil, nil
		}
		base := r.value(x.X, e)
		if base.expand(); len(base.lists) > 0 {
			i, err := strconv.Atoi(name)
			if all, ok := base.elements(); err == nil && ok && i >= 0 && i < len(all) {
				return all[i].node, x.Index
			}
			return nil, nil
		}
		return base.child(textKey(name)), x.Index
	}
	return nil, nil
}

// value is that of an expression.
func (r *reader) value(x ast.Expr, e *env) *node {
	if to, _ := r.resolve(x, e); to != nil {
		return to
	}
	return &node{r: r, parts: []part{{expr: x, env: e}}, present: true}
}
