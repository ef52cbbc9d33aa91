package spec

import (
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/token"
)

// heavyMax is how many places are named of those that may be at fault for a limit.
const heavyMax = 5

// generators are the functions of CUE that make something as large as a number says.
var generators = []string{"list.Range", "list.Repeat", "math.Pow", "strings.Repeat"}

// heavy are the places in a file that make much of little: loops inside loops,
// generators, and what is put together from twice the same.
func heavy(f *ast.File) []token.Pos {
	var all []token.Pos
	var loops int
	ast.Walk(f, func(n ast.Node) bool {
		much := false
		switch n := n.(type) {
		case *ast.Comprehension:
			loops += forClauses(n)
			much = loops > 1 && forClauses(n) > 0
		case *ast.CallExpr:
			much = slices.Contains(generators, written(n.Fun))
		case *ast.BinaryExpr:
			_, plain := n.X.(*ast.BasicLit)
			much = n.Op == token.ADD && !plain && written(n.X) == written(n.Y)
		}
		if much {
			all = append(all, n.Pos())
		}
		return true
	}, func(n ast.Node) {
		if c, is := n.(*ast.Comprehension); is {
			loops -= forClauses(c)
		}
	})
	return all
}

func forClauses(c *ast.Comprehension) int {
	n := 0
	for _, clause := range c.Clauses {
		if _, is := clause.(*ast.ForClause); is {
			n++
		}
	}
	return n
}

// written is an expression as it is written.
func written(e ast.Expr) string {
	text, _ := format.Node(e)
	return string(text)
}

// heavies are the places of a specification that make much of little, as people know
// them, and not too many.
func (s *source) heavies() []string {
	var all []string
	for _, p := range s.heavy {
		if at := s.position(p); at != "" && len(all) < heavyMax {
			all = append(all, at)
		}
	}
	return all
}
