package cueengine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
)

// TestStrict is what a policy says of the page's three plans where the page is
// silent: absent, added and unknown values, guards, helpers, closedness.
func TestStrict(t *testing.T) {
	t.Parallel()
	const guarded = "changes: [...{\n\ttype: string\n\tif type == \"random_pet\" {\n\t\t%s\n\t}\n}]\n"
	tests := []struct {
		name, plan, policy string
		want               []string // address, path, message; or note: ...
	}{
		{"a bound", "create", `summary: blast_radius: <=5`, nil},
		{"helpers are the author's own", "create", "_x: string\n#Y: int\nlet Z = 3\nsummary: create: <=Z", nil},
		{"a regular helper is noted", "create", "limit: 3\nsummary: create: <=limit", []string{
			"note: the policy adds limit, which the plan document does not have: it forbids nothing"}},
		{"typo-field is noted", "delete", `summary: destory: 0`, []string{
			"note: the policy adds summary.destory, which the plan document does not have: it forbids nothing"}},
		{"typo-list is noted", "delete", `chnages: [...{action: !="delete"}]`, []string{
			"note: the policy adds chnages, which the plan document does not have: it forbids nothing",
			"note: rule p looked at nothing in this plan"}},
		{"closed", "delete", `summary: {destroy: 1, close({destroy: int})}`, []string{
			"|summary.blast_radius|summary.blast_radius: field not allowed",
			"|summary.create|summary.create: field not allowed",
			"|summary.forget|summary.forget: field not allowed",
			"|summary.import|summary.import: field not allowed",
			"|summary.move|summary.move: field not allowed",
			"|summary.read|summary.read: field not allowed",
			"|summary.replace|summary.replace: field not allowed",
			"|summary.update|summary.update: field not allowed"}},

		// Hole 1: a concrete value holds by being added.
		{"a literal over an absent value", "create", fmt.Sprintf(guarded, `after: keepers: env: "prod"`), []string{
			`bare|after.keepers.env|changes.0.after.keepers.env: the plan does not have this value; the policy requires "prod"`,
			`owned|after.keepers.env|changes.1.after.keepers.env: the plan does not have this value; the policy requires "prod"`,
			`stray|after.keepers.env|changes.2.after.keepers.env: the plan does not have this value; the policy requires "prod"`}},
		{"a struct over an unknown value", "create", fmt.Sprintf(guarded, `after: id: deep: "x"`), []string{
			"bare|after.id.deep|changes.0.after.id.deep: field not allowed",
			"owned|after.id.deep|changes.1.after.id.deep: field not allowed",
			"stray|after.id.deep|changes.2.after.id.deep: field not allowed"}},
		{"required", "create", fmt.Sprintf(guarded, `after: keepers: env!: "prod"`), []string{
			"bare|after.keepers.env|changes.0.after.keepers.env: field is required but not present",
			"owned|after.keepers.env|changes.1.after.keepers.env: field is required but not present",
			"stray|after.keepers.env|changes.2.after.keepers.env: field is required but not present"}},
		{"a constraint over an absent value", "create", fmt.Sprintf(guarded, `after: keepers: env: =~"^prod$"`), []string{
			`bare|after.keepers.env|changes.0.after.keepers.env: incomplete value =~"^prod$"`,
			`owned|after.keepers.env|changes.1.after.keepers.env: incomplete value =~"^prod$"`,
			`stray|after.keepers.env|changes.2.after.keepers.env: incomplete value =~"^prod$"`}},
		{"a default says what absence means", "create", fmt.Sprintf(guarded, `after: keepers: env: *"prod" | string`), nil},
		{"a pattern over no values", "create", fmt.Sprintf(guarded, `after: tags: [=~"^x"]: "y"`), nil},
		{"left out is empty or false", "create", `changes: [...{create_before_destroy: false, previous_addr: "", deposed: "", replace_paths: [], before: null}]`, nil},
		{"left out is not true", "create", `changes: [{create_before_destroy: true}, ...]`, []string{
			"bare|create_before_destroy|changes.0.create_before_destroy: the plan does not have this value; the policy requires true"}},
		{"index 0 is not no index", "create", `changes: [{index: 0}, ...]`, []string{
			"bare|index|changes.0.index: the plan does not have this value; the policy requires 0"}},
		{"no word of the tool is not false", "create", `complete: false`, []string{
			"|complete|complete: the plan does not have this value; the policy requires false"}},
		{"top-level fields that are left out", "create", `{refresh_only: false, targets: [], deferred: [...{action: "read"}]}`, nil},
		{"an absent output", "create", `outputs: url: "https://example.com"`, []string{
			`|outputs.url|outputs.url: the plan does not have this value; the policy requires "https://example.com"`}},
		{"a helper in a change", "create", `changes: [{label: "x", _label: "x", #label: "x"}, ...]`, []string{
			"bare|label|changes.0.label: the document has no such field; a helper must be hidden, as in _label"}},
		{"a key that needs quotes", "create", `changes: [{after: keepers: "a.b/c": "x"}, ...]`, []string{
			`bare|after.keepers["a.b/c"]|changes.0.after.keepers."a.b/c": the plan does not have this value; the policy requires "x"`}},

		// Unknown values.
		{"presence of an unknown value", "create", `changes: [...{after: id: _}]`, nil},
		{"an optional unknown value", "create", `changes: [{after?: {id?: !="x", ...}}, ...]`, []string{
			`bare|after.id|changes.0.after.id: conflicting values {$unknown:true} and !="x" (mismatched types struct and string)`}},
		{"unknown is good enough", "create", `changes: [...{after: id: string | {$unknown: true}}]`, nil},
		{"an == guard is blind", "create", "changes: [...{\n\tafter: id: _\n\tif after.id == \"forbidden\" {error(\"no\")}\n}]", []string{
			"note: policy/p.cue:3:2: an == guard does not see a value that is known only after apply, and this plan has some: write the allowed set as a constraint"}},
		{"a != guard is not", "create", `changes: [{after: id: _, if after.id != "good" {error("no")}}, ...]`, []string{"bare||changes.0: no"}},
		{"a guard over an absent value", "delete", `changes: [{after: id: _, if after.id == "x" {error("no")}}, ...]`, []string{
			"bare|after.id|changes.0.after.id: incomplete value _",
			"bare||changes.0: non-concrete value _ in operand to ==",
			`note: bare has no after, because its action is no-op: guard attribute rules with type: string, action: string, ` +
				`if type == "random_pet" && (action == "create" || action == "update" || action == "replace") {...}`}},

		// What stands for an unknown value is a struct, of which CUE shows nothing to the contrary.
		{"an optional field", "create", `changes: [{after: id: size?: <5}, ...]`, []string{
			"bare|after.id.size|changes.0.after.id.size: the value is known only after apply, and the policy says what size? may be"}},
		{"a field that must not be there", "create", `changes: [{after: id: size?: _|_}, ...]`, []string{
			"bare|after.id.size|changes.0.after.id.size: the value is known only after apply, and the policy says what size? may be"}},
		{"an optional field of anything", "create", `changes: [...{after: id: size?: _}]`, nil},
		{"a pattern", "create", `changes: [{after: id: [=~"^env$"]: "prod"}, ...]`, []string{
			`bare|after.id|changes.0.after.id: the value is known only after apply, and the policy says what [=~"^env$"] may be`}},
		{"a pattern that the mark satisfies", "create", `changes: [{after: id: [string]: bool}, ...]`, []string{
			"bare|after.id|changes.0.after.id: the value is known only after apply, and the policy says what [string] may be"}},
		{"a pattern of anything", "create", `changes: [...{after: id: [string]: _}]`, nil},
		{"a pattern of names", "create", "#T: [!~\"^x\"]: _\nchanges: [{after: id: #T}, ...]", []string{
			`bare|after.id|changes.0.after.id: the value is known only after apply, and the policy says what [!~"^x"] may be`}},
		{"an open struct", "create", `changes: [...{after: id: {...}}]`, nil},
		{"an alternative with a pattern", "create", `changes: [{after: id: null | {[=~"^env$"]: "prod"}}, ...]`, []string{
			`bare|after.id|changes.0.after.id: the value is known only after apply, and the policy says what [=~"^env$"] may be`}},
		{"the mark as an alternative", "create", `changes: [...{after: id: *{$unknown: true} | {size?: <5}}]`, nil},
		{"an open definition", "create", "#T: {size?: <5, ...}\nchanges: [{after: id: #T}, ...]", []string{
			"bare|after.id.size|changes.0.after.id.size: the value is known only after apply, and the policy says what size? may be"}},
		{"a hidden copy", "create", `changes: [{after: {...}, _id: after.id & {size?: <5}}, ...]`, []string{
			"bare|_id.size|changes.0._id.size: the value is known only after apply, and the policy says what size? may be"}},
		{"a count of fields", "create", "import \"struct\"\nchanges: [{after: id: struct.MaxFields(3)}, ...]", []string{
			"bare|after.id|changes.0.after.id: the value is known only after apply, and the policy counts its fields"}},
		{"a count of fields beside others", "create", "import \"struct\"\nlet Few = struct.MinFields(1)\nchanges: [{after: id: null | {Few, ...}}, ...]", []string{
			"bare|after.id|changes.0.after.id: the value is known only after apply, and the policy counts its fields"}},
		{"len", "create", `changes: [...{type: string, if type == "random_pet" {after: id: _, _n: len(after.id) & <=3}}]`, []string{
			"note: policy/p.cue:1:72: len does not see a value that is known only after apply, and this plan has some: write the allowed set as a constraint"}},
		{"a guard with a function", "create", "import \"list\"\nchanges: [...{after: id: _, if list.Contains([\"x\"], after.id) {error(\"no\")}}]", []string{
			"note: policy/p.cue:2:32: a guard with list.Contains does not see a value that is known only after apply, and this plan has some: write the allowed set as a constraint"}},
		{"a guard over a known value", "create", `changes: [...{after: {...}, if after.length == 7 {error("no")}}]`, nil},
		{"a guard that asks for a value", "create", `changes: [...{after: {...}, if (after.id & "x") != _|_ {error("no")}}]`, []string{
			"note: policy/p.cue:1:29: a guard with != _|_ does not see a value that is known only after apply, and this plan has some: write the allowed set as a constraint"}},
		{"a guard that asks for a kind", "create", `changes: [...{after: {...}, if (after.id & string) != _|_ if after.id == "x" {error("no")}}]`, nil},
		{"a guard over a constraint", "create", `changes: [...{after: {...}, if after.id == "x" {after: length: 0}}]`, []string{
			"note: policy/p.cue:1:29: an == guard does not see a value that is known only after apply, and this plan has some: write the allowed set as a constraint"}},
		{"a loop", "create", `changes: [...{after: {...}, _keys: [for k, v in after.id {k & !="x"}]}]`, []string{
			"note: policy/p.cue:1:37: a loop does not see a value that is known only after apply, and this plan has some: write the allowed set as a constraint"}},
		{"a text of everything", "create", "import \"encoding/json\"\nchanges: [...{after: _, _all: json.Marshal(after) & !~\"bad\"}]", []string{
			"note: policy/p.cue:2:31: encoding/json.Marshal does not see a value that is known only after apply, and this plan has some: write the allowed set as a constraint"}},
		{"a guard in a loop", "create", "changes: _\nfor c in changes if c.after.id == \"x\" {error(\"no\")}", []string{
			"note: policy/p.cue:2:18: an == guard does not see a value that is known only after apply, and this plan has some: write the allowed set as a constraint"}},
		{"a guard over what is missing sees it", "create", `changes: [{after: id: _, if after.id.x == _|_ {error("no")}}, ...]`, []string{"bare||changes.0: no"}},

		// A conflict hides nothing.
		{"two attributes", "create", `changes: [{after: {length: 5, nothere: "x", also: =~"y"}}, ...]`, []string{
			"bare|after.also|changes.0.after.also: incomplete value =~\"y\"",
			"bare|after.length|changes.0.after.length: conflicting values 5 and 2",
			`bare|after.nothere|changes.0.after.nothere: the plan does not have this value; the policy requires "x"`}},
		{"the list and its elements", "create", `changes: [{after: nothere: "x"}]`, []string{
			"|changes|changes: incompatible list lengths (1 and 3)",
			`bare|after.nothere|changes.0.after.nothere: the plan does not have this value; the policy requires "x"`}},
		{"an error of the whole plan", "create", "changes: [{after: nothere: \"x\"}, ...]\nif len(changes) > 2 {error(\"many\")}", []string{
			`bare|after.nothere|changes.0.after.nothere: the plan does not have this value; the policy requires "x"`,
			"||many"}},

		// Optional slips.
		{"an optional typo is noted", "delete", `summary: destory?: 0`, []string{
			"note: the policy adds summary.destory, which the plan document does not have: it forbids nothing"}},
		{"an optional typo in a change is noted once", "delete", `changes: [...{acton?: "create"}]`, []string{
			"note: the policy adds changes.N.acton, which the plan document does not have: it forbids nothing"}},
		{"an optional field that may be there", "delete", `deferred?: [...{action?: "read"}]`, []string{"note: rule p looked at nothing in this plan"}},

		// JSON in strings.
		{"a plain field of JSON", "create", "import \"encoding/json\"\nchanges: [...{addr: string, _j: json.Marshal({a: addr}) & json.Validate({b: \"x\"})}]", []string{
			"note: policy/p.cue:2:74: a constraint on JSON or YAML also holds of a text without this field: write name!: where it must be there, and name?: where not"}},
		{"a required field of JSON", "create", "import \"encoding/json\"\n#P: {a!: string}\nchanges: [...{addr: string, _j: json.Marshal({a: addr}) & json.Validate(#P)}]", nil},

		// Actions without an after.
		{"no-ops and deletes lack an after", "delete", fmt.Sprintf(guarded, `after: keepers: owner: =~"^team-"`), []string{
			`bare|after.keepers.owner|changes.0.after.keepers.owner: incomplete value =~"^team-"`,
			`owned|after.keepers.owner|changes.1.after.keepers.owner: incomplete value =~"^team-"`,
			`stray|after.keepers.owner|changes.2.after.keepers.owner: incomplete value =~"^team-"`,
			`note: bare has no after, because its action is no-op: guard attribute rules with type: string, action: string, ` +
				`if type == "random_pet" && (action == "create" || action == "update" || action == "replace") {...}`}},
		{"the idiom", "delete", `changes: [...{type: string, action: string,
			if type == "random_pet" && (action == "create" || action == "update" || action == "replace") {after: keepers: owner: =~"^team-"}}]`, []string{
			"note: rule p looked at nothing in this plan"}},

		// What a rule looks at.
		{"a guard that lets nothing in", "create", `changes: [...{type: string, if type == "random_pett" {after: keepers: owner: =~"^team-"}}]`, []string{
			"note: rule p looked at nothing in this plan"}},
		{"a guard over an error is the rule", "create", `changes: [...{type: string, if type == "random_pett" {error("no")}}]`, nil},
		{"the standard library", "create", "import \"strings\"\nchanges: [...{addr: strings.MinRunes(3)}]", nil},
		{"a package clause", "create", "package p\nsummary: destroy: 0", nil},
		{"a list of one", "create", `changes: [_]`, []string{
			"|changes|changes: incompatible list lengths (1 and 3)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := judge(source("policy/p.cue", tt.policy), readPlan(t, tt.plan))
			if diff := cmp.Diff(tt.want, said(v)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// said is what a verdict says, one line each.
func said(v api.Verdict) []string {
	var out []string
	if v.Outcome == api.Errored {
		out = append(out, "error: "+v.Error)
	}
	for _, f := range v.Findings {
		out = append(out, strings.Join([]string{f.Address, f.Path, f.Message}, "|"))
	}
	for _, note := range v.Notes {
		out = append(out, "note: "+note)
	}
	return out
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	v := judge(pagePolicy(t, "owner"), readPlan(t, "create"))
	f := v.Findings[0]
	f.Positions = nil
	want := api.Finding{
		Policy: "policy/owner.cue", Engine: api.CUE, Rule: "owner", Level: api.Deny, Address: "bare", Action: "create",
		Path:    "after.keepers.owner",
		Message: `changes.0.after.keepers.owner: conflicting values null and =~"^team-" (mismatched types null and string)`,
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("finding (-want +got):\n%s", diff)
	}
	if v.Matched != 3 || len(v.Rules) != 1 || v.Rules[0] != (api.RuleCount{Rule: "owner", Matched: 3}) {
		t.Errorf("matched %d of 3, %v", v.Matched, v.Rules)
	}
}

// A deposed object repeats the address of the current one: a finding says
// which of the two it is about.
func TestDeposed(t *testing.T) {
	t.Parallel()
	p := decode(t, `{"format_version":"1.2","resource_changes":[
		{"address":"terraform_data.a","mode":"managed","type":"terraform_data","name":"a","change":{"actions":["no-op"],"before":{},"after":{}}},
		{"address":"terraform_data.a","deposed":"byebye","mode":"managed","type":"terraform_data","name":"a","change":{"actions":["delete"],"before":{},"after":null}}]}`)
	v := judge(source("p.cue", `changes: [...{action: !="delete"}]`), p)
	if len(v.Findings) != 1 || v.Findings[0].Address != "terraform_data.a" || v.Findings[0].Deposed != "byebye" || v.Findings[0].Action != "delete" {
		t.Errorf("got %+v", v.Findings)
	}
}

// A directory is one policy of several files. Each is judged on its own, so
// that what one adds is no excuse for another.
func TestDirectory(t *testing.T) {
	t.Parallel()
	src := source("policy", "summary: extra: 1")
	src.Files[0].Name = "a.cue"
	src.Files = append(src.Files, source("b.cue", "summary: extra: <=1").Files...)
	v := judge(src, readPlan(t, "create"))
	want := []string{
		"|summary.extra|summary.extra: incomplete value <=1",
		"note: policy/a.cue adds summary.extra, which the plan document does not have: it forbids nothing",
	}
	if diff := cmp.Diff(want, said(v)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if f := v.Findings[0]; f.Rule != "b" || f.Positions[0] != "policy/b.cue:1:17" {
		t.Errorf("finding of rule %q at %v", f.Rule, f.Positions)
	}
}

func TestManyFindings(t *testing.T) {
	t.Parallel()
	changes := make([]string, 120)
	for i := range changes {
		changes[i] = fmt.Sprintf(`{"address":"terraform_data.a[%d]","mode":"managed","type":"terraform_data","name":"a","index":%d,"change":{"actions":["delete"],"before":{},"after":null}}`, i, i)
	}
	p := decode(t, `{"format_version":"1.2","resource_changes":[`+strings.Join(changes, ",")+`]}`)
	v := judge(source("p.cue", `changes: [...{action: !="delete"}]`), p)
	if n := len(v.Findings); n != 101 {
		t.Fatalf("%d findings, want 100 and one more", n)
	}
	if last := v.Findings[100]; last.Message != "and 20 more violations of p.cue" || last.Level != api.Deny {
		t.Errorf("last finding: %+v", last)
	}
}

// A conflict with the whole list quotes the whole list.
func TestLongMessage(t *testing.T) {
	t.Parallel()
	v := judge(source("p.cue", "import \"list\"\nchanges: list.MaxItems(2)"), readPlan(t, "create"))
	if len(v.Findings) != 1 || !strings.HasPrefix(v.Findings[0].Message, `changes: invalid value [{addr:"bare",`) {
		t.Fatalf("got %v", said(v))
	}
	p := decode(t, `{"format_version":"1.2","resource_changes":[{"address":"terraform_data.a","mode":"managed","type":"terraform_data","name":"a",
		"change":{"actions":["create"],"before":null,"after":{"input":"`+strings.Repeat("ü", 5000)+`"}}}]}`)
	v = judge(source("p.cue", "import \"list\"\nchanges: list.MaxItems(0)"), p)
	if m := v.Findings[0].Message; len(m) > 2100 || !strings.HasSuffix(m, "more bytes)") || strings.ContainsRune(m, '\uFFFD') {
		t.Errorf("%d bytes: ...%q", len(m), m[len(m)-60:])
	}
}

// TestRealPlans: every page policy can judge what the tools really write, and
// no canary of those plans comes out.
func TestRealPlans(t *testing.T) {
	t.Parallel()
	judged := 0
	for _, path := range files(t, "../../../testdata/plans/*.json") {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Decode(raw)
		if err != nil {
			continue // a state, an errored plan
		}
		judged++
		for _, text := range append(leaks, "summary: destroy: 0", `changes: [...{action: !="delete"}]`, `changes: [...{type: string, if type == "terraform_data" {after: input: "x"}}]`) {
			v := judge(source("p.cue", text), p)
			if v.Outcome == api.Errored && !strings.HasPrefix(v.Error, "policy p.cue cannot be used") {
				t.Errorf("%s, %s: %s", path, text, v.Error)
			}
			for _, line := range said(v) {
				if strings.Contains(line, "CANARY") {
					t.Errorf("%s, %s: %s", path, text, line)
				}
			}
		}
	}
	if judged < 10 {
		t.Errorf("only %d plans were judged", judged)
	}
}

func files(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("nothing at %s: %v", pattern, err)
	}
	return paths
}
