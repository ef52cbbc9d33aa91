package spec

import (
	"maps"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// Definitions are what CUE lets anybody add to anything, also to what is closed. So a
// misspelt argument of a component, #word: 3 where it takes #words, would be accepted
// and do nothing. Here it is an error (docs/spec.md, rule 10): a definition within
// something has to be one that a component takes, or that something refers to.
//
// Nothing is lost by that. A definition can be seen by no other means than its name:
// no loop comes across it, and no text can spell it.
type definitions struct {
	taken map[string]bool // by a component, or referred to; other names are there, too
	given []given
}

// A given is a definition that something is given.
type given struct {
	name string
	at   token.Pos
}

// ofPackages are the definitions of generated packages that a specification gives.
var ofPackages = []string{"#Data", "#Ephemeral", "#Function", "#Resource", "#args", "#call", "#refs"}

// note notes the definitions of a file. A component is a definition, or a hidden field;
// what stands in a struct that something is unified with is given to that.
func (d *definitions) note(f *ast.File) {
	labels := map[ast.Node]bool{}
	var around []ast.Node
	ast.Walk(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			label := labelOf(n)
			labels[label] = true
			if name, is := definition(label); is && len(around) > 1 {
				if declares(around) {
					d.taken[name] = true
				} else {
					d.given = append(d.given, given{name, label.Pos()})
				}
			}
		case *ast.Ident:
			if !labels[n] {
				d.taken[n.Name] = true
			}
		}
		around = append(around, n)
		return true
	}, func(ast.Node) { around = around[:len(around)-1] })
}

// labelOf is the label of a field without the name that it may have besides.
func labelOf(f *ast.Field) ast.Label {
	if a, is := f.Label.(*ast.Alias); is {
		if label, is := a.Expr.(ast.Label); is {
			return label
		}
	}
	return f.Label
}

// definition is the name of a definition.
func definition(label ast.Node) (name string, is bool) {
	ident, is := label.(*ast.Ident)
	if !is {
		return "", false
	}
	return ident.Name, strings.HasPrefix(ident.Name, "#") || strings.HasPrefix(ident.Name, "_#")
}

// declares reports whether a field within these nodes, of which the last is the
// nearest, is part of what a component is, and not given to one.
func declares(around []ast.Node) bool {
	for _, n := range slices.Backward(around) {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.AND {
				return false
			}
		case *ast.StructLit:
			if slices.ContainsFunc(n.Elts, func(e ast.Decl) bool { _, embeds := e.(*ast.EmbedDecl); return embeds }) {
				return false
			}
		case *ast.LetClause:
			return true
		case *ast.Field:
			if ident, is := labelOf(n).(*ast.Ident); is && strings.ContainsAny(ident.Name[:1], "#_") {
				return true
			}
		}
	}
	return false
}

// slips refuses what is given and taken by nobody.
func (s *source) slips() error {
	for _, g := range s.definitions.given {
		if s.definitions.taken[g.name] || slices.Contains(ofPackages, g.name) {
			continue
		}
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(s.definitions.taken)), func(name string) bool { return !strings.Contains(name, "#") })
		hint := "nothing refers to it; what a definition is given counts only if the definition says so"
		if best := closest(g.name, append(names, ofPackages...)); best != "" {
			hint = "did you mean " + best + "?"
		}
		return invalid("%s", located("evaluating "+s.Name+":\n"+g.name+": no definition takes this", []string{s.position(g.at)})).WithHint("%s", hint)
	}
	return nil
}
