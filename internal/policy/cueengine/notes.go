package cueengine

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// maxNotes bounds what one file can make us say about itself.
const maxNotes = 20

// notes are what the author should know besides the verdict: each is about a
// way in which a policy holds, or fails, for no good reason.
func (d *document) notes(r rule, o outcome) []string {
	var out []string
	for _, path := range o.added {
		out = append(out, fmt.Sprintf("%s adds %s, which the plan document does not have: it forbids nothing", r.self, path))
	}
	if idiom := d.guardIdiom(o); idiom != "" {
		out = append(out, idiom)
	}
	if o.total == 0 && d.unknown {
		out = append(out, r.blindGuards()...)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	out = out[:min(len(out), maxNotes)]
	for i := range out {
		out[i] = d.safe(out[i])
	}
	return out
}

// guardIdiom explains the violations of changes that have no after: a no-op
// and a delete have none, and what a policy requires there is absent.
func (d *document) guardIdiom(o outcome) string {
	for _, v := range o.violations {
		c := d.change(v.path)
		if c == nil || len(v.path) < 3 || v.path[2] != "after" || c.After != nil {
			continue
		}
		return fmt.Sprintf("%s has no after, because its action is %s: guard attribute rules with type: string, action: string, "+
			`if type == %q && (action == "create" || action == "update" || action == "replace") {...}`, c.Addr, c.Action, c.Type)
	}
	return ""
}

// blindGuards finds guards that compare an attribute with == to raise an
// error. An unknown value equals nothing, so such a guard lets it pass
// (docs/policy.md, rule 32).
func (r *rule) blindGuards() []string {
	var out []string
	ast.Walk(r.file, func(n ast.Node) bool {
		c, ok := n.(*ast.Comprehension)
		if !ok || !callsError(c.Value) {
			return true
		}
		for _, clause := range c.Clauses {
			if guard, ok := clause.(*ast.IfClause); ok && comparesAttribute(guard.Condition) {
				out = append(out, fmt.Sprintf("%s: an == guard does not see a value that is known only after apply, and this plan has some: "+
					"write the allowed set as a constraint", position(guard.If)))
			}
		}
		return true
	}, nil)
	return out
}

// callsError reports whether error(...) is called anywhere in x.
func callsError(x ast.Expr) (found bool) {
	ast.Walk(x, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if fn, ok := call.Fun.(*ast.Ident); ok && strings.TrimPrefix(fn.Name, "__") == "error" {
			found = true
		}
		return true
	}, nil)
	return found
}

// comparesAttribute reports whether x holds an == with an attribute on either
// side. != is not meant: an unknown value differs from everything, so a guard
// with it raises its error.
func comparesAttribute(x ast.Expr) (found bool) {
	ast.Walk(x, func(n ast.Node) bool {
		if b, ok := n.(*ast.BinaryExpr); ok && b.Op == token.EQL && (isAttribute(b.X) || isAttribute(b.Y)) {
			found = true
		}
		return true
	}, nil)
	return found
}

// isAttribute reports whether x begins at after or before.
func isAttribute(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.SelectorExpr:
		return isAttribute(x.X)
	case *ast.IndexExpr:
		return isAttribute(x.X)
	case *ast.Ident:
		return x.Name == "after" || x.Name == "before"
	}
	return false
}
