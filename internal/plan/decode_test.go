package plan_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/problem"
)

var update = flag.Bool("update", false, "write golden files")

// realPlans reads every plan of the test data, by name without suffix.
func realPlans(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("../../testdata/plans/*.json")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d plans, %v", len(files), err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(f), ".json")] = raw
	}
	return out
}

// decode reads a plan that must be one.
func decode(t interface {
	Helper()
	Fatalf(string, ...any)
}, text string) *plan.Plan {
	t.Helper()
	p, err := plan.Decode([]byte(text))
	if err != nil {
		t.Fatalf("%v (hint: %s)", err, problem.Hint(err))
	}
	return p
}

// one is a plan of one change, with more members for the change object.
func one(change string) string {
	return fmt.Sprintf(`{"format_version":"1.2","resource_changes":[{"address":"a.b","mode":"managed","type":"a","name":"b",
		"change":{"actions":["update"],%s}}]}`, change)
}

// TestRealPlans says of each real plan what it does, or why it is none.
func TestRealPlans(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	plans := realPlans(t)
	for _, name := range slices.Sorted(maps.Keys(plans)) {
		raw := plans[name]
		before := bytes.Clone(raw)
		p, err := plan.Decode(raw)
		if !bytes.Equal(raw, before) {
			t.Errorf("%s: decoding changed the text", name)
		}
		fmt.Fprintf(&got, "%s\n", name)
		if err != nil {
			fmt.Fprintf(&got, "  error: %v\n  hint: %s\n", err, problem.Hint(err))
			continue
		}
		d := p.Document(plan.Labels{})
		fmt.Fprintf(&got, "  %s by %s at %s\n  %+v\n  %+v\n", p.FormatVersion, p.ToolVersion, p.Created, p.Summary(), d.Stats)
		fmt.Fprintf(&got, "  checks %+v\n  modules %+v\n  providers %v\n  hints %q\n", p.Checks, p.Modules, d.Providers, d.Hints)
		for _, c := range p.Changes {
			if c.Action != plan.NoOp && c.Action != plan.Create && c.Module == "" {
				fmt.Fprintf(&got, "  %s %s %s %s %s %q %v\n", c.Label(), c.Address, c.Deposed, c.PreviousAddress, c.Reason, c.ReplacePaths, c.Importing)
			}
		}
	}
	golden(t, "testdata/plans.golden", got.Bytes())
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want, hint string }{
		{"nothing", "", "the plan is empty", "tofu show -json plan.out"},
		{"white space", " \r\n\t", "nothing but white space", "tofu show -json"},
		{"byte-order mark", "\xef\xbb\xbf{}", "byte-order mark", "without one"},
		{"PowerShell", "\xff\xfe{\x00}\x00", "UTF-16", "utf8NoBOM"},
		{"plan file", "PK\x03\x04\x14\x00", "saved plan file", "--show FILE"},
		{"HCL", "# web\nresource \"aws_instance\" \"web\" {\n  ami = \"x\"\n}\n", "this is HCL", "tofu show -json"},
		{"HCL block on one line", `terraform {}`, "this is HCL", "tofu show -json"},
		{"tfvars", "owner = \"x\"\n", "this is HCL", "tofu show -json"},
		{"YAML", "resource_changes:\n  - address: a.b\n", "this is YAML", "tofu show -json"},
		{"YAML document", "---\na: b\n", "this is YAML", "tofu show -json"},
		{"text of a plan", "\nOpenTofu used the selected providers to generate ...\n", "not JSON", "tofu show -json"},
		{"list", `[{"address":"a.b"}]`, "not an object", "tofu show -json"},
		{"string", `"plan"`, "not an object", "tofu show -json"},
		{"null", `null`, "not an object", "tofu show -json"},
		{"empty object", `{}`, "no plan", "tofu show -json"},
		{"some object", `{"deny":[]}`, "no plan", "tofu show -json"},
		{"show without a state", `{"format_version":"1.0"}`, "no plan", "tofu show -json"},
		{"state", `{"format_version":"1.0","terraform_version":"1.12.6","values":{"root_module":{}}}`, "this is the state", "tofu show -json plan.out"},
		{"state with more", `{"format_version":"1.0","values":{},"prior_state":{},"configuration":{}}`, "this is the state", "tofu plan -out"},
		{"state file", `{"version":4,"terraform_version":"1.12.6","serial":1,"lineage":"x","outputs":{},"resources":[]}`, "state file", "tofu show -json"},
		{"log", `{"@level":"info","@message":"OpenTofu 1.12.6","type":"version"}` + "\n" + `{"@level":"info"}`, "the log", "tofu show -json"},
		{"errored", `{"format_version":"1.2","resource_changes":[],"errored":true}`, "errored", "fix what the tool reported"},
		{"errored first", `{"errored":true,"format_version":"1.2","resource_changes":[]}`, "errored", "fix"},
		{"format 2", `{"format_version":"2.0","resource_changes":{"new":"shape"}}`, `format version "2.0"`, "newer assize"},
		{"no format at all", `{"format_version":"x","resource_changes":[]}`, `format version "x"`, "newer assize"},
		{"truncated", `{"format_version":"1.2","resource_changes":[{"addr`, "ends in the middle, at offset 50", "disk be full"},
		{"truncated in planned values", `{"planned_values":{"root_module":{"resources":[{"values":{"a":"b"`, "ends in the middle", "tofu show"},
		{"duplicate at the top", `{"resource_changes":[],"errored":true,"errored":false}`, `"/errored" twice`, "no tool writes"},
		{"duplicate actions", `{"resource_changes":[{"address":"a.b","change":{"actions":["delete"],"actions":["no-op"]}}]}`, `"/resource_changes/0/change/actions" twice`, ""},
		{"duplicate in a value", one(`"after":{"labels":{"x":1,"x":2}}`), `"/resource_changes/0/change/after/labels/x" twice`, ""},
		{"duplicate escaped", one(`"after":{"x":1,"\u0078":2}`), `"/resource_changes/0/change/after/x" twice`, ""},
		{"duplicate in what is skipped", `{"resource_changes":[],"relevant_attributes":[{"a":1,"a":2}]}`, `"/relevant_attributes/0/a" twice`, ""},
		{"duplicate in state", `{"planned_values":{"root_module":{"resources":[{"values":{"a":1,"a":2}}]}}}`, `values/a" twice`, ""},
		{"duplicate in configuration", `{"resource_changes":[],"configuration":{"root_module":{"resources":[{"a":1,"a":2}]}}}`, `/a" twice`, ""},
		{"duplicate in a module", `{"resource_changes":[],"configuration":{"root_module":{"module_calls":{"m":{},"m":{}}}}}`, `module_calls/m" twice`, ""},
		{"UTF-8", "{\"resource_changes\":[],\"x\":\"\xff\"}", "not valid UTF-8 at offset 28", ""},
		{"UTF-8 in a value", one("\"after\":\"\xc3\x28\""), "not valid UTF-8", ""},
		{"surrogate", one(`"after":"\ud800"`), "not valid JSON at offset", ""},
		{"syntax", `{"resource_changes":[],}`, "not valid JSON at offset", ""},
		{"comment", `{"resource_changes":[] /* none */}`, "not valid JSON at offset", ""},
		{"trailing", `{"resource_changes":[]} {"resource_changes":[]}`, "more after the plan, from offset 24", "one JSON object"},
		{"trailing text", `{"resource_changes":[]}` + "\nDone.", "more after the plan", "one JSON object"},
		{"changes of another kind", `{"resource_changes":{}}`, `malformed at "/resource_changes"`, ""},
		{"change of another kind", `{"resource_changes":["a.b"]}`, `malformed at "/resource_changes/0"`, ""},
		{"null change", `{"resource_changes":[null]}`, `without an address`, ""},
		{"errored is no flag", `{"resource_changes":[],"errored":"true"}`, `malformed at "/errored"`, ""},
		{"address is no text", `{"resource_changes":[{"address":7}]}`, `malformed at "/resource_changes/0/address"`, ""},
		{"too deep", one(`"after":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)), "nested too deeply at offset", "no tool writes"},
		{"mode of a query", `{"resource_changes":[{"address":"a.b","mode":"list","change":{"actions":["read"]}}]}`, `a.b has mode "list"`, ""},
		{"mode in capitals", `{"resource_changes":[{"address":"a.b","deposed":"00","mode":"Managed","change":{"actions":["delete"]}}]}`, `a.b (deposed 00) has mode "Managed"`, ""},
		{"no address", `{"resource_changes":[{"type":"a","change":{"actions":["create"]}}]}`, "without an address", ""},
		{"two changes", `{"resource_changes":[{"address":"a.b","change":{"actions":["delete"]}},{"address":"a.b","change":{"actions":["no-op"]}}]}`, "two changes for a.b", ""},
		{"two deposed", `{"resource_changes":[{"address":"a.b","deposed":"00","change":{"actions":["delete"]}},{"address":"a.b","deposed":"00","change":{"actions":["delete"]}}]}`, "two changes for a.b (deposed 00)", ""},
		{"a list for an object", one(`"after":[{"size":1000}]`), "a.b has attributes, after, that are neither an object nor null", "no tool writes"},
		{"a text for an object", one(`"before":"{}","after":{}`), "attributes, before, that are neither", ""},
		{"a text that drifted", `{"resource_changes":[],"resource_drift":[{"address":"a.b","change":{"actions":["update"],"after":"x"}}]}`, "attributes, after, that are neither", ""},
		{"deferred nothing", `{"deferred_changes":[{"reason":"unknown"}]}`, "without an address", ""},
		{"huge number", one(`"after":1e999999999`), `a number beyond 1e99999 at "/resource_changes/0/change/after"`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := plan.Decode([]byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			if hint := problem.Hint(err); hint == "" || !strings.Contains(hint, tt.hint) {
				t.Errorf("hint %q, want %q", hint, tt.hint)
			}
			if code := problem.Code(err); code != api.Invalid {
				t.Errorf("code %s", code)
			}
		})
	}
}

// TestErrorsQuoteNoValue spoils a plan that is full of a secret in every
// place; no error may show it.
func TestErrorsQuoteNoValue(t *testing.T) {
	t.Parallel()
	raw := realPlans(t)["tofu1126-replace"]
	for cut := 1; cut < len(raw); cut += 499 {
		for _, text := range [][]byte{
			raw[:cut],
			slices.Concat(raw[:cut], []byte("\xff"), raw[cut:]),
			slices.Concat(raw[:cut], []byte("}"), raw[cut:]),
			slices.Concat(raw[:cut], []byte(`"`), raw[cut:]),
			slices.Concat(raw[:cut], raw[cut+1:]),
		} {
			_, err := plan.Decode(text)
			if err != nil && strings.Contains(err.Error()+problem.Hint(err), "CANARY") {
				t.Fatalf("cut at %d: %v", cut, err)
			}
		}
	}
}

func TestActions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		actions, mode string
		want          plan.Action
		label         string
	}{
		{`["no-op"]`, "managed", plan.NoOp, "no-op"},
		{`["create"]`, "managed", plan.Create, "create"},
		{`["read"]`, "data", plan.Read, "read"},
		{`["update"]`, "managed", plan.Update, "update"},
		{`["delete"]`, "managed", plan.Delete, "delete"},
		{`["delete","create"]`, "managed", plan.Replace, "replace"},
		{`["create","delete"]`, "managed", plan.Replace, "replace (create before destroy)"},
		{`["forget"]`, "managed", plan.Forget, "forget"},
		{`["create","forget"]`, "managed", plan.CreateForget, "create,forget"},
		{`["forget","create"]`, "managed", plan.ForgetCreate, "forget,create"},
		{`["no-op"]`, "ephemeral", plan.NoOp, "no-op"},
		{`["open"]`, "ephemeral", plan.Read, "read"},
		{`["open"]`, "managed", "", ""},
		{`[]`, "managed", "", ""},
		{`null`, "managed", "", ""},
		{`["delete","no-op"]`, "managed", "", ""},
		{`["destroy"]`, "managed", "", ""},
		{`["Create"]`, "managed", "", ""},
		{`["create","create"]`, "managed", "", ""},
		{`["create,forget"]`, "managed", "", ""},
	}
	for _, tt := range tests {
		text := fmt.Sprintf(`{"resource_changes":[{"address":"x.y[\"k\"]","mode":%q,"change":{"actions":%s}}]}`, tt.mode, tt.actions)
		p, err := plan.Decode([]byte(text))
		if tt.want == "" {
			if err == nil || !strings.Contains(err.Error(), `x.y["k"]`) {
				t.Errorf("%s: got %v, want an error that names the address", tt.actions, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.actions, err)
			continue
		}
		if c := p.Changes[0]; c.Action != tt.want || c.Label() != tt.label {
			t.Errorf("%s: got %s, %q", tt.actions, c.Action, c.Label())
		}
	}
}

// TestOldAndNew decodes plans of versions that write other keys.
func TestOldAndNew(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []plan.Change
	}{
		{"empty", `{"format_version":"0.1","terraform_version":"0.13.7","planned_values":{"root_module":{}}}`, nil},
		{"null", `{"format_version":"1.2","resource_changes":null}`, nil},
		{"no format", `{"resource_changes":[]}`, nil},
		{"minor to come", `{"format_version":"1.99","resource_changes":[]}`, nil},
		{"0.13", `{"format_version":"0.1","terraform_version":"0.13.7","resource_changes":[{"address":"data.a.b","change":{"actions":["read"],"after_unknown":{"id":true}}}]}`,
			[]plan.Change{{Address: "data.a.b", Mode: "data", Type: "a", Name: "b", Action: plan.Read}}},
		{"no module address", `{"format_version":"0.1","resource_changes":[{"address":"module.m[\"x.y]\\\"[\"].module.n[0].data.a.b[\"c.d\"]","change":{"actions":["read"]}}]}`,
			[]plan.Change{{Address: `module.m["x.y]\"["].module.n[0].data.a.b["c.d"]`, Module: `module.m["x.y]\"["].module.n[0]`, Mode: "data", Type: "a", Name: "b", Action: plan.Read}}},
		{"only the mode is missing", `{"resource_changes":[{"address":"module.data.a.b","module_address":"module.data","type":"a","name":"b","change":{"actions":["create"]}}]}`,
			[]plan.Change{{Address: "module.data.a.b", Module: "module.data", Mode: "managed", Type: "a", Name: "b", Action: plan.Create}}},
		{"1.14", `{"format_version":"1.2","action_invocations":[{"address":"action.x.y"}],"deferred_action_invocations":[],"resource_changes":[{"address":"a.b","mode":"managed","type":"a","name":"b",
			"index_unknown":true,"change":{"actions":["create"],"before_identity":null,"after_identity":{"id":"1"},"generated_config":"x"}}]}`,
			[]plan.Change{{Address: "a.b", Mode: "managed", Type: "a", Name: "b", Action: plan.Create}}},
	}
	for _, tt := range tests {
		p := decode(t, tt.text)
		ignored := cmpopts.IgnoreFields(plan.Change{}, "Actions", "AfterUnknown")
		if diff := cmp.Diff(tt.want, p.Changes, ignored, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestLifecycle reads what a tool says of a change besides its values.
func TestLifecycle(t *testing.T) {
	t.Parallel()
	p := decode(t, `{"format_version":"1.2","terraform_version":"1.14.0","timestamp":"2026-01-02T03:04:05Z","complete":false,
		"resource_changes":[
			{"address":"a.b[\"x\"]","previous_address":"a.old","mode":"managed","type":"a","name":"b","index":"x","provider_name":"registry.opentofu.org/x/a",
			 "action_reason":"replace_because_cannot_update","change":{"actions":["delete","create"],"before":{"n":1.0},"after":{"n":1e0},
			 "replace_paths":[["disk",0,"size"],["tags","a.b"]],"importing":{"identity":{"account":"1"}}}},
			{"address":"a.b[\"x\"]","previous_address":"a.old","deposed":"0badcafe","mode":"managed","type":"a","name":"b","index":"x","change":{"actions":["delete"],"before":{},"after":null}}],
		"deferred_changes":[{"reason":"instance_count_unknown","resource_change":{"address":"a.later[\"*\"]","mode":"managed","type":"a","name":"later","change":{"actions":["create"],"after_unknown":true}}}],
		"resource_drift":[{"address":"a.c","change":{"actions":["update"]}}],
		"variables":{"n":{"value":2.50},"e":{}},
		"output_changes":{"z":{"actions":["create"],"after":1},"a":{"actions":["delete"],"before":1,"after":null}},
		"checks":[{"address":{"kind":"check","to_display":"check.health"},"status":"fail","instances":[{"problems":[{"message":"down"},{"message":"slow"}]},{"status":"pass"}]}],
		"configuration":{"root_module":{"module_calls":{"net":{"source":"./net","version_constraint":"~> 1.0","module":{"module_calls":{"subnets":{"source":"terraform-aws-modules/subnets"}}}},"app":{"source":"./app"}}}}}`)
	incomplete := false
	want := &plan.Plan{
		FormatVersion: "1.2", ToolVersion: "1.14.0", Created: "2026-01-02T03:04:05Z", Complete: &incomplete,
		Variables: map[string]any{"n": json.Number("2.5"), "e": nil},
		Changes: []plan.Change{{
			Address: `a.b["x"]`, PreviousAddress: "a.old", Mode: "managed", Type: "a", Name: "b", Index: "x", Provider: "registry.opentofu.org/x/a",
			Action: plan.Replace, Actions: []string{"delete", "create"}, Reason: "replace_because_cannot_update",
			ReplacePaths: []string{"disk[0].size", `tags["a.b"]`}, Importing: map[string]any{"identity": map[string]any{"account": "1"}},
			Before: map[string]any{"n": json.Number("1")}, After: map[string]any{"n": json.Number("1")},
		}, {
			Address: `a.b["x"]`, PreviousAddress: "a.old", Deposed: "0badcafe", Mode: "managed", Type: "a", Name: "b", Index: "x",
			Action: plan.Delete, Actions: []string{"delete"}, Before: map[string]any{},
		}},
		Deferred: []plan.Change{{Address: `a.later["*"]`, Mode: "managed", Type: "a", Name: "later", Action: plan.Create, Actions: []string{"create"},
			Reason: "instance_count_unknown", AfterUnknown: true}},
		Drifted: []plan.Change{{Address: "a.c", Mode: "managed", Type: "a", Name: "c", Action: plan.Update, Actions: []string{"update"}}},
		Outputs: []plan.Output{{Name: "a", Action: plan.Delete, Before: json.Number("1")}, {Name: "z", Action: plan.Create, After: json.Number("1")}},
		Checks:  []plan.Check{{Address: "check.health", Status: "fail", Problems: []string{"down", "slow"}}},
		Modules: []plan.ModuleCall{
			{Address: "module.app", Source: "./app"},
			{Address: "module.net", Source: "./net", Version: "~> 1.0"},
			{Address: "module.net.module.subnets", Source: "terraform-aws-modules/subnets"},
		},
	}
	if diff := cmp.Diff(want, p, cmpopts.IgnoreUnexported(plan.Plan{}), cmpopts.IgnoreFields(plan.Plan{}, "Raw", "Digest")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if want := (api.Summary{Replace: 1, Destroy: 2, Import: 1, Move: 1, BlastRadius: 2}); p.Summary() != want {
		t.Errorf("got %+v, want %+v", p.Summary(), want)
	}
}

// TestDigest pins that the digest is that of the bytes as they were read.
func TestDigest(t *testing.T) {
	t.Parallel()
	const text = ` {"resource_changes": []} ` + "\n"
	if got := decode(t, text).Digest; got != "sha256:d991eec06befcefcfa655d41f1467511946046bcfa9587afdc50ea463604a061" {
		t.Errorf("got %s", got)
	}
}

// TestKeyOrder shuffles the keys of every object of real plans: a plan has one
// reading, in whichever order its keys come.
func TestKeyOrder(t *testing.T) {
	t.Parallel()
	plans := realPlans(t)
	maps.DeleteFunc(plans, func(_ string, raw []byte) bool { _, err := plan.Decode(raw); return err != nil })
	names := slices.Sorted(maps.Keys(plans))
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom(names).Draw(rt, "plan")
		random := rand.New(rand.NewSource(rapid.Int64().Draw(rt, "seed")))
		var tree any
		dec := json.NewDecoder(bytes.NewReader(plans[name]))
		dec.UseNumber()
		if err := dec.Decode(&tree); err != nil {
			rt.Fatal(err)
		}
		want, got := decode(rt, string(plans[name])), decode(rt, string(shuffled(nil, tree, random)))
		if diff := cmp.Diff(want.DocumentJSON(plan.Labels{}), got.DocumentJSON(plan.Labels{})); diff != "" {
			rt.Fatalf("-want +got:\n%s", diff)
		}
		for _, s := range []string{`CANARY-s3cr3t-"quoted"`, "CANARY-whole"} {
			if want.HasSecret(s) != got.HasSecret(s) {
				rt.Fatalf("%q is a secret in one order only", s)
			}
		}
	})
}

// shuffled writes v as JSON with the keys of each object in random order.
func shuffled(b []byte, v any, random *rand.Rand) []byte {
	switch v := v.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		b = append(b, '{')
		for i, k := range keys {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = append(append(append(b, plan.Quote(k)...), ": "...), shuffled(nil, v[k], random)...)
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, shuffled(nil, e, random)...)
		}
		return append(b, ']')
	default:
		return append(b, plan.Quote(v)...)
	}
}
