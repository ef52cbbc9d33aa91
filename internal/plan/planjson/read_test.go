package planjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/internal/plan/planjson"
)

func TestParse(t *testing.T) {
	t.Parallel()
	want := map[string]any{
		"null": nil, "yes": true, "no": false, "text": "é\n", "n": json.Number("1"), "big": json.Number("9007199254740993"),
		"empty list": []any{}, "empty object": map[string]any{}, "deep": []any{[]any{map[string]any{"a": nil}}},
	}
	got, err := planjson.Parse(` {"null":null,"yes":true,"no":false,"text":"\u00e9\n","n":1.0e0,"big":9007199254740993,
		"empty list":[],"empty object":{},"deep":[[{"a":null}]]} `)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, text := range []string{"", " ", "{", "[1,]", `{"a":1,"a":1}`, "1 2", "{}x", "'a'", "\"\xff\"", `"\ud800"`, "1e100000", "NaN", strings.Repeat("[", 20_000)} {
		if v, err := planjson.Parse(text); err == nil {
			t.Errorf("%.20q: got %v", text, v)
		}
	}
}

// TestConceal checks what is handed on from a state: values that have marks,
// wherever they stand, and nothing else.
func TestConceal(t *testing.T) {
	t.Parallel()
	type pair struct{ Value, Marks any }
	var got []pair
	_, err := planjson.Read([]byte(`{
		"planned_values":{
			"outputs":{"o":{"sensitive":true,"value":["x"]},"p":{"sensitive":false,"value":"y"}},
			"root_module":{
				"resources":[{"values":{"a":1},"sensitive_values":{"b":{}}},{"sensitive_values":{"a":true},"values":{"a":2}}],
				"child_modules":[{"resources":[{"values":{"a":"true"},"sensitive_values":{}},{"values":{"a":3},"sensitive_values":{"a":[true]}}]}]}},
		"prior_state":{"format_version":"1.0","values":{"root_module":{"resources":[{"values":null,"sensitive_values":true},{"sensitive_values":true}]}}}}`),
		func(value, marks any) { got = append(got, pair{value, marks}) })
	if err != nil {
		t.Fatal(err)
	}
	want := []pair{
		{[]any{"x"}, true},
		{map[string]any{"a": json.Number("2")}, map[string]any{"a": true}},
		{map[string]any{"a": json.Number("3")}, map[string]any{"a": []any{true}}},
		{nil, true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestTwins reads values that begin alike: only equal ones are shared.
func TestTwins(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200)
	p, err := planjson.Read([]byte(`{"resource_changes":[{"change":{
		"before":{"a":"`+long+`"},"after":{"a":"`+long+`"},"after_unknown":{"a":"`+long+`","b":1}}},
		{"change":{"before":{"a":"`+long+`"} ,"after":12,"after_unknown":1}}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	one := map[string]any{"a": long}
	want := []planjson.Delta{
		{Before: one, After: one, AfterUnknown: map[string]any{"a": long, "b": json.Number("1")}},
		{Before: one, After: json.Number("12"), AfterUnknown: json.Number("1")},
	}
	if diff := cmp.Diff(want, []planjson.Delta{p.Changes[0].Change, p.Changes[1].Change}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
