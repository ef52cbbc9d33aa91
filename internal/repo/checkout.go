package repo

import (
	"os"
	"path/filepath"
)

// Place is where dir is in its checkout: slash-separated, "." for the root, and
// for a directory that is in none. Links are resolved, so that one directory has
// one place.
func Place(dir string) string {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "."
	}
	root := checkout(abs)
	if root == "" {
		return "."
	}
	rel, _ := filepath.Rel(root, abs) // both are absolute
	return filepath.ToSlash(rel)
}

// checkout is the root of the checkout that an absolute directory is in, or "".
func checkout(abs string) string {
	for root := abs; ; root = filepath.Dir(root) {
		if _, err := os.Lstat(filepath.Join(root, ".git")); err == nil {
			return root
		}
		if root == filepath.Dir(root) {
			return ""
		}
	}
}
