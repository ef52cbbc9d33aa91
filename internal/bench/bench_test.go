package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompare is the short form of `make bench`: every program judges a small
// plan, and all find the same ten changes.
func TestCompare(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "assize"), "../../cmd/assize")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, peer := range []string{"conftest", "opa"} {
		path, err := filepath.Abs(filepath.Join("..", "..", ".bin", peer))
		if err == nil {
			err = os.Symlink(path, filepath.Join(dir, peer))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	page := filepath.Join(dir, "page.md")
	if err := os.WriteFile(page, []byte("before\n"+begin+"old\n"+end+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := programs(dir, "policy")
	if err != nil {
		t.Fatal(err)
	}
	// The baseline is this program itself, which a test is not.
	tables, err := judged(all[1:], filepath.Join(dir, "plan.json"), 300, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := insert(page, tables); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"before\n" + begin, "### 300 changes", "| assize, CUE |", "| conftest |", end + "after\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
}

// TestPlanIsAPlan checks what no program would complain about.
func TestPlanIsAPlan(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	if err := writePlan(&text, 1000); err != nil {
		t.Fatal(err)
	}
	var plan struct {
		ResourceChanges []struct {
			Address string
			Change  struct{ Actions []string }
		} `json:"resource_changes"`
	}
	if err := json.Unmarshal(text.Bytes(), &plan); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, c := range plan.ResourceChanges {
		count[strings.Join(c.Change.Actions, ",")]++
	}
	if len(plan.ResourceChanges) != 1000 || count["no-op"] < 600 || count["update"] < 200 || count["create"] == 0 || count["delete"] != 1 {
		t.Errorf("%d changes: %v", len(plan.ResourceChanges), count)
	}
}
