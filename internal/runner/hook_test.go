package runner_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/runner"
	"github.com/assize-iac/assize/internal/settings"
	"github.com/assize-iac/assize/internal/tofu"
)

// hook writes a script that is one.
func (e *estate) hook(name, script string) {
	e.t.Helper()
	e.write(".assize/hooks/"+name+".sh", "#!/bin/sh\n"+script)
	if err := os.Chmod(e.path(".assize/hooks/"+name+".sh"), 0o700); err != nil {
		e.t.Fatal(err)
	}
}

// Seed 004, "Identities and names": hooks run with the stack, the run and the
// paths of the plan, plus the configured variables of the mode.
func TestHook(t *testing.T) {
	t.Parallel()
	e := newEstate(t, map[string]string{"infra/network/main.tf": ""})
	e.hook("pre-apply", `
echo "$ASSIZE_STACK|$ASSIZE_STACK_PATH|$ASSIZE_INSTANCE|$ASSIZE_RUN_ID|$ROLE|$(pwd)"
cat "$ASSIZE_PLAN_JSON" "$ASSIZE_PLAN_FILE"
ls -l "$ASSIZE_PLAN_JSON" "$ASSIZE_PLAN_FILE" | cut -c1-10
echo changed > "$ASSIZE_PLAN_FILE"
echo "$ASSIZE_PLAN_FILE" > where
echo "$API_TOKEN" >&2
`)
	e.hook("pre-plan", `echo "[$ASSIZE_PLAN_JSON$ASSIZE_PLAN_FILE]"`)
	e.write("plan", "the plan")
	s := settings.Effective{Path: "infra/network", Instance: "prod", Env: map[string]settings.PerMode{
		"ROLE": {Plan: text("reader"), Apply: text("deployer")}, "API_TOKEN": each("canary-4f1e"),
	}}
	st := e.open(settings.Apply, s)
	if err := st.Hook(context.Background(), "pre-apply", runner.HookRun{RunID: "run_1", PlanJSON: []byte(`{"json": 1} `), PlanFile: e.path("plan")}); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(e.path("infra/network"))
	if err != nil {
		t.Fatal(err)
	}
	want := "infra/network:prod|infra/network|prod|run_1|deployer|" + dir + "\n" + `{"json": 1} the plan-rw-------` + "\n-rw-------\n(sensitive)\n"
	if diff := cmp.Diff(want, st.said.String()); diff != "" {
		t.Error(diff)
	}
	if got := e.read("plan"); got != "the plan" {
		t.Errorf("a hook changed the plan into %q", got)
	}
	where := strings.TrimSpace(e.read("infra/network/where"))
	if _, err := os.Stat(where); !strings.HasPrefix(where, e.path("infra/network/.assize/instances/prod/")) || err == nil {
		t.Errorf("the copy was %s, and is still there: %v", where, err == nil)
	}
	st = e.open(settings.Plan, s, "ASSIZE_PLAN_FILE=/of/another/run")
	for _, name := range []string{"pre-plan", "post-plan"} { // one of which is not there
		if err := st.Hook(context.Background(), name, runner.HookRun{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := st.said.String(); got != "[]\n" {
		t.Errorf("got %q", got)
	}
}

// A hook that cannot be run, or goes wrong, is an error that says what to do.
func TestHookThatIsNone(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, want, hint string
		do               func(e *estate, path string) error
	}{
		{"it fails", "the hook pre-plan ended with exit code 7", "", func(e *estate, path string) error { return nil }},
		{"it is not executable", "the hook PATH cannot be executed", "chmod +x PATH", func(e *estate, path string) error { return os.Chmod(path, 0o600) }},
		{"it is a directory", "the hook PATH is no regular file", "remove it, or put a script there", func(e *estate, path string) error {
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o700))
		}},
		{"it leads out", "the hook PATH leads out of ROOT", "put the script itself there", func(e *estate, path string) error {
			return errors.Join(os.Remove(path), os.Symlink("/bin/true", path))
		}},
		{"it does not say what runs it", "PATH is neither a script nor a program for this machine", "begin a script with #!/bin/sh", func(e *estate, path string) error {
			return os.WriteFile(path, []byte("exit 7\n"), 0o700)
		}},
		{"it leads nowhere", "PATH cannot be read: no such file or directory", "", func(e *estate, path string) error {
			return errors.Join(os.Remove(path), os.Symlink("gone", path))
		}},
		{"it leads to another script", "the hook pre-plan ended with exit code 7", "", func(e *estate, path string) error {
			return errors.Join(os.Rename(path, e.path("script")), os.Symlink("../../script", path))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			e := newEstate(t, map[string]string{"s/main.tf": ""})
			e.hook("pre-plan", "exit 7")
			path := e.path(".assize/hooks/pre-plan.sh")
			if err := tc.do(e, path); err != nil {
				t.Fatal(err)
			}
			err := e.open(settings.Plan, settings.Effective{Path: "s"}).Hook(context.Background(), "pre-plan", runner.HookRun{})
			short := strings.NewReplacer(path, "PATH", e.root, "ROOT")
			if err == nil || short.Replace(err.Error()) != tc.want || short.Replace(problem.Hint(err)) != tc.hint {
				t.Errorf("got %v (%s), want %s (%s)", err, problem.Hint(err), tc.want, tc.hint)
			}
		})
	}
}

// An interrupt reaches what a script has started, which it waits for.
func TestInterruptedHook(t *testing.T) {
	t.Parallel()
	e := newEstate(t, map[string]string{"s/main.tf": ""})
	e.hook("pre-plan", `(while :; do date +%N > alive; sleep 0.05; done) > /dev/null 2>&1 &
touch started
sleep 60
`)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		for e.read("s/started") == "absent" {
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
	}()
	begun := time.Now()
	err := e.open(settings.Plan, settings.Effective{Path: "s"}).Hook(ctx, "pre-plan", runner.HookRun{})
	if !errors.Is(err, tofu.ErrInterrupted) || err.Error() != "the hook pre-plan was interrupted" {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begun); took > 8*time.Second {
		t.Errorf("it took %s", took)
	}
	last := e.read("s/alive")
	time.Sleep(300 * time.Millisecond)
	if e.read("s/alive") != last {
		t.Error("what it had started in its background goes on")
	}
}

// A stack may be the root: then git keeps the hooks, and nothing else of what
// lies there.
func TestHooksCanBeCommitted(t *testing.T) {
	t.Parallel()
	e := newEstate(t, map[string]string{"main.tf": ""})
	e.hook("pre-plan", "")
	st := e.open(settings.Plan, settings.Effective{Path: ".", Instance: "prod"})
	e.write(".assize/tmp-dead/plan.tfplan", "secrets")
	e.write(".assize/instances/prod/tmp-dead/plan.tfplan", "secrets")
	e.write(".assize/instances/other/tmp-dead/plan.tfplan", "of another instance")
	e.write(".assize/hooks/tmp-dead", "")
	st.save(runner.Options{})
	if diff := cmp.Diff([]string{".assize/hooks/pre-plan.sh", ".assize/hooks/tmp-dead", "main.tf"}, e.seenByGit()); diff != "" {
		t.Error(diff)
	}
	if e.read(".assize/instances/other/tmp-dead/plan.tfplan") == "absent" || e.read(".assize/instances/prod/tmp-dead/plan.tfplan") != "absent" {
		t.Error("an instance sweeps its own place, and no other")
	}
}

// Of a conditional plan the JSON is kept, and nothing that could be applied.
func TestConditionalPlan(t *testing.T) {
	t.Parallel()
	e := newEstate(t, map[string]string{
		"s/main.tf":          "variable \"size\" {}\nvariable \"from\" {}\noutput \"is\" { value = \"${var.from} ${var.size}\" }\n",
		"s/prod.tfvars":      `size = "prod"`,
		"mirror/s/main.tf":   "variable \"size\" {}\nvariable \"from\" {}\noutput \"is\" { value = \"mirror ${var.from} ${var.size}\" }\n",
		"mirror/s/.assize/x": "",
	})
	st := e.open(settings.Plan, settings.Effective{Path: "s", Instance: "prod", VarFiles: []string{"prod.tfvars"}})
	if _, _, err := st.Kept(); problem.Code(err) != api.NotFound {
		t.Errorf("nothing is kept, and got %v", err)
	}
	p, err := st.Plan(context.Background(), runner.Options{Overlay: func(string) (*runner.Overlay, error) {
		return &runner.Overlay{Dir: e.path("mirror/s"), Environ: []string{"TF_VAR_from=over"}}, nil
	}})
	if err != nil {
		t.Fatalf("%v\n%s", err, st.said)
	}
	defer p.Close()
	if !p.Conditional || !strings.Contains(string(p.Plan.Raw), "mirror over prod") {
		t.Errorf("conditional %t: %s", p.Conditional, p.Plan.Raw)
	}
	if err := st.Save(p, "", []byte("warrant")); problem.Code(err) != api.Internal {
		t.Errorf("it was saved: %v", err)
	}
	keep := func() {
		if err := st.Keep(p, []byte("sealed")); err != nil {
			t.Fatal(err)
		}
	}
	keep()
	if info, err := os.Stat(e.path("s/.assize/instances/prod/plan.judged.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	raw, warrant, err := st.Kept()
	if err != nil || string(raw) != string(p.Plan.Raw) || string(warrant) != "sealed" {
		t.Errorf("kept %q, %v", warrant, err)
	}
	// A new plan voids it, and so does an apply.
	if voided, err := st.Void(""); voided || err != nil {
		t.Errorf("voided %t, %v", voided, err)
	}
	e.gone(st)
	st.Session.Tool.Env = append(st.Session.Tool.Env, "TF_VAR_from=x")
	st.save(runner.Options{})
	keep()
	saved, err := st.Take("")
	if err != nil {
		t.Fatal(err)
	}
	defer saved.Close()
	if err := saved.Claim(); err != nil {
		t.Fatal(err)
	}
	e.gone(st)
	e.write("s/.assize/instances/prod/plan.judged.json", `{"plan": "canary"}`)
	if _, _, err := st.Kept(); problem.Code(err) != api.Stale || strings.Contains(err.Error(), "canary") {
		t.Errorf("got %v", err)
	}
}

func (e *estate) gone(st *opened) {
	e.t.Helper()
	if _, _, err := st.Kept(); problem.Code(err) != api.NotFound {
		e.t.Errorf("it is still kept: %v", err)
	}
}

// A plan saved elsewhere leaves alone what is called like a kept one.
func TestVoidElsewhere(t *testing.T) {
	t.Parallel()
	e := newEstate(t, map[string]string{"s/main.tf": "", "s/x.judged.json": "mine"})
	if _, err := e.open(settings.Plan, settings.Effective{Path: "s"}).Void("x"); err != nil || e.read("s/x.judged.json") != "mine" {
		t.Errorf("got %v", err)
	}
}
