package runner_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/runner"
	"github.com/assize-iac/assize/internal/tofu"
	"github.com/assize-iac/assize/internal/tofu/tofutest"
)

func TestMain(m *testing.M) {
	tofutest.Main()
	os.Exit(m.Run())
}

// A stage is a stack with the fake tool, and everything that was printed.
type stage struct {
	*runner.Stack
	t    *testing.T
	fake *tofutest.Fake
	said *bytes.Buffer
	dir  string
}

func newStage(t *testing.T, faults map[string]tofutest.Fault) *stage {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "testdata", "plans", "tofu1126-create.json"))
	if err != nil {
		t.Fatal(err)
	}
	st := &stage{t: t, fake: tofutest.New(t, tofutest.Script{Plan: string(raw), Faults: faults}), said: &bytes.Buffer{}, dir: t.TempDir()}
	st.Stack = &runner.Stack{Session: tofu.Session{
		Tool: tofu.Tool{Name: "tofu", Path: st.fake.Path, Env: st.fake.Env},
		Dir:  st.dir, Out: st.said, Err: st.said,
	}}
	st.write("main.tf", "resource {}\n")
	return st
}

func (st *stage) write(name, text string) {
	st.t.Helper()
	path := filepath.Join(st.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		st.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		st.t.Fatal(err)
	}
}

// saved plans and saves, and returns what it was made from.
func (st *stage) saved() api.Binding {
	st.t.Helper()
	p, err := st.Plan(context.Background(), runner.Options{})
	if err != nil {
		st.t.Fatal(err)
	}
	defer p.Close()
	if err := st.Save(p, "", []byte("warrant")); err != nil {
		st.t.Fatal(err)
	}
	return p.Binding
}

// kept lists what is in the private directory.
func (st *stage) kept() []string {
	st.t.Helper()
	entries, err := os.ReadDir(filepath.Join(st.dir, ".assize"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		st.t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestPlan(t *testing.T) {
	t.Parallel()
	st := newStage(t, nil)
	var steps []string
	st.Step = func(doing string) { steps = append(steps, doing) }
	flags := plan.Flags{Destroy: true, RefreshOnly: true, Targets: []string{`a.b["x=y"]`}, Replace: []string{"c.d"}}
	p, err := st.Plan(context.Background(), runner.Options{Flags: flags, Vars: []string{"-var=token=hunter2", "-var-file=prod.tfvars"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	b := p.Binding
	if diff := cmp.Diff([]string{"prod.tfvars"}, b.VarFiles); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"-destroy", "-refresh-only", `-target=a.b["x=y"]`, "-replace=c.d"}, b.Flags); diff != "" {
		t.Errorf("variables must not be among the flags: %s", diff)
	}
	back, err := runner.FlagsOf(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(flags, back); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(flags, p.Plan.Flags); diff != "" {
		t.Error(diff)
	}
	if b.Document != p.Plan.Digest || b.Tool.Version != "1.12.6" || b.Workspace != "default" || !p.Changes {
		t.Errorf("got %+v", b)
	}
	if diff := cmp.Diff([]string{"initialising", "reading the state", "planning", "reading the plan"}, steps); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(st.said.String(), "resource_changes") {
		t.Error("the plan's JSON was printed")
	}
}

// Plans hold secrets: nobody else may read them, wherever they are, and git
// must not see them.
func TestPrivate(t *testing.T) {
	t.Parallel()
	st := newStage(t, nil)
	if err := os.Mkdir(filepath.Join(st.dir, ".assize"), 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := st.Plan(context.Background(), runner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	st.modes(map[string]fs.FileMode{".assize": 0o700, ".assize/.gitignore": 0o600, ".assize/tmp-*": 0o700, ".assize/tmp-*/plan.tfplan": 0o600})
	out := filepath.Join(st.dir, "review.tfplan")
	for _, file := range []string{"", out} {
		if err := st.Save(p, file, []byte("warrant")); err != nil {
			t.Fatal(err)
		}
	}
	p.Close()
	st.modes(map[string]fs.FileMode{
		".assize/plan.tfplan": 0o600, ".assize/plan.warrant.json": 0o600,
		"review.tfplan": 0o600, "review.tfplan.warrant.json": 0o600,
	})
	if diff := cmp.Diff([]string{".gitignore", "plan.tfplan", "plan.warrant.json"}, st.kept()); diff != "" {
		t.Error(diff)
	}
}

func (st *stage) modes(want map[string]fs.FileMode) {
	st.t.Helper()
	for pattern, mode := range want {
		paths, err := filepath.Glob(filepath.Join(st.dir, pattern))
		if err != nil || len(paths) != 1 {
			st.t.Errorf("%s: %q, %v", pattern, paths, err)
			continue
		}
		info, err := os.Stat(paths[0])
		if err != nil {
			st.t.Fatal(err)
		}
		if info.Mode().Perm() != mode {
			st.t.Errorf("%s has mode %o, want %o", pattern, info.Mode().Perm(), mode)
		}
	}
}

// A checkout must not be able to have plans, or the file for git, written
// where it likes.
func TestPrivateFollowsNoLink(t *testing.T) {
	t.Parallel()
	st := newStage(t, nil)
	elsewhere := t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(st.dir, ".assize")); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Plan(context.Background(), runner.Options{}); problem.Code(err) != api.Conflict {
		t.Errorf("a link for a directory: %v", err)
	}
	if _, err := st.Void(""); problem.Code(err) != api.Conflict {
		t.Errorf("a link for a directory: %v", err)
	}
	if err := os.Remove(filepath.Join(st.dir, ".assize")); err != nil {
		t.Fatal(err)
	}
	st.write("victim", "precious")
	if err := os.Mkdir(filepath.Join(st.dir, ".assize"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".gitignore", "plan.tfplan", "plan.warrant.json"} {
		if err := os.Symlink(filepath.Join(st.dir, "victim"), filepath.Join(st.dir, ".assize", name)); err != nil {
			t.Fatal(err)
		}
	}
	st.saved()
	if data, err := os.ReadFile(filepath.Join(st.dir, "victim")); err != nil || string(data) != "precious" {
		t.Errorf("the file behind the links is %q, %v", data, err)
	}
}

func TestPlanLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		faults map[string]tofutest.Fault
		code   api.Code
		want   string
	}{
		{"init goes wrong", map[string]tofutest.Fault{"init": {Exit: 1}}, api.Unavailable, "tofu init ended with exit code 1"},
		{"the state cannot be read", map[string]tofutest.Fault{"state pull": {Exit: 1}}, api.Unavailable, "tofu state pull ended with exit code 1"},
		{"plan goes wrong", map[string]tofutest.Fault{"plan": {Exit: 1}}, api.Unavailable, "tofu plan ended with exit code 1"},
		{"show goes wrong", map[string]tofutest.Fault{"show": {Exit: 1}}, api.Unavailable, "tofu show ended with exit code 1"},
		{"the configuration changes under it", map[string]tofutest.Fault{"plan": {Files: map[string]string{"main.tf": "other"}}}, api.Stale,
			"the configuration changed while the plan was being made"},
		{"a file is added under it", map[string]tofutest.Fault{"show": {Files: map[string]string{"more.tofu": ""}}}, api.Stale,
			"the configuration changed while the plan was being made"},
		{"a variable changes under it", map[string]tofutest.Fault{"plan": {Files: map[string]string{"x.auto.tfvars": "a = 1"}}}, api.Stale,
			"a variable file changed while the plan was being made"},
		{"the lock file changes under it", map[string]tofutest.Fault{"plan": {Files: map[string]string{".terraform.lock.hcl": "other"}}}, api.Stale,
			"the lock file changed while the plan was being made"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, tc.faults)
			_, err := st.Plan(context.Background(), runner.Options{})
			if err == nil || err.Error() != tc.want || problem.Code(err) != tc.code {
				t.Errorf("got %v (%s), want %s (%s)", err, problem.Code(err), tc.want, tc.code)
			}
			if diff := cmp.Diff([]string{".gitignore"}, st.kept()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestShowThatIsNoPlan(t *testing.T) {
	t.Parallel()
	st := newStage(t, map[string]tofutest.Fault{"show": {Out: "Error: hunter2"}})
	_, err := st.Plan(context.Background(), runner.Options{})
	if err == nil || strings.Contains(err.Error()+problem.Hint(err)+st.said.String(), "hunter2") {
		t.Errorf("got %v, %q", err, st.said)
	}
	if diff := cmp.Diff([]string{".gitignore"}, st.kept()); diff != "" {
		t.Error(diff)
	}
}

// What a killed process left behind is removed by the next one, and what
// another one is using is not.
func TestSweep(t *testing.T) {
	t.Parallel()
	st := newStage(t, nil)
	st.write(".assize/tmp-dead/plan.tfplan", "secrets")
	inUse, err := st.Plan(context.Background(), runner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer inUse.Close()
	st.saved()
	if got := st.kept(); slices.Contains(got, "tmp-dead") || len(got) != 4 {
		t.Errorf("kept %q", got)
	}
	if err := st.Save(inUse, "", []byte("warrant")); err != nil {
		t.Error(err)
	}
}

func TestVoid(t *testing.T) {
	t.Parallel()
	st := newStage(t, nil)
	if voided, err := st.Void(""); voided || err != nil {
		t.Errorf("nothing to void: %t, %v", voided, err)
	}
	st.saved()
	if voided, err := st.Void(runner.DefaultFile); !voided || err != nil {
		t.Errorf("got %t, %v", voided, err)
	}
	if diff := cmp.Diff([]string{".gitignore"}, st.kept()); diff != "" {
		t.Error(diff)
	}
	st.write("notes.txt", "somebody else's")
	if _, err := st.Void("notes.txt"); problem.Code(err) != api.Conflict {
		t.Errorf("--out notes.txt: %v", err)
	}
	if _, err := os.Stat(filepath.Join(st.dir, "notes.txt")); err != nil {
		t.Error(err)
	}
}
