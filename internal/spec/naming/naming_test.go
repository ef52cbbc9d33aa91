package naming_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/assize-iac/assize/internal/spec/naming"
)

func TestTool(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"bare": "bare", "web.front": "web--front", "a-b": "a-2db", "pets.0": "pets--0", "9lives": "_-39lives", "_x": "_x",
		"é": "_-c3-a9", "-": "_-2d", "a b.c": "a-20b--c",
		" ": "_-20", "_ ": "_-5f-20", "_": "_", "__": "__", "_.x": "_-5f--x",
	} {
		if got := naming.Tool(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

func TestDotted(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"a": "a", "a.b[0].c[12]": "a.b.0.c.12", `a["x"]`: `a["x"]`, "a[0][1]": "a.0.1", "a[]": "a[]", "a[x]": "a[x]",
	} {
		if got := naming.Dotted(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

// TestBothWays: every path comes back, so no two have one name.
func TestBothWays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.StringMatching(`[a-z0-9_é -]{1,6}(\.[a-zA-Z0-9_$"-]{1,6}){0,3}`).Draw(t, "path")
		if got := naming.Path("data.some_type." + naming.Tool(path)); got != path {
			t.Errorf("%q is %s, which is %q", path, naming.Tool(path), got)
		}
	})
}
