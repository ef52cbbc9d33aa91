package reach

import "github.com/open-policy-agent/opa/v1/ast"

// arity is how many arguments a function takes.
func (a *analysis) arity(operator ast.Ref) (n int, ok bool) {
	if f := a.function(operator); f != nil {
		return len(f.Values[0].Head.Args), true
	}
	if b := ast.BuiltinMap[operator.String()]; b != nil {
		return b.Decl.Arity(), true
	}
	return 0, false
}

// function is where the tree of rules has a function of the policy, or nil.
func (a *analysis) function(operator ast.Ref) *ast.TreeNode {
	n := a.compiler.RuleTree.Find(operator)
	if n == nil || len(n.Values) == 0 {
		return nil
	}
	return n
}

// apply is what a call may return.
func (a *analysis) apply(operator ast.Ref, args []*ast.Term, s *scope) value {
	values := make([]value, len(args))
	for i, arg := range args {
		values[i] = a.term(arg, s)
	}
	if f := a.function(operator); f != nil {
		return a.call(f, values)
	}
	if ast.BuiltinMap[operator.String()] == nil {
		a.lost = true
		return other
	}
	return builtin(operator.String(), values, s)
}

// builtin knows the built-ins that take less than all of an argument, or return
// a part of one. Any other sees what it is given, and returns nothing that it
// was not.
func builtin(name string, args []value, s *scope) value {
	switch name {
	case "type_name", "is_array", "is_boolean", "is_null", "is_number", "is_object", "is_set", "is_string":
		return other
	case "count", "object.keys":
		args[0].each()
		return other
	case "equal", "neq", "lt", "lte", "gt", "gte":
		same(args[0], args[1])
		return other
	case "object.get":
		return union(get(args[0], args[1]), args[2])
	case "array.concat":
		return made(composite{rest: union(args[0].each(), args[1].each())})
	}
	s.many = s.many || ast.BuiltinMap[name].Relation // it may have several results
	for _, arg := range args {
		arg.show()
	}
	return other
}

// get is what object.get finds at a key: a path, if the key is a list.
func get(v, key value) value {
	if key.simple() {
		return lookup(v, key)
	}
	path, ok := key.path()
	if !ok {
		key.show()
		v.show()
		return other
	}
	for _, step := range path {
		v = lookup(v, step)
	}
	return v
}
