package regoengine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/regoengine"
)

func judge(t *testing.T, src policy.Source, plan string) api.Verdict {
	t.Helper()
	v := policy.Judge([]policy.Engine{regoengine.New()}, src, decode(t, plan))
	if v.Outcome == api.Errored {
		t.Fatalf("%s (hint: %s)", v.Error, v.Hint)
	}
	return v
}

func messages(v api.Verdict) []string {
	out := []string{}
	for _, f := range v.Findings {
		text := string(f.Level) + " " + f.Rule + ": " + f.Message
		if f.Excepted {
			text += " (excepted)"
		}
		out = append(out, text)
	}
	return out
}

func TestFindings(t *testing.T) {
	t.Parallel()
	v := judge(t, regoSource(`package main
deny contains {"msg": "b", "rule": "sizes", "address": "a.b", "cost": 12.50, "_loc": {"file": "main.tf", "line": 7}}
deny contains "a"
deny contains {"msg": "n", "details": {"rule": "nested", "address": "a.b", "deposed": "0badcafe"}, "address": 5}
warn_x contains "w"
`), onePlan)
	want := []string{
		`{"policy":"policy","engine":"rego","rule":"deny","level":"deny","address":"","action":"","message":"a"}`,
		`{"policy":"policy","engine":"rego","rule":"sizes","level":"deny","address":"a.b","action":"replace","message":"b",` +
			`"positions":["main.tf:7"],"details":{"cost":12.50}}`,
		`{"policy":"policy","engine":"rego","rule":"nested","level":"deny","address":"a.b","deposed":"0badcafe","action":"","message":"n",` +
			`"details":{"address":5,"details":{"address":"a.b","deposed":"0badcafe","rule":"nested"}}}`,
		`{"policy":"policy","engine":"rego","rule":"warn_x","level":"warn","address":"","action":"","message":"w"}`,
	}
	var got []string
	for _, f := range v.Findings {
		text, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(text))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]api.RuleCount{{Rule: "deny", Matched: 1}, {Rule: "warn_x", Matched: 1}}, v.Rules); diff != "" {
		t.Error(diff)
	}
	if v.Outcome != api.Failed || v.Matched != 1 || len(v.Notes) != 0 {
		t.Errorf("%s, %d matched, notes %q", v.Outcome, v.Matched, v.Notes)
	}
}

func TestExceptions(t *testing.T) {
	t.Parallel()
	v := judge(t, regoSource(`package main
deny_size contains "a"
deny_size contains "b"
warn_size contains "c"
deny contains "d" if false
deny_other contains "e"
exception contains ["size", ""]
`), onePlan)
	want := []string{"deny deny_other: e", "deny deny_size: a (excepted)", "deny deny_size: b (excepted)", "warn warn_size: c (excepted)"}
	if diff := cmp.Diff(want, messages(v)); diff != "" {
		t.Error(diff)
	}
	v = judge(t, regoSource("package main\ndeny_x contains \"a\"\nexception contains [\"x\"]"), onePlan)
	if v.Outcome != api.Passed {
		t.Errorf("%s: an excepted finding blocks", v.Outcome)
	}
}

// TestEmptyPlan: a plan without changes must not make rules look idle, since
// Rego cannot say what else they looked at.
func TestEmptyPlan(t *testing.T) {
	t.Parallel()
	v := judge(t, regoSource(plansOnly), `{"format_version": "1.2", "terraform_version": "1.12.6", "planned_values": {}}`)
	if v.Outcome != api.Passed || v.Matched != 0 || len(v.Rules) != 0 || len(v.Notes) != 0 {
		t.Errorf("%s, %d matched, rules %v, notes %q", v.Outcome, v.Matched, v.Rules, v.Notes)
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	v := judge(t, regoSource(`package main
import data.lib.unused
deny contains "x" if data.limits.max < 5
deny contains "y" if data.lib.missing
`, "package lib\nthere := 1", "package network\ndeny contains \"never\""), onePlan)
	want := []string{
		"data.lib.missing is defined by no package and no --data file (policy.rego)",
		"data.limits.max is defined by no package and no --data file (policy.rego)",
		"package network has rules that were not judged; name it with --namespace",
		"strict Rego: import data.lib.unused unused (policy.rego:2:1)",
	}
	if diff := cmp.Diff(want, v.Notes); diff != "" {
		t.Error(diff)
	}
}

// TestNotesOfTests: what tests use counts as used, and a helper beside them is
// part of the policy.
func TestNotesOfTests(t *testing.T) {
	t.Parallel()
	src := regoSource("package main\nimport data.lib\ndeny contains \"x\" if false")
	src.Files = append(src.Files, policy.File{Name: "policy_test.rego", Data: []byte(`package main_test
import data.main
import data.lib.far as near
import data.lib.used
helper(x) := used + x
test_a if count(main.deny) == near with input as helper(1)
`)})
	v := judge(t, src, onePlan)
	want := []string{
		"data.lib.used is defined by no package and no --data file (policy_test.rego)",
		"strict Rego: import data.lib unused (policy.rego:2:1)",
	}
	if diff := cmp.Diff(want, v.Notes); diff != "" {
		t.Error(diff)
	}
}

// TestSyntaxPerFile mixes versions in one policy, which conftest cannot.
func TestSyntaxPerFile(t *testing.T) {
	t.Parallel()
	v := judge(t, regoSource(
		"package main\ndeny contains msg if some msg in data.lib.old",
		"package lib\nold[msg] { re_match(\"a\", input.resource_changes[_].address); msg := \"v0\" }",
		"package main\nimport future.keywords\ndeny contains \"future\" if { true }",
		"package main\nimport rego.v1\ndeny contains \"import\" if true",
	), onePlan)
	want := []string{"deny deny: future", "deny deny: import", "deny deny: v0"}
	if diff := cmp.Diff(want, messages(v)); diff != "" {
		t.Error(diff)
	}
	// A deprecated built-in stays refused in v1, whatever stands beside it.
	err := regoengine.New().Check(regoSource(
		"package main\ndeny contains \"x\" if re_match(\"a\", \"a\")",
		"package lib\nold[msg] { re_match(\"a\", \"a\"); msg := \"v0\" }",
	))
	if err == nil || !strings.Contains(err.Error(), "re_match") {
		t.Errorf("re_match in a v1 file: %v", err)
	}
}

func TestNumbersAreExact(t *testing.T) {
	t.Parallel()
	v := judge(t, regoSource(`package main
size := input.resource_changes[0].change.after.size
deny contains "rounded" if size == 9007199254740992
deny contains "rounded data" if data.limits.max == 9007199254740992
warn contains sprintf("%d", [size]) if size == 9007199254740993
warn contains sprintf("%d", [data.limits.max]) if data.limits.max == 9007199254740993
warn contains sprintf("%v", [n]) if some n in input.numbers
`), strings.Replace(onePlan, "{", `{"numbers": [1.0, 1e2, 12.50, 123456789012345678901234567890, 1e-3, -0],`, 1))
	if diff := cmp.Diff([]string{
		"warn warn: 0", "warn warn: 0.001", "warn warn: 1", "warn warn: 100", "warn warn: 12.5",
		"warn warn: 123456789012345678901234567890", "warn warn: 9007199254740993",
	}, messages(v)); diff != "" {
		t.Error(diff)
	}
	src := regoSource("package main\nwarn contains sprintf(\"%d\", [data.limits.max])")
	src.Rego.Data = []policy.File{{Name: "limits/a.yaml", Data: []byte("max: 9007199254740993")}}
	if diff := cmp.Diff([]string{"warn warn: 9007199254740993"}, messages(judge(t, src, onePlan))); diff != "" {
		t.Error(diff)
	}
}

func TestInputShape(t *testing.T) {
	t.Parallel()
	const body = `package main
deny contains "root" if input.resource_changes
deny contains "plan" if input.plan.resource_changes
deny contains "tfplan" if input.tfplan.resource_changes
deny contains "terraform" if input.terraform.resource_changes
`
	all := body + "warn contains key if some key, _ in input\n" // reads what it does not name
	for shape, want := range map[string]string{"": "root", "root": "root", "plan": "plan", "tfplan": "tfplan", "terraform": "terraform"} {
		src := regoSource(body)
		src.Rego.InputShape = shape
		if diff := cmp.Diff([]string{"deny deny: " + want}, messages(judge(t, src, onePlan))); diff != "" {
			t.Errorf("%q: %s", shape, diff)
		}
		src.Files[0].Data = []byte(all)
		keys := []string{"deny deny: " + want, "warn warn: " + want}
		if want == "root" {
			keys = []string{"deny deny: root", "warn warn: format_version", "warn warn: resource_changes", "warn warn: terraform_version"}
		}
		if diff := cmp.Diff(keys, messages(judge(t, src, onePlan))); diff != "" {
			t.Errorf("%q, everything: %s", shape, diff)
		}
	}
}

// TestKeysNotNamed has the ways to reach a key of the plan without naming it:
// what a policy can reach is in its input.
func TestKeysNotNamed(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"alias":         "import input as p\ndeny contains \"x\" if p.configuration.key == 1",
		"import":        "import input.configuration as c\ndeny contains \"x\" if c.key == 1",
		"variable":      "deny contains \"x\" if { some k; input[k].key == 1 }",
		"computed":      "deny contains \"x\" if { k := concat(\"\", [\"config\", \"uration\"]); input[k].key == 1 }",
		"walk":          "deny contains \"x\" if { walk(input, [path, v]); v == 1 }",
		"object.get":    "deny contains \"x\" if object.get(input, [\"configuration\", \"key\"], 0) == 1",
		"assigned":      "doc := input\ndeny contains \"x\" if doc.configuration.key == 1",
		"argument":      "f(doc) := doc.configuration.key\ndeny contains \"x\" if f(input) == 1",
		"comprehension": "deny contains \"x\" if { all := {k: v | some k, v in input}; all.configuration.key == 1 }",
		"with":          "a := input.resource_changes\ndeny contains \"x\" if { v := input.configuration.key; a == v with input.resource_changes as 1 }",
		"other package": "deny contains \"x\" if data.lib.found",
		"array":         "deny contains \"x\" if { some v in [input]; v.configuration.key == 1 }",
		"head":          "names[input.configuration.key] := 2\ndeny contains \"x\" if names[1] == 2",
		"deep head":     "names.a[input.configuration.key].b contains 2\ndeny contains \"x\" if names.a[1].b[2]",
		"element":       "names contains input.configuration.key\ndeny contains \"x\" if names[1]",
		"else":          "v := 0 if { false } else := input.configuration.key\ndeny contains \"x\" if v == 1",
		"every":         "deny contains \"x\" if { every k, v in input.configuration { k == \"key\"; v == 1 } }",
		"negation":      "deny contains \"x\" if not input.configuration.key == 2",
		"object key":    "deny contains \"x\" if {input.configuration.key: 1}[1]",
		"brackets":      "deny contains \"x\" if input[\"configuration\"][\"key\"] == 1",
	}
	lib := "package lib\nfound if input.configuration.key == 1"
	text := strings.Replace(onePlan, "{", `{"configuration": {"key": 1},`, 1)
	for name, body := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := judge(t, regoSource("package main\n"+body, lib), text)
			if diff := cmp.Diff([]string{"deny deny: x"}, messages(v)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSecretsStay: what a failing built-in says may quote a piece of a secret,
// and so nothing of it is shown; and a secret in any part of a result is
// redacted, the parts that name something in the plan included.
func TestSecretsStay(t *testing.T) {
	t.Parallel()
	const secret = "hunter2/canary"
	text := `{"format_version": "1.2", "terraform_version": "1.12.6", "resource_changes": [
	{"address": "a.b", "mode": "managed", "type": "a", "name": "b", "change": {"actions": ["create"], "before": null,
	 "after": {"password": "` + secret + `"}, "after_unknown": {}, "after_sensitive": {"password": true}}}]}`
	const password = "input.resource_changes[0].change.after.password"
	for _, body := range []string{
		`to_number(split(` + password + `, "/")[0]) == 1`,
		`json.unmarshal(` + password + `) == 1`,
		`time.parse_rfc3339_ns(` + password + `) == 1`,
		`units.parse(substring(` + password + `, 0, 7)) == 1`,
		`net.cidr_contains(split(` + password + `, "/")[1], "10.0.0.1")`,
		`regex.match(concat("", ["(", split(` + password + `, "/")[1]]), "x")`,
		`{"a": x | some x in [` + password + `, 1]}`,
	} {
		v := policy.Judge([]policy.Engine{regoengine.New()}, regoSource("package main\ndeny contains \"x\" if "+body), decode(t, text))
		if v.Outcome != api.Errored || strings.Contains(v.Error+v.Hint, "hunter2") || strings.Contains(v.Error+v.Hint, "canary") {
			t.Errorf("%s: %s %s", body, v.Outcome, v.Error)
		}
	}
}

// TestSecretsInResults is the other half.
func TestSecretsInResults(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-canary"
	text := `{"format_version": "1.2", "terraform_version": "1.12.6", "resource_changes": [
	{"address": "a.b", "mode": "managed", "type": "a", "name": "b", "change": {"actions": ["create"], "before": null,
	 "after": {"password": "` + secret + `"}, "after_unknown": {}, "after_sensitive": {"password": true}}}]}`
	v := judge(t, regoSource(`package main
secret := input.resource_changes[0].change.after.password
deny contains {"msg": m, "rule": m, "address": m, "deposed": m, "x": {m: [m]}, "_loc": {"file": m, "line": 1}} if m := concat(" ", ["it is", secret])
`), text)
	got, err := json.Marshal(v.Findings)
	if err != nil || len(v.Findings) != 1 || strings.Contains(string(got), secret) {
		t.Errorf("%s %v", got, err)
	}
}

// TestJudgeTwice: the same policy and plan give the same verdict, in order.
func TestJudgeTwice(t *testing.T) {
	t.Parallel()
	p := readPlan(t, filepath.Join(root, "plans", "tofu1126-create.json"))
	src, _ := readPolicy(t, filepath.Join(root, "rego", "unknown"))
	first := policy.Judge([]policy.Engine{regoengine.New()}, src, p)
	for range 5 {
		if diff := cmp.Diff(first, policy.Judge([]policy.Engine{regoengine.New()}, src, p)); diff != "" {
			t.Fatal(diff)
		}
	}
}

// FuzzCheck: no text makes a policy that neither compiles nor is refused.
func FuzzCheck(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(root, "rego", "*", "*.rego"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		err := regoengine.New().Check(regoSource(text))
		if err != nil && !strings.HasPrefix(err.Error(), "could not judge: ") {
			t.Errorf("refused with %q", err)
		}
	})
}
