package scan

import (
	"errors"
	"regexp"
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// Bounds of what is evaluated. Locals may be built from locals, so that without
// them ten lines could ask for all memory there is.
const (
	expressionMax = 8 << 10 // bytes of source
	localsMax     = 500     // a local of a local of ...
	valueMax      = 4 << 10 // bytes of one string, and elements of one collection
)

// A scope is what constants may be made of: the workspace, the paths, variables
// whose value is given, and locals that are constant themselves (docs/scan.md,
// rule 15).
type scope struct {
	locals    map[string]hcl.Expression
	workspace string      // "" is unknown
	module    string      // path.module; "" is unknown
	given     *assignment // variables; nil in a module, which is told by whoever calls it
	each      map[string]cty.Value
	depth     int                  // how many locals deep
	known     map[string]cty.Value // locals that were evaluated; NilVal for one that is not constant
}

// scope is that of a directory, for one stack that it is part of.
func (d *directory) scope(workspace, module string) scope {
	return scope{locals: d.locals, workspace: workspace, module: module, known: map[string]cty.Value{}}
}

// local evaluates a local, once. One that is made of itself is not constant.
func (s scope) local(name string) (cty.Value, bool) {
	v, done := s.known[name]
	if !done {
		s.known[name] = cty.NilVal
		s.each = nil
		s.depth++
		if found, ok := s.value(s.locals[name]); ok {
			v = found
		}
		s.known[name] = v
	}
	return v, v != cty.NilVal
}

// value evaluates an expression; ok is false for anything that is not constant.
func (s scope) value(expr hcl.Expression) (v cty.Value, ok bool) {
	if c, noted := expr.(constant); noted {
		return cty.StringVal(c.text), c.known
	}
	if expr == nil || s.depth > localsMax || !small(expr) {
		return cty.NilVal, false
	}
	vars, ok := s.variables(expr.Variables())
	if !ok {
		return cty.NilVal, false
	}
	v, diags := expr.Value(&hcl.EvalContext{Variables: vars, Functions: functions})
	return v, !diags.HasErrors() && v.IsWhollyKnown() && !v.IsNull() && fits(v)
}

// variables are what an expression refers to; ok is false when something of it
// is not constant.
func (s scope) variables(refs []hcl.Traversal) (vars map[string]cty.Value, ok bool) {
	if len(refs) == 0 { // most are literals
		return nil, true
	}
	locals, given := map[string]cty.Value{}, map[string]cty.Value{}
	for _, ref := range refs {
		switch ref.RootName() {
		case "terraform", "path":
		case "each":
			if s.each == nil {
				return nil, false
			}
		case "local":
			name := attribute(ref)
			if locals[name], ok = s.local(name); !ok {
				return nil, false
			}
		case "var":
			name := attribute(ref)
			if given[name], ok = s.given.value(name); !ok {
				return nil, false
			}
		default:
			return nil, false
		}
	}
	return map[string]cty.Value{
		"terraform": cty.ObjectVal(map[string]cty.Value{"workspace": orUnknown(s.workspace)}),
		"path":      s.path(), "local": cty.ObjectVal(locals), "var": cty.ObjectVal(given), "each": cty.ObjectVal(s.each),
	}, true
}

func (s scope) path() cty.Value {
	root := cty.UnknownVal(cty.String)
	if s.module != "" {
		root = cty.StringVal(".")
	}
	return cty.ObjectVal(map[string]cty.Value{"module": orUnknown(s.module), "root": root})
}

func orUnknown(text string) cty.Value {
	if text == "" {
		return cty.UnknownVal(cty.String)
	}
	return cty.StringVal(text)
}

func attribute(ref hcl.Traversal) string {
	if len(ref) > 1 {
		if step, ok := ref[1].(hcl.TraverseAttr); ok {
			return step.Name
		}
	}
	return ""
}

// text evaluates an expression whose value is written as a string.
func (s scope) text(expr hcl.Expression) (string, bool) {
	v, ok := s.value(expr)
	if !ok {
		return "", false
	}
	return asText(v)
}

func asText(v cty.Value) (string, bool) {
	v, err := convert.Convert(v, cty.String)
	if err != nil || v.IsNull() || !v.IsKnown() || v.IsMarked() {
		return "", false
	}
	return v.AsString(), true
}

// forWord finds loops in what is not parsed as syntax. A loop in a loop takes
// time that no bound on the source limits.
var forWord = regexp.MustCompile(`\bfor\b`)

// small reports whether evaluating expr takes time and memory that are in
// proportion to its source.
func small(expr hcl.Expression) bool {
	r := expr.Range()
	if r.End.Byte-r.Start.Byte > expressionMax {
		return false
	}
	node, ok := expr.(hclsyntax.Expression)
	if !ok { // JSON: its strings are templates
		v, _ := expr.Value(nil)
		return plain(v)
	}
	loops := false
	hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n.(type) {
		case *hclsyntax.ForExpr, *hclsyntax.TemplateJoinExpr:
			loops = true
		}
		return nil
	})
	return !loops
}

// plain reports whether no string in v holds a loop.
func plain(v cty.Value) bool {
	if v == cty.NilVal {
		return false
	}
	err := cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		if v.IsKnown() && !v.IsNull() && v.Type() == cty.String && forWord.MatchString(v.AsString()) {
			return false, errTooLarge
		}
		return true, nil
	})
	return err == nil
}

var errTooLarge = errors.New("too large")

// fits reports whether v is within the bounds.
func fits(v cty.Value) bool {
	total := 0
	err := cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		if total++; v.IsKnown() && !v.IsNull() && v.Type() == cty.String {
			total += len(v.AsString())
		}
		if total > valueMax {
			return false, errTooLarge
		}
		return true, nil
	})
	return err == nil
}

// functions are those whose result depends on nothing but their arguments, and
// is no larger than they are. cty says what they return, as it does for the tools.
var functions = map[string]function.Function{
	"concat":     bounded(stdlib.ConcatFunc),
	"join":       bounded(stdlib.JoinFunc),
	"lower":      bounded(stdlib.LowerFunc),
	"merge":      bounded(stdlib.MergeFunc),
	"replace":    bounded(stdlib.ReplaceFunc),
	"toset":      stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),
	"tolist":     stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)),
	"tomap":      stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)),
	"tostring":   stdlib.MakeToFunc(cty.String),
	"trimprefix": stdlib.TrimPrefixFunc,
	"trimspace":  stdlib.TrimSpaceFunc,
	"trimsuffix": stdlib.TrimSuffixFunc,
	"upper":      bounded(stdlib.UpperFunc),
}

// bounded is f with an error for a result beyond the bounds, so that nested
// calls cannot multiply.
func bounded(f function.Function) function.Function {
	return function.New(&function.Spec{
		Params: f.Params(), VarParam: f.VarParam(),
		Type: f.ReturnTypeForValues,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v, err := f.Call(args)
			if err == nil && !fits(v) {
				err = errTooLarge
			}
			return v, err
		},
	})
}

// elements returns what each.key and each.value are, once for every element of
// a constant for_each or count, and one nil where a block has neither.
func (s scope) elements(forEach hcl.Expression) ([]map[string]cty.Value, bool) {
	if forEach == nil {
		return []map[string]cty.Value{nil}, true
	}
	v, ok := s.value(forEach)
	if !ok || !v.CanIterateElements() {
		return nil, false
	}
	var all []map[string]cty.Value
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if v.Type().IsSetType() {
			key = value
		} else if key.Type() != cty.String {
			key = cty.StringVal(strconv.Itoa(len(all)))
		}
		all = append(all, map[string]cty.Value{"key": key, "value": value})
	}
	return all, true
}
