package tofu_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/tofu"
	"github.com/assize-iac/assize/internal/tofu/tofutest"
)

func TestMain(m *testing.M) {
	tofutest.Main()
	os.Exit(m.Run())
}

// A stage is a session of the fake tool and what it printed.
type stage struct {
	tofu.Session
	fake     *tofutest.Fake
	out, err *bytes.Buffer
}

func newStage(t *testing.T, s tofutest.Script, env ...string) *stage {
	t.Helper()
	fake := tofutest.New(t, s)
	st := &stage{fake: fake, out: &bytes.Buffer{}, err: &bytes.Buffer{}}
	st.Session = tofu.Session{
		Tool: tofu.Tool{Name: "tofu", Path: fake.Path, Env: append(slices.Clone(fake.Env), env...)},
		Dir:  t.TempDir(), Out: st.out, Err: st.err,
	}
	return st
}

func TestFind(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		env  map[string]string
		want string // name and path, or the error
	}{
		{"tofu by its variable", map[string]string{"ASSIZE_TOFU_BIN": program}, "tofu " + program},
		{"terraform is chosen", map[string]string{"ASSIZE_TOOL": "terraform", "ASSIZE_TERRAFORM_BIN": program, "ASSIZE_TOFU_BIN": "nowhere"}, "terraform " + program},
		{"a choice that is not there is no other one", map[string]string{"ASSIZE_TOFU_BIN": "/nowhere/tofu", "ASSIZE_TERRAFORM_BIN": program},
			"ASSIZE_TOFU_BIN names /nowhere/tofu, which is no program that can be run"},
		{"an unknown tool", map[string]string{"ASSIZE_TOOL": "pulumi", "ASSIZE_TOFU_BIN": program},
			`ASSIZE_TOOL is "pulumi", which is neither tofu nor terraform`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tool, err := tofu.Find(tc.env["ASSIZE_TOOL"], "", func(name string) string { return tc.env[name] })
			got := tool.Name + " " + tool.Path
			if err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tofu")
	if err := os.WriteFile(path, []byte("abc"), 0o700); err != nil {
		t.Fatal(err)
	}
	got, err := tofu.Tool{Path: path}.Digest()
	if want := "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; err != nil || got != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	st := newStage(t, tofutest.Script{Plan: `{"format_version":"1.2"}`})
	ctx := context.Background()
	file := filepath.Join(st.Dir, "p")
	if err := st.Init(ctx); err != nil {
		t.Fatal(err)
	}
	if changes, err := st.Plan(ctx, file, []string{"-destroy"}); err != nil || !changes {
		t.Fatalf("changes %t, error %v", changes, err)
	}
	raw, err := st.Show(ctx, file)
	if err != nil || string(raw) != `{"format_version":"1.2"}` {
		t.Fatalf("show gave %s, %v", raw, err)
	}
	before, err := st.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Apply(ctx, file); err != nil {
		t.Fatal(err)
	}
	after, err := st.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]api.State{{}, {Lineage: "lineage-1", Serial: 1}}, []api.State{before, after}); diff != "" {
		t.Error(diff)
	}
	if got, want := st.out.String(), "initialised\nplanned\napplied\n"; got != want {
		t.Errorf("the tool's output came as %q, want %q: what show printed is for nobody's eyes", got, want)
	}
	want := []string{
		"init -input=false",
		"plan -input=false -detailed-exitcode -out=" + file + " -destroy",
		"show -json " + file,
		"state pull",
		"apply -input=false " + file,
		"state pull",
	}
	if diff := cmp.Diff(want, st.fake.Calls(t)); diff != "" {
		t.Error(diff)
	}
}

// What init says matters only the first time, and when it goes wrong.
func TestInitIsQuiet(t *testing.T) {
	t.Parallel()
	st := newStage(t, tofutest.Script{})
	for range 2 {
		if err := st.Init(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if got := st.out.String(); got != "initialised\n" {
		t.Errorf("two inits said %q", got)
	}
	st.fake.Follow(t, tofutest.Script{Faults: map[string]tofutest.Fault{"init": {Exit: 1, Err: "no such provider\n"}}})
	err := st.InitLocked(context.Background())
	if err == nil || !strings.Contains(st.err.String(), "no such provider") {
		t.Errorf("a failing init gave %v and said %q", err, st.err.String())
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	const secret = `{"lineage": 7, "outputs": "hunter2"`
	run := map[string]func(*stage) error{
		"version":    func(st *stage) error { _, err := st.Version(context.Background()); return err },
		"state pull": func(st *stage) error { _, err := st.State(context.Background()); return err },
		"plan": func(st *stage) error {
			_, err := st.Plan(context.Background(), filepath.Join(st.Dir, "p"), nil)
			return err
		},
		"apply": func(st *stage) error { return st.Apply(context.Background(), "p") },
	}
	for _, tc := range []struct {
		name, command string
		fault         tofutest.Fault
		want          string
	}{
		{"a version that is none", "version", tofutest.Fault{Out: "OpenTofu v1.12.6"}, "PROGRAM does not say its version; is it tofu?"},
		{"a version without content", "version", tofutest.Fault{Out: "{}"}, "PROGRAM does not say its version; is it tofu?"},
		{"a version that speaks to the terminal", "version", tofutest.Fault{Out: `{"terraform_version":"1\u001b[2J"}`},
			`PROGRAM says a version that is none: "1\x1b[2J"`},
		{"a state that is none", "state pull", tofutest.Fault{Out: secret}, "the state does not say its lineage and serial"},
		{"a state without a serial", "state pull", tofutest.Fault{Out: `{"lineage":"a"}`}, "the state does not say its lineage and serial"},
		{"a serial of nothing", "state pull", tofutest.Fault{Out: `{"version":4,"serial":7,"lineage":""}`}, "the state does not say its lineage and serial"},
		{"a state without a lineage", "state pull", tofutest.Fault{Out: `{"serial":1}`}, "the state does not say its lineage and serial"},
		{"a state that cannot be read", "state pull", tofutest.Fault{Exit: 1}, "tofu state pull ended with exit code 1"},
		{"a plan that does not come about", "plan", tofutest.Fault{Exit: 1}, "tofu plan ended with exit code 1"},
		{"an exit code of another command", "apply", tofutest.Fault{Exit: 2}, "tofu apply ended with exit code 2"},
		{"an apply that dies", "apply", tofutest.Fault{Die: true}, "tofu apply was killed (killed)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, tofutest.Script{Faults: map[string]tofutest.Fault{tc.command: tc.fault}})
			err := run[tc.command](st)
			if err == nil {
				t.Fatal("it was no error")
			}
			if got := strings.ReplaceAll(err.Error(), st.Tool.Path, "PROGRAM"); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if got := problem.Code(err); got != api.Unavailable {
				t.Errorf("code %s", got)
			}
			if strings.Contains(st.out.String()+st.err.String()+err.Error()+problem.Hint(err), "hunter2") {
				t.Error("a secret was shown")
			}
		})
	}
}

// A state that the http backend does not have yet is printed like this.
func TestNoStateYet(t *testing.T) {
	t.Parallel()
	out := `{"version":4,"terraform_version":"1.12.6","serial":0,"lineage":"","outputs":{},"resources":[],"check_results":null}`
	st := newStage(t, tofutest.Script{Faults: map[string]tofutest.Fault{"state pull": {Out: out}}})
	if got, err := st.State(context.Background()); err != nil || got != (api.State{}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// A reader that has gone must not end an apply, nor make it a failure.
func TestNobodyReads(t *testing.T) {
	t.Parallel()
	st := newStage(t, tofutest.Script{Faults: map[string]tofutest.Fault{"apply": {Err: "a warning\n"}}})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	st.Out, st.Session.Err, st.Spool = w, w, t.TempDir()
	if err := st.Apply(context.Background(), "p"); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(st.Spool); err != nil || len(left) > 0 {
		t.Errorf("output was left behind: %v, %v", left, err)
	}
}

// Someone who stopped the tool and then interrupts it wants it to end.
func TestInterruptWakes(t *testing.T) {
	t.Parallel()
	st := newStage(t, tofutest.Script{Faults: map[string]tofutest.Fault{"apply": {Hang: true, Stop: true}}})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- st.Apply(ctx, "p") }()
	st.fake.Await(t, "(hangs)")
	time.Sleep(50 * time.Millisecond) // it stops itself in a moment; either way it must end
	cancel()
	if err := <-ended; !errors.Is(err, tofu.ErrInterrupted) {
		t.Errorf("got %v", err)
	}
}

func TestHiddenInitFlags(t *testing.T) {
	t.Parallel()
	for flags, refused := range map[string]bool{
		"-backend-config=x -reconfigure -no-color": false, "-plugin-dir=/opt/mirror": false, "-lockfile=readonly": false,
		"-force-copy": true, "-migrate-state": true, "-backend=false": true, "-upgrade": true, "-backend-config x": true,
	} {
		st := newStage(t, tofutest.Script{}, "TF_CLI_ARGS_init="+flags)
		if err := st.Init(context.Background()); (err != nil) != refused {
			t.Errorf("%s: got %v", flags, err)
		}
	}
}

func TestPin(t *testing.T) {
	t.Parallel()
	st := newStage(t, tofutest.Script{Version: "1.11.0"})
	for asks, env := range map[string]string{"tool_version": "", "ASSIZE_TOOL_VERSION": "1.12.6"} {
		tool, err := tofu.Find("tofu", "1.12.6", func(name string) string {
			return map[string]string{"ASSIZE_TOFU_BIN": st.fake.Path, "ASSIZE_TOOL_VERSION": env}[name]
		})
		if err != nil {
			t.Fatal(err)
		}
		st.Tool.Pin, st.Tool.Asks = tool.Pin, tool.Asks
		_, err = st.Version(context.Background())
		if err == nil || !strings.HasSuffix(err.Error(), "is version 1.11.0, and "+asks+" asks for 1.12.6") {
			t.Errorf("got %v", err)
		}
		if hint := problem.Hint(err); hint != "install tofu 1.12.6, or set ASSIZE_TOFU_BIN to a program of that version" {
			t.Errorf("hint %q", hint)
		}
	}
}

func TestOneInterrupt(t *testing.T) {
	t.Parallel()
	st := newStage(t, tofutest.Script{Faults: map[string]tofutest.Fault{"apply": {Hang: true}}})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- st.Apply(ctx, "p") }()
	st.fake.Await(t, "(hangs)")
	cancel()
	err := <-ended
	if !errors.Is(err, tofu.ErrInterrupted) || err.Error() != "tofu apply was interrupted" {
		t.Errorf("got %v", err)
	}
	want := []string{"apply -input=false p", "(hangs)", "(interrupt)"}
	if diff := cmp.Diff(want, st.fake.Calls(t)); diff != "" {
		t.Error(diff)
	}
	if err := st.Apply(ctx, "p"); !errors.Is(err, tofu.ErrInterrupted) || err.Error() != "tofu apply was not started" {
		t.Errorf("after the interrupt: %v", err)
	}
}

// The second Ctrl-C is the tool's own word for "exit at once"; a tool that is
// deaf to it is killed in the end.
func TestForce(t *testing.T) {
	t.Parallel()
	st := newStage(t, tofutest.Script{Faults: map[string]tofutest.Fault{"apply": {Hang: true, Deaf: true}}})
	force := make(chan struct{})
	st.Force, st.Grace = force, 200*time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- st.Apply(ctx, "p") }()
	st.fake.Await(t, "(hangs)")
	cancel()
	st.fake.Await(t, "(interrupt)")
	select {
	case err := <-ended:
		t.Fatalf("it ended after one interrupt: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(force)
	err := <-ended
	if !errors.Is(err, tofu.ErrKilled) {
		t.Errorf("got %v", err)
	}
	want := []string{"apply -input=false p", "(hangs)", "(interrupt)", "(interrupt)"}
	if diff := cmp.Diff(want, st.fake.Calls(t)); diff != "" {
		t.Error(diff)
	}
}

// What only reads is bounded: a time-out ends it even when it is deaf.
func TestTimeOut(t *testing.T) {
	t.Parallel()
	st := newStage(t, tofutest.Script{Faults: map[string]tofutest.Fault{"state pull": {Hang: true, Deaf: true}}})
	st.Grace = 200 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := st.State(ctx)
		ended <- err
	}()
	st.fake.Await(t, "(hangs)")
	cancel()
	if err := <-ended; !errors.Is(err, tofu.ErrKilled) {
		t.Errorf("got %v", err)
	}
}

func TestHiddenFlags(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		env  string
		want string
	}{
		{"TF_CLI_ARGS_plan=-target=terraform_data.a", "TF_CLI_ARGS_plan adds flags to tofu plan that change what it does"},
		{"TF_CLI_ARGS_plan=-parallelism=3 -lock=false", "TF_CLI_ARGS_plan adds flags to tofu plan that change what it does"},
		{"TF_CLI_ARGS=-destroy", "TF_CLI_ARGS adds flags to tofu plan that change what it does"},
		{"TF_CLI_ARGS_plan=-parallelism=30 -no-color", ""},
		{"TF_CLI_ARGS_init=-backend-config=x", ""},
		{"TF_CLI_ARGS_apply=-state=other", ""}, // refused when it applies
	} {
		t.Run(tc.env, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, tofutest.Script{}, tc.env)
			_, err := st.Plan(context.Background(), filepath.Join(st.Dir, "p"), nil)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if err != nil && slices.ContainsFunc(st.fake.Calls(t), func(c string) bool { return c != "" }) {
				t.Error("the tool was run")
			}
		})
	}
	st := newStage(t, tofutest.Script{}, "TF_CLI_ARGS_state_pull=-x")
	if _, err := st.State(context.Background()); err == nil {
		t.Error("TF_CLI_ARGS_state_pull was let through")
	}
}

func TestWorkspace(t *testing.T) {
	t.Parallel()
	st := newStage(t, tofutest.Script{}, "TF_DATA_DIR=data")
	check := func(want string) {
		t.Helper()
		if got, err := st.Workspace(); err != nil || got != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
	check("default")
	if err := os.Mkdir(filepath.Join(st.Dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(st.Dir, "data", "environment"), []byte("prod\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("prod")
	st.Tool.Env = append(st.Tool.Env, "TF_WORKSPACE=other")
	check("other")
}
