package mutate_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/cueengine"
	"github.com/assize-iac/assize/internal/policy/mutate"
	"github.com/assize-iac/assize/internal/policy/regoengine"
	"github.com/assize-iac/assize/internal/policy/rules"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var engines = []policy.Engine{rules.Engine{}, regoengine.New(), cueengine.New()}

func read(t *testing.T, lang api.Language, path string) policy.Source {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(path)
	return policy.Source{Path: name, Language: lang, Files: []policy.File{{Name: name, Data: data}}}
}

// TestGolden shows what is done to three policies, and the line as it is then.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, lang := range map[string]api.Language{"policy.json": api.Rules, "policy.rego": api.Rego, "policy.cue": api.CUE} {
		src := read(t, lang, filepath.Join("testdata", name))
		mutants, err := mutate.Of(src)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, m := range mutants {
			fmt.Fprintf(&b, "%s %s: %s\n", m.Position, m.Rule, m.Change)
			if lang != api.Rules {
				fmt.Fprintf(&b, "\t%s\n", strings.TrimSpace(changed(src, m)))
			}
			if err := policy.Check(engines, m.Source); err != nil {
				fmt.Fprintf(&b, "\tdoes not load: %v\n", err)
			}
		}
		golden := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// changed is the line of a mutant that differs.
func changed(src policy.Source, m mutate.Mutant) string {
	was := strings.Split(string(src.Files[0].Data), "\n")
	is := strings.Split(string(m.Source.Files[0].Data), "\n")
	for i := range is {
		if i >= len(was) || is[i] != was[i] {
			return is[i]
		}
	}
	return "(nothing)"
}
