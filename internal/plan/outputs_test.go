package plan_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/internal/plan"
)

// TestOutputsAfter takes the type from the plan, else from the state before it,
// and leaves out what no state will hold.
func TestOutputsAfter(t *testing.T) {
	t.Parallel()
	p, err := plan.Decode([]byte(`{"format_version":"1.2","terraform_version":"1.12.6","configuration":{},
		"planned_values":{"outputs":{
			"same":{"sensitive":false,"type":["set","string"],"value":["a"]},
			"secret":{"sensitive":true,"type":"string","value":"hunter22"},
			"part":{"sensitive":false},"new":{"sensitive":false},
			"null":{"sensitive":false,"type":"dynamic","value":null}}},
		"prior_state":{"format_version":"1.0","values":{"outputs":{
			"same":{"sensitive":false,"type":["list","string"],"value":["a"]},
			"part":{"sensitive":false,"type":["list","string"],"value":["a","b"]},
			"untargeted":{"sensitive":true,"type":"number","value":12345678901234567890.50},
			"gone":{"sensitive":false,"type":"number","value":1}}}},
		"output_changes":{
			"same":{"actions":["no-op"],"before":["a"],"after":["a"],"after_unknown":false,"before_sensitive":false,"after_sensitive":false},
			"secret":{"actions":["create"],"before":null,"after":"hunter22","after_unknown":false,"before_sensitive":true,"after_sensitive":true},
			"part":{"actions":["update"],"before":["a","b"],"after":["a",null],"after_unknown":[false,true],"before_sensitive":false,"after_sensitive":false},
			"new":{"actions":["create"],"before":null,"after_unknown":true,"before_sensitive":false,"after_sensitive":false},
			"null":{"actions":["no-op"],"before":null,"after":null,"after_unknown":false,"before_sensitive":false,"after_sensitive":false},
			"gone":{"actions":["delete"],"before":1,"after":null,"after_unknown":false,"before_sensitive":false,"after_sensitive":false}}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]plan.Output{
		"same":       {Name: "same", Action: plan.NoOp, Type: []any{"set", "string"}, Before: []any{"a"}, After: []any{"a"}, AfterUnknown: false, BeforeSensitive: false, AfterSensitive: false},
		"secret":     {Name: "secret", Action: plan.Create, Type: "string", After: "hunter22", AfterUnknown: false, BeforeSensitive: true, AfterSensitive: true},
		"part":       {Name: "part", Action: plan.Update, Type: []any{"list", "string"}, Before: []any{"a", "b"}, After: []any{"a", nil}, AfterUnknown: []any{false, true}, BeforeSensitive: false, AfterSensitive: false},
		"new":        {Name: "new", Action: plan.Create, AfterUnknown: true, BeforeSensitive: false, AfterSensitive: false},
		"untargeted": {Name: "untargeted", Action: plan.NoOp, Type: "number", Before: json.Number("12345678901234567890.5"), After: json.Number("12345678901234567890.5"), AfterUnknown: false, BeforeSensitive: true, AfterSensitive: true},
	}
	if diff := cmp.Diff(want, p.OutputsAfter()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := p.Redact("the word is hunter22"); got == "the word is hunter22" {
		t.Error("an output that is marked is no secret")
	}
	var raw map[string]any
	if json.Unmarshal(p.Raw, &raw) != nil {
		t.Error("the plan was written to")
	}
}
