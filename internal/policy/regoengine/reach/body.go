package reach

import (
	"maps"

	"github.com/open-policy-agent/opa/v1/ast"
)

// body evaluates expressions one after the other.
func (a *analysis) body(b ast.Body, s *scope) {
	for _, e := range b {
		if a.steps++; a.steps > maxSteps {
			a.lost = true
		}
		if a.lost {
			return
		}
		a.expr(e, s)
	}
}

// within evaluates a body that has variables of its own, and sees those around
// it.
func (a *analysis) within(b ast.Body, s *scope) *scope {
	inner := &scope{vars: maps.Clone(s.vars)}
	a.body(b, inner)
	return inner
}

func (a *analysis) expr(e *ast.Expr, s *scope) {
	if len(e.With) > 0 {
		a.lost = true // it may replace the input, and functions
		return
	}
	if e.Negated {
		s = &scope{vars: maps.Clone(s.vars)}
	}
	switch terms := e.Terms.(type) {
	case *ast.Term:
		a.term(terms, s) // false is a scalar, so there is nothing more to see
	case []*ast.Term:
		a.callExpr(terms, s)
	case *ast.Every:
		domain := a.term(terms.Domain, s)
		inner := &scope{vars: maps.Clone(s.vars)}
		if terms.Key != nil {
			a.bind(terms.Key, domain.keys(), inner)
		}
		a.bind(terms.Value, domain.each(), inner)
		a.body(terms.Body, inner)
	case *ast.Not:
		a.within(terms.Body, s)
	default:
		a.lost = true
	}
}

// callExpr evaluates a call that stands alone. What follows the arguments is
// where the result goes.
func (a *analysis) callExpr(terms []*ast.Term, s *scope) {
	operator, _ := terms[0].Value.(ast.Ref)
	args := terms[1:]
	if name := operator.String(); name == ast.Equality.Name || name == ast.Assign.Name {
		a.unify(args[0], args[1], s)
		return
	}
	n, ok := a.arity(operator)
	if !ok || len(args) < n || len(args) > n+1 {
		a.lost = true
		return
	}
	result := a.apply(operator, args[:n], s)
	if len(args) > n {
		a.bind(args[n], result, s)
	}
}

// unify makes x and y equal: it binds what variables of one are not bound yet
// to what is in the other.
func (a *analysis) unify(x, y *ast.Term, s *scope) {
	if a.pairwise(x, y, s) {
		return
	}
	if s.open(y) {
		x, y = y, x
	}
	a.bind(x, a.term(y, s), s)
}

// pairwise unifies the parts of two lists of one length, or of two objects
// with the same constant names.
func (a *analysis) pairwise(x, y *ast.Term, s *scope) bool {
	switch x := x.Value.(type) {
	case *ast.Array:
		y, ok := y.Value.(*ast.Array)
		if !ok || x.Len() != y.Len() {
			return false
		}
		for i := range x.Len() {
			a.unify(x.Elem(i), y.Elem(i), s)
		}
		return true
	case ast.Object:
		y, ok := y.Value.(ast.Object)
		if !ok || x.Len() != y.Len() {
			return false
		}
		for _, key := range x.Keys() {
			if !ast.IsScalar(key.Value) || y.Get(key) == nil {
				return false
			}
		}
		for _, key := range x.Keys() {
			a.unify(x.Get(key), y.Get(key), s)
		}
		return true
	}
	return false
}

// bind makes v the value of what is open in a pattern, and compares v with the
// rest of it.
func (a *analysis) bind(pattern *ast.Term, v value, s *scope) {
	if !s.open(pattern) {
		same(a.term(pattern, s), v)
		return
	}
	switch p := pattern.Value.(type) {
	case ast.Var:
		s.vars[p] = v
	case *ast.Array:
		for i := range p.Len() {
			a.bind(p.Elem(i), v.at(ast.IntNumberTerm(i).Value), s)
		}
	case ast.Object:
		v.each() // it matches objects that have these members and no others
		for _, key := range p.Keys() {
			k := a.term(key, s)
			a.bind(p.Get(key), lookup(v, k), s)
		}
	}
}

// open says that a pattern has a variable that is not bound yet.
func (s *scope) open(pattern *ast.Term) bool {
	switch p := pattern.Value.(type) {
	case ast.Var:
		_, bound := s.vars[p]
		return !bound
	case *ast.Array:
		for i := range p.Len() {
			if s.open(p.Elem(i)) {
				return true
			}
		}
	case ast.Object:
		for _, key := range p.Keys() {
			if s.open(p.Get(key)) {
				return true
			}
		}
	}
	return false
}
