package input_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gowebpki/jcs"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/plan/planjson"
	"github.com/assize-iac/assize/internal/policy/input"
)

// TestRealPlans makes an input of every real plan, under both contracts. The
// secret stands in it nowhere, what is read is what was written, and a second
// implementation of RFC 8785 writes the same text.
func TestRealPlans(t *testing.T) {
	t.Parallel()
	canonical, redacted := 0, 0
	for name, p := range realPlans(t) {
		for _, c := range input.Contracts() {
			from := manual()
			from.Secrets = input.Canaries{{Name: "canary", Value: "CANARY"}}
			in, err := input.Build(c, p, from, input.Bounds{})
			if err != nil {
				if c.Name == "stackship" && slices.ContainsFunc(p.Changes, func(c plan.Change) bool { return c.Deposed != "" }) {
					wantProblem(t, err, api.Invalid, "cannot tell a deposed object")
				} else {
					t.Errorf("%s, %s: %v", name, c.Name, err)
				}
				continue
			}
			if strings.Contains(string(in.Text), "CANARY") || strings.Contains(string(in.Text), "\n") || len(in.Document.ResourceChanges) != len(p.Changes) {
				t.Errorf("%s, %s: a secret, a line or a change too many", name, c.Name)
			}
			back, err := input.Read(in.Text, input.Bounds{})
			if err != nil {
				t.Fatalf("%s, %s: %v", name, c.Name, err)
			}
			if diff := cmp.Diff(in, back, cmp.AllowUnexported(input.Contract{})); diff != "" {
				t.Errorf("%s, %s: -written +read:\n%s", name, c.Name, diff)
			}
			redacted += strings.Count(string(in.Text), "true")
			if text, err := jcs.Transform(in.Text); err != nil {
				t.Error(err)
			} else if same, _ := planjson.Parse(string(text)); cmp.Equal(same, parse(t, in.Text)) {
				canonical++
				if diff := cmp.Diff(string(text), string(in.Text)); diff != "" {
					t.Errorf("%s: -RFC 8785 +got:\n%s", name, diff)
				}
			}
		}
	}
	if canonical < 5 || redacted < 100 {
		t.Errorf("compared %d texts, saw %d marks: the plans are not what this test takes them for", canonical, redacted)
	}
}

func parse(t *testing.T, text []byte) any {
	t.Helper()
	v, err := planjson.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestRedaction is about what the plan's maps leave out, and about maps that do
// not fit (docs/policy-input.md, rules 3 and 4). The secret is marked in
// another resource.
func TestRedaction(t *testing.T) {
	t.Parallel()
	elsewhere := creates("elsewhere", `,"after":{"p":["hunter-two",987654]},"after_sensitive":{"p":true}`)
	tests := []struct{ name, value, marks, want, wantMarks string }{
		{"nothing secret", `{"a":1,"b":[null]}`, `{"b":[false]}`, `{"a":1,"b":[null]}`, `{"b":[false]}`},
		{"no map", `{"a":1}`, `null`, `{"a":1}`, `false`},
		{"false for all", `{"a":{"b":1}}`, `false`, `{"a":{"b":1}}`, `false`},
		{"true for all", `{"a":{"b":1}}`, `true`, `null`, `true`},
		{"null, and true for all", `null`, `true`, `null`, `true`},
		{"null, and a map", `null`, `{"a":true,"b":null}`, `null`, `{"a":true,"b":false}`},
		{"a copy", `{"a":"hunter-two"}`, `{}`, `{"a":null}`, `{"a":true}`},
		{"a copy without a map", `{"a":"hunter-two","b":1}`, `false`, `{"a":null,"b":1}`, `{"a":true}`},
		{"part of a text", `{"a":"pg://u:hunter-two@h"}`, `{}`, `{"a":null}`, `{"a":true}`},
		{"a number", `{"a":987654,"b":987655}`, `{}`, `{"a":null,"b":987655}`, `{"a":true}`},
		{"below", `{"a":{"b":["x","hunter-two"],"c":2}}`, `{}`, `{"a":{"b":["x",null],"c":2}}`, `{"a":{"b":[false,true]}}`},
		{"in JSON in a text", `{"a":"{\"p\":\"hunter-two\"}"}`, `{}`, `{"a":null}`, `{"a":true}`},
		{"a key", `{"a":{"hunter-two":1},"b":1}`, `{"a":{"hunter-two":false}}`, `{"a":null,"b":1}`, `{"a":true}`},
		{"a key of a map of marks", `{"a":{},"b":null}`, `{"a":{"hunter-two":true},"b":{"hunter-two":false},"c":{"hunter-two":true}}`, `{"a":null,"b":null}`, `{"a":true,"b":true,"c":true}`},
		{"the name of an attribute", `{"hunter-two":"x"}`, `{}`, `{"hunter-two":"x"}`, `{}`},
		{"a list with another length", `{"a":["x1","y1"],"b":["z1"]}`, `{"a":[true],"b":[]}`, `{"a":null,"b":["z1"]}`, `{"a":true,"b":[]}`},
		{"an object for a list", `{"a":["x1"]}`, `{"a":{"b":true}}`, `{"a":null}`, `{"a":true}`},
		{"an object for a text", `{"a":"x1"}`, `{"a":{"b":true}}`, `{"a":null}`, `{"a":true}`},
		{"an object that says nothing", `{"a":["x1"],"b":"x1"}`, `{"a":{"c":false},"b":{}}`, `{"a":["x1"],"b":"x1"}`, `{"a":{"c":false},"b":{}}`},
		{"what is empty", `{"a":[],"b":{},"c":[],"d":{},"e":[]}`, `{"a":true,"b":true,"c":{"x":true},"d":[true],"e":false}`, `{"a":null,"b":null,"c":null,"d":null,"e":[]}`, `{"a":true,"b":true,"c":true,"d":true,"e":false}`},
		{"a list for the whole", `{"a":"x1"}`, `[true]`, `null`, `true`},
	}
	for _, tt := range tests {
		delta := `,"before":` + tt.value + `,"before_sensitive":` + tt.marks + `,"after":` + tt.value + `,"after_sensitive":` + tt.marks
		got := build(t, planText(elsewhere, creates("a", delta))).Document.ResourceChanges[1].Change
		want := api.InputDelta{
			Actions: []string{"create"}, AfterUnknown: false,
			Before: parse(t, []byte(tt.want)), BeforeSensitive: parse(t, []byte(tt.wantMarks)), After: parse(t, []byte(tt.want)), AfterSensitive: parse(t, []byte(tt.wantMarks)),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", tt.name, diff)
		}
	}
}

// TestUnknown keeps the map of what is unknown, except for a key that would
// tell a secret.
func TestUnknown(t *testing.T) {
	t.Parallel()
	in := build(t, planText(creates("a", `,"after":{"p":"hunter-two"},"after_sensitive":{"p":true},"after_unknown":{"id":true,"m":{"hunter-two":true},"l":[false,{"a":null}]}`)))
	want := map[string]any{"id": true, "m": true, "l": []any{false, map[string]any{"a": false}}}
	if diff := cmp.Diff(any(want), in.Document.ResourceChanges[0].Change.AfterUnknown); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestFields holds each contract against exactly the fields it has
// (docs/policy-input.md, rules 1 and 9).
func TestFields(t *testing.T) {
	t.Parallel()
	p := decode(t, planText(creates("a", ""),
		`{"address":"test_thing.b","previous_address":"test_thing.old","deposed":"deadbeef","mode":"managed","type":"test_thing","name":"b","index":"k","provider_name":"example.com/acme/test",
		"action_reason":"delete_because_no_resource_config","change":{"actions":["delete"],"before":{},"after":null,"importing":{"id":"x"},"replace_paths":[["a"]]}}`))
	tests := []struct {
		contract          input.Contract
		top, first, other string
		delta             string
	}{
		{input.Assize(), "plan resource_changes run source stack version",
			"address change mode name provider_name type",
			"action_reason address change deposed importing mode name previous_address provider_name type",
			"actions after after_sensitive after_unknown before before_sensitive"},
		{input.Stackship(), "resource_changes run source version workspace",
			"address change provider_name", "address change provider_name", "actions after after_sensitive before before_sensitive"},
	}
	for _, tt := range tests {
		in, err := input.Build(tt.contract, p, tracked(), input.Bounds{})
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []struct {
			want string
			path []any
		}{{tt.top, nil}, {tt.first, []any{"resource_changes", 0}}, {tt.other, []any{"resource_changes", 1}}, {tt.delta, []any{"resource_changes", 1, "change"}}} {
			got := members(t, in.Text, at.path...)
			slices.Sort(got)
			if diff := cmp.Diff(at.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("%s %v: -want +got:\n%s", tt.contract.Name, at.path, diff)
			}
		}
	}
}

// TestPlanFacts says whether a plan is the whole change; the other contract
// cannot, and refuses what is left for later.
func TestPlanFacts(t *testing.T) {
	t.Parallel()
	p := decode(t, strings.Replace(planText(), "{", `{"complete":false,"deferred_changes":[{"reason":"instance_count_unknown","resource_change":`+creates("later", "")+`}],`, 1))
	p.Flags = plan.Flags{Destroy: true, RefreshOnly: true, Targets: []string{"test_thing.a"}, Replace: []string{"test_thing.b"}}
	in, err := input.Build(input.Assize(), p, tracked(), input.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	no := false
	want := &api.InputPlan{Complete: &no, Deferred: 1, Destroy: true, RefreshOnly: true, Targets: []string{"test_thing.a"}, Replace: []string{"test_thing.b"}}
	if diff := cmp.Diff(want, in.Document.Plan); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	_, err = input.Build(input.Stackship(), p, tracked(), input.Bounds{})
	wantProblem(t, err, api.Invalid, "leaves 1 changes for a later plan")
	p.Flags.Targets = []string{"\xff"}
	_, err = input.Build(input.Assize(), p, tracked(), input.Bounds{})
	wantProblem(t, err, api.Invalid, "plan has an address that is no UTF-8")
}

// TestMalformedPlans refuses what a plan may say and the contract cannot.
func TestMalformedPlans(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, change, want string }{
		{"no provider", strings.Replace(creates("a", ""), `"provider_name":"example.com/acme/test",`, "", 1), "(test_thing.a) has no provider_name"},
		{"no type", `{"address":"x","provider_name":"p","change":{"actions":["create"]}}`, "(x) has no type or no name"},
		{"a text in a map", creates("a", `,"after":{},"after_sensitive":{"a":"true"}`), "after_sensitive is no map of booleans"},
		{"a list of marks and no value to it", creates("a", `,"after":{"a":["x"]},"after_unknown":{"a":[0]}`), "after_unknown is no map of booleans"},
		{"a number for a map", creates("a", `,"after":{},"after_unknown":1`), "after_unknown is no map of booleans"},
	}
	for _, tt := range tests {
		_, err := input.Build(input.Assize(), decode(t, planText(tt.change)), tracked(), input.Bounds{})
		wantProblem(t, err, api.Invalid, tt.want)
	}
}

// TestText is the one spelling of a document: RFC 8785, and exact. Keys are in
// the order of UTF-16, where an emoji comes before U+FB33.
func TestText(t *testing.T) {
	t.Parallel()
	values := map[string]string{
		"9007199254740993": "9007199254740993", "9007199254740992": "9007199254740992", "1.0": "1", "-0": "0", "1e21": "1e+21", "1e20": "100000000000000000000",
		"0.0000001": "1e-7", "0.1": "0.1", "0.1000000000000000055511151231257827": "0.1000000000000000055511151231257827", "1e400": "1e400", "1e-400": "0." + strings.Repeat("0", 399) + "1",
		"123456789012345678901234567890": "123456789012345678901234567890", `"\u2028<>&\u007f\/\b\u001f"`: "\"\u2028<>&\u007f/\\b\\u001f\"",
	}
	for value, want := range values {
		in := build(t, planText(creates("a", `,"after":{"é":1,"z":`+value+`,"\ufb33":3,"😀":2}`)))
		if text := string(in.Text); !strings.Contains(text, `"after":{"z":`+want+`,"é":1,"😀":2,"`+"\ufb33"+`":3}`) {
			t.Errorf("%s: want %s in %s", value, want, text)
		}
	}
	in := build(t, planText(creates("a", `,"after":{"n":9007199254740993}`)))
	if got := in.Document.ResourceChanges[0].Change.After.(map[string]any)["n"]; got != json.Number("9007199254740993") {
		t.Errorf("got %v", got)
	}
}

func TestContractNamed(t *testing.T) {
	t.Parallel()
	for _, c := range input.Contracts() {
		if got, err := input.ContractNamed(c.Name); err != nil || got != c {
			t.Errorf("got %v, %v", got, err)
		}
		if c.Package() != c.Name+".v1" || c.Rule() != "decision" {
			t.Errorf("%s has its entry point in package %s, rule %s", c.Name, c.Package(), c.Rule())
		}
	}
	_, err := input.ContractNamed("sentinel")
	wantProblem(t, err, api.Invalid, `there is no contract "sentinel"`)
}

// TestValidate: what Build would refuse of a provenance is known without a plan.
func TestValidate(t *testing.T) {
	t.Parallel()
	p := decode(t, planText())
	tests := map[string]func(*input.Provenance){
		"nothing":           func(*input.Provenance) {},
		"no kind":           func(from *input.Provenance) { from.Kind = "" },
		"no commit":         func(from *input.Provenance) { from.Source.CommitSHA = nil },
		"an upload":         func(from *input.Provenance) { from.Source.RepositoryID = "cfg_1" },
		"a directory above": func(from *input.Provenance) { from.Source.WorkingDirectory = ".." },
		"no subject":        func(from *input.Provenance) { from.Subject.ID = "" },
		"no metadata":       func(from *input.Provenance) { from.Subject.Metadata = nil },
		"an empty key":      func(from *input.Provenance) { from.Subject.Metadata = map[string]string{"": "x"} },
		"a short secret":    func(from *input.Provenance) { from.Secrets = input.Canaries{{Name: "X", Value: "x"}} },
	}
	for name, change := range tests {
		from := tracked()
		change(&from)
		_, want := input.Build(input.Assize(), p, from, input.Bounds{})
		if got := from.Validate(); (got == nil) != (want == nil) || got != nil && got.Error() != want.Error() {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}
