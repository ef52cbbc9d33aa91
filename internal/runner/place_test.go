package runner_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/runner"
	"github.com/assize-iac/assize/internal/tofu/tofutest"
)

// A module with an absolute path is a link in the tool's own directory, and
// that directory may be anywhere: what can be edited is bound.
func TestLocalModuleInDisguise(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, data, dir string }{
		{"an absolute path", ".terraform", ".terraform/modules/m"},
		{"TF_DATA_DIR holds a module", "mods", "mods/m"},
		{"TF_DATA_DIR is the stack", ".", "modules/m"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, nil)
			st.Session.Tool.Env = append(st.Session.Tool.Env, "TF_DATA_DIR="+tc.data)
			source, edited := "./"+tc.dir, tc.dir
			if tc.data == ".terraform" {
				source, edited = filepath.Join(st.dir, "elsewhere", "m"), "elsewhere/m"
				st.write("elsewhere/m/main.tf", "before")
				st.write(".terraform/modules/modules.json", "{}")
				if err := os.Symlink(filepath.Join(st.dir, edited), filepath.Join(st.dir, tc.dir)); err != nil {
					t.Fatal(err)
				}
			}
			st.write(edited+"/main.tf", "before")
			st.write(filepath.Join(tc.data, "modules", "modules.json"), `{"Modules":[{"Key":"m","Source":"`+source+`","Dir":"`+tc.dir+`"}]}`)
			before := st.still()
			st.write(edited+"/main.tf", "after")
			if before.Configuration == st.still().Configuration {
				t.Error("the module changed, and the digest did not")
			}
		})
	}
}

// Opening a pipe would wait for somebody to write.
func TestPipeIsRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pipe.tf", "pipe.auto.tfvars", "prod.tfvars", "link.tf"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, nil)
			pipe := filepath.Join(st.dir, name)
			if name == "link.tf" {
				pipe = filepath.Join(st.dir, "pipe")
				if err := os.Symlink("pipe", filepath.Join(st.dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := st.Still(api.Binding{VarFiles: []string{"prod.tfvars"}})
			if err == nil || err.Error() != name+" cannot be read: it is no regular file" {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A pipe is refused before the tool, which would wait for a writer, is started
// for anything but its version.
func TestPipeIsNotInitialised(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pipe.tf", "pipe.tf.json", "pipe.auto.tfvars", "terraform.tfvars.json", "prod.tfvars", ".terraform.lock.hcl", "terraform.tfstate", "mod/pipe.tf"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, map[string]tofutest.Fault{"init": {Hang: true}})
			st.write(".terraform/modules/modules.json", `{"Modules":[{"Key":"m","Source":"./mod","Dir":"mod"}]}`)
			st.write("mod/main.tf", "")
			if err := syscall.Mkfifo(filepath.Join(st.dir, name), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			_, err := st.Plan(ctx, runner.Options{Vars: []string{"-var-file=prod.tfvars"}})
			if err == nil || !strings.Contains(err.Error(), "it is no regular file") {
				t.Errorf("got %v", err)
			}
			if calls := st.fake.Calls(t); strings.Join(calls, "") != "" {
				t.Errorf("the tool was started: %q", calls)
			}
		})
	}
}

// A plan that got no warrant holds secrets and is good for nothing.
func TestPlanWithoutWarrantIsRemoved(t *testing.T) {
	t.Parallel()
	st := newStage(t, nil)
	p, err := st.Plan(context.Background(), runner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	st.write("x.plan.warrant.json/full", "") // nothing can be put in its place
	err = st.Save(p, "x.plan", []byte("warrant"))
	if err == nil || strings.Contains(err.Error(), "tmp-") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(st.dir, "x.plan")); err == nil {
		t.Error("the plan file is left")
	}
	if left, _ := filepath.Glob(filepath.Join(st.dir, ".assize-tmp-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// Every way in which the file may say less than it must is put right.
func TestGitIgnoreIsPutRight(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "*.log\n", "*\n!plan.tfplan\n", "*\n"} {
		st := newStage(t, nil)
		st.write(".assize/.gitignore", text)
		st.saved()
		if data, err := os.ReadFile(filepath.Join(st.dir, ".assize", ".gitignore")); err != nil || string(data) != "*\n!/hooks/\n!/hooks/*\n" {
			t.Errorf("%q became %q, %v", text, data, err)
		}
	}
}

// What killed processes left behind goes, in both places; what is in use or
// somebody else's stays.
func TestSweepFiles(t *testing.T) {
	t.Parallel()
	random := strings.Repeat("A", 26)
	stale := []string{
		".assize/tmp-1", ".assize/.assize-tmp-2", ".assize/plan.warrant.json." + random,
		".assize-tmp-3", "x.plan.warrant.json." + random,
	}
	kept := []string{"tmp-4", "y.plan.warrant.json." + random, "x.plan.warrant.json.backup", ".assize/tmp-live"}
	st := newStage(t, nil)
	for _, name := range slices.Concat(stale, kept) {
		st.write(name, "secret")
	}
	live, err := os.Open(filepath.Join(st.dir, ".assize", "tmp-live"))
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	if err := syscall.Flock(int(live.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Void("x.plan"); err != nil {
		t.Fatal(err)
	}
	st.saved()
	for _, name := range stale {
		if _, err := os.Stat(filepath.Join(st.dir, name)); err == nil {
			t.Errorf("%s is left", name)
		}
	}
	for _, name := range kept {
		if _, err := os.Stat(filepath.Join(st.dir, name)); err != nil {
			t.Errorf("%s is gone", name)
		}
	}
}

func TestPlacesThatArePlansToNobody(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ file, want string }{
		{"review.tfplan", ""}, {"./-x", ""}, {".assize/other", ""}, {"", ""}, {runner.DefaultFile, ""},
		{"-x", "--out -x looks like a flag"},
		{".assize/.gitignore", "--out .assize/.gitignore: a plan cannot have the name of a .gitignore file"},
		{".assize/plan.warrant.json", "--out .assize/plan.warrant.json: a plan cannot have the name of a .warrant.json file"},
		{"MAIN.TF", "--out MAIN.TF: a plan cannot have the name of a .tf file"},
		{"a.auto.tfvars.json", "--out a.auto.tfvars.json: a plan cannot have the name of a .tfvars.json file"},
		{"terraform.tfstate", "--out terraform.tfstate: a plan cannot have the name of a .tfstate file"},
		{"nowhere/x", "--out nowhere/x: there is no directory DIR/nowhere"},
	} {
		st := newStage(t, nil)
		_, err := st.Void(tc.file)
		got := ""
		if err != nil {
			got = strings.ReplaceAll(err.Error(), st.dir, "DIR")
		}
		if got != tc.want {
			t.Errorf("%q: got %q, want %q", tc.file, got, tc.want)
		}
	}
}

// The user knows nothing of the names in between.
func TestClaimOfWhatIsNoWarrant(t *testing.T) {
	t.Parallel()
	st := newStage(t, nil)
	st.saved()
	v, err := st.Take("")
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	warrant := filepath.Join(st.dir, ".assize", "plan.warrant.json")
	if err := os.Remove(warrant); err != nil {
		t.Fatal(err)
	}
	err = v.Claim()
	if problem.Code(err) != api.Conflict || err.Error() != "the saved plan has been applied or removed meanwhile: "+warrant+" is gone" {
		t.Errorf("got %v", err)
	}
	st.write(".assize/plan.warrant.json/x", "") // a directory can be renamed, and not be read
	if err = v.Claim(); err == nil || strings.Contains(strings.ReplaceAll(err.Error(), st.dir, ""), "json.") {
		t.Errorf("got %v", err)
	}
}
