package preview

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"pgregory.net/rapid"
)

// tool has the functions that an expression is made of, as the tools have them.
var tool = &hcl.EvalContext{Functions: map[string]function.Function{
	"jsondecode": stdlib.JSONDecodeFunc,
	"uuid": function.New(&function.Spec{
		Type: function.StaticReturnType(cty.String),
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) { return cty.UnknownVal(cty.String), nil },
	}),
	"slice":    stdlib.SliceFunc,
	"zipmap":   stdlib.ZipmapFunc,
	"tolist":   stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)),
	"toset":    stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),
	"tomap":    stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)),
	"tostring": stdlib.MakeToFunc(cty.String),
	"tonumber": stdlib.MakeToFunc(cty.Number),
	"tobool":   stdlib.MakeToFunc(cty.Bool),
}}

func evaluate(text string) (cty.Value, error) {
	expr, diags := hclsyntax.ParseExpression([]byte(text), "x", hcl.InitialPos)
	if diags.HasErrors() {
		return cty.NilVal, diags
	}
	v, diags := expr.Value(tool)
	if diags.HasErrors() {
		return cty.NilVal, diags
	}
	return v, nil
}

// kinds draws the types that a tool writes.
func kinds(depth int) *rapid.Generator[cty.Type] {
	primitive := rapid.SampledFrom([]cty.Type{cty.String, cty.Number, cty.Bool})
	if depth == 0 {
		return primitive
	}
	return rapid.Custom(func(t *rapid.T) cty.Type {
		inside := kinds(depth - 1)
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return cty.List(inside.Draw(t, "of"))
		case 1:
			return cty.Set(inside.Draw(t, "of"))
		case 2:
			return cty.Map(inside.Draw(t, "of"))
		case 3:
			return cty.Tuple(rapid.SliceOfN(inside, 0, 3).Draw(t, "items"))
		case 4:
			return cty.Object(rapid.MapOfN(word, inside, 0, 3).Draw(t, "members"))
		}
		return primitive.Draw(t, "primitive")
	})
}

// word draws text that is full of what has a meaning somewhere.
var word = rapid.Custom(func(t *rapid.T) string {
	pieces := rapid.SliceOfN(rapid.OneOf(
		rapid.SampledFrom([]string{"$", "%", "{", "}", "${", "%{", "$${", "\\", `"`, "\n", "\r", "\t", "\x00", "\u2028", "€", "😀", "~", "if", "u0024", "\ufeff"}),
		rapid.StringMatching(`[a-z]{0,3}`)), 0, 6).Draw(t, "pieces")
	return cty.NormalizeString(strings.Join(pieces, ""))
})

// values draws a value of a type; unknown and null ones among them where allowed.
func values(kind cty.Type, unknown bool) *rapid.Generator[cty.Value] {
	return rapid.Custom(func(t *rapid.T) cty.Value {
		if rapid.IntRange(0, 4).Draw(t, "unknown") == 0 && unknown {
			return cty.UnknownVal(kind)
		}
		items := func(of cty.Type) []cty.Value { return rapid.SliceOfN(values(of, unknown), 0, 3).Draw(t, "items") }
		switch {
		case kind == cty.String:
			return cty.StringVal(word.Draw(t, "text"))
		case kind == cty.Number:
			return cty.MustParseNumberVal(rapid.StringMatching(`-?[1-9][0-9]{0,40}(\.[0-9]{1,20})?`).Draw(t, "number"))
		case kind == cty.Bool:
			return cty.BoolVal(rapid.Bool().Draw(t, "bool"))
		case kind.IsTupleType():
			var all []cty.Value
			for _, of := range kind.TupleElementTypes() {
				all = append(all, values(of, unknown).Draw(t, "item"))
			}
			return cty.TupleVal(all)
		case kind.IsObjectType():
			all := map[string]cty.Value{}
			for _, name := range slices.Sorted(maps.Keys(kind.AttributeTypes())) {
				all[name] = values(kind.AttributeType(name), unknown).Draw(t, "member")
			}
			return cty.ObjectVal(all)
		case kind.IsMapType():
			all := rapid.MapOfN(word, values(kind.ElementType(), unknown), 0, 3).Draw(t, "items")
			if len(all) == 0 {
				return cty.MapValEmpty(kind.ElementType())
			}
			return cty.MapVal(all)
		case kind.IsListType():
			if all := items(kind.ElementType()); len(all) > 0 {
				return cty.ListVal(all)
			}
			return cty.ListValEmpty(kind.ElementType())
		}
		all := rapid.SliceOfN(values(kind.ElementType(), false), 0, 3).Draw(t, "items")
		if len(all) == 0 {
			return cty.SetValEmpty(kind.ElementType())
		}
		return cty.SetVal(all)
	})
}

// shown is a value as a plan shows it: what is known, and where it is not.
func shown(t *rapid.T, v cty.Value) (value, hidden any) {
	if !v.IsKnown() {
		return nil, true
	}
	switch kind := v.Type(); {
	case kind.IsPrimitiveType():
		return decoded(t, v, kind), false
	case kind.IsTupleType(), kind.IsListType(), kind.IsSetType():
		list, marks := []any{}, []any{}
		for _, item := range v.AsValueSlice() {
			a, b := shown(t, item)
			list, marks = append(list, a), append(marks, b)
		}
		return list, marks
	}
	object, marks := map[string]any{}, map[string]any{}
	for name, item := range v.AsValueMap() {
		a, b := shown(t, item)
		if marks[name] = b; item.IsKnown() { // what is not known is left out
			object[name] = a
		}
	}
	return object, marks
}

func decoded(t *rapid.T, v cty.Value, kind cty.Type) any {
	text, err := ctyjson.Marshal(v, kind)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var out any
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func typeJSON(t *rapid.T, kind cty.Type) any {
	text, err := json.Marshal(kind)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestExpression: what a tool makes of an expression is the value, with its type.
func TestExpression(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kind := kinds(3).Draw(t, "kind")
		want := values(kind, false).Draw(t, "value")
		value, hidden := shown(t, want)
		text := expression(value, hidden, typeJSON(t, kind))
		got, err := evaluate(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !got.RawEquals(want) {
			t.Fatalf("%s is %#v, want %#v", text, got, want)
		}
	})
}

// TestExpressionPartly: with a type, what is unknown costs at most the collection
// that it is in.
func TestExpressionPartly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kind := kinds(3).Draw(t, "kind")
		want := values(kind, true).Draw(t, "value")
		value, hidden := shown(t, want)
		if !fits(value, hidden, typeJSON(t, kind)) {
			t.Fatalf("%v does not fit", value)
		}
		text := expression(value, hidden, typeJSON(t, kind))
		got, err := evaluate(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !within(got, want) {
			t.Fatalf("%s is %#v, want %#v", text, got, want)
		}
	})
}

// within reports whether got says nothing that want does not.
func within(got, want cty.Value) bool {
	switch {
	case !got.IsKnown():
		return !want.IsWhollyKnown()
	case !want.IsKnown():
		return false
	case want.IsWhollyKnown():
		return got.RawEquals(want)
	case want.Type().IsObjectType(), want.Type().IsMapType():
		a, b := got.AsValueMap(), want.AsValueMap()
		for name := range b {
			if v, ok := a[name]; !ok || !within(v, b[name]) {
				return false
			}
		}
		return len(a) == len(b)
	}
	a, b := got.AsValueSlice(), want.AsValueSlice()
	for i := range b {
		if len(a) != len(b) || !within(a[i], b[i]) {
			return false
		}
	}
	return len(a) == len(b)
}

// TestExpressionWithoutType: where no type is told, every part is known or unknown
// as the plan says.
func TestExpressionWithoutType(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kind := kinds(3).Draw(t, "kind")
		want := values(kind, true).Draw(t, "value")
		value, hidden := shown(t, want)
		text := expression(value, hidden, nil)
		got, err := evaluate(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		gotValue, gotHidden := any(nil), any(true)
		if got.IsKnown() {
			gotValue, gotHidden = shown(t, got)
		}
		if a, b := fmt.Sprint(value, hidden), fmt.Sprint(gotValue, gotHidden); a != b {
			t.Fatalf("%s is %s, want %s", text, b, a)
		}
	})
}

// TestExpressionOfParts: with a type, what is unknown in a list leaves the rest.
func TestExpressionOfParts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value, hidden, kind any
		want                string
	}{
		{[]any{"a", nil}, []any{false, true}, []any{"list", "string"}, `tolist(["a", tostring(jsondecode(uuid()))])`},
		{[]any{"a"}, []any{false, true}, nil, `["a", jsondecode(uuid())]`},
		{map[string]any{}, map[string]any{"a": true}, nil, `{"a" = jsondecode(uuid())}`},
		{nil, nil, []any{"list", "string"}, `(true ? null : tolist([""]))`},
		{nil, nil, []any{"list", "dynamic"}, `null`},
		{[]any{}, nil, []any{"set", "dynamic"}, `toset([])`},
		{map[string]any{}, nil, []any{"map", []any{"object", map[string]any{"a": []any{"tuple", []any{"dynamic"}}}}}, `tomap({})`},
		{nil, true, "number", `tonumber(jsondecode(uuid()))`},
		{json.Number("1e99999"), false, "number", `1e99999`},
		{struct{}{}, false, nil, `jsondecode(uuid())`},
		{[]any{}, nil, []any{"set"}, `[]`},
	} {
		if got := expression(c.value, c.hidden, c.kind); got != c.want {
			t.Errorf("%v, %v, %v: %s, want %s", c.value, c.hidden, c.kind, got, c.want)
		}
	}
}

// TestFits takes no type of a value that was before.
func TestFits(t *testing.T) {
	t.Parallel()
	list, object := []any{"list", "string"}, []any{"object", map[string]any{"a": "string"}}
	for _, c := range []struct {
		value, hidden, kind any
		want                bool
	}{
		{"a", false, "string", true},
		{"a", false, "number", false},
		{nil, false, "number", true},
		{nil, true, nil, true},
		{"a", false, nil, false},
		{[]any{"a", nil}, []any{false, true}, list, true},
		{[]any{json.Number("1")}, nil, list, false},
		{map[string]any{}, map[string]any{"a": true}, object, true},
		{map[string]any{"b": "c"}, map[string]any{}, object, false},
		{map[string]any{"a": "c", "b": "c"}, nil, object, false},
		{map[string]any{}, nil, object, false},
		{map[string]any{}, nil, list, false},
		{[]any{"a"}, nil, []any{"tuple", []any{"string"}}, true},
		{[]any{"a", "b"}, nil, []any{"tuple", []any{"string"}}, false},
		{[]any{}, nil, []any{"map", "string"}, false},
	} {
		if got := fits(c.value, c.hidden, c.kind); got != c.want {
			t.Errorf("%v, %v, %v: %v", c.value, c.hidden, c.kind, got)
		}
	}
}
