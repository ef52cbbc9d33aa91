package mutate_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/mutate"
)

// FuzzOf: whatever a policy holds, its mutants are made or it is refused, and
// each mutant differs from it.
func FuzzOf(f *testing.F) {
	languages := []api.Language{api.Rules, api.Rego, api.CUE}
	for i, name := range []string{"policy.json", "policy.rego", "policy.cue"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(i, data)
	}
	for _, text := range []string{
		"package main\ndeny[msg] { input.x[_].y == \"é\"; msg := \"x\" }\nelse = 1 { not false }", "package main\ndefault allow = false\nallow { true }",
		"package main\nimport rego.v1\ndeny contains msg if every x in input.l { x.k == `raw` }", "package main\nimport rego.v1\nf(x) := y if { y := {k: v | some k, v in x; not v in {\"a\", k}} }",
		"package main\nimport rego.v1\np.q.r contains x if { # c\n# d\n x := input[\"a\\\"b\"].c with input as {} }", "package main\nimport rego.v1\ndeny contains $\"x {input.y}\"",
	} {
		f.Add(1, []byte(text))
	}
	for _, text := range []string{
		"a: \"b\": c?: !=1 | *-2 | null", "[string]: x: \"\\(y)\"\ny: #\"z\"#", "if a == \"b\" {x: 1}, let b = 1 < 2", "x: [1, ...>2] & [_, {a: 1}]", "#A: {b!: <3, ...}\n_h: #A", "x: '''\n  a\n  '''\na: for k, v in {} if v == k {b: v}",
	} {
		f.Add(2, []byte(text))
	}
	f.Fuzz(func(t *testing.T, language int, data []byte) {
		lang := languages[uint(language)%3]
		name := "p." + map[api.Language]string{api.Rules: "json", api.Rego: "rego", api.CUE: "cue"}[lang]
		src := policy.Source{Path: name, Language: lang, Files: []policy.File{{Name: name, Data: data}}}
		mutants, err := mutate.Of(src)
		if err != nil {
			return
		}
		for _, m := range mutants {
			if bytes.Equal(m.Source.Files[0].Data, data) || m.Change == "" || m.Position == "" {
				t.Errorf("%s: %q changes nothing", m.Position, m.Change)
			}
		}
	})
}
