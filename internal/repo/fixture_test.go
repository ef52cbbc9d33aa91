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
		"b.tgz": "b_test", "out/b.TAR.GZ": "out/b_test",
	} {
		if got := repo.FixtureDir("x", path); filepath.ToSlash(got) != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{".": here, "testdata": filepath.Join(here, "testdata"), here: here} {
		if got := repo.FixtureDir(dir, "."); got != want+"_test" {
			t.Errorf("in %s: %s", dir, got)
		}
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

// TestWriteWant: what is written takes the place of a link, and of the file all
// at once; a checkout must not choose what else is overwritten.
func TestWriteWant(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"link": other, "dead": other + "2"} {
		if err := os.Symlink(to, filepath.Join(dir, name+".want")); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"link", "dead", "new", "new"} {
		if _, err := repo.WriteWant(dir, ".", name, "deny r a.b\n"); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, name+".want")); err != nil || string(got) != "deny r a.b\n" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := os.ReadFile(other); err != nil || string(got) != "precious" {
		t.Errorf("overwritten: %q, %v", got, err)
	}
	if _, err := os.Lstat(other + "2"); err == nil {
		t.Error("a file was made elsewhere")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 3 {
		t.Errorf("%v, %v", left, err)
	}
	info, err := os.Stat(filepath.Join(dir, "new.want"))
	if err != nil || info.Mode().Perm()&0o444 != 0o444 {
		t.Errorf("others cannot read it: %v, %v", info, err)
	}
}
