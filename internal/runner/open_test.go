package runner_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/gate"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/runner"
	"github.com/assize-iac/assize/internal/settings"
)

// An estate is a checkout with the real tool.
type estate struct {
	t       *testing.T
	root    string
	environ []string
}

func newEstate(t *testing.T, files map[string]string) *estate {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join("..", "..", ".bin"))
	if err != nil {
		t.Fatal(err)
	}
	e := &estate{t: t, root: t.TempDir(), environ: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "CHECKPOINT_DISABLE=1", "TF_PLUGIN_CACHE_DIR=" + t.TempDir(),
		"ASSIZE_TOFU_BIN=" + filepath.Join(bin, "tofu"), "TF_CLI_CONFIG_FILE=" + filepath.Join(bin, "tofurc"),
	}}
	for name, text := range files {
		e.write(name, text)
	}
	return e
}

func (e *estate) path(name string) string { return filepath.Join(e.root, name) }

func (e *estate) write(name, text string) {
	e.t.Helper()
	if err := os.MkdirAll(filepath.Dir(e.path(name)), 0o700); err != nil {
		e.t.Fatal(err)
	}
	if err := os.WriteFile(e.path(name), []byte(text), 0o600); err != nil {
		e.t.Fatal(err)
	}
}

// read returns what stands in a file, or "absent".
func (e *estate) read(name string) string {
	data, err := os.ReadFile(e.path(name))
	if err != nil {
		return "absent"
	}
	return string(data)
}

// An opened is a stack and what was printed.
type opened struct {
	*runner.Stack
	t    *testing.T
	said *bytes.Buffer
}

func (e *estate) open(mode settings.Mode, s settings.Effective, environ ...string) *opened {
	e.t.Helper()
	st, err := equipped(runner.Setup{Root: e.root, Settings: s, Mode: mode, Environ: slices.Concat(e.environ, environ)})
	if err != nil {
		e.t.Fatal(err)
	}
	o := &opened{Stack: st, t: e.t, said: &bytes.Buffer{}}
	st.Session.Out, st.Session.Err, st.Session.Plain = o.said, o.said, true
	return o
}

// save plans and saves.
func (o *opened) save(options runner.Options) *runner.Planned {
	o.t.Helper()
	p, err := o.Plan(context.Background(), options)
	if err != nil {
		o.t.Fatalf("%v\n%s", err, o.said)
	}
	o.t.Cleanup(p.Close)
	if err := o.Save(p, "", []byte("warrant")); err != nil {
		o.t.Fatal(err)
	}
	return p
}

// apply applies what was saved, and returns what has moved since was.
func (o *opened) apply(was api.Binding) []api.Refusal {
	o.t.Helper()
	ctx := context.Background()
	saved, err := o.Take("")
	if err != nil {
		o.t.Fatal(err)
	}
	defer saved.Close()
	now, err := o.Still(api.Binding{Plan: saved.Digest, Mode: was.Mode, Salt: was.Salt, VarFiles: was.VarFiles, Flags: was.Flags})
	if err != nil {
		o.t.Fatal(err)
	}
	if early := gate.Still(was, now); gate.Unsafe(early) {
		return early
	}
	if err := o.Prepare(ctx); err != nil {
		o.t.Fatalf("%v\n%s", err, o.said)
	}
	if now, err = o.Observe(ctx, now); err != nil {
		o.t.Fatal(err)
	}
	if moved := gate.Compare(was, now); len(moved) > 0 {
		return moved
	}
	if _, err := o.Read(ctx, saved, was); err != nil {
		o.t.Fatalf("%v\n%s", err, o.said)
	}
	if _, err := o.Apply(ctx, saved, was.State); err != nil {
		o.t.Fatalf("%v\n%s", err, o.said)
	}
	return nil
}

func text(s string) *string { return &s }

func each(s string) settings.PerMode {
	return settings.PerMode{Plan: text(s), Apply: text(s), Drift: text(s)}
}

const network = `
terraform {
  backend "local" {}
}
variable "zone" { type = string }
variable "size" { type = number }
resource "terraform_data" "net" { input = "${terraform.workspace} ${var.zone} ${var.size}" }
output "net" { value = terraform_data.net.input }
`

func instance(name string) settings.Effective {
	return settings.Effective{
		Path: "infra/network", Instance: name,
		BackendConfig: []string{"infra/state.tfbackend", "path=" + name + ".tfstate"},
		VarFiles:      []string{"../common.tfvars", name + ".tfvars"},
		Env:           map[string]settings.PerMode{"TF_VAR_size": each("3")},
	}
}

// Seed 004, "Stack instances": the same code with its own state object, var
// files and environment. Two of them share one checkout and go at once, and a
// later var file wins.
func TestInstancesOfOneDirectory(t *testing.T) {
	t.Parallel()
	e := newEstate(t, map[string]string{
		"infra/state.tfbackend":          `workspace_dir = "spaces"` + "\n" + `path = "wrong.tfstate"`,
		"infra/network/main.tf":          network,
		"infra/common.tfvars":            `zone = "common"`,
		"infra/network/prod.tfvars":      `zone = "p"`,
		"infra/network/staging.tfvars":   `zone = "s"`,
		"infra/network/review.tfvars":    `zone = "r"`,
		".assize/hooks/README":           "hooks",
		"infra/network/terraform.tfvars": "",
	})
	names := []string{"prod", "staging", "review"}
	stacks, bindings := make([]*opened, len(names)), make([]api.Binding, len(names))
	for i, name := range names {
		stacks[i] = e.open(settings.Plan, instance(name))
		if want := ".assize/instances/" + name + "/plan.tfplan"; stacks[i].DefaultFile() != want {
			t.Errorf("it is saved in %s, want %s", stacks[i].DefaultFile(), want)
		}
	}
	var wg sync.WaitGroup
	for i := range names {
		wg.Go(func() { bindings[i] = stacks[i].save(runner.Options{}).Binding })
	}
	wg.Wait()
	for i, name := range names {
		if moved := e.open(settings.Apply, instance(name)).apply(bindings[i]); moved != nil {
			t.Errorf("%s: %+v", name, moved)
		}
		if diff := cmp.Diff([]string{"../common.tfvars", name + ".tfvars"}, bindings[i].VarFiles); diff != "" {
			t.Error(diff)
		}
		state := e.read("infra/network/" + name + ".tfstate")
		if want := fmt.Sprintf("default %c 3", name[0]); !strings.Contains(state, want) {
			t.Errorf("the state of %s does not hold %q: %s", name, want, state)
		}
		if e.read("infra/network/.assize/instances/"+name+"/terraform/terraform.tfstate") == "absent" {
			t.Errorf("%s has no data directory of its own", name)
		}
	}
	if _, err := os.Stat(e.path("infra/network/.terraform")); err == nil {
		t.Error("instances share .terraform")
	}
}

// Seed 004, "Stack instances": "the apply of a saved plan: only ephemeral
// variables take the apply value of env". What is compared are the plan's.
func TestValuesOfModes(t *testing.T) {
	t.Parallel()
	e := newEstate(t, map[string]string{"s/main.tf": `
variable "role" { type = string }
variable "session" {
  type      = string
  ephemeral = true
}
resource "terraform_data" "x" {
  input = var.role
  provisioner "local-exec" {
    command     = "echo $ROLE $SESSION > seen"
    environment = { SESSION = var.session }
  }
}
`})
	s := settings.Effective{Path: "s", Env: map[string]settings.PerMode{
		"TF_VAR_role":    {Plan: text("reader"), Apply: text("deployer")},
		"TF_VAR_session": {Plan: text("one"), Apply: text("two")},
		"ROLE":           {Plan: text("r"), Apply: text("d")},
		"AWS_PROFILE":    {Plan: text("reading"), Apply: text("deploying")},
	}}
	was := e.open(settings.Plan, s).save(runner.Options{}).Binding
	if moved := e.open(settings.Apply, s).apply(was); moved != nil {
		t.Fatalf("it has moved: %+v", moved)
	}
	if state := e.read("s/terraform.tfstate"); !strings.Contains(state, "reader") || strings.Contains(state, "deployer") {
		t.Errorf("the plan's value is not frozen: %s", state)
	}
	if got := e.read("s/seen"); got != "d two\n" {
		t.Errorf("the apply ran with %q", got)
	}
	// The environment of the command is compared as ever, also under settings.
	for _, variable := range []string{"TF_VAR_other=1", "AWS_REGION=elsewhere"} {
		was = e.open(settings.Plan, s).save(runner.Options{}).Binding
		if moved := e.open(settings.Apply, s, variable).apply(was); len(moved) != 1 {
			t.Errorf("%s: %+v", variable, moved)
		}
	}
}

// Seed 004, "Stack instances": "the re-plan inside apply runs with the apply
// values". What was planned so is applied so, by another process as well: its warrant
// says whose values it was made with (docs/warrant.md, rule 18).
func TestPlannedAgainInAnApply(t *testing.T) {
	t.Parallel()
	e := newEstate(t, map[string]string{"s/main.tf": `
variable "role" { type = string }
resource "terraform_data" "x" { input = var.role }
`})
	s := settings.Effective{Path: "s", Env: map[string]settings.PerMode{"TF_VAR_role": {Plan: text("reader"), Apply: text("deployer")}}}
	was := e.open(settings.Apply, s).save(runner.Options{}).Binding
	if moved := e.open(settings.Apply, s).apply(was); moved != nil {
		t.Fatalf("%+v", moved)
	}
	if state := e.read("s/terraform.tfstate"); !strings.Contains(state, "deployer") {
		t.Error(state)
	}
}

// A warrant holds for the settings that it was made under, in every mode.
func TestSettingsAreBound(t *testing.T) {
	t.Parallel()
	base := func() settings.Effective {
		return settings.Effective{Path: "s", Env: map[string]settings.PerMode{"ROLE": {Plan: text("a"), Apply: text("b")}}, VarFiles: []string{"x.tfvars"}}
	}
	e := newEstate(t, map[string]string{"s/main.tf": "", "s/x.tfvars": ""})
	was := e.open(settings.Plan, base()).save(runner.Options{}).Binding
	for name, change := range map[string]func(*settings.Effective){
		"env of apply": func(s *settings.Effective) { s.Env["ROLE"] = settings.PerMode{Plan: text("a"), Apply: text("c")} },
		"env of drift": func(s *settings.Effective) {
			s.Env["ROLE"] = settings.PerMode{Plan: text("a"), Apply: text("b"), Drift: text("d")}
		},
		"var_files":      func(s *settings.Effective) { s.VarFiles = nil },
		"backend_config": func(s *settings.Effective) { s.BackendConfig = []string{"path=other"} },
		"workspace":      func(s *settings.Effective) { s.Workspace = "blue" },
	} {
		s := base()
		change(&s)
		moved := e.open(settings.Apply, s).apply(was)
		if len(moved) == 0 || moved[0].What != "settings" {
			t.Errorf("%s: %+v", name, moved)
		}
	}
	if moved := e.open(settings.Apply, base()).apply(was); moved != nil {
		t.Errorf("nothing has moved but %+v", moved)
	}
}

// Seed 004, "CLI": the workspace of the stack is selected after init, and where
// there is a backend_config one that was left is reset.
func TestWorkspace(t *testing.T) {
	t.Parallel()
	const config = `
terraform {
  backend "local" {}
}
resource "terraform_data" "x" { input = terraform.workspace }
`
	for _, tc := range []struct {
		name    string
		s       settings.Effective
		environ string
		want    string
	}{
		{"it is selected, whatever TF_WORKSPACE says", settings.Effective{Instance: "blue", Workspace: "blue"}, "TF_WORKSPACE=green", "blue"},
		{"an ad hoc key", settings.Effective{Instance: "mine", Workspace: "mine"}, "", "mine"},
		{"an instance with another workspace", settings.Effective{Instance: "prod", Workspace: "blue", BackendConfig: []string{"path=x.tfstate"}}, "", "blue"},
		{"none with a backend_config", settings.Effective{BackendConfig: []string{"path=x.tfstate"}}, "TF_WORKSPACE=green", "default"},
		{"none without", settings.Effective{}, "TF_WORKSPACE=green", "green"},
		{"env says it", settings.Effective{BackendConfig: []string{"path=x.tfstate"}, Env: map[string]settings.PerMode{"TF_WORKSPACE": each("black")}}, "", "black"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			e := newEstate(t, map[string]string{"s/main.tf": config})
			tc.s.Path = "s"
			if tc.s.Instance == "" { // somebody has left it so
				e.write("s/.terraform/environment", "left")
			}
			was := e.open(settings.Plan, tc.s, tc.environ).save(runner.Options{}).Binding
			if was.Workspace != tc.want {
				t.Errorf("planned in %s, want %s", was.Workspace, tc.want)
			}
			if moved := e.open(settings.Apply, tc.s, tc.environ).apply(was); moved != nil {
				t.Fatalf("%+v", moved)
			}
			file, path := "terraform.tfstate", ""
			if len(tc.s.BackendConfig) > 0 {
				file = "x.tfstate"
			}
			if path = "s/terraform.tfstate.d/" + tc.want + "/terraform.tfstate"; tc.want == "default" {
				path = "s/" + file
			}
			if state := e.read(path); !strings.Contains(state, `"`+tc.want+`"`) {
				t.Errorf("%s: %s", path, state)
			}
		})
	}
	e := newEstate(t, map[string]string{"s/main.tf": config})
	s := settings.Effective{Path: "s", Workspace: "blue", Env: map[string]settings.PerMode{"TF_WORKSPACE": each("green")}}
	_, err := equipped(runner.Setup{Root: e.root, Settings: s, Mode: settings.Plan, Environ: e.environ})
	if want := `s: workspace is "blue", and env sets TF_WORKSPACE as well`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A workspace that has gone since the plan is not made again by an apply.
func TestWorkspaceIsGone(t *testing.T) {
	t.Parallel()
	e := newEstate(t, map[string]string{"s/main.tf": `resource "terraform_data" "x" {}`})
	s := settings.Effective{Path: "s", Instance: "blue", Workspace: "blue"}
	e.open(settings.Plan, s).save(runner.Options{})
	if err := os.RemoveAll(e.path("s/terraform.tfstate.d")); err != nil {
		t.Fatal(err)
	}
	st := e.open(settings.Apply, s)
	if err := st.Prepare(context.Background()); err == nil || err.Error() != "tofu workspace select ended with exit code 1" {
		t.Errorf("got %v", err)
	}
	if e.read("s/terraform.tfstate.d/blue/terraform.tfstate") != "absent" {
		t.Error("it was made again")
	}
	e.open(settings.Plan, s).save(runner.Options{}) // a plan makes it again
}

// Seed 004, "CLI": a TF_DATA_DIR of the user's is kept, one for each instance.
func TestDataDirOfTheUser(t *testing.T) {
	t.Parallel()
	e := newEstate(t, map[string]string{"s/main.tf": ""})
	for _, tc := range []struct{ instance, variable, want string }{
		{"", "", "s/.terraform"},
		{"", "TF_DATA_DIR=data", "s/data"},
		{"prod", "", "s/.assize/instances/prod/terraform"},
		{"prod", "TF_DATA_DIR=data", "s/data/prod"},
		{"prod", "TF_DATA_DIR=" + e.path("all"), "all/prod"},
	} {
		st := e.open(settings.Plan, settings.Effective{Path: "s", Instance: tc.instance}, tc.variable)
		if got := st.Session.DataDir(); got != e.path(tc.want) {
			t.Errorf("%q with %q: %s", tc.instance, tc.variable, got)
		}
	}
}

// Seed 004, "CLI": each var file must exist, and the error names it.
func TestFilesThatAreNotThere(t *testing.T) {
	t.Parallel()
	e := newEstate(t, map[string]string{"s/main.tf": ""})
	for want, s := range map[string]settings.Effective{
		"s:prod: the var file gone.tfvars does not exist":                   {Path: "s", Instance: "prod", VarFiles: []string{"gone.tfvars"}},
		"s: the file infra/gone.tfbackend of backend_config does not exist": {Path: "s", BackendConfig: []string{"infra/gone.tfbackend"}},
	} {
		_, err := e.open(settings.Plan, s).Plan(context.Background(), runner.Options{})
		if err == nil || err.Error() != want || problem.Hint(err) == "" {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	_, err := equipped(runner.Setup{Root: e.root, Settings: settings.Effective{Path: "gone"}, Environ: e.environ})
	if problem.Code(err) != api.NotFound {
		t.Errorf("got %v", err)
	}
}

// Values of configured variables whose names look like secrets, of any mode,
// are in nothing that is printed; nor are such values of the command line.
func TestConfiguredSecretsAreHidden(t *testing.T) {
	t.Parallel()
	e := newEstate(t, map[string]string{"s/main.tf": `
variable "api_token" { type = string }
variable "db_password" { type = string }
output "both" { value = "${var.api_token} ${var.db_password}" }
`})
	s := settings.Effective{Path: "s", Env: map[string]settings.PerMode{"TF_VAR_api_token": {Plan: text("canary-plan"), Apply: text("canary-apply")}}}
	st := e.open(settings.Plan, s)
	st.save(runner.Options{Vars: []string{"-var=db_password=canary-var"}})
	if said := st.said.String(); strings.Contains(said, "canary") || !strings.Contains(said, "both") {
		t.Error(said)
	}
	var clean bytes.Buffer
	w := st.Session.Secrets.Writer(&clean)
	fmt.Fprint(w, "canary-apply")
	if w.Close(); strings.Contains(clean.String(), "canary") {
		t.Error("a secret of another mode is shown")
	}
}

// The version that assize.yaml asks for is held.
func TestToolVersionIsHeld(t *testing.T) {
	t.Parallel()
	e := newEstate(t, map[string]string{"s/main.tf": ""})
	_, err := e.open(settings.Plan, settings.Effective{Path: "s", Tool: "tofu", ToolVersion: "1.0.0"}).Plan(context.Background(), runner.Options{})
	if err == nil || !strings.Contains(err.Error(), "and tool_version asks for 1.0.0") || problem.Hint(err) == "" {
		t.Errorf("got %v", err)
	}
}

// seenByGit lists what git would add.
func (e *estate) seenByGit() []string {
	e.t.Helper()
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"ls-files"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = e.root
		out, err := cmd.Output()
		if err != nil {
			e.t.Fatal(args, err)
		}
		if args[0] == "ls-files" {
			return strings.Split(strings.TrimSpace(string(out)), "\n")
		}
	}
	return nil
}

// What is a secret of ours is none of the tool's, its providers' or a hook's.
func TestOurSecretsStayHere(t *testing.T) {
	t.Parallel()
	e := newEstate(t, map[string]string{"s/main.tf": ""})
	st := e.open(settings.Plan, settings.Effective{Path: "s"}, "ASSIZE_API_KEY=hunter2", "ASSIZE_ARTIFACT_KEY=hunter2", "OTHER=kept")
	for name, want := range map[string]string{"ASSIZE_API_KEY": "", "ASSIZE_ARTIFACT_KEY": "", "OTHER": "kept"} {
		if got := st.Session.Tool.Getenv(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
}

// equipped is a stack in its place, with its tool.
func equipped(o runner.Setup) (*runner.Stack, error) {
	s, err := runner.Place(o)
	if err != nil {
		return nil, err
	}
	return s, s.Equip(context.Background())
}
