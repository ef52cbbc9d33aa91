package runner_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/runner"
	"github.com/assize-iac/assize/internal/tofu/tofutest"
)

func (st *stage) take() *runner.Saved {
	st.t.Helper()
	saved, err := st.Take("")
	if err != nil {
		st.t.Fatal(err)
	}
	st.t.Cleanup(saved.Close)
	return saved
}

func (st *stage) state() string {
	data, _ := os.ReadFile(filepath.Join(st.dir, "terraform.tfstate"))
	return string(data)
}

func TestApply(t *testing.T) {
	t.Parallel()
	st := newStage(t, nil)
	b := st.saved()
	saved := st.take()
	if saved.Digest != b.Plan || string(saved.Warrant) != "warrant" {
		t.Errorf("took up %s with %q, saved was %s", saved.Digest, saved.Warrant, b.Plan)
	}
	// Whatever happens to the file now, what was taken up is applied.
	st.write(runner.DefaultFile, "another plan")
	p, err := st.Read(context.Background(), saved, b)
	if err != nil {
		t.Fatal(err)
	}
	if p.Digest != b.Document {
		t.Error("another plan was shown than the one that was saved")
	}
	state, err := st.Apply(context.Background(), saved, b.State)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&api.State{Lineage: "lineage-1", Serial: 1}, state); diff != "" {
		t.Error(diff)
	}
	saved.Close()
	if diff := cmp.Diff([]string{".gitignore"}, st.kept()); diff != "" {
		t.Errorf("the saved plan was not used up: %s", diff)
	}
	if _, err := st.Take(""); problem.Code(err) != api.NotFound || problem.Hint(err) != "assize plan" {
		t.Errorf("it can be taken up again: %v", err)
	}
}

// Of two applies at once, one gets the plan.
func TestClaimOnce(t *testing.T) {
	t.Parallel()
	st := newStage(t, nil)
	b := st.saved()
	first, second := st.take(), st.take()
	if _, err := st.Apply(context.Background(), first, b.State); err != nil {
		t.Fatal(err)
	}
	_, err := st.Apply(context.Background(), second, b.State)
	if problem.Code(err) != api.Conflict {
		t.Errorf("the second apply: %v", err)
	}
	if got := st.state(); got != `{"lineage":"lineage-1","serial":1}` {
		t.Errorf("the state is %s", got)
	}
}

// Somebody plans again between the judgement and the apply: their warrant
// stays, and nothing is applied.
func TestClaimAnother(t *testing.T) {
	t.Parallel()
	st := newStage(t, nil)
	b := st.saved()
	saved := st.take()
	st.write(".assize/plan.warrant.json", "another warrant")
	_, err := st.Apply(context.Background(), saved, b.State)
	if err == nil || err.Error() != "another plan was saved meanwhile" {
		t.Errorf("got %v", err)
	}
	saved.Close()
	if diff := cmp.Diff([]string{".gitignore", "plan.tfplan", "plan.warrant.json"}, st.kept()); diff != "" {
		t.Error(diff)
	}
	if st.state() != "" {
		t.Error("it was applied")
	}
}

func TestTake(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		do   func(*stage)
		code api.Code
	}{
		{"no plan", func(st *stage) { os.Remove(filepath.Join(st.dir, runner.DefaultFile)) }, api.NotFound},
		{"no warrant", func(st *stage) { os.Remove(filepath.Join(st.dir, ".assize", "plan.warrant.json")) }, api.Stale},
		{"a directory", func(st *stage) {
			path := filepath.Join(st.dir, runner.DefaultFile)
			os.Remove(path)
			os.Mkdir(path, 0o700)
		}, api.Invalid},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, nil)
			st.saved()
			tc.do(st)
			if _, err := st.Take(""); problem.Code(err) != tc.code || problem.Hint(err) == "" {
				t.Errorf("got %v (%s)", err, problem.Code(err))
			}
		})
	}
}

// However an apply ends, the warrant is used up, and the words say what is
// known and no more.
func TestApplyThatDoesNotEndWell(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		serial  int // of the state before
		apply   tofutest.Fault
		pull    tofutest.Fault
		cancel  bool
		want    string
		unknown bool // the state
	}{
		{"it ends with an error after doing something", 3, tofutest.Fault{Exit: 1}, tofutest.Fault{}, false,
			"tofu apply ended with exit code 1; the state has moved from serial 3 to 4: part of the plan has been applied", false},
		{"it ends with an error in a new stack", 0, tofutest.Fault{Exit: 1}, tofutest.Fault{}, false,
			"tofu apply ended with exit code 1; there is a state now, with serial 1: part of the plan has been applied", false},
		{"it is killed", 3, tofutest.Fault{Die: true}, tofutest.Fault{}, false,
			"tofu apply was killed (killed); the state has not moved, but the tool may have changed something that the state does not show", false},
		{"it is interrupted", 3, tofutest.Fault{Hang: true}, tofutest.Fault{}, true,
			"tofu apply was interrupted; the state has moved from serial 3 to 4: part of the plan has been applied", false},
		{"the state cannot be read", 3, tofutest.Fault{Exit: 1}, tofutest.Fault{Exit: 1}, false,
			"tofu apply ended with exit code 1; the state cannot be read, so it is not known what was applied", true},
		{"the state is nonsense", 3, tofutest.Fault{Exit: 1}, tofutest.Fault{Out: "hunter2"}, false,
			"tofu apply ended with exit code 1; the state cannot be read, so it is not known what was applied", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, nil)
			for range tc.serial {
				tofutest.Advance(st.dir)
			}
			b := st.saved()
			saved := st.take()
			st.fake.Follow(t, tofutest.Script{Faults: map[string]tofutest.Fault{"apply": tc.apply, "state pull": tc.pull}})
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if tc.cancel {
				go func() {
					st.fake.Await(t, "(hangs)")
					cancel()
				}()
			}
			state, err := st.Apply(ctx, saved, b.State)
			if err == nil || err.Error() != tc.want || (state == nil) != tc.unknown {
				t.Errorf("got %v (state %v), want %s", err, state, tc.want)
			}
			if !strings.HasPrefix(problem.Hint(err), "assize plan") {
				t.Errorf("hint %q", problem.Hint(err))
			}
			saved.Close()
			if diff := cmp.Diff([]string{".gitignore"}, st.kept()); diff != "" {
				t.Errorf("it can be replayed: %s", diff)
			}
		})
	}
}

// A user who insists still learns what the state is.
func TestForcedApply(t *testing.T) {
	t.Parallel()
	st := newStage(t, nil)
	b := st.saved()
	saved := st.take()
	st.fake.Follow(t, tofutest.Script{Faults: map[string]tofutest.Fault{"apply": {Hang: true, Deaf: true}}})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	force := make(chan struct{})
	st.Session.Force, st.Session.Grace = force, 100*time.Millisecond
	go func() {
		st.fake.Await(t, "(hangs)")
		cancel()
		close(force)
	}()
	state, err := st.Apply(ctx, saved, b.State)
	want := "tofu apply was killed (killed); the state has not moved, but the tool may have changed something that the state does not show"
	if err == nil || err.Error() != want || state == nil {
		t.Errorf("got %v (state %v), want %s", err, state, want)
	}
}

func TestInterruptedBeforeItBegan(t *testing.T) {
	t.Parallel()
	st := newStage(t, nil)
	b := st.saved()
	saved := st.take()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := st.Apply(ctx, saved, b.State)
	if err == nil || err.Error() != "interrupted; nothing was applied" {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(st.dir, ".assize", "plan.warrant.json")); err != nil {
		t.Error("the plan was used up although nothing had begun")
	}
}

func TestPrepareMayNotChangeTheLockFile(t *testing.T) {
	t.Parallel()
	st := newStage(t, nil)
	if err := st.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := st.fake.Calls(t); len(got) != 1 || got[0] != "init -input=false -lockfile=readonly" {
		t.Errorf("called %q", got)
	}
}

func TestUnknownFlag(t *testing.T) {
	t.Parallel()
	if _, err := runner.FlagsOf(api.Binding{Flags: []string{"-state=elsewhere"}}); problem.Code(err) != api.Stale {
		t.Errorf("got %v", err)
	}
}
