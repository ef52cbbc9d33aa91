package repo_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/internal/repo"
)

func TestFixtureDir(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"policy/limits.cue": "policy/limits_test", "policy": "policy_test", "policy/": "policy_test", "./a.b": "a.b_test",
		"a.b.json": "a.b_test", "/x/p.YAML": "/x/p_test", "../p.rego": "../p_test",
	} {
		if got := repo.FixtureDir(path); filepath.ToSlash(got) != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	if got := repo.FixtureDir("."); got != here+"_test" {
		t.Errorf("%s", got)
	}
}

func TestStoredPlans(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a.json", "b/c.JSON", "b/d/e.json", "b/notes.txt", "b/x[1].json"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ args, want []string }{
		{[]string{"a.json"}, []string{"a.json"}},
		{[]string{"b"}, []string{"b/c.JSON", "b/d/e.json", "b/x[1].json"}},
		{[]string{"."}, []string{"a.json", "b/c.JSON", "b/d/e.json", "b/x[1].json"}},
		{[]string{"**/*.json", "a.json"}, []string{"a.json", "b/d/e.json", "b/x[1].json"}},
		{[]string{"b/x[1].json"}, []string{"b/x[1].json"}}, // a name before a pattern
		{[]string{filepath.Join(dir, "*.json")}, []string{filepath.Join(dir, "a.json")}},
	} {
		got, err := repo.StoredPlans(dir, tt.args)
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", tt.args, err, diff)
		}
	}
	for _, arg := range []string{"absent", "*.txt", "b/d/*/x", "[", ""} {
		if got, err := repo.StoredPlans(dir, []string{"a.json", arg}); err == nil {
			t.Errorf("%q: %q", arg, got)
		}
	}
}
