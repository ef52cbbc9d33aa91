package report_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/report"
)

var update = flag.Bool("update", false, "write the golden files")

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, check := range fixtures() {
		if name == "hostile" {
			continue // judged by parsers, not by eye
		}
		for _, format := range report.Formats() {
			t.Run(name+"/"+format.Name, func(t *testing.T) {
				t.Parallel()
				golden(t, name+"."+format.Name, render(t, format.Name, check, report.Options{Version: "1.2.3"}))
			})
		}
	}
	t.Run("color", func(t *testing.T) {
		t.Parallel()
		golden(t, "lesson.color", render(t, "text", lesson(), report.Options{Color: true, Width: 72}))
	})
}

// TestDeterministic pins that one result has one report.
func TestDeterministic(t *testing.T) {
	t.Parallel()
	for _, format := range report.Formats() {
		if diff := cmp.Diff(render(t, format.Name, hostile(), report.Options{}), render(t, format.Name, hostile(), report.Options{})); diff != "" {
			t.Errorf("%s differs from run to run:\n%s", format.Name, diff)
		}
	}
}

func render(t testing.TB, format string, c api.Check, o report.Options) string {
	t.Helper()
	for _, f := range report.Formats() {
		if f.Name != format {
			continue
		}
		var b bytes.Buffer
		if err := f.Write(&b, c, o); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	t.Fatalf("no format %s", format)
	return ""
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// TestShow pins that the options reach the page; what is shown is the business
// of package show.
func TestShow(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := report.Show(&b, &plan.Plan{ToolVersion: "1.12.6"}, report.Options{Color: true}); err != nil {
		t.Fatal(err)
	}
	if want := "\x1b[1mPlan by OpenTofu or Terraform 1.12.6\x1b[0m\nNo changes.\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
