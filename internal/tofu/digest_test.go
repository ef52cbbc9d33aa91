package tofu

import (
	"os"
	"path/filepath"
	"testing"
)

// A program that was replaced, or written to, is another one: what is remembered
// of a file holds for what it was.
func TestDigestsOfWhatChanges(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tofu")
	tool := Tool{Path: path, Digests: &Digests{}}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, change := range []func(){
		func() { write("one") },
		func() {},
		func() { write("two") },
		func() { os.Remove(path); write("one") },
		func() { os.Rename(path, path+".old"); write("six") },
	} {
		change()
		got, err := tool.Digest()
		if err != nil {
			t.Fatal(err)
		}
		want, err := Tool{Path: path}.Digest()
		if err != nil || got != want {
			t.Errorf("got %s, want %s (%v)", got, want, err)
		}
	}
	if n := len(tool.Digests.known); n < 4 {
		t.Errorf("%d versions are known, want 4", n)
	}
}
