// Package reach says what of its input a Rego policy can see, whatever the
// input is. It follows values from the input through the rules of a compiled
// policy, without evaluating them: a term of a policy may be what the input has
// at some places, and every use of the term says more about what is seen there.
//
// It must never leave out what a policy can see, for a value that is missing is
// no finding. So a place is left out only where every step to it is understood;
// whatever is not (a built-in that takes a value, a comparison, output) sees
// the whole value, and a policy that replaces its input (with input as) or has
// something in it that this package does not know sees everything.
//
// What an input without the rest must keep:
//   - the type of every value that is reached, scalars as they are, and the
//     length of lists; lists are never shortened, only their elements are;
//   - all members of an object that is iterated, counted or matched with a
//     pattern, though perhaps with less in them;
//   - whether two values are equal, and which of them is less, for all that
//     meet in a comparison, a set, or a rule that may have two values.
//
// It relies on what OPA's compiler does: variables are unique in a rule, the
// expressions of a body are in the order of their evaluation, and no rule is
// recursive.
package reach

import "github.com/open-policy-agent/opa/v1/ast"

// maxSteps bounds the work on one policy; one that takes more sees everything.
// The largest policies of our test data take nine hundred.
const maxSteps = 20_000

// Of returns what query can see of the input, when it is evaluated with the
// modules that c has compiled. No two elements of the list at the path unique
// are alike, in that list or in part: see [Tree.Apart].
func Of(c *ast.Compiler, query ast.Body, unique ...string) *Tree {
	body, err := c.QueryCompiler().Compile(query.Copy())
	if err != nil {
		return &Tree{Whole: true}
	}
	a := &analysis{compiler: c, input: &node{unique: unique}, rules: map[*ast.TreeNode]*value{}, calls: map[string]*value{}}
	s := scope{vars: map[ast.Var]value{}}
	a.body(body, &s)
	for _, v := range s.vars { // the answer
		v.show()
	}
	if a.lost {
		return &Tree{Whole: true}
	}
	return a.tree(a.input)
}

// An analysis is one of a policy. What it has found out is in the nodes.
type analysis struct {
	compiler *ast.Compiler
	input    *node
	lost     bool                     // something was not understood
	steps    int                      // how many expressions were looked at, and trees made
	rules    map[*ast.TreeNode]*value // what rules may be; nil while it is being found out
	calls    map[string]*value        // the same for functions, by rule and arguments
}

// A scope is what is known of the variables of a rule, a call, or a body in
// one. A variable without a value is not bound yet.
type scope struct {
	vars map[ast.Var]value
	many bool // the body may hold in more than one way
}

// rule returns what the rules at a node of the tree of rules may be, as seen
// from there: those with variables in their names are objects.
func (a *analysis) rule(n *ast.TreeNode) value {
	if known, ok := a.rules[n]; ok {
		if known == nil {
			a.lost = true // a recursion, which the compiler refuses
			return other
		}
		return *known
	}
	a.rules[n] = nil
	v := a.alternatives(n.Values, nil)
	a.rules[n] = &v
	return v
}

// call returns what a function may be with such arguments.
func (a *analysis) call(n *ast.TreeNode, args []value) value {
	key := n.Values[0].Ref().String()
	for _, arg := range args {
		key += " " + arg.key()
	}
	if known, ok := a.calls[key]; ok {
		if known == nil {
			a.lost = true
			return other
		}
		return *known
	}
	a.calls[key] = nil
	v := a.alternatives(n.Values, args)
	a.calls[key] = &v
	return v
}

// alternatives evaluates all rules of one name. Where there may be more than
// one value, OPA makes sure that they are equal, or puts them in a set.
func (a *analysis) alternatives(rules []*ast.Rule, args []value) (v value) {
	many := false
	defined := 0
	for _, r := range rules {
		if !r.Default {
			defined++
		}
		for ; r != nil; r = r.Else {
			s := scope{vars: map[ast.Var]value{}}
			for i, arg := range args {
				if i < len(r.Head.Args) {
					a.bind(r.Head.Args[i], arg, &s)
				}
			}
			a.body(r.Body, &s)
			v = union(v, a.head(r, &s))
			many = many || s.many
		}
	}
	v = merged(v)
	if many || defined > 1 {
		v.compare()
	}
	return v
}

// head is the value of a rule whose body holds.
func (a *analysis) head(r *ast.Rule, s *scope) (v value) {
	dynamic := r.Ref()[len(r.Ref().GroundPrefix()):]
	if r.Head.RuleKind() == ast.MultiValue {
		v = made(composite{set: true, rest: a.term(r.Head.Key, s)})
	} else {
		v = a.term(r.Head.Value, s)
	}
	for i := len(dynamic) - 1; i >= 0; i-- {
		a.term(dynamic[i], s).show()
		v = made(composite{rest: v})
	}
	return v
}

// merged makes one set of the sets that rules of one name add to, and one
// object of their objects.
func merged(v value) value {
	var sets, objects []value
	var kept []*composite
	for _, c := range v.made {
		switch {
		case c.set:
			sets = append(sets, c.rest)
		case c.members == nil:
			objects = append(objects, c.rest)
		default:
			kept = append(kept, c)
		}
	}
	v.made = kept
	if len(sets) > 0 {
		rest := union(sets...)
		rest.compare()
		v = union(v, made(composite{set: true, rest: rest}))
	}
	if len(objects) > 0 {
		v = union(v, made(composite{rest: merged(union(objects...))}))
	}
	return v
}
