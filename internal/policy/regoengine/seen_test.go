package regoengine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/regoengine"
	"github.com/assize-iac/assize/internal/policy/rules"
	"github.com/assize-iac/assize/internal/policy/translate"
)

// TestSeenIsEnough: leaving out of a plan what a policy cannot see changes
// nothing that it says, for every policy and every plan that we have.
func TestSeenIsEnough(t *testing.T) {
	t.Parallel()
	var plans []*plan.Plan
	for _, p := range realPlans(t) {
		plans = append(plans, p)
	}
	for name, src := range knownPolicies(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if regoengine.New().Check(src) == nil { // the corpus has some that must not compile
				sameOutcomes(t, src, plans...)
			}
		})
	}
}

// sameOutcomes returns whether the policy looks at the plans at all.
func sameOutcomes(t *testing.T, src policy.Source, plans ...*plan.Plan) (looks bool) {
	t.Helper()
	seen, whole, nothing, err := regoengine.Compare(src, plans...)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole, seen); diff != "" {
		text, _ := regoengine.Seen(src)
		t.Errorf("(-whole +seen):\n%s%s\nseen:\n%s", diff, src.Files[0].Data, text)
	}
	for _, o := range whole {
		if strings.Contains(o.Error, "failed on a value") && strings.HasPrefix(t.Name(), "TestSeenInEveryForm/") && !strings.Contains(t.Name(), "/error") {
			t.Error(o.Error)
		}
	}
	return !cmp.Equal(whole, nothing)
}

// knownPolicies are those of the test data, of the corpus, and what becomes of
// the rules of both in Rego.
func knownPolicies(t *testing.T) map[string]policy.Source {
	t.Helper()
	out := map[string]policy.Source{}
	dirs, err := filepath.Glob(filepath.Join(root, "rego", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range append(dirs, filepath.Join(root, "lesson", "policy")) {
		out[filepath.Base(dir)], _ = readPolicy(t, dir)
	}
	translated(t, out, "lesson rules", readText(t, root, "lesson", "rules.json"))
	corpus := filepath.Join("..", "testdata", "conformance")
	lib := readText(t, corpus, "lib.rego")
	cases, err := filepath.Glob(filepath.Join(corpus, "*.txtar"))
	if err != nil || len(cases) < 100 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	for _, path := range cases {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(path)
		for _, f := range archive.Files {
			switch f.Name {
			case "policy.rego":
				out[name] = regoSource(string(f.Data), lib)
			case "rules.json":
				translated(t, out, name+" rules", string(f.Data))
			}
		}
	}
	return out
}

// translated adds what rules are in Rego, if they can be said in it.
func translated(t *testing.T, out map[string]policy.Source, name, text string) {
	t.Helper()
	loaded, err := rules.Load(policy.Source{Path: name, Language: api.Rules, Files: []policy.File{{Name: "rules.json", Data: []byte(text)}}})
	if err != nil {
		return
	}
	if rego, err := translate.Rego(loaded, "main"); err == nil {
		out[name] = regoSource(rego)
	}
}

func readText(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSeenInEveryForm tries one way of looking at a plan after the other, each
// with plans in which it makes a difference. If the analysis lost the value
// there, what the policy says would change.
func TestSeenInEveryForm(t *testing.T) {
	t.Parallel()
	plans := []*plan.Plan{decode(t, formsPlan), decode(t, strings.NewReplacer(`"previous_address"`, `"deposed"`, `"address": "bucket.a", "mode"`, `"address": "bucket.b", "mode"`).Replace(formsPlan))}
	archive, err := txtar.ParseFile(filepath.Join("testdata", "forms.txtar"))
	if err != nil || len(archive.Files) < 90 {
		t.Fatalf("%d forms: %v", len(archive.Files), err)
	}
	for _, f := range archive.Files {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			text := string(f.Data)
			if !strings.HasPrefix(text, "package") {
				text = "package main\n" + text
			}
			for _, shape := range []string{"", "plan"} {
				src := regoSource(text)
				if src.Rego.InputShape = shape; shape != "" {
					src = regoSource(strings.ReplaceAll(text, "input.", "input.plan."))
					src.Rego.InputShape = shape
				}
				src.Rego.Data = []policy.File{{Name: "limits.json", Data: []byte(`{"limits": {"keys": ["tags", "acl"], "a": {"v": 1}}}`)}}
				if looks := sameOutcomes(t, src, plans...); !looks && shape == "" {
					t.Error("the form makes no difference")
				}
			}
		})
	}
}

// formsPlan has changes that differ only in places that policies seldom look
// at, and top-level values of every shape.
const formsPlan = `{"format_version": "1.2", "terraform_version": "1.12.6",
"resource_changes": [
 {"address": "bucket.b", "previous_address": "bucket.z", "mode": "managed", "type": "bucket", "name": "b", "index": 1, "change": {"actions": ["update"],
  "before": {"acl": "private", "tags": {"owner": "x"}}, "after": {"acl": "public", "tags": {"owner": "x"}, "list": [{"k": "p", "v": {"w": 1}}, {"k": "q", "v": {"w": 2}}]}, "after_unknown": {"id": true}}},
 {"address": "bucket.a", "mode": "managed", "type": "bucket", "name": "a", "index": 1, "change": {"actions": ["update"],
  "before": {"acl": "private", "tags": {"owner": "x"}}, "after": {"acl": "private", "tags": {"owner": "x"}}, "after_unknown": {}}},
 {"address": "policy.c", "mode": "managed", "type": "policy", "name": "c", "change": {"actions": ["create"],
  "before": null, "after": {"policy": "{\"Statement\":[{\"Action\":\"*\"}]}", "flag": false, "nul": null, "tags": {}}, "after_unknown": {"acl": true, "tags": {"y": true}}}},
 {"address": "bucket.d", "mode": "managed", "type": "bucket", "name": "d", "action_reason": "delete_because_no_resource_config", "change": {"actions": ["delete"],
  "before": {"acl": "private", "tags": {"owner": "x", "env": "prod"}}, "after": null, "after_unknown": {}}}],
"twins": [{"id": 1, "deep": {"q": 1}}, {"id": 1, "deep": {"q": 2}}],
"same": [{"id": 1, "deep": {"q": 2}}, {"id": 1, "deep": {"q": 2}}],
"table": {"a": {"v": 1, "w": {"z": 1}}, "b": {"v": 2, "w": {"z": 2}}},
"pair": [{"l": {"m": 1}}, {"l": {"m": 2}}], "name": "a", "path": ["table", "a"], "at": 1, "order": [{"b": {"x": 2}, "n": 1}, {"a": 1, "b": {"x": 1}, "n": 2}],
"planned_values": {"root_module": {"resources": [{"address": "bucket.a", "values": {"acl": "private"}}], "child_modules": [{"resources": [{"address": "module.m.bucket.e", "values": {"acl": "public"}}]}]}}}`
