package mutate_test

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/mutate"
)

// TestCorpus makes mutants of every policy among the test data. Each differs
// from the policy, and hardly any does not load: one that does not is told from
// the policy by every plan, and so shows nothing.
func TestCorpus(t *testing.T) {
	t.Parallel()
	languages := map[string]api.Language{".rego": api.Rego, ".cue": api.CUE}
	mutants, checked, unusable := map[api.Language]int{}, map[api.Language]int{}, map[api.Language]int{}
	try := func(src policy.Source) {
		if policy.Check(engines, src) != nil {
			return
		}
		all, err := mutate.Of(src)
		if err != nil {
			t.Errorf("%s: %v", src.Path, err)
		}
		for i, m := range all {
			mutants[src.Language]++
			if bytes.Equal(m.Source.Files[0].Data, src.Files[0].Data) {
				t.Errorf("%s: %s: nothing is different", m.Position, m.Change)
			}
			if src.Language == api.Rego && i%5 > 0 {
				continue // compiling takes long
			}
			checked[src.Language]++
			if err := policy.Check(engines, m.Source); err != nil {
				t.Logf("%s: %s: %v", m.Position, m.Change, err)
				unusable[src.Language]++
			}
		}
	}
	root := filepath.Join("..", "..", "..", "testdata")
	try(read(t, api.Rules, filepath.Join(root, "lesson", "rules.json")))
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if lang := languages[filepath.Ext(path)]; err == nil && !d.IsDir() && lang != "" {
			try(read(t, lang, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(mutants, checked, unusable)
	for lang, least := range map[api.Language]int{api.Rules: 20, api.Rego: 300, api.CUE: 20} {
		if mutants[lang] < least || unusable[lang]*20 > checked[lang] {
			t.Errorf("%s: %d mutants, %d of them cannot be used", lang, mutants[lang], unusable[lang])
		}
	}
	if unusable[api.Rules] > 0 {
		t.Error("rules that do not load")
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	var all []mutate.Mutant
	for i := range 10 {
		all = append(all, mutate.Mutant{Mutant: api.Mutant{Change: string(rune('a' + i))}})
	}
	for n, want := range map[int]string{0: "abcdefghij", 10: "abcdefghij", 20: "abcdefghij", 5: "acegi", 3: "adg", 1: "a"} {
		got := ""
		for _, m := range mutate.Cut(all, n) {
			got += m.Change
		}
		if got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
