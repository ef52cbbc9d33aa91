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

	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/spec"
	"github.com/assize-iac/assize/internal/spec/schema"
)

var rewrite = flag.Bool("update", false, "rewrite what the cases want")

// toolbox is what the real tool and the providers for tests say of themselves;
// testdata/schema.json and functions.json were printed by them.
func toolbox(t testing.TB) spec.Toolbox {
	t.Helper()
	data, err := os.ReadFile("testdata/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := schema.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	functions, err := os.ReadFile("testdata/functions.json")
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		All map[string]*schema.Function `json:"function_signatures"`
	}
	if err := json.Unmarshal(functions, &f); err != nil {
		t.Fatal(err)
	}
	return spec.Toolbox{Providers: schemas.Providers, Functions: f.All}
}

// TestCases compiles each specification of testdata and compares what comes out, or
// what is said of it. Twice: the same specification makes the same bytes.
func TestCases(t *testing.T) {
	t.Parallel()
	tools := toolbox(t)
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
func outcome(dir string, tools spec.Toolbox) string {
	s, err := spec.Compile(spec.Root{Dir: dir, Name: "."}, tools)
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
