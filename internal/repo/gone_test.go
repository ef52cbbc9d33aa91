package repo_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/assize-iac/assize/internal/repo"
	"github.com/assize-iac/assize/internal/repo/scan"
	"github.com/assize-iac/assize/internal/settings"
)

// TestGoneProperty changes a tree at random, and wants the directories that are
// gone to be those that a scan of the whole base finds (docs/scan.md, rule 29).
func TestGoneProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		was := drawFiles(r, "base", 1, 10)
		got, want, err := gone(t, was, drawFiles(r, "change", 1, 4))
		if err != nil {
			r.Skip(err) // there is an assize.yaml at the root
		}
		if !slices.Equal(got, want) {
			r.Fatalf("gone are %q, want %q", got, want)
		}
	})
}

func TestGone(t *testing.T) {
	t.Parallel()
	backend := "terraform {\n  backend \"s3\" {\n    key = \"k\"\n  }\n}\n"
	got, want, err := gone(t, []fileEdit{{name: "a/main.tf", text: backend}, {name: "b/main.tf", text: backend}}, []fileEdit{{name: "a/main.tf"}})
	if err != nil || !slices.Equal(got, []string{"a"}) || !slices.Equal(want, got) {
		t.Fatalf("gone are %q, by a scan of the whole base %q, %v; want a", got, want, err)
	}
}

// gone changes a tree, and returns the directories of stacks that are gone: those
// that Gone finds, and those that a scan of the whole base finds.
func gone(t *testing.T, before, change []fileEdit) (got, want []string, err error) {
	t.Helper()
	base, now := t.TempDir(), t.TempDir()
	makeTree(t, base, before)
	makeTree(t, now, slices.Concat(before, change))
	root, err := settings.ParseRoot(repo.ConfigName, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := repo.Config{Root: now, Settings: root}
	is, err := cfg.Stacks("")
	if err != nil {
		return nil, nil, err
	}
	was, err := scan.Checkout(base)
	if err != nil {
		t.Fatal(err)
	}
	keys, _, err := cfg.Gone(was, is, changedPaths(t, base, now))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if key.Instance == "" {
			got = append(got, key.Path)
		}
	}
	return got, goneByAll(t, was, is), nil
}

// A fileEdit writes a file, makes a link, or removes what is there.
type fileEdit struct{ name, text, target string }

func drawFiles(r *rapid.T, label string, least, most int) []fileEdit {
	return rapid.SliceOfN(rapid.Custom(func(r *rapid.T) fileEdit {
		dir := rapid.SampledFrom([]string{"a", "b", "a/c", "d", "modules/m"}).Draw(r, "dir")
		e := fileEdit{name: dir + "/" + rapid.SampledFrom([]string{"main.tf", "main.tf", "x.tf", ".terraform.lock.hcl", "assize.yaml"}).Draw(r, "name")}
		switch rapid.IntRange(0, 6).Draw(r, "what") {
		case 0:
		case 1:
			e.target = rapid.SampledFrom([]string{"../b/main.tf", "x.tf", "../../x.tf"}).Draw(r, "target")
		case 2:
			e.name, e.target = dir, rapid.SampledFrom([]string{"b", "d", "modules/m"}).Draw(r, "target")
		default:
			e.text = rapid.SampledFrom([]string{
				"terraform {\n  backend \"s3\" {\n    key = \"k\"\n  }\n}\n",
				"terraform {\n  backend \"local\" {}\n}\nmodule \"m\" {\n  source = \"../b\"\n}\n",
				"terraform {\n  backend \"local\" {}\n}\nmodule \"m\" {\n  source = \"./c\"\n}\n",
				"module \"m\" {\n  source = \"../modules/m\"\n}\n", "module \"m\" {\n  source = \"../a\"\n}\n", "module \"m\" {\n  source = \"../a/c\"\n}\n", "# nothing\n", "locals {\n",
			}).Draw(r, "text")
		}
		return e
	}), least, most).Draw(r, label)
}

// makeTree does edits in order; one that does not fit what is there is none.
func makeTree(t *testing.T, root string, edits []fileEdit) {
	t.Helper()
	in, err := os.OpenRoot(root) // the links lead out of it, and edits must not
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for _, e := range edits {
		if info, err := in.Lstat(path.Dir(e.name)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			continue
		}
		if in.MkdirAll(path.Dir(e.name), 0o755) != nil || in.RemoveAll(e.name) != nil {
			continue
		}
		switch {
		case e.target != "":
			err = in.Symlink(e.target, e.name)
		case e.text != "":
			err = in.WriteFile(e.name, []byte(e.text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// content is every file and link of a tree, by path.
func content(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if d.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(name)
			all[filepath.ToSlash(rel)] = "-> " + target
			return err
		}
		text, err := os.ReadFile(name)
		all[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func changedPaths(t *testing.T, base, now string) (changed []string) {
	t.Helper()
	was, is := content(t, base), content(t, now)
	for name := range was {
		if text, ok := is[name]; !ok || text != was[name] {
			changed = append(changed, name)
		}
	}
	for name := range is {
		if _, ok := was[name]; !ok {
			changed = append(changed, name)
		}
	}
	return changed
}

// goneByAll is what rule 29 says, word for word.
func goneByAll(t *testing.T, base fs.FS, now scan.Result) (gone []string) {
	t.Helper()
	was, err := scan.Scan(base, scan.Options{Rules: scan.Rules{Modules: []string{"modules/**"}}})
	if err != nil {
		t.Fatal(err)
	}
	var here []string
	for _, s := range now.Stacks {
		here = append(here, s.Key.Path)
	}
	all := was.Broken
	for _, s := range was.Stacks {
		all = append(all, s.Key.Path)
	}
	for _, dir := range all {
		foreign := slices.ContainsFunc(now.Foreign, func(root string) bool { return dir == root || len(dir) > len(root) && dir[:len(root)+1] == root+"/" })
		if !slices.Contains(here, dir) && !slices.Contains(now.Broken, dir) && !foreign && !slices.Contains(gone, dir) {
			gone = append(gone, dir)
		}
	}
	slices.Sort(gone)
	return gone
}
