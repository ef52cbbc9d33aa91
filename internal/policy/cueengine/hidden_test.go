package cueengine_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/cueengine"
)

// TestHiddenConstraints: a constraint in a hidden field or a definition that
// cannot be evaluated on the plan is a violation, as it is in a visible field;
// types and templates there stay helpers.
func TestHiddenConstraints(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "plans", "tofu1126-create.json"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]api.Outcome{
		`changes: [...{after: {...}, _x: true & (after.size < 5)}]`:                                                 api.Failed,
		`changes: [...{after: {...}, _env: after.nothere.env & "prod"}]`:                                            api.Failed,
		`changes: [...{after: {...}, #env: after.nothere.env & "prod"}]`:                                            api.Failed,
		"changes: [...]\n_x: [for c in changes {c.after.nothere & \"prod\"}]":                                       api.Failed,
		"changes: [...]\n_x: {for c in changes {(c.addr): c.after.nothere & \"prod\"}}":                             api.Failed,
		"changes: [...]\n#x: y: {for c in changes {(c.addr): z: \"\\(c.after.nothere)\"}}":                          api.Failed,
		"changes: [...]\nlet X = {for c in changes {(c.addr): c.after.nothere & \"prod\"}}\n_y: X":                  api.Failed,
		`changes: [...{after: {...}, _x: env: after.nothere & "prod"}]`:                                             api.Failed,
		`changes: [...{A=after: {...}, let B = A, _h: B, _x: env: _h.nothere & "prod"}]`:                            api.Failed,
		"#T: {c: {...}, env: c.nothere & \"prod\"}\nchanges: [...{after: {...}, _x: #T & {c: after}}]":              api.Failed,
		"#T: {c: {...}, env: c.nothere & \"prod\"}\nchanges: [...]\n_x: [for c in changes {#T & {\"c\": c.after}}]": api.Failed,
		"#T: {c: {...}, env: c.nothere & \"prod\", text: \"\\(c.x)\"}\nchanges: [...{after: {...}}]":                api.Passed,
		"_t: {changes: {...}, env: changes.nothere & \"prod\"}\nchanges: [...{addr: string}]":                       api.Passed,
		"changes: [...{addr: string, _t: {c: {...}, env: c.nothere & \"prod\"}}]":                                   api.Passed,
		"#P: {a!: string, b?: int, c: d!: string}\nsummary: create: >=0":                                            api.Passed,
		"_limit: 500\nsummary: create: <=_limit":                                                                    api.Passed,
		"_x: string\n#T: {a: int, b?: string}\nsummary: create: >=0":                                                api.Passed,
		"#Act: \"create\" | \"read\" | \"no-op\"\nchanges: [...{action: #Act, _kept: string}]":                      api.Passed,
	} {
		src := policy.Source{Path: "p.cue", Language: api.CUE, Files: []policy.File{{Name: "p.cue", Data: []byte(text)}}}
		if v := policy.Judge([]policy.Engine{cueengine.New()}, src, p); v.Outcome != want {
			t.Errorf("%s: %s %s %v, want %s", text, v.Outcome, v.Error, v.Findings, want)
		}
	}
}
