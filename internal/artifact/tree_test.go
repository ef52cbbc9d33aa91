package artifact

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDirectories: what is known to be on the disk is exactly what was synced up to
// the tree's own directory, and one that is not known is synced though others are.
func TestDirectories(t *testing.T) {
	root := t.TempDir()
	at := func(path string) string { return filepath.Join(root, filepath.FromSlash(path)) }
	for _, dir := range []string{"header/state/a", "header/state/b"} {
		if err := os.MkdirAll(at(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var d directories
	if err := d.sync(at("header/state/missing")); err == nil || len(d.firm) != 0 {
		t.Errorf("a directory that is not there: %v, and it is known: %v", err, d.firm)
	}
	if err := d.sync(at("header/state/a")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"header/state/a", "header/state", "header", "."} {
		if !d.known(at(dir)) {
			t.Errorf("%s is not known", dir)
		}
	}
	if d.known(at("header/state/b")) {
		t.Error("a directory is known that was never synced")
	}
	if err := d.sync(at("header/state/b")); err != nil || !d.known(at("header/state/b")) {
		t.Errorf("the second directory: %v", err)
	}
}
