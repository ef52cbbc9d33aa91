package repo_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/internal/repo"
)

// TestSettingsWithoutFile: a repository needs no configuration; its root is then
// that of the checkout.
func TestSettingsWithoutFile(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"r/.git/HEAD": "", "r/a/b/main.tf": "", "free/main.tf": ""})
	for stack, want := range map[string]string{"r/a/b": "r", "r": "r", "free": "free"} {
		cfg, err := repo.Settings(filepath.Join(dir, stack))
		if err != nil {
			t.Fatal(err)
		}
		real, err := filepath.EvalSymlinks(filepath.Join(dir, want))
		if err != nil {
			t.Fatal(err)
		}
		if cfg.Root != real || cfg.Settings.Stacks.Discover != nil {
			t.Errorf("%s: the root is %s, want %s, and %+v", stack, cfg.Root, real, cfg.Settings.Stacks)
		}
		if d, err := cfg.Directory("."); err != nil || d.Instances != nil {
			t.Errorf("%s: %+v, %v", stack, d, err)
		}
	}
}

// TestDirectoryFile: the .assize.yaml of a directory is small, regular, and of
// the checkout (docs/configuration.md, rule 2).
func TestDirectoryFile(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"r/assize.yaml": "", "r/good/.assize.yaml": "workspace: blue", "r/wrong/.assize.yaml": "work: blue",
		"r/large/.assize.yaml": strings.Repeat("# much\n", 1<<18), "r/dir/.assize.yaml/x": "", "outside/.assize.yaml": "workspace: stolen",
		"r/shared.yaml": "workspace: shared", "r/linked/main.tf": "", "r/out/main.tf": "", "r/dead/main.tf": "", "r/pipe/main.tf": "",
	})
	links := map[string]string{
		"r/linked/.assize.yaml": "../shared.yaml", "r/out/.assize.yaml": "../../outside/.assize.yaml",
		"r/dead/.assize.yaml": "gone", "r/away": "../outside",
	}
	for link, to := range links {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "r/pipe/.assize.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := repo.Settings(filepath.Join(dir, "r"))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"good": "blue", "linked": "shared"} {
		if d, err := cfg.Directory(path); err != nil || d.Workspace.Value != want {
			t.Errorf("%s: %+v, %v", path, d, err)
		}
	}
	for path, want := range map[string]string{
		"wrong": `wrong/.assize.yaml:1:1: unknown field "work"`, "large": "large/.assize.yaml cannot be read: it has more than 1024 KiB",
		"dir": "no regular file", "pipe": "no regular file", "dead": "leads nowhere", "out": "leads out of the checkout", "away": "leads out of the directory",
	} {
		if d, err := cfg.Directory(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want an error that says %q", path, d, err, want)
		}
	}
}

// TestRootFileOutside: nor does a link bring the settings of the root from
// outside of the checkout.
func TestRootFileOutside(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"r/.git/HEAD": "", "r/a/x": "", "r/shared.yaml": "", "outside.yaml": "policies: []",
		"in/.git/HEAD": "", "in/a/x": "", "in/shared.yaml": "",
	})
	for link, to := range map[string]string{"r/assize.yaml": "../outside.yaml", "r/a/assize.yaml": "../shared.yaml", "in/a/assize.yaml": "../shared.yaml"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, at := range []string{"r", "r/a"} { // a nearer file does not take the place of what cannot be read
		if _, err := repo.Settings(filepath.Join(dir, at)); err == nil || !strings.Contains(err.Error(), "leads out of the checkout") {
			t.Errorf("%s: error %v, want a refusal", at, err)
		}
	}
	if _, err := repo.Settings(filepath.Join(dir, "in/a")); err != nil {
		t.Errorf("a link within the checkout: %v", err)
	}
}

func TestMatchVarFiles(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"r/assize.yaml":                "stacks: {instances: {from_var_files: '{workspaces/*.tfvars.json,**/*.x}'}}",
		"r/s/workspaces/b.tfvars.json": "", "r/s/workspaces/a.tfvars.json": "", "r/s/workspaces/sub/c.tfvars.json": "",
		"r/s/workspaces/d.tfvars": "", "r/s/.terraform/modules/m/e.x": "", "r/s/deep/f.x": "", "r/s/g.x/h": "",
		"r/none/main.tf": "", "r/bad/main.tf": "", "out.x": "", "plain/assize.yaml": "", "plain/s/a.x": "",
	})
	cfg, err := repo.Settings(filepath.Join(dir, "r"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := cfg.MatchVarFiles("s")
	if diff := cmp.Diff([]string{"deep/f.x", "workspaces/a.tfvars.json", "workspaces/b.tfvars.json"}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := cfg.MatchVarFiles("none"); err != nil || len(got) > 0 {
		t.Errorf("%v, %v", got, err)
	}
	if err := os.Symlink("../../out.x", filepath.Join(dir, "r/bad/i.x")); err != nil {
		t.Fatal(err)
	}
	if got, err := cfg.MatchVarFiles("bad"); err == nil || slices.Contains(got, "i.x") {
		t.Errorf("a link out of the checkout: %v, %v", got, err)
	}
	if cfg, err = repo.Settings(filepath.Join(dir, "plain")); err != nil {
		t.Fatal(err)
	}
	if got, err := cfg.MatchVarFiles("s"); err != nil || got != nil {
		t.Errorf("without from_var_files: %v, %v", got, err)
	}
}
