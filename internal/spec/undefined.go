package spec

import (
	"maps"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/assize-iac/assize/internal/spec/schema"
)

// sections are what a provider has beside its own settings.
var sections = []string{"#Data", "#Ephemeral", "#Function", "#Resource"}

// undefined says what may be meant by a selector that leads nowhere, such as the
// misspelt type in $random.#Resource.random_pett.
func (s *source) undefined(e errors.Error) string {
	const nothing = "nothing of that name is there"
	sel := s.selectorAt(e.Position())
	if sel == nil || s.found == nil {
		return nothing
	}
	base, _ := format.Node(sel.X)
	of := string(base)
	word, _, _ := ast.LabelName(sel.Sel)
	switch section := of[strings.LastIndex(of, ".")+1:]; {
	case slices.Contains(sections, section):
		for _, other := range sections {
			if slices.Contains(s.found.types(other), word) {
				return word + " is in " + other + ", not in " + section + ": write " + strings.TrimSuffix(of, section) + other + "." + word
			}
		}
		return "no provider that is imported has " + word + " in " + section + meantOr(word, s.found.types(section))
	case slices.Contains(sections, word):
		return "resources are built from the field of a provider: write $random: " + of + ".#Provider, and then $random." + word
	case strings.HasPrefix(word, "#"):
		return of + " has no " + word + meantOr(word, s.found.definitions())
	}
	if at := slices.Index(e.Path(), of); at > 0 {
		return "in CUE the nearest field of a name counts: " + of + " is here " + strings.Join(e.Path()[:at+1], ".") +
			" itself; give one of the two another name"
	}
	for _, i := range s.found.items {
		if i.String() == of {
			return i.typ + " has no " + word + meantOr(word, s.found.readable(i))
		}
	}
	return nothing
}

// selectorAt is the selector whose last word stands at a position.
func (s *source) selectorAt(at token.Pos) *ast.SelectorExpr {
	if !at.IsValid() || s.generated(at.Filename()) {
		return nil
	}
	f, err := parser.ParseFile(at.Filename(), s.Files[s.absolute(at.Filename())])
	if err != nil {
		return nil
	}
	var found *ast.SelectorExpr
	ast.Walk(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Pos().Offset() == at.Offset() {
			found = sel
		}
		return true
	}, nil)
	return found
}

// declares reports whether a loop or a condition in the package makes a field of this
// name, and whether a file of it imports a package by that name.
func (s *source) declares(name string) (made, imported bool) {
	for _, file := range s.in(s.Dir) {
		f, err := parser.ParseFile(file, s.Files[file])
		if err != nil || f.PackageName() != Package {
			continue
		}
		for spec := range f.ImportSpecs() {
			path, _ := literal.Unquote(spec.Path.Value)
			imported = imported || importName(spec, path) == name
		}
		for _, d := range f.Decls {
			if c, ok := d.(*ast.Comprehension); ok {
				made = made || declared(c.Value, name)
			}
		}
	}
	return made, imported
}

// importName is what a file calls a package that it imports.
func importName(spec *ast.ImportSpec, path string) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	return path[strings.LastIndexAny(path, "/:")+1:]
}

// declared reports whether a struct has a field of this name.
func declared(value ast.Expr, name string) bool {
	st, ok := value.(*ast.StructLit)
	return ok && slices.ContainsFunc(st.Elts, func(d ast.Decl) bool {
		field, ok := d.(*ast.Field)
		if !ok {
			return false
		}
		label, _, err := ast.LabelName(field.Label)
		return err == nil && label == name
	})
}

// definitions are what may follow a provider or the tool's own functions.
func (f *found) definitions() []string {
	names := slices.Clone(sections)
	for name := range f.tools.Functions {
		names = append(names, "#"+name)
	}
	return slices.Sorted(slices.Values(names))
}

// types are the names in a section of all providers.
func (f *found) types(section string) []string {
	var names []string
	for _, p := range f.tools.Providers {
		of := map[string]map[string]*schema.Schema{"#Resource": p.Resources, "#Data": p.Data, "#Ephemeral": p.Ephemeral}[section]
		names = append(names, slices.Collect(maps.Keys(of))...)
		if section == "#Function" {
			names = append(names, slices.Collect(maps.Keys(p.Functions))...)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// readable are all attributes and blocks of a resource.
func (f *found) readable(i thing) []string {
	s := f.tools.schema(i.kind, i.typ)
	if s == nil {
		return nil
	}
	names := slices.Collect(maps.Keys(s.Block.Attributes))
	return slices.Sorted(slices.Values(append(names, slices.Collect(maps.Keys(s.Block.Blocks))...)))
}
