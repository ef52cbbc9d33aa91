package stack

import (
	"strings"
	"testing"
)

// TestKey is "paths are repository relative, slash separated, no ./, no trailing
// /" and "qualified stack key: owner/repo//key" (seed 004, "Identities and names").
func TestKey(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Key
	}{
		{"infra/net", Key{Path: "infra/net"}},
		{"./infra/net/", Key{Path: "infra/net"}},
		{"./././infra//", Key{}}, // no repository is called so
		{"infra/./x/../net", Key{Path: "infra/net"}},
		{"infra/net:prod", Key{Path: "infra/net", Instance: "prod"}},
		{"infra/net/:prod", Key{Path: "infra/net", Instance: "prod"}},
		{".", Key{Path: "."}},
		{"./", Key{Path: "."}},
		{".:prod", Key{Path: ".", Instance: "prod"}},
		{"acme/infra//net:prod", Key{Repo: "acme/infra", Path: "net", Instance: "prod"}},
		{"acme/infra//.", Key{Repo: "acme/infra", Path: "."}},
		{"acme//net", Key{}},
		{"a/b/c//net", Key{}},
		{"acme/infra//", Key{}},
		{"", Key{}},
		{":prod", Key{}},
		{"/infra", Key{}},
		{"..", Key{}},
		{"a/../../b", Key{}},
		{"net:", Key{}},
		{"net:a:b", Key{}},
	} {
		got, err := ParseKey(tt.text)
		if got != tt.want || (err == nil) != (tt.want != Key{}) {
			t.Errorf("ParseKey(%q) = %+v, %v; want %+v", tt.text, got, err, tt.want)
		}
	}
}

// FuzzKey checks that a key has one spelling, which reads as the same key and
// does not lead out of the repository.
func FuzzKey(f *testing.F) {
	for _, text := range []string{"infra/net:prod", "././a", "acme/infra//a///", "a/../b", "a:", "..//x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		k, err := ParseKey(text)
		if err != nil {
			return
		}
		if again, err := ParseKey(k.String()); err != nil || again != k {
			t.Errorf("%q is %+v, and its key %q is %+v, %v", text, k, k, again, err)
		}
		if strings.HasPrefix(k.Path+"/", "../") || strings.HasPrefix(k.Path, "/") {
			t.Errorf("%q leads to %q", text, k.Path)
		}
	})
}
