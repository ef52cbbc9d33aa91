package identity

import (
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

func TestNames(t *testing.T) {
	all := []Naming{OrganisationName(), ProjectName(), StackName(), TeamName()}
	for _, name := range []string{"a", "acme", "Acme-2_eu", "foo-7f1c5f4e-9a63-4c1a-8d0e-0f2a5a5b7a11", "_private", "0", strings.Repeat("a", 40)} {
		for _, n := range all {
			if err := n.Check(name); err != nil {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
	for _, name := range []string{
		"", ".", "..", "../", "../etc/passwd", "a/b", `a\b`, "a/../b", "%2e%2e", "a%2fb", "a.b", ".git", "-rf", "--help", " ", " a", "a ", "a  b",
		"a\x00", "a\n", "a\tb", "a:b", "a?b", "a#b", "a;b", "a'b", `a"b`, "<script>", "a&b", "$(id)", "ä", "аcme", "a\u202eb", "a\u00a0b", "a\xff",
		strings.Repeat("a", 91), strings.Repeat("../", 1_000_000),
	} {
		for _, n := range all {
			err := n.Check(name)
			if err == nil {
				t.Errorf("%s may be called %.40q", n.what, name)
				continue
			}
			if problem.Code(err) != api.Invalid || len(err.Error())+len(problem.Hint(err)) > 250 {
				t.Errorf("%.40q: %v", name, err)
			}
		}
	}
}

// TestNamesOfTheClients holds what go-tfe's tests call things.
func TestNamesOfTheClients(t *testing.T) {
	for name, n := range map[string]Naming{
		"Default Project":  ProjectName(),
		"new project name": ProjectName(),
		"foo bar":          TeamName(),
		"owners":           TeamName(),
		"tst-remotely-interesting-workspace-7f1c5f4e-9a63-4c1a-8d0e-0f2a5a5b7a11": StackName(),
	} {
		if err := n.Check(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if OrganisationName().Check("foo bar") == nil || StackName().Check("foo bar") == nil {
		t.Error("a name with a space passes where it stands in URLs")
	}
}

// FuzzName checks what a name that passes can never be: more than one element of
// a path, or anything but itself in a URL.
func FuzzName(f *testing.F) {
	for _, seed := range []string{"acme", "foo bar", "..", "a/b", "-x", "a%2fb", "a b ", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, n := range []Naming{OrganisationName(), ProjectName(), StackName(), TeamName()} {
			if n.Check(name) != nil {
				continue
			}
			if path.Base(path.Join("/dir", name)) != name || path.Dir(path.Join("/dir", name)) != "/dir" || !filepath.IsLocal(name) {
				t.Errorf("%q leads elsewhere", name)
			}
			if u := url.PathEscape(name); strings.ReplaceAll(u, "%20", " ") != name {
				t.Errorf("%q is %q in a URL", name, u)
			}
			if name[0] == '-' || len(name) > n.longest {
				t.Errorf("%q is a flag, or too long", name)
			}
		}
	})
}
