package reach

import (
	"maps"
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"
)

// term is what a term may be.
func (a *analysis) term(t *ast.Term, s *scope) value {
	switch t := t.Value.(type) {
	case ast.Null, ast.Boolean, ast.Number, ast.String:
		return scalar(t)
	case ast.Var:
		if v, bound := s.vars[t]; bound {
			return v
		}
	case ast.Ref:
		return a.ref(t, s)
	case *ast.Array:
		c := composite{list: true, members: map[string]value{}}
		for i := range t.Len() {
			c.members[strconv.Itoa(i)] = a.term(t.Elem(i), s)
		}
		return made(c)
	case ast.Object:
		return made(a.object(t, s))
	case ast.Set:
		c := composite{set: true}
		t.Foreach(func(e *ast.Term) { c.rest = union(c.rest, a.term(e, s)) })
		if !c.rest.simple() {
			c.rest.show()
		}
		return made(c)
	case *ast.ArrayComprehension:
		inner := a.within(t.Body, s)
		return made(composite{rest: a.term(t.Term, inner)})
	case *ast.SetComprehension:
		inner := a.within(t.Body, s)
		rest := a.term(t.Term, inner)
		rest.compare()
		return made(composite{set: true, rest: rest})
	case *ast.ObjectComprehension:
		inner := a.within(t.Body, s)
		a.term(t.Key, inner).show()
		rest := a.term(t.Value, inner)
		rest.compare() // a key that is there twice needs equal values
		return made(composite{rest: rest})
	case ast.Call:
		if operator, ok := t[0].Value.(ast.Ref); ok {
			return a.apply(operator, t[1:], s)
		}
	}
	a.lost = true
	return other
}

// object evaluates an object that is written out. Where a name is no constant,
// any member may be the value of any name.
func (a *analysis) object(o ast.Object, s *scope) composite {
	c, constant := composite{members: map[string]value{}}, true
	for _, key := range o.Keys() {
		k, v := a.term(key, s), a.term(o.Get(key), s)
		k.show()
		constant = constant && ast.IsScalar(key.Value)
		c.members[key.Value.String()] = v
	}
	if !constant {
		for member := range maps.Values(c.members) {
			c.rest = union(c.rest, member)
		}
		c.members = map[string]value{}
	}
	return c
}

func (a *analysis) ref(r ast.Ref, s *scope) value {
	switch {
	case r[0].Equal(ast.InputRootDocument):
		return a.follow(place(a.input), r[1:], s)
	case r[0].Equal(ast.DefaultRootDocument):
		return a.document(r, s)
	}
	return a.follow(a.term(r[0], s), r[1:], s)
}

// document follows a reference that begins with data: through packages to
// rules, or to what is not defined by the policy and has nothing of the input.
func (a *analysis) document(r ast.Ref, s *scope) value {
	n := a.compiler.RuleTree.Child(r[0].Value)
	for i, t := range r[1:] {
		switch {
		case n == nil:
			return a.follow(other, r[i+1:], s)
		case len(n.Values) > 0 && len(n.Children) == 0:
			return a.follow(a.rule(n), r[i+1:], s)
		case len(n.Values) > 0 || !ast.IsScalar(t.Value):
			a.showRules(n)
			return a.follow(other, r[i+1:], s)
		}
		n = n.Child(t.Value)
	}
	switch {
	case n == nil:
		return other
	case len(n.Values) > 0 && len(n.Children) == 0:
		return a.rule(n)
	}
	a.showRules(n)
	return other
}

// showRules marks all that the rules below a node of the tree of rules have as
// seen: packages, and rules of which one is a part of the other, are objects in
// which anything may be looked up.
func (a *analysis) showRules(n *ast.TreeNode) {
	if len(n.Values) > 0 && len(n.Values[0].Head.Args) == 0 {
		a.rule(n).show()
	}
	for _, child := range n.Children {
		a.showRules(child)
	}
}

// follow takes the steps of a reference from v on.
func (a *analysis) follow(v value, steps []*ast.Term, s *scope) value {
	for _, t := range steps {
		if s.open(t) { // all of v is iterated
			s.many = true
			a.bind(t, v.keys(), s)
			v = v.each()
			continue
		}
		v = lookup(v, a.term(t, s))
	}
	return v
}

// lookup is what v has at a key, which need not be a constant.
func lookup(v, key value) value {
	if !key.simple() {
		v.compareKey(key)
		return v.each()
	}
	var out []value
	for _, constant := range key.scalars {
		out = append(out, v.at(constant))
	}
	return union(out...)
}
