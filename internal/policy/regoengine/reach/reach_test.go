package reach_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"
	"golang.org/x/tools/txtar"

	"github.com/assize-iac/assize/internal/policy/regoengine/reach"
)

// TestOf pins what is seen by the forms that most policies are written in, and
// where nothing is left out. Each file of the archive is a policy, and its
// comments are the paths: # resource_changes.*.type.
func TestOf(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "paths.txtar"))
	if err != nil || len(archive.Files) < 40 {
		t.Fatalf("%d policies: %v", len(archive.Files), err)
	}
	for _, f := range archive.Files {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			var want []string
			for line := range strings.Lines(string(f.Data)) {
				if path, ok := strings.CutPrefix(line, "# "); ok {
					want = append(want, "input"+strings.TrimSpace(path))
				}
			}
			got := strings.Split(seen(t, "package main\n"+string(f.Data)).String(), "\n")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func seen(t *testing.T, text string) *reach.Tree {
	t.Helper()
	m, err := ast.ParseModuleWithOpts("policy.rego", text, ast.ParserOptions{RegoVersion: ast.RegoV1})
	if err != nil {
		t.Fatal(err)
	}
	c := ast.NewCompiler()
	if c.Compile(map[string]*ast.Module{"policy.rego": m}); c.Failed() {
		t.Fatal(c.Errors)
	}
	return reach.Of(c, ast.MustParseBody("answer = [value | value := data.main.deny]"), "resource_changes")
}

// TestTree: a member is seen by its name and as one of all.
func TestTree(t *testing.T) {
	t.Parallel()
	tree := seen(t, `package main
deny contains k if { some k, v in input.o; v.a; input.o.x.b; input.o.y == {}; input.l[0].c }`)
	o := tree.Member("o")
	for path, want := range map[*reach.Tree]string{
		o:                                     "input.*.a\ninput.x.a\ninput.x.b\ninput.y.**",
		o.Member("x"):                         "input.a\ninput.b",
		o.Member("any"):                       "input.a",
		o.Member("y"):                         "input.**",
		o.Member("y").Member("any").Element(): "input.**",
		tree.Member("l").Element():            "input.c",
		tree.Member("l").Element().Element():  "input",
	} {
		if got := path.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if tree.Member("other") != nil {
		t.Error("other is seen")
	}
}

// TestBounded: what doubles with every rule, or every step of a reference, is
// not followed to its end.
func TestBounded(t *testing.T) {
	t.Parallel()
	const deep = 60
	var calls, lists strings.Builder
	calls.WriteString("package main\ndeny contains x if x := f0(input.a)\n")
	lists.WriteString("package main\ndeny contains x if x := r0\n")
	for i := range deep {
		fmt.Fprintf(&calls, "f%d(x) := f%d(x.a) if f%d(x.b)\n", i, i+1, i+1)
		fmt.Fprintf(&lists, "r%d := object.get({}, \"x\", [r%d, r%d])\n", i, i+1, i+1)
	}
	fmt.Fprintf(&calls, "f%d(x) := x.c\n", deep)
	fmt.Fprintf(&lists, "r%d := input.c\n", deep)
	if got := seen(t, calls.String()); !got.Whole {
		t.Errorf("calls: %.200s", got)
	}
	if got := seen(t, lists.String()).String(); got != "input.c.**" {
		t.Errorf("lists: %.200s", got)
	}
	var paths strings.Builder
	paths.WriteString("package main\n")
	for i := range deep {
		fmt.Fprintf(&paths, "deny contains \"x\" if input%s.a%s\n", strings.Repeat("[_]", i), strings.Repeat("[_]", deep-i))
	}
	if got := seen(t, paths.String()); got.Member("a") == nil {
		t.Error("paths: a is not seen")
	}
}
