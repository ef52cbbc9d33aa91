package confine_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	process "github.com/assize-iac/assize/internal/confine"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy/confine"
)

// parentArgument makes the test binary a parent that waits for a child.
const parentArgument = "__parent"

func waitForChild() int {
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "cue", "create.json"))
	if err != nil {
		return 1
	}
	p, err := plan.Decode(raw)
	if err != nil {
		return 1
	}
	_, _ = confine.New(bomb{}, small).Judge(bombSource("sleep"), p)
	return 0
}

// TestOrphan: a child does not outlive its parent, however that ends.
func TestOrphan(t *testing.T) {
	t.Parallel()
	parent := exec.Command("/proc/self/exe", parentArgument)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	child := ""
	for deadline := time.Now().Add(20 * time.Second); child == ""; time.Sleep(20 * time.Millisecond) {
		if child = childOf(parent.Process.Pid); time.Now().After(deadline) {
			t.Fatal("no child was started")
		}
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	for deadline := time.Now().Add(10 * time.Second); isRunning(child); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %s is still there", child)
		}
	}
}

// childOf is the process whose parent is pid and that judges, "" for none.
func childOf(pid int) string {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		id := filepath.Base(filepath.Dir(path))
		args, _ := os.ReadFile("/proc/" + id + "/cmdline")
		if fields := statFields(id); len(fields) > 1 && fields[1] == fmt.Sprint(pid) && strings.Contains(string(args), process.Argument) {
			return id
		}
	}
	return ""
}

func isRunning(id string) bool {
	fields := statFields(id)
	return len(fields) > 0 && fields[0] != "Z" && fields[0] != "X"
}

// statFields are those behind the name: state, parent and more.
func statFields(id string) []string {
	stat, err := os.ReadFile("/proc/" + id + "/stat")
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.Fields(rest)
}
