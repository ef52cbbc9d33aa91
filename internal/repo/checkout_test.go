package repo_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/assize-iac/assize/internal/repo"
)

func TestPlace(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, dir := range []string{"checkout/.git", "checkout/infra/prod", "checkout/inner/sub", "outside"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// In a worktree or submodule, .git is a file.
	if err := os.WriteFile(filepath.Join(root, "checkout/inner/.git"), []byte("gitdir: x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "checkout/infra/prod"), filepath.Join(root, "outside/link")); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		"checkout": ".", "checkout/infra": "infra", "checkout/infra/prod": "infra/prod", "checkout/infra/prod/": "infra/prod",
		"checkout/inner/sub": "sub", "outside/link": "infra/prod", "missing": ".",
	} {
		if got := repo.Place(filepath.Join(root, dir)); got != want {
			t.Errorf("%s is at %q, want %q", dir, got, want)
		}
	}
}
