package estate

import (
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"
)

// An index is the declarations of one struct or file, by what they are.
type index struct {
	fields   map[string][]*ast.Field // by key
	keys     []string                // in the order of the text
	idents   map[string]bool         // names that can be referred to
	aliases  map[string]string       // name: key of the field
	lets     []*ast.LetClause
	patterns []*ast.Field // [string]: ...
	dynamic  []*ast.Field // "\(x)": ..., (x): ...
	embedded []ast.Expr
	loops    []*ast.Comprehension
	later    []ast.Node // all of them that are evaluated: what they say is not known at once
}

// index is that of the declarations of a struct or file, which is made once.
func (r *reader) index(of ast.Node, decls []ast.Decl) *index {
	if x := r.indexes[of]; x != nil {
		return x
	}
	x := &index{fields: map[string][]*ast.Field{}, idents: map[string]bool{}, aliases: map[string]string{}}
	r.indexes[of] = x
	for _, d := range decls {
		switch d := d.(type) {
		case *ast.Field:
			if x.field(d); len(x.dynamic) > 0 && x.dynamic[len(x.dynamic)-1] == d {
				x.later = append(x.later, d)
			}
		case *ast.LetClause:
			x.lets = append(x.lets, d)
		case *ast.EmbedDecl:
			x.embedded, x.later = append(x.embedded, d.Expr), append(x.later, d.Expr)
		case *ast.Comprehension:
			x.loops, x.later = append(x.loops, d), append(x.later, d)
		}
	}
	return x
}

func (x *index) field(f *ast.Field) {
	label := f.Label
	if a, ok := label.(*ast.Alias); ok {
		inner, ok := a.Expr.(ast.Label)
		if !ok {
			x.dynamic = append(x.dynamic, f)
			return
		}
		if key, ok := keyOf(inner); ok {
			x.aliases[a.Ident.Name] = key
		}
		label = inner
	}
	if _, ok := label.(*ast.ListLit); ok {
		x.patterns = append(x.patterns, f)
		return
	}
	key, ok := keyOf(label)
	if !ok {
		x.dynamic = append(x.dynamic, f)
		return
	}
	if id, ok := label.(*ast.Ident); ok {
		x.idents[id.Name] = true
	}
	if f.Alias != nil {
		x.aliases[f.Alias.Field.Name] = key
	}
	if x.fields[key] == nil {
		x.keys = append(x.keys, key)
	}
	x.fields[key] = append(x.fields[key], f)
}

// keyOf is what a field is called: a name as it is, and a text that would be a name
// of another kind in quotes. What has to be evaluated is none.
func keyOf(label ast.Node) (key string, ok bool) {
	switch l := label.(type) {
	case *ast.Ident:
		return l.Name, true
	case *ast.BasicLit:
		if l.Kind != token.STRING {
			return "", false
		}
		text, err := literal.Unquote(l.Value)
		return textKey(text), err == nil
	}
	return "", false
}

func textKey(text string) string {
	if strings.HasPrefix(text, "#") || strings.HasPrefix(text, "_") {
		return `"` + text
	}
	return text
}

// regular reports whether a field of that key is one that makes something.
func regular(key string) bool { return !strings.HasPrefix(key, "#") && !strings.HasPrefix(key, "_") }

// An env is what names mean at a place in the text.
type env struct {
	up     *env
	node   *node            // the struct whose fields they are; nil in a scope of names alone
	index  *index           // the declarations that make them known here
	names  map[string]*node // what is no field: let, aliases, loops, imports
	source *source
}

// declare makes names of the lets and aliases among the declarations.
func (e *env) declare() {
	for _, l := range e.index.lets {
		e.names[l.Ident.Name] = &node{r: e.node.r, parts: []part{{expr: l.Expr, env: e}}}
	}
}

// with is e with one more name.
func (e *env) with(name string, n *node) *env {
	return &env{up: e, names: map[string]*node{name: n}, source: e.source}
}

// key is that of a field as the struct knows it: a hidden one is another one in
// every package.
func (e *env) key(key string) string {
	if strings.HasPrefix(key, "_") {
		return key + " " + e.source.pkg.dir
	}
	return key
}

// find is what a name stands for; nil where nobody says.
func (e *env) find(name string) *node {
	last := e
	for at := e; at != nil; at = at.up {
		last = at
		if n := at.names[name]; n != nil {
			return n
		}
		if at.index == nil {
			continue
		}
		if at.index.idents[name] {
			return at.node.child(at.key(name))
		}
		if key, ok := at.index.aliases[name]; ok {
			return at.node.child(at.key(key))
		}
	}
	for _, f := range last.source.pkg.files { // what another file of the package declares
		if f.env != nil && f.env.index.idents[name] {
			return f.pkg.node.child(last.key(name))
		}
	}
	return nil
}

// about reports whether what is not understood in a struct may make a field of that
// key.
func about(n ast.Node, key string) bool {
	switch n := n.(type) {
	case *ast.Comprehension:
		body, ok := n.Value.(*ast.StructLit)
		return !ok || n.Fallback != nil || slices.ContainsFunc(body.Elts, func(d ast.Decl) bool { return about(d, key) })
	case *ast.LetClause, *ast.Attribute, *ast.Ellipsis:
		return false
	case *ast.Field:
		if name, ok := keyOf(n.Label); ok {
			return name == plain(key)
		}
		if text, ok := n.Label.(*ast.Interpolation); ok && regular(key) {
			return around(text, strings.TrimPrefix(key, `"`))
		}
		return regular(key)
	}
	return true
}

// around reports whether an interpolation may come to name: whether that begins and
// ends as it does.
func around(x *ast.Interpolation, name string) bool {
	first := strings.TrimSuffix(x.Elts[0].(*ast.BasicLit).Value, `\(`)
	last := strings.TrimPrefix(x.Elts[len(x.Elts)-1].(*ast.BasicLit).Value, ")")
	if strings.Contains(first+last, `\`) || strings.HasPrefix(first, "#") || strings.HasPrefix(first, `"""`) {
		return true
	}
	return strings.HasPrefix(name, first[1:]) && strings.HasSuffix(name, strings.TrimSuffix(last, `"`))
}
