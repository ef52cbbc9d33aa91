package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCompare is the short form of `make bench`: every program judges a small
// plan, and all find the same ten changes.
func TestCompare(t *testing.T) {
	t.Parallel()
	dir := buildAssize(t)
	for _, peer := range []string{"conftest", "opa"} {
		link(t, dir, peer)
	}
	page := filepath.Join(dir, "page.md")
	if err := os.WriteFile(page, []byte("before\n"+begin+"\n## Plans\n\nold\n\n## Monorepos\n\nkept\n\n"+end+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, policies); err != nil {
		t.Fatal(err)
	}
	plan := filepath.Join(dir, "plan.json")
	bytes, err := makePlan(plan, 300)
	if err != nil {
		t.Fatal(err)
	}
	all, err := programs(dir, filepath.Join(dir, "policy"), plan, 300)
	if err != nil {
		t.Fatal(err)
	}
	// The baseline is this program itself, which a test is not.
	costs, err := compare(all[1:], 1)
	if err != nil {
		t.Fatal(err)
	}
	tables := table(300, bytes, all[1:], costs)
	if err := insert(page, []section{{heading: "Plans"}, {heading: "Monorepos"}, {heading: "Specifications"}}, map[string]string{"Plans": tables}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"before\n" + begin + "\n## Plans\n\n### 300 changes", "| assize, CUE |", "| conftest |", "\n\n## Monorepos\n\nkept\n\n" + end + "after\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
}

// buildAssize builds it into a directory, which it returns.
func buildAssize(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "assize"), "../../cmd/assize")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// TestScan is the short form for monorepos: assize finds the stacks of a small
// one and what a change affects, in order, and in no more processor time than a
// regression would need. A scan of 1,000 stacks takes half a second of it without
// a cache, and a quarter of that with one.
func TestScan(t *testing.T) {
	t.Parallel()
	dir := buildAssize(t)
	e := newEstate(1000)
	root := filepath.Join(dir, "estate")
	if err := e.checkOut(root); err != nil {
		t.Fatal(err)
	}
	all := e.programs(dir, root, filepath.Join(dir, "cache"))
	costs, err := compare(all, 3)
	if err != nil {
		t.Fatal(err)
	}
	for i, most := range []time.Duration{2 * time.Second, time.Second, 3 * time.Second, 2 * time.Second} {
		if costs[i].cpu > most {
			t.Errorf("%s takes %v of processor time, want at most %v", all[i].name, costs[i].cpu, most)
		}
	}
	if cold, warm := costs[0].cpu, costs[1].cpu; cold < warm*3/2 {
		t.Errorf("a scan takes %v, and %v with a cache, which should be far less", cold, warm)
	}
	text := e.table(all, costs)
	for _, want := range []string{"### 1000 stacks, 100 modules, 4000 edges", "| assize affected, cold |"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
	t.Log(text)
}

// TestServer is the short form for a server: what is read is what was written, by the
// protocol and by the real tool, every page of a list has its stacks, and at rest the
// server has little in memory.
func TestServer(t *testing.T) {
	t.Parallel()
	dir := buildAssize(t)
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // root's Postgres runs as somebody else
		t.Fatal(err)
	}
	bin := link(t, dir, "tofu")
	states, err := stored(dir, bin, 10, 1, []int{1, 3}, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	stacks, err := listed(dir, bin, 500, 200*time.Millisecond, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(states + stacks)
	for _, want := range []string{"| assize, 3 clients |", "| pg, 1 client |", "| assize, an organisation each, 3 clients |", "| tofu state pull, backend pg |"} {
		if !strings.Contains(states, want) {
			t.Errorf("the table lacks %q", want)
		}
	}
	var rest int
	if _, after, ok := strings.Cut(stacks, "the server has "); !ok {
		t.Error("nothing says what the server has in memory")
	} else if _, err := fmt.Sscan(after, &rest); err != nil || rest == 0 || rest > 150 {
		t.Errorf("the server has %d MB at rest, want at most 150 (%v)", rest, err)
	}
}

// TestSpecification is the short form for specifications.
func TestSpecification(t *testing.T) {
	t.Parallel()
	dir := buildAssize(t)
	link(t, dir, "tofurc")
	text, err := specified(dir, link(t, dir, "tofu"), 100, 1)
	if err != nil || !strings.Contains(text, "| assize spec check, cold |") {
		t.Errorf("%v\n%s", err, text)
	}
}

// link puts what was built into .bin beside assize, and returns that directory.
func link(t *testing.T, dir, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", ".bin", name))
	if err == nil {
		err = os.Symlink(path, filepath.Join(dir, name))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
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
