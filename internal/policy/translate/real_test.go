package translate_test

import (
	"bytes"
	gocmp "cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
)

// realPlans are those plans of both tools that can be judged, and the lesson's.
func realPlans(t testing.TB) map[string]*plan.Plan {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "plans", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	plans := map[string]*plan.Plan{}
	for _, path := range append(paths, filepath.Join(root, "lesson", "plan.json"), filepath.Join(root, "lesson", "plan-clean.json")) {
		if p, err := plan.Decode(readFile(t, path)); err == nil {
			plans[path] = p
		}
	}
	if len(plans) < 18 {
		t.Fatalf("only %d plans can be judged", len(plans))
	}
	return plans
}

// broad are rules that say something about the real plans: every operator and
// every check. CUE can say them, too.
const broad = `[
	{"id": "b-exists", "level": "deny", "path": "input", "op": "exists", "message": "m"},
	{"id": "b-id", "level": "deny", "path": "id", "op": "absent", "message": "m"},
	{"id": "b-eq", "level": "deny", "path": "input", "op": "eq", "value": "x", "message": "m"},
	{"id": "b-ne", "level": "deny", "path": "triggers_replace", "op": "ne", "value": "v1", "unknown": "allow", "message": "m"},
	{"id": "b-in", "level": "deny", "path": "file_permission", "op": "in", "value": ["0644", 5, true], "message": "m"},
	{"id": "b-not-in", "level": "deny", "path": "[*]", "op": "not_in", "value": ["0777", 7], "message": "m"},
	{"id": "b-matches", "level": "deny", "path": "input.name", "op": "matches", "value": "^[a-z]+$", "message": "m"},
	{"id": "b-not-matches", "level": "deny", "path": "filename", "op": "not_matches", "value": "tmp", "message": "m"},
	{"id": "b-lte", "level": "deny", "path": "input.n", "op": "lte", "value": 5, "message": "m"},
	{"id": "b-gt", "level": "deny", "path": "input.list[*]", "op": "gt", "value": 1, "message": "m"},
	{"id": "b-each", "level": "deny", "path": "input[*]", "op": "exists", "message": "m"},
	{"id": "b-first", "level": "deny", "path": "input[0]", "op": "exists", "message": "m"},
	{"id": "b-gone", "level": "deny", "path": "input", "op": "eq", "value": "x", "actions": ["delete", "forget", "create"], "message": "m"},
	{"id": "b-data", "level": "deny", "mode": ["data", "ephemeral"], "path": "id", "op": "exists", "message": "m"},
	{"id": "b-delete", "level": "deny", "check": "no_delete", "address": ["*.db*", "terraform_data.*[*"], "message": "m"},
	{"id": "b-replace", "level": "deny", "check": "no_replace", "type": "terraform_*", "message": "m"},
	{"id": "b-forget", "level": "deny", "check": "no_forget", "message": "m"},
	{"id": "b-import", "level": "deny", "check": "no_import", "message": "m"},
	{"id": "b-few", "level": "deny", "check": "max_deletes", "value": 1, "message": "m"},
	{"id": "b-sources", "level": "deny", "check": "module_source", "address": "module.*", "value": ["^registry", "^git"], "message": "m"},
	{"id": "b-checks", "level": "deny", "check": "checks_pass", "message": "m"},
	{"id": "b-complete", "level": "deny", "check": "complete_plan", "message": "m"}
]`

// TestRealPlans judges every real plan by the rules, by the compiled Rego in
// our engine, by the real opa and by the real conftest.
func TestRealPlans(t *testing.T) {
	t.Parallel()
	plans := realPlans(t)
	for name, text := range map[string]string{"lesson": string(readFile(t, root, "lesson", "rules.json")), "broad": broad} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := source(api.Rules, "rules.json", text)
			rego, file := compiled(t, src)
			byConftest, fired := conftest(t, file, plans), map[string]bool{}
			for path, p := range plans {
				v := policy.Judge(engines, src, p)
				for _, f := range v.Findings {
					fired[f.Rule] = true
				}
				if diff := cmp.Diff(found(v), found(policy.Judge(engines, rego, p))); diff != "" {
					t.Errorf("%s (-rules +rego):\n%s", path, diff)
				}
				if diff := cmp.Diff(short(v), opa(t, file, path)); diff != "" {
					t.Errorf("%s (-rules +opa):\n%s", path, diff)
				}
				if diff := cmp.Diff(short(v), byConftest[path]); diff != "" {
					t.Errorf("%s (-rules +conftest):\n%s", path, diff)
				}
			}
			if len(fired) < 10 {
				t.Errorf("only %d rules said something: %v", len(fired), fired)
			}
		})
	}
}

// compiled writes what becomes of rules to a file, as a user would, and has
// the real opa check and format it.
func compiled(t *testing.T, src policy.Source) (policy.Source, string) {
	t.Helper()
	rego, err := asRego(src)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules.rego")
	if err := os.WriteFile(file, rego.Files[0].Data, 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, 0, "opa", "check", "--strict", file)
	if diff := run(t, 0, "opa", "fmt", "--diff", file); len(diff) > 0 {
		t.Errorf("opa fmt would change it:\n%s", diff)
	}
	return rego, file
}

// run runs a pinned tool, and wants an exit code: -1 for any.
func run(t *testing.T, exit int, name string, args ...string) []byte {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join("..", "..", "..", ".bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(bin); err != nil {
		t.Fatalf("no %s at %s: run make tools", name, bin)
	}
	cmd := exec.CommandContext(t.Context(), bin, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); exit >= 0 && code != exit {
		t.Fatalf("%s %q: exit %d, %v\n%s\n%s", name, args, code, err, out, stderr.Bytes())
	}
	return out
}

// A result is what the compiled policy attaches to a message.
type result struct {
	Msg, Rule, Address, Deposed, Path string
}

func (r result) line(level api.Level) string {
	return fmt.Sprintf("%s %s %s [%s] %s", level, r.Rule, r.Address, r.Deposed, r.Path)
}

// short is a verdict without the actions, which only Assize knows.
func short(v api.Verdict) []string {
	out := []string{}
	for _, f := range v.Findings {
		out = append(out, result{Rule: f.Rule, Address: f.Address, Deposed: f.Deposed, Path: f.Path}.line(f.Level))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// opa asks the real one as seed 002 does.
func opa(t *testing.T, file, plan string) []string {
	t.Helper()
	out := []string{}
	for _, level := range []api.Level{api.Deny, api.Warn} {
		var results []result
		query := fmt.Sprintf("[r | some r in data.main.%s]", level)
		raw := run(t, 0, "opa", "eval", "--strict-builtin-errors", "--format", "raw", "--data", file, "--input", plan, query)
		if err := json.Unmarshal(raw, &results); err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		for _, r := range results {
			out = append(out, r.line(level))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// conftest runs the real one once for all plans.
func conftest(t *testing.T, file string, plans map[string]*plan.Plan) map[string][]string {
	t.Helper()
	args := []string{"test", "--parser", "json", "--policy", file, "--output", "json"}
	var checked []struct {
		Filename           string
		Failures, Warnings []struct {
			Metadata result
		}
	}
	raw := run(t, -1, "conftest", slices.AppendSeq(args, maps.Keys(plans))...)
	if err := json.Unmarshal(raw, &checked); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	out := map[string][]string{}
	for _, c := range checked {
		lines := []string{}
		for _, f := range c.Failures {
			lines = append(lines, f.Metadata.line(api.Deny))
		}
		for _, w := range c.Warnings {
			lines = append(lines, w.Metadata.line(api.Warn))
		}
		slices.Sort(lines)
		out[c.Filename] = slices.Compact(lines)
	}
	return out
}

// TestRandomPlans judges random plans by random rules in the real opa, which
// takes numbers as they are written.
func TestRandomPlans(t *testing.T) {
	t.Parallel()
	for seed := range 3 {
		r := rapid.Custom(randomRound).Example(seed)
		src := source(api.Rules, "rules.json", "["+strings.Join(r.Rules, ",")+"]")
		_, file := compiled(t, src)
		input := filepath.Join(t.TempDir(), "plans.json")
		if err := os.WriteFile(input, []byte("["+strings.Join(r.Plans, ",")+"]"), 0o644); err != nil {
			t.Fatal(err)
		}
		query := `[r | some p in input; r := {"deny": [f | some f in data.main.deny with input as p], "warn": [f | some f in data.main.warn with input as p]}]`
		var all []map[api.Level][]result
		if err := json.Unmarshal(run(t, 0, "opa", "eval", "--strict-builtin-errors", "--format", "raw", "--data", file, "--input", input, query), &all); err != nil {
			t.Fatal(err)
		}
		for i, text := range r.Plans {
			got := []string{}
			for level, results := range all[i] {
				for _, r := range results {
					got = append(got, r.line(level))
				}
			}
			if diff := cmp.Diff(short(policy.Judge(engines, src, decodePlan(t, text))), distinct(got)); diff != "" {
				t.Errorf("-rules +opa:\n%s\nrules:\n%s\nplan: %s", diff, src.Files[0].Data, text)
			}
		}
	}
}

// TestConformance judges the corpus (internal/policy/conformance_test.go) by
// what becomes of its rules: "LEVEL RULE ADDRESS", with the deposed key and the
// path where there are such.
func TestConformance(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob(filepath.Join("..", "testdata", "conformance", "*.txtar"))
	if err != nil || len(cases) < 100 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			files := map[string]string{}
			for _, f := range txtar.Parse(readFile(t, path)).Files {
				files[f.Name] = string(f.Data)
			}
			if files["rules.json"] == "" || files["flags.json"] != "" || files["want"] == "errored\n" {
				return // said in another language only, about more than the plan's text, or not at all
			}
			text, ok := files["plan.json"]
			if !ok {
				text = `{"format_version":"1.2","resource_changes":` + files["changes.json"] + "}"
			}
			p, src := decodePlan(t, text), source(api.Rules, "rules.json", files["rules.json"])
			rego, err := asRego(src)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(distinct(strings.Split(files["want"], "\n")), wanted(policy.Judge(engines, rego, p))); diff != "" {
				t.Errorf("-want +rego:\n%s", diff)
			}
			cue, err := asCUE(src)
			if err != nil {
				return // refused
			}
			diff := cmp.Diff(denied(src, p), denied(cue, p))
			if reason := cueDiffers[strings.TrimSuffix(filepath.Base(path), ".txtar")]; (diff == "") != (reason == "") {
				t.Errorf("%q (-rules +cue):\n%s", reason, diff)
			}
		})
	}
}

// cueDiffers are the cases of the corpus in which CUE judges otherwise, each by
// a line of docs/compile.md.
var cueDiffers = map[string]string{
	"json_exact_number":  "denied: CUE does not look into texts",
	"json_in_string":     "denied: CUE does not look into texts",
	"json_nested":        "denied: CUE does not look into texts",
	"json_plain_text":    "denied: CUE does not look into texts",
	"json_spaced":        "denied: CUE does not look into texts",
	"plan_redacted_null": "passes: what Terraform 0.14 hid cannot be told from what is unknown",
	"unknown_forged":     "passes: a map that says what the document says of an unknown value",
}

// wanted writes a verdict as the corpus does.
func wanted(v api.Verdict) []string {
	out := []string{}
	for _, f := range v.Findings {
		line := fmt.Sprintf("%s %s %s", f.Level, f.Rule, gocmp.Or(f.Address, "-"))
		if f.Deposed != "" {
			line += " (deposed " + f.Deposed + ")"
		}
		if path, _ := f.Details["path"].(string); path != "" {
			line += " @ " + path
		}
		out = append(out, line)
	}
	return distinct(out)
}

func distinct(lines []string) []string {
	out := slices.DeleteFunc(slices.Clone(lines), func(s string) bool { return s == "" })
	slices.Sort(out)
	return slices.Compact(out)
}
