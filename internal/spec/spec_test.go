package spec_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/assize-iac/assize/internal/confine"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/spec"
)

var rewrite = flag.Bool("update", false, "rewrite what the cases want")

// TestMain makes the test binary its own confined process, as main does for the
// program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == confine.Argument {
		os.Exit(confine.Child(map[string]confine.Work{spec.Work: spec.Evaluate}))
	}
	os.Exit(m.Run())
}

// tools is what the real tool and the providers for tests say of themselves;
// testdata/schema.json and functions.json were printed by them.
func tools(t testing.TB) []byte {
	t.Helper()
	var all spec.Tools
	for name, into := range map[string]*json.RawMessage{"schema": &all.Schemas, "functions": &all.Functions} {
		data, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		*into = data
	}
	return packed(t, all)
}

func packed(t testing.TB, tools spec.Tools) []byte {
	t.Helper()
	data, err := json.Marshal(tools)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// compile is what the program does with a specification.
func compile(root spec.Root, limits spec.Limits, tools []byte) (*spec.Specification, error) {
	e, err := spec.Begin(root, limits)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	if err := e.Equip(tools); err != nil {
		return nil, err
	}
	return e.Compile()
}

// TestCases compiles each specification of testdata and compares what comes out, or
// what is said of it. Twice: the same specification makes the same bytes.
func TestCases(t *testing.T) {
	t.Parallel()
	tools := tools(t)
	cases, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(cases) < 30 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, file := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			want := unpack(t, a, dir)
			got := outcome(dir, tools)
			if again := outcome(dir, tools); again != got {
				t.Errorf("another time it is\n%s", again)
			}
			if strings.Contains(file, "good") == strings.HasPrefix(got, "error: ") {
				t.Errorf("%s", got)
			}
			if diff := cmp.Diff(want, got); diff != "" && !*rewrite {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if *rewrite {
				set(t, a, file, got)
			}
		})
	}
}

// TestIn: a directory holds a specification by what is in its files, as CUE reads them.
func TestIn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"package estate\n": true, "// what it is\n\n package estate // ours": true, "\uFEFFpackage estate\r\n": true,
		"package estates\n": false, "// package estate\n": false, "": false,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.cue"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := spec.In(dir); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// unpack writes the files of a case into dir and returns what it wants.
func unpack(t *testing.T, a *txtar.Archive, dir string) (want string) {
	t.Helper()
	for _, f := range a.Files {
		if f.Name == "want" {
			want = string(f.Data)
			continue
		}
		name := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return want
}

// outcome is what becomes of a specification, as text.
func outcome(dir string, tools []byte) string {
	s, err := compile(spec.Root{Dir: dir, Name: "."}, spec.Limits{}, tools)
	if err != nil {
		return strings.TrimSpace(fmt.Sprintf("error: %v\nhint: %s", err, problem.Hint(err))) + "\n"
	}
	return fmt.Sprintf("Success! %v.\n%s", s.Counts, s.Config)
}

func set(t *testing.T, a *txtar.Archive, file, want string) {
	t.Helper()
	for i := range a.Files {
		if a.Files[i].Name == "want" {
			a.Files[i].Data = []byte(want)
		}
	}
	if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}
