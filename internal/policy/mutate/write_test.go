package mutate

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/rules"
)

// TestWriteRules: rules that are written out find what they found.
func TestWriteRules(t *testing.T) {
	t.Parallel()
	load := func(data []byte) []rules.Rule {
		loaded, err := rules.Load(policy.Source{Path: "r.json", Language: api.Rules, Files: []policy.File{{Name: "r.json", Data: data}}})
		if err != nil {
			t.Fatal(err)
		}
		return loaded
	}
	read := func(path string) []byte {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	root := filepath.Join("..", "..", "..", "testdata", "lesson")
	p, err := plan.Decode(read(filepath.Join(root, "plan.json")))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(root, "rules.json"), filepath.Join("testdata", "policy.json")} {
		before := load(read(path))
		text, err := writeRules(before)
		if err != nil {
			t.Fatal(err)
		}
		after := load(text)
		for i := range after {
			after[i].Position = before[i].Position
		}
		if diff := cmp.Diff(rules.Judge(before, p), rules.Judge(after, p)); diff != "" {
			t.Errorf("%s (-before +after):\n%s", path, diff)
		}
	}
}
