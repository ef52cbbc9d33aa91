package rules_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy/rules"
)

func rulesSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(api.RulesSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("rules.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("rules.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// An editor marks what the loader refuses, but for what a schema cannot say.
func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	schema := rulesSchema(t)
	var passed []string
	for _, test := range refusals() {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(test.text))
		if err == nil && schema.Validate(doc) == nil {
			passed = append(passed, test.name)
		}
	}
	want := []string{
		"duplicate field", "duplicate key in value", "path that does not parse", "a number beyond all bounds",
		"an expression that does not compile", "lookahead", "lookbehind", "backreference", "a repetition that is too long",
		"max_deletes beyond all bounds",
	}
	if diff := cmp.Diff(want, passed); diff != "" {
		t.Error(diff)
	}
}

// What loads is valid: nobody's editor complains about a file that works.
func TestSchemaAccepts(t *testing.T) {
	t.Parallel()
	schema := rulesSchema(t)
	texts := []string{
		string(lessonSource(t).Files[0].Data), `{"$schema": "x", "rules": ` + with() + `}`,
		with("actions", `"create,forget"`, "mode", `["managed","data"]`, "unknown", `"deny"`, "type", `["a","b*"]`, "address", `"*"`),
		with("op", `"exists"`, "value", "-"), with("op", `"in"`, "value", `[[],{},"",0,false]`), with("op", `"ne"`, "value", `{"a":null}`),
		with("op", `"gte"`, "value", "-1e5"), with("op", `"not_matches"`, "value", `"."`),
		checks("no_delete", "type", `"a"`, "address", `"a"`, "mode", `"data"`), checks("no_replace"), checks("no_forget"), checks("no_import"),
		checks("max_deletes", "value", "0", "type", `"a"`), checks("max_deletes", "value", "2.0"), checks("module_source", "value", `"a"`, "address", `"b"`),
		checks("module_source", "value", `["a"]`), checks("checks_pass", "unknown", `"allow"`, "address", `"b"`), checks("complete_plan"),
	}
	for _, text := range texts {
		if _, err := rules.Load(source("r.json", text)); err != nil {
			t.Errorf("%s\ndoes not load: %v", text, err)
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err == nil {
			err = schema.Validate(doc)
		}
		if err != nil {
			t.Errorf("%s\nis not valid: %v", text, err)
		}
	}
}

// The schema lists the words that the loader knows.
func TestSchemaWords(t *testing.T) {
	t.Parallel()
	var schema struct {
		Defs struct {
			Rule struct {
				Properties map[string]struct{ Enum []string }
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(api.RulesSchema()), &schema); err != nil {
		t.Fatal(err)
	}
	var ops, checks []string
	for _, op := range rules.Ops() {
		ops = append(ops, string(op))
	}
	for _, check := range rules.Checks() {
		checks = append(checks, string(check))
	}
	properties := schema.Defs.Rule.Properties
	if got := properties["op"].Enum; !slices.Equal(got, ops) {
		t.Errorf("ops are %q, in the schema %q", ops, got)
	}
	if got := properties["check"].Enum; !slices.Equal(got, checks) {
		t.Errorf("checks are %q, in the schema %q", checks, got)
	}
	if len(properties) != 12 {
		t.Errorf("the schema has %d fields", len(properties))
	}
}
