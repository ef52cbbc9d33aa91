package spec

import (
	"maps"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
	"github.com/agnivade/levenshtein"

	"github.com/assize-iac/assize/internal/spec/schema"
)

// advice is what to do about an error of CUE; "" if its message says enough.
func (s *source) advice(e errors.Error, message string) string {
	path := e.Path()
	switch {
	case slices.Contains(path, "#at") || slices.Contains(path, "#path"):
		return "a resource is at one place: derive both from a hidden field or a definition, as in _web: {...}"
	case strings.Contains(message, "field not allowed"):
		return s.unknownField(path)
	case strings.Contains(message, "field is required but not present"):
		if s.found != nil && len(s.found.holder(path).path) == 0 {
			return "set it; the definition that it is built from needs it"
		}
		return "set it; the provider needs it"
	case strings.Contains(message, "cannot reference optional field"):
		return "nothing sets it there; refer to what is set, or set it"
	case slices.Contains(path, "#name") && strings.Contains(message, `conflicting values "$`):
		return "a provider has one field, which begins with $; a component takes it in a definition, as in #random: rnd.#Provider"
	case strings.Contains(message, "mismatched types"):
		return mismatch(message)
	case strings.Contains(message, "structural cycle"):
		return "what is built from itself has no end; a loop over a list has one"
	case strings.Contains(message, "out of bound"):
		return "use a value that the constraint allows; who may change the constraint is not for this specification to say"
	case waits(message):
		return s.notKnown(e)
	case strings.Contains(message, "reference") && strings.Contains(message, "not found"):
		return s.unseen(message)
	case strings.Contains(message, "undefined field"):
		return s.undefined(e)
	case strings.Contains(message, "builtin package"), strings.Contains(message, "import failed"), strings.Contains(message, "imported but not defined"):
		return s.importable()
	case strings.Contains(message, "imported and not used"):
		return "remove it, or declare what it is for, as in $random: rnd.#Provider"
	case strings.Contains(message, "cannot call non-function"):
		return "a function of the tool is called as in (tofu.#upper & {#args: [x]}).result"
	}
	return ""
}

// importable says what a specification imports.
func (s *source) importable() string {
	return "a specification imports providers by their source address, such as registry.opentofu.org/hashicorp/random, CUE's own packages, and packages of its own module, such as " +
		s.Module + "/NAME"
}

// unseen says where a name may be that is not in sight.
func (s *source) unseen(message string) string {
	_, rest, _ := strings.Cut(message, `reference "`)
	name, _, _ := strings.Cut(rest, `"`)
	switch made, imported := s.declares(name); {
	case imported:
		return "an import counts in its own file alone: import it in this one too"
	case made:
		return "a loop or a condition makes it, and nobody sees into those from beside them: write " + name + ": {for ... {...}}"
	}
	return "nothing of that name is in sight; fields of other files of the package are"
}

// mismatch says what two types have to do with each other.
func mismatch(message string) string {
	switch _, types, _ := strings.Cut(message, "mismatched types "); {
	case strings.Contains(types, "list"):
		return "a list is written [a, b], also when there is one element, and a struct {name: value}"
	case strings.Contains(types, "struct"):
		return "a struct stands where one value belongs: of a resource, take an attribute, as in name.id, and of a function .result; $from takes the path as text"
	}
	return "a value has one type; a text with a number in it is not a number"
}

// waits reports whether a message says that a value is not there yet.
func waits(message string) bool {
	for _, text := range []string{"non-concrete", "incomplete", "unresolved disjunction", "not concrete", "must be concrete", "non-ground"} {
		if strings.Contains(message, text) {
			return true
		}
	}
	return false
}

// notKnown says which values an expression waits for, and what can be done with
// them.
func (s *source) notKnown(e errors.Error) string {
	what := "this"
	for _, p := range errors.Positions(e) {
		if p.IsValid() && !s.generated(p.Filename()) {
			if names := s.referencesAt(p); len(names) > 0 {
				what = strings.Join(names, " or ")
				break
			}
		}
	}
	return what + " is known only after apply, and CUE cannot compute with it; a function of the tool can: import tofu \"" + Functions +
		"\", and write (tofu.#upper & {#args: [x]}).result. What exists must not depend on it"
}

func within(n ast.Node, p token.Pos) bool {
	return n.Pos().Offset() <= p.Offset() && p.Offset() <= n.End().Offset()
}

// referencesAt are the references in the smallest expression around a position.
func (s *source) referencesAt(at token.Pos) []string {
	f, err := parser.ParseFile(at.Filename(), s.Files[s.absolute(at.Filename())])
	if err != nil {
		return nil
	}
	var around ast.Node
	ast.Walk(f, func(n ast.Node) bool {
		if !within(n, at) {
			return false
		}
		switch n.(type) {
		case *ast.BinaryExpr, *ast.CallExpr, *ast.IndexExpr, *ast.ForClause, *ast.IfClause, *ast.Interpolation, *ast.ParenExpr:
			around = n
		}
		return true
	}, nil)
	if around == nil {
		return nil
	}
	var names []string
	ast.Walk(around, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			text, err := format.Node(sel)
			if _, call := around.(*ast.CallExpr); err == nil && !(call && around.(*ast.CallExpr).Fun == ast.Expr(sel)) {
				names = append(names, string(text))
			}
			return false
		}
		return true
	}, nil)
	return slices.Compact(names)
}

// unknownField looks for what somebody may have meant by a field that there is not.
func (s *source) unknownField(path []string) string {
	if len(path) == 0 || s.found == nil {
		return ""
	}
	i, last := s.found.holder(path), path[len(path)-1]
	if len(i.path) == 0 {
		return s.unknownOutside(path)
	}
	typ, names := i.typ, s.found.fields(i, path[len(i.path):])
	switch at := slices.Index(path, "$lifecycle"); {
	case at >= 0 && at == len(path)-2:
		typ, names = "$lifecycle", lifecycle
	case strings.HasPrefix(last, "$"):
		names = []string{"$depends_on", "$from", "$import", "$lifecycle"}
	}
	if len(names) == 0 {
		return ""
	}
	return typ + " has no " + last + meantOr(last, names)
}

// unknownOutside is unknownField for what is in no resource: a setting of a provider,
// or what a component is given.
func (s *source) unknownOutside(path []string) string {
	last := path[len(path)-1]
	for _, t := range s.found.providers {
		p := s.found.tools.Providers[t.source]
		if p != nil && slices.Equal(path[:len(path)-1], strings.Split(t.String(), ".")) {
			names := append(blockNames(&p.Config.Block), "$version")
			return "the provider has no " + last + meantOr(last, names)
		}
	}
	const closed = "the definition that it is built from has no such field"
	others := maps.Clone(s.words)
	delete(others, last)
	if best := closest(last, slices.Sorted(maps.Keys(others))); best != "" {
		return closed + "; did you mean " + best + "?"
	}
	return closed
}

// lifecycle is what $lifecycle takes.
var lifecycle = []string{"create_before_destroy", "ignore_changes", "prevent_destroy", "replace_triggered_by"}

// meantOr goes on after "there is no such name": the name that was meant, or all of
// them where none is close and they are few.
func meantOr(name string, names []string) string {
	if best := closest(name, names); best != "" {
		return "; did you mean " + best + "?"
	}
	if len(names) == 0 || len(names) > 20 {
		return ""
	}
	return "; it has " + strings.Join(names, ", ")
}

// closest is the name that somebody may have meant by a misspelt one; "" if none is close.
func closest(name string, names []string) string {
	best, distance := "", 4
	for _, n := range names {
		if d := levenshtein.ComputeDistance(name, n); d < distance {
			best, distance = n, d
		}
	}
	return best
}

// holder is the resource that holds what is at a path; the zero thing if none does.
func (f *found) holder(path []string) thing {
	for _, i := range f.items {
		if strings.HasPrefix(strings.Join(path, ".")+".", i.String()+".") {
			return i
		}
	}
	return thing{}
}

// fields are what can be set in the block of a resource that a path leads into.
func (f *found) fields(i thing, path []string) []string {
	if i.kind == "call" {
		return f.parameters(i.typ)
	}
	s := f.tools.schema(i.kind, i.typ)
	if s == nil {
		return nil
	}
	b := &s.Block
	for _, name := range path {
		if n := b.Blocks[name]; n != nil {
			b = &n.Block
		}
	}
	return blockNames(b)
}

// parameters are those of the functions of that name.
func (f *found) parameters(function string) []string {
	var names []string
	for _, p := range f.tools.Providers {
		if of := p.Functions[function]; of != nil {
			for _, parameter := range of.Parameters {
				names = append(names, parameter.Name)
			}
			if of.Variadic != nil {
				names = append(names, of.Variadic.Name)
			}
		}
	}
	return names
}

// blockNames are the attributes and blocks that can be set.
func blockNames(b *schema.Block) []string {
	var names []string
	for name, a := range b.Attributes {
		if a.Required || a.Optional {
			names = append(names, name)
		}
	}
	return slices.Sorted(slices.Values(append(names, slices.Collect(maps.Keys(b.Blocks))...)))
}
