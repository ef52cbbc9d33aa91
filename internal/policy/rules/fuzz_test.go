package rules_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/assize-iac/assize/internal/policy/rules"
)

// FuzzLoad holds that no text panics the loader, and that whatever loads can
// judge a real plan.
func FuzzLoad(f *testing.F) {
	lesson, err := os.ReadFile(filepath.Join(root, "lesson", "rules.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(lesson, false)
	f.Add(broadRules(f).Files[0].Data, true)
	for _, seed := range []string{
		with("value", `{"a":[1e9,true,null]}`), with("path", `"a[*][\"b\"].c[0]"`), with("op", `"matches"`, "value", `"^(a|b)*$"`),
		with("type", `["*?*"]`, "mode", `["data","ephemeral"]`, "actions", `["forget,create","no-op"]`, "unknown", `"allow"`),
		checks("max_deletes", "value", "1.0"), checks("module_source", "value", `[".", "^$"]`), checks("checks_pass"), checks("complete_plan"), checks("no_import"),
		`{"$schema":"x","rules":[{}]}`, `[[[[[[`, `{"a":{"a":{"a":`, "[\"\\ud800\"]", "[\n\t1e999999999\n]",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	for _, seed := range []string{
		inYAML("eq", "{a: [x, ~], 'b': 1_0}"), inYAML("in", "\n  - 0x10\n  - |\n    a"), "- &a\n  <<: *a\n- !!str 1\n", "? a\n: b\n", "---\n%\n...\n- - - -\n", "a: *b\n", "\"a\n", "- {",
	} {
		f.Add([]byte(seed), true)
	}
	p := readPlan(f, filepath.Join(root, "plans", "tofu1126-moved-forget-import.json"))
	f.Fuzz(func(t *testing.T, text []byte, yaml bool) {
		name := "r.json"
		if yaml {
			name = "r.yaml"
		}
		loaded, err := rules.Load(source(name, string(text)))
		if err != nil {
			return
		}
		if len(loaded) == 0 {
			t.Error("no rules load without an error")
		}
		for _, r := range loaded {
			if (r.Op == "") == (r.Check == "") || r.ID == "" || r.Level == "" || r.Message == "" || r.Op != "" && len(r.Path) == 0 {
				t.Errorf("half a rule loads: %s", describe(r))
			}
		}
		rules.Judge(loaded, p)
	})
}
