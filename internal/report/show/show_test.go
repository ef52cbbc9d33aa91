package show_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/report/page"
	"github.com/assize-iac/assize/internal/report/show"
)

var update = flag.Bool("update", false, "write the golden files")

// TestRealPlans pins what is shown of every plan in testdata/plans that can be
// judged, and that no secret of any is in it.
func TestRealPlans(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../testdata/plans/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no plans: %v", err)
	}
	shown := 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Decode(raw)
		if err != nil {
			continue // a state, an errored plan
		}
		shown++
		if strings.Contains(file, "targeted") {
			p.Flags = plan.Flags{Targets: []string{"terraform_data.cnt[1]"}, Replace: []string{"terraform_data.cnt[1]"}}
		}
		got := render(t, p, page.Options{})
		golden(t, strings.TrimSuffix(filepath.Base(file), ".json")+".text", got)
		for _, secret := range secrets(t, raw) {
			if strings.Contains(got, secret) {
				t.Errorf("%s: %q is shown", file, secret)
			}
		}
	}
	if shown < 14 {
		t.Errorf("%d plans were shown", shown)
	}
}

// secrets finds sensitive texts on its own, by the sensitivity maps alone.
func secrets(t *testing.T, raw []byte) []string {
	t.Helper()
	var doc struct {
		Changes []struct {
			Change map[string]any `json:"change"`
		} `json:"resource_changes"`
		Outputs map[string]map[string]any `json:"output_changes"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	collect := func(change map[string]any) {
		for _, side := range []string{"before", "after"} {
			marked(change[side], change[side+"_sensitive"], found)
		}
	}
	for _, c := range doc.Changes {
		collect(c.Change)
	}
	for _, o := range doc.Outputs {
		collect(o)
	}
	if len(found) == 0 && len(doc.Changes) > 5 {
		t.Error("the plan has no secret to look for")
	}
	return slices.Collect(maps.Keys(found))
}

func marked(v, mask any, found map[string]bool) {
	switch m := mask.(type) {
	case bool:
		if text, ok := v.(string); m && ok && len(text) > 3 {
			found[text] = true
		}
		if object, ok := v.(map[string]any); m && ok {
			for _, e := range object {
				marked(e, true, found)
			}
		}
	case map[string]any:
		object, _ := v.(map[string]any)
		for k, e := range m {
			marked(object[k], e, found)
		}
	}
}

const small = `{
  "format_version": "1.2", "terraform_version": "1.14.0", "timestamp": "2026-01-02T03:04:05Z", "complete": false,
  "resource_changes": [%s],
  "deferred_changes": [{"reason": "instance_count_unknown", "resource_change": {"address": "x.later", "type": "x", "name": "later", "mode": "managed",
    "change": {"actions": ["create"], "before": null, "after": {}}}}],
  "output_changes": {
    "kept": {"actions": ["no-op"], "before": 1, "after": 1},
    "url": {"actions": ["update"], "before": "http://a", "after": null, "after_unknown": true},
    "token": {"actions": ["update"], "before": "hunter2-old", "after": "hunter2-new", "before_sensitive": true, "after_sensitive": true},
    "gone": {"actions": ["delete"], "before": {"a": [1]}, "after": null},
    "new": {"actions": ["create"], "before": null, "after": "n"}
  },
  "checks": [
    {"address": {"to_display": "check.a"}, "status": "fail", "instances": [{"problems": [{"message": "the token is hunter2-old,\nstill"}]}]},
    {"address": {"to_display": "check.b"}, "status": "pass"}
  ],
  "configuration": {"root_module": {"module_calls": {"net": {"source": "example.com/net/aws", "version_constraint": "~> 1.0", "module": {}}}}}
}`

const replaced = `{"address": "x.db", "type": "x", "name": "db", "mode": "managed", "action_reason": %q, "change": {
  "actions": ["delete", "create"], "replace_paths": [["zone"]],
  "before": {"zone": "a", "size": 1, "tags": {"a.b": "c", "same": "s"}, "list": [1, 2], "password": "hunter2-old", "mirror": "x", "id": "i-1", "long": %q},
  "after": {"zone": "b", "size": 2, "tags": {"a.b": "d", "same": "s", "new": "n"}, "list": [1, 3], "password": "hunter2-new", "mirror": "see hunter2-new", "long": "short"},
  "after_unknown": {"id": true, "tags": {}}, "before_sensitive": {"password": true}, "after_sensitive": {"password": true}}}`

func TestEverySection(t *testing.T) {
	t.Parallel()
	p, err := plan.Decode(fmt.Appendf(nil, small, fmt.Sprintf(replaced, "replace_because_cannot_update", strings.Repeat("long ", 40))))
	if err != nil {
		t.Fatal(err)
	}
	p.Flags = plan.Flags{Destroy: true, RefreshOnly: true}
	got := render(t, p, page.Options{})
	golden(t, "small.text", got)
	golden(t, "small.color", render(t, p, page.Options{Color: true}))
	if strings.Contains(got, "hunter2") {
		t.Errorf("a secret is shown:\n%s", got)
	}
}

// TestReasons holds the reasons of OpenTofu 1.12 and Terraform 1.14.
func TestReasons(t *testing.T) {
	t.Parallel()
	for _, word := range []string{
		"replace_because_cannot_update", "replace_because_tainted", "replace_by_request", "replace_by_triggers",
		"delete_because_no_resource_config", "delete_because_wrong_repetition", "delete_because_count_index", "delete_because_enabled_false",
		"delete_because_each_key", "delete_because_no_module", "delete_because_no_move_target",
		"read_because_config_unknown", "read_because_dependency_pending", "read_because_check_nested",
		"forgot_because_lifecycle_destroy_in_state", "forgot_because_lifecycle_destroy_in_config",
		"instance_count_unknown", "resource_config_unknown", "provider_config_unknown", "absent_prereq", "deferred_prereq",
		"a_reason_of_tomorrow",
	} {
		p, err := plan.Decode(fmt.Appendf(nil, small, fmt.Sprintf(replaced, word, "")))
		if err != nil {
			t.Fatal(err)
		}
		known := word != "a_reason_of_tomorrow"
		if got := render(t, p, page.Options{}); strings.Contains(got, word) == known {
			t.Errorf("%s is shown as\n%s", word, got)
		}
	}
}

// TestHostile fills a plan with strings that act on terminals and CI runners.
func TestHostile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			"::error::forged", "\n::error::forged", "##[error]forged", "##vso[x]", "\x1b[31m", "\u202e", "\u200b", "\u009b", "\xff", "\r", "\x00",
		})).Draw(t, "text")
		action := rapid.SampledFrom([]plan.Action{plan.NoOp, plan.Create, plan.Read, plan.Update, plan.Replace, plan.Delete, plan.Forget, plan.CreateForget, "x"}).Draw(t, "action")
		c := plan.Change{
			Address: s, PreviousAddress: s + "x", Deposed: s, Action: action, Actions: []string{"create", "delete"}, Reason: s, ReplacePaths: []string{s},
			Importing: map[string]any{"id": s}, Before: map[string]any{s: s, "a": []any{s}}, After: map[string]any{s: "y", "a": []any{"z"}}, AfterUnknown: map[string]any{s + "u": true},
		}
		p := &plan.Plan{
			ToolVersion: s, Created: s, Changes: []plan.Change{c}, Deferred: []plan.Change{c}, Flags: plan.Flags{Targets: []string{s}, Replace: []string{s}},
			Outputs: []plan.Output{{Name: s, Action: action, Before: s, After: map[string]any{s: s}}}, Modules: []plan.ModuleCall{{Address: s, Source: s, Version: s}},
			Checks: []plan.Check{{Address: s, Status: s, Problems: []string{s, s}}},
		}
		got := render(t, p, page.Options{Width: rapid.IntRange(0, 80).Draw(t, "width")})
		for _, r := range strings.ReplaceAll(got, "\n", "") {
			if !strconv.IsPrint(r) && r != '\ufe0f' {
				t.Fatalf("%U is written as it is:\n%s", r, got)
			}
		}
		if m := regexp.MustCompile(`(?m)^\s*::|##\w*\[`).FindString(got); m != "" {
			t.Fatalf("a CI runner reads a command: %q in\n%s", m, got)
		}
	})
}

// TestManyEdits pins that what forces a replacement is never cut.
func TestManyEdits(t *testing.T) {
	t.Parallel()
	before, after := map[string]any{"zz": "a"}, map[string]any{"zz": "b"}
	for i := range 50 {
		before[fmt.Sprintf("a%02d", i)], after[fmt.Sprintf("a%02d", i)] = "x", "y"
	}
	p := &plan.Plan{Changes: []plan.Change{{
		Address: "x.y", Action: plan.Replace, Actions: []string{"create", "delete"}, ReplacePaths: []string{"zz"}, Before: before, After: after,
	}}}
	got := render(t, p, page.Options{})
	for _, want := range []string{`zz: "a" → "b" (forces the replacement)`, "and 31 values more", "+/- x.y"} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	if reflect.DeepEqual(before, after) {
		t.Error("the plan was changed")
	}
}

// TestSecretKeys: of what is sensitive as a whole not even the keys are shown,
// on whichever side the mark stands. Those of the resource itself are no secret.
func TestSecretKeys(t *testing.T) {
	t.Parallel()
	for _, marks := range []string{
		`"after_sensitive":{"keys":true}`, `"before_sensitive":{"keys":true}`, `"after_sensitive":true`,
	} {
		p, err := plan.Decode([]byte(`{"resource_changes":[{"address":"x.y","change":{"actions":["update"],` + marks + `,
			"before":{"keys":{"tok-1":"admin","token":1}},"after":{"keys":{"tok-2":"root","token":2}}}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		got := render(t, p, page.Options{})
		if !strings.Contains(got, "keys: ") || !strings.Contains(got, "(sensitive)") || strings.Contains(got, "tok") {
			t.Errorf("%s: got\n%s", marks, got)
		}
	}
}

// FuzzPlan: whatever can be decoded can be shown, without anything that acts on
// a terminal or a CI runner.
func FuzzPlan(f *testing.F) {
	f.Add([]byte(`{"resource_changes":[{"address":"x.y[\"\u001b[31m\"]","change":{"actions":["delete","create"],"replace_paths":[["a",0]],
		"before":{"a":[1]},"after":{"a":[2],"b":"::error::"},"after_unknown":{"a":{"0":true}},"after_sensitive":[true]}}]}`))
	f.Add([]byte(`{"resource_changes":[],"output_changes":{"::error::":{"actions":["update"],"before":"##[x]","after":null}},"checks":[{"status":"fail","instances":[{"problems":[{"message":"\n::error::"}]}]}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := plan.Decode(raw)
		if err != nil {
			return
		}
		out := render(t, p, page.Options{})
		for _, r := range strings.ReplaceAll(out, "\n", "") {
			if r != '\ufe0f' && !strconv.IsPrint(r) {
				t.Fatalf("%U is written as it is", r)
			}
		}
		if regexp.MustCompile(`(?m)^[ \t]*::|##\w*\[`).MatchString(out) {
			t.Fatalf("a CI runner reads a command:\n%s", out)
		}
	})
}

func render(t rapid.TB, p *plan.Plan, o page.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := show.Plan(&b, p, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
