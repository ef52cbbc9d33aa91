package scan

import (
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/assize-iac/assize/internal/settings"
)

// A variable is what a directory declares of one. Few are ever asked for, so
// that their blocks are kept as they are.
type variable struct {
	blocks []hcl.Body                // those that declare it, overrides last
	attrs  map[string]hcl.Expression // what they say; nil is not looked up yet
}

var variableSchema = optional("type", "default", "sensitive", "ephemeral")

// says is what the blocks of a variable say, taken together.
func (v variable) says() map[string]hcl.Expression {
	if v.attrs != nil {
		return v.attrs
	}
	all := map[string]hcl.Expression{}
	for _, body := range v.blocks {
		maps.Copy(all, attributes(body, variableSchema))
	}
	return all
}

// hidden reports whether attrs are those of a variable whose value is not to be
// shown, as it would be in the name of a state.
func hidden(attrs map[string]hcl.Expression) bool {
	return slices.ContainsFunc([]string{"sensitive", "ephemeral"}, func(name string) bool {
		v, ok := literal(attrs[name])
		return attrs[name] != nil && !(ok && v.RawEquals(cty.False))
	})
}

// literal is the value of an expression where a tool evaluates nothing: in a var
// file, or as a default.
func literal(expr hcl.Expression) (cty.Value, bool) {
	if expr == nil {
		return cty.NilVal, false
	}
	if _, native := expr.(hclsyntax.Expression); native && !small(expr) {
		return cty.NilVal, false
	}
	v, diags := expr.Value(nil) // in JSON too, no string is a template
	return v, !diags.HasErrors() && v.IsWhollyKnown() && !v.IsNull() && fits(v)
}

// An assignment is what a plan of one stack gives its variables (docs/scan.md,
// rule 36).
type assignment struct {
	declared map[string]variable
	env      map[string]settings.PerMode
	read     func() []varFile // in the order in which the tool merges them
	warnings []string
}

// assign says what the variables of the stack of directory d are. It reads var
// files only if it is asked for one.
func (s *scanner) assign(d *directory, e settings.Effective) *assignment {
	a := &assignment{declared: d.variables, env: e.Env}
	a.read = sync.OnceValue(func() (files []varFile) {
		for _, name := range slices.Concat(found(d.extra), e.VarFiles) {
			f := s.varFile(path.Join(d.path, name))
			files = append(files, f)
			if f.wrong != "" {
				a.warnings = append(a.warnings, f.wrong)
			}
		}
		return files
	})
	return a
}

// found are the names of the var files that a tool finds itself, in its order.
func found(files []file) (names []string) {
	for _, f := range files {
		name := path.Base(f.name)
		if strings.HasSuffix(name, ".auto.tfvars") || strings.HasSuffix(name, ".auto.tfvars.json") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range []string{"terraform.tfvars.json", "terraform.tfvars"} { // the last comes first
		if slices.ContainsFunc(files, func(f file) bool { return path.Base(f.name) == name }) {
			names = slices.Insert(names, 0, name)
		}
	}
	return names
}

// value is that of a variable, as its type has it; ok is false for one that is
// not constant or not to be shown. A nil assignment knows none.
func (a *assignment) value(name string) (v cty.Value, ok bool) {
	if a == nil {
		return cty.NilVal, false
	}
	attrs := a.declared[name].says()
	if _, declared := a.declared[name]; !declared || hidden(attrs) {
		return cty.NilVal, false
	}
	kind, defaults, typed := cty.DynamicPseudoType, (*typeexpr.Defaults)(nil), attrs["type"] != nil
	if typed {
		if !small(attrs["type"]) {
			return cty.NilVal, false
		}
		var diags hcl.Diagnostics
		if kind, defaults, diags = typeexpr.TypeConstraintWithDefaults(attrs["type"]); diags.HasErrors() {
			return cty.NilVal, false
		}
	}
	if v, ok = a.given(name, !typed || kind.IsPrimitiveType(), attrs["default"]); !ok {
		return cty.NilVal, false
	}
	if defaults != nil {
		v = defaults.Apply(v)
	}
	v, err := convert.Convert(v, kind)
	return v, err == nil && v.IsWhollyKnown() && fits(v)
}

// given is what a variable is set to, wherever the tool looks last, or its
// default. In the environment, one is text unless its type says otherwise.
func (a *assignment) given(name string, text bool, preset hcl.Expression) (cty.Value, bool) {
	for _, f := range slices.Backward(a.read()) {
		if expr := f.values[name]; expr != nil {
			return literal(expr)
		}
	}
	switch set := a.env["TF_VAR_"+name].For(settings.Plan); {
	case set == nil:
		return literal(preset)
	case text:
		return cty.StringVal(*set), true
	default:
		if _, deep := tooDeep([]byte(*set), ""); deep {
			return cty.NilVal, false
		}
		expr, diags := hclsyntax.ParseExpression([]byte(*set), "", hcl.InitialPos)
		if diags.HasErrors() {
			return cty.NilVal, false
		}
		return literal(expr)
	}
}

// A varFile is one as it was written.
type varFile struct {
	values map[string]hcl.Expression
	wrong  string // a warning; "" for one that parses, or that cannot be read, which is told of elsewhere
}

// varFile reads the one of that path, once.
func (s *scanner) varFile(name string) varFile {
	once, _ := s.values.LoadOrStore(name, sync.OnceValue(func() varFile {
		f := varFile{values: map[string]hcl.Expression{}}
		data, _, err := s.tree.read(name)
		if err != nil {
			return f
		}
		body, diags := parse(data, name)
		if diags.HasErrors() { // only the position: it may hold secrets
			f.wrong = position(*diags[0].Subject) + ": the var file does not parse, so that the states it names may go unseen"
		}
		if body != nil {
			attrs, _ := body.JustAttributes()
			for name, attr := range attrs {
				f.values[name] = attr.Expr
			}
		}
		return f
	}))
	return once.(func() varFile)()
}
