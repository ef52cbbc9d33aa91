package estate

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"
)

// textMax bounds one text that is evaluated, and elementsMax one loop.
const (
	textMax     = 4 << 10
	elementsMax = 1000
)

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// text is the value of a text, a number or a truth value; ok is false where it is not
// known, or is none. Of a choice with a default the default counts, if nothing else is
// said that could choose.
func (n *node) text() (text string, ok bool) {
	n.expand()
	if n.asked || !n.r.step() {
		return "", false
	}
	n.asked = true
	defer func() { n.asked = false }()
	firm, soft := map[string]bool{}, map[string]bool{}
	sure := !n.open()
	for _, p := range n.leaves {
		value, known := n.r.leaf(p)
		if known {
			firm[value] = true
			continue
		}
		if preset, chosen := n.r.preset(p); chosen {
			soft[preset] = true
			continue
		}
		id, isType := p.expr.(*ast.Ident)
		sure = sure && isType && types[id.Name]
	}
	for _, f := range n.foreign {
		if f.source == toolFunctions && slices.Equal(f.path, []string{"#root"}) {
			firm[Root] = true
			continue
		}
		sure = sure && f.path != nil && f.path[0] == "#Provider" // which says what kind of value it is
	}
	if len(firm) == 0 && sure {
		firm = soft
	}
	if len(firm) != 1 {
		return "", false
	}
	text = sorted(firm)[0]
	return text, len(text) <= textMax
}

// leaf is the value of what is no reference.
func (r *reader) leaf(p part) (string, bool) {
	if p.text != nil {
		return *p.text, true
	}
	switch x := p.expr.(type) {
	case *ast.BasicLit:
		switch x.Kind {
		case token.STRING:
			text, err := literal.Unquote(x.Value)
			return text, err == nil && !strings.HasPrefix(strings.TrimLeft(x.Value, "#"), "'")
		case token.INT, token.TRUE, token.FALSE:
			return x.Value, true
		}
	case *ast.Interpolation:
		return r.interpolation(x, p.env)
	case *ast.BinaryExpr:
		return r.binary(x, p.env)
	}
	return "", false
}

// binary is a sum of texts, or a comparison of constants.
func (r *reader) binary(x *ast.BinaryExpr, e *env) (string, bool) {
	if x.Op != token.ADD && x.Op != token.EQL && x.Op != token.NEQ {
		return "", false
	}
	left, ok := r.value(x.X, e).text()
	right, also := r.value(x.Y, e).text()
	if !ok || !also {
		return "", false
	}
	if x.Op == token.ADD {
		_, leftNumber := strconv.ParseFloat(left, 64)
		_, rightNumber := strconv.ParseFloat(right, 64)
		return left + right, (leftNumber != nil || rightNumber != nil) && len(left)+len(right) <= textMax
	}
	return strconv.FormatBool((left == right) == (x.Op == token.EQL)), true
}

// preset is the default of a choice: *"a" | string.
func (r *reader) preset(p part) (string, bool) {
	x, ok := p.expr.(*ast.BinaryExpr)
	if !ok || x.Op != token.OR {
		return "", false
	}
	for _, side := range []ast.Expr{x.X, x.Y} {
		if marked, ok := side.(*ast.UnaryExpr); ok && marked.Op == token.MUL {
			return r.value(marked.X, p.env).text()
		}
	}
	return r.preset(part{expr: x.X, env: p.env})
}

// interpolation is a text with values in it.
func (r *reader) interpolation(x *ast.Interpolation, e *env) (string, bool) {
	first, last := x.Elts[0].(*ast.BasicLit), x.Elts[len(x.Elts)-1].(*ast.BasicLit)
	quotes, open, _, err := literal.ParseQuotes(first.Value, last.Value)
	if err != nil || !quotes.IsDouble() {
		return "", false
	}
	var out strings.Builder
	for i, elt := range x.Elts {
		lit, isText := elt.(*ast.BasicLit)
		if !isText || i%2 == 1 {
			text, ok := r.value(elt, e).text()
			if !ok || out.Len()+len(text) > textMax {
				return "", false
			}
			out.WriteString(text)
			continue
		}
		raw := strings.TrimPrefix(lit.Value, ")")
		if i == 0 {
			raw = lit.Value[open:]
		}
		text, err := quotes.Unquote(raw)
		if err != nil {
			return "", false
		}
		out.WriteString(text)
	}
	return out.String(), true
}

// An element is one of a list, or a field of a struct.
type element struct {
	key  string
	node *node
}

// elements are those of a list, or the regular fields of a struct; ok is false where
// there may be others.
func (n *node) elements() (all []element, ok bool) {
	n.expand()
	if n.open() || n.state != expanded && len(n.lists) == 0 {
		return nil, false
	}
	if len(n.lists) == 0 {
		for _, key := range n.keys() {
			all = append(all, element{strings.TrimPrefix(key, `"`), n.child(key)})
		}
		return all, len(n.bodies) > 0 && len(n.leaves) == 0
	}
	if len(n.lists) > 1 {
		return nil, false
	}
	return n.r.listed(n.lists[0])
}

// listed are the elements that a list is written with.
func (r *reader) listed(p part) (all []element, ok bool) {
	ok = true
	add := func(x ast.Expr, e *env) {
		all = append(all, element{strconv.Itoa(len(all)), &node{r: r, parts: []part{{expr: x, env: e}}, present: true}})
	}
	for _, x := range p.expr.(*ast.ListLit).Elts {
		switch x := x.(type) {
		case *ast.Ellipsis:
		case *ast.Comprehension:
			scopes, known := r.iterate(x.Clauses, p.env)
			ok = ok && known && x.Fallback == nil
			r.covered[x] = r.covered[x] || ok
			for _, scope := range scopes {
				add(x.Value, scope)
			}
		default:
			add(x, p.env)
		}
	}
	return all, ok && len(all) <= elementsMax
}

// iterate is what the names in a comprehension stand for, each time; ok is false where
// that is not known.
func (r *reader) iterate(clauses []ast.Clause, e *env) (scopes []*env, ok bool) {
	if len(clauses) == 0 {
		return []*env{e}, true
	}
	switch c := clauses[0].(type) {
	case *ast.IfClause:
		switch holds, _ := r.value(c.Condition, e).text(); holds {
		case "true":
			return r.iterate(clauses[1:], e)
		case "false":
			return nil, true
		}
	case *ast.LetClause:
		return r.iterate(clauses[1:], e.with(c.Ident.Name, &node{r: r, parts: []part{{expr: c.Expr, env: e}}}))
	case *ast.ForClause:
		all, known := r.value(c.Source, e).elements()
		if !known {
			return nil, false
		}
		for _, element := range all {
			inner := e.with(c.Value.Name, element.node)
			if c.Key != nil {
				inner = inner.with(c.Key.Name, &node{r: r, parts: []part{{text: &element.key}}})
			}
			some, known := r.iterate(clauses[1:], inner)
			if scopes = append(scopes, some...); !known || len(scopes) > elementsMax || !r.step() {
				return nil, false
			}
		}
		return scopes, true
	}
	return nil, false
}
