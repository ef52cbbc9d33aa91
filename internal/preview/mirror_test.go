package preview_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/internal/preview"
)

// net is a stack whose outputs are known and not.
const network = `
-- net/main.tf --
variable "n" { default = "x" }
resource "terraform_data" "id" { input = var.n }
output "name" { value = "net-${var.n}" }
output "id" { value = terraform_data.id.id }
`

// net returns the planned outputs of net.
func (e *estate) net(args ...string) preview.Upstreams {
	e.Helper()
	return preview.Upstreams{local("net"): e.plan("net", args...).OutputsAfter()}
}

// TestPlaces reads files in every way that a configuration can, through local
// modules that read states too.
func TestPlaces(t *testing.T) {
	t.Parallel()
	e := newEstate(t, network+`
-- assize.yaml --
-- team/app/main.tf --
terraform {
  backend "local" { path = "state/app.tfstate" }
  required_providers {
    local = { source = "hashicorp/local" }
  }
}
provider "local" {}
variable "given" {}
variable "auto" {}
module "svc" {
  source    = "../../modules/svc"
  providers = { local = local }
}
module "twice" {
  source   = "../../modules/svc"
  for_each = toset(["a", "b"])
}
module "link" { source = "../../modules/link" }
module "below" { source = "./below" }
resource "terraform_data" "before" {}
output "svc" { value = module.svc.all }
output "twice" { value = [for m in module.twice : m.all.name] }
output "link" { value = module.link.name }
output "below" { value = module.below.name }
output "paths" { value = [basename(path.cwd), path.root, basename(dirname(path.cwd)), path.module] }
output "files" {
  value = [file("../shared.txt"), file("${path.module}/../../top.txt"), file("linked.txt"), templatefile("../../modules/svc/t.tpl", { x = 1 })]
}
output "set" { value = sort(concat(tolist(fileset(path.module, "*.txt")), tolist(fileset("${path.module}/../..", "**/top.txt")), tolist(fileset(path.module, "**/*.yaml")))) }
output "vars" { value = [var.given, var.auto] }
-- team/app/x.auto.tfvars --
auto = "auto"
-- team/app/conf/deep/x.yaml --
-- team/given.tfvars --
given = "given"
-- team/app/below/main.tf --
data "terraform_remote_state" "net" {
  backend = "local"
  config  = { path = "${path.root}/../../net/terraform.tfstate" }
}
output "name" { value = data.terraform_remote_state.net.outputs.name }
-- team/shared.txt --
shared
-- top.txt --
top
-- modules/svc/main.tf --
terraform {
  required_providers {
    local = { source = "hashicorp/local" }
  }
}
data "local_file" "t" { filename = "${path.module}/t.tpl" }
module "inner" { source = "../inner" }
output "all" { value = module.inner.all }
output "where" { value = path.module }
-- modules/svc/t.tpl --
t${x}
-- modules/inner/main.tf --
data "terraform_remote_state" "net" {
  backend = "local"
  config  = { path = "../../net/terraform.tfstate" }
}
output "all" { value = data.terraform_remote_state.net.outputs }
-- modules/real/main.tf --
data "terraform_remote_state" "net" {
  backend = "local"
  config  = { path = "../../net/terraform.tfstate" }
}
output "name" { value = data.terraform_remote_state.net.outputs.name }
`)
	e.check(os.Symlink("real", filepath.Join(e.root, "modules", "link")))
	e.check(os.Symlink("../shared.txt", filepath.Join(e.root, "team", "app", "linked.txt")))
	e.init("net", "team/app")
	// The stack has a state of its own, made against what net was.
	e.apply("net")
	e.must(e.tofu(filepath.Join(e.root, "team/app"), nil, "apply", "-auto-approve", "-no-color", "-var-file=../given.tfvars"))
	before := e.tree()
	dir, env := e.mirror("team/app", e.net("-var=n=y"))
	p := e.read(dir, env, "-var-file=../given.tfvars")
	e.wants(p, map[string]string{
		"svc":   `{"id":` + e.quoted(e.plan("net").OutputsAfter()["id"].After) + `,"name":"net-y"}`,
		"twice": `["net-y","net-y"]`,
		"link":  `"net-y"`,
		"below": `"net-y"`,
		"paths": `["app",".","team","."]`,
		"files": `["shared\n","top\n","shared\n","t1\n"]`,
		"set":   `["conf/deep/x.yaml","linked.txt","top.txt"]`,
		"vars":  `["given","auto"]`,
	})
	for _, c := range p.Changes {
		if c.Mode == "managed" && c.Action != "no-op" {
			t.Errorf("%s: %s, want no-op: the state was not read", c.Address, c.Action)
		}
	}
	if len(e.warnings) > 0 {
		t.Errorf("warnings: %q", e.warnings)
	}
	if diff := cmp.Diff(before, e.tree()); diff != "" {
		t.Errorf("the user's tree has changed:\n%s", diff)
	}
}

func (e *estate) quoted(v any) string {
	e.Helper()
	text, ok := v.(string)
	if !ok {
		e.Fatalf("%v is no string", v)
	}
	return `"` + text + `"`
}

// TestRoot previews a stack that is the root of the repository, as a directory
// with several modules and a data source in a check.
func TestRoot(t *testing.T) {
	t.Parallel()
	e := newEstate(t, network+`
-- main.tf --
data "terraform_remote_state" "net" {
  backend = "local"
  config  = { path = "net/terraform.tfstate" }
}
check "net" {
  data "terraform_remote_state" "checked" {
    backend = "local"
    config  = { path = "net/terraform.tfstate" }
  }
  assert {
    condition     = data.terraform_remote_state.checked.outputs.name == "net-y"
    error_message = "no"
  }
}
output "name" { value = data.terraform_remote_state.net.outputs.name }
output "id" { value = data.terraform_remote_state.net.outputs.id }
`)
	e.init("net", ".")
	p := e.preview(".", e.net("-var=n=y"))
	e.wants(p, map[string]string{"name": `"net-y"`, "id": "null unknown true"})
}

// TestInstance previews an instance, whose data directory and state are its own.
func TestInstance(t *testing.T) {
	t.Parallel()
	e := newEstate(t, `
-- app/main.tf --
terraform {
  backend "local" {}
}
data "terraform_remote_state" "net" {
  backend   = "local"
  workspace = terraform.workspace
  config    = { workspace_dir = "../net/terraform.tfstate.d" }
}
module "m" { source = "git::file://REPO//sub" }
resource "terraform_data" "this" {}
output "name" { value = "${data.terraform_remote_state.net.outputs.name} ${module.m.name}" }
`)
	repo := e.TempDir()
	e.check(os.MkdirAll(filepath.Join(repo, "sub"), 0o755))
	e.check(os.WriteFile(filepath.Join(repo, "sub", "main.tf"), []byte(`output "name" { value = "fetched" } # terraform_remote_state`), 0o644))
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = repo
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	main := filepath.Join(e.root, "app", "main.tf")
	text, err := os.ReadFile(main)
	e.check(err)
	e.check(os.WriteFile(main, []byte(strings.ReplaceAll(string(text), "REPO", repo)), 0o644))
	// The data directory is told relatively, as a user may.
	home := ".assize/instances/prod/terraform"
	app := filepath.Join(e.root, "app")
	env := []string{"TF_DATA_DIR=" + home}
	e.must(e.tofu(app, env, "init", "-input=false", "-backend-config=path=prod.tfstate"))
	e.must(e.tofu(app, env, "workspace", "new", "prod"))
	up := preview.Upstreams{
		{Type: "local", ID: "net/terraform.tfstate.d/prod/terraform.tfstate"}: {"name": {Name: "name", After: "prod"}},
		local("net"): {"name": {Name: "name", After: "default"}},
	}
	dir, env := e.mirrorOf("app", "prod", filepath.Join(app, home), up)
	e.wants(e.read(dir, env), map[string]string{"name": `"prod fetched"`})
	if want := "module m comes from elsewhere"; len(e.warnings) != 1 || !strings.HasPrefix(e.warnings[0], want) {
		t.Errorf("warnings: %q, want %q", e.warnings, want)
	}
}

// TestElements previews blocks with for_each and count.
func TestElements(t *testing.T) {
	t.Parallel()
	e := newEstate(t, `
-- app/main.tf --
data "terraform_remote_state" "each" {
  for_each = { one = "net", two = "dns" }
  backend  = "local"
  config   = { path = "../${each.value}/terraform.tfstate" }
}
data "terraform_remote_state" "count" {
  count   = 2
  backend = "local"
  config  = { path = "../net/terraform.tfstate" }
}
output "each" { value = { for k, d in data.terraform_remote_state.each : k => d.outputs.name } }
output "count" { value = data.terraform_remote_state.count[*].outputs.name }
`)
	e.init("app")
	net := preview.Outputs{"name": {Name: "name", AfterUnknown: true}}
	dns := preview.Outputs{"name": {Name: "name", After: "dns", AfterSensitive: false}}
	p := e.preview("app", preview.Upstreams{local("net"): net, local("dns"): dns})
	e.wants(p, map[string]string{
		"each":  `{"two":"dns"} unknown {"one":true}`,
		"count": `[null,null] unknown [true,true]`,
	})
	e.mirror("app", preview.Upstreams{local("dns"): dns})
	if want := `app/main.tf:1:1: data.terraform_remote_state.each is not previewed, it reads what is there now: some of the stacks that it reads are not planned`; !slices.Equal(e.warnings, []string{want}) {
		t.Errorf("warnings: %q", e.warnings)
	}
}

// TestDefaults fills in what the upstream does not put out, and reads an upstream
// that is destroyed.
func TestDefaults(t *testing.T) {
	t.Parallel()
	e := newEstate(t, network+`
-- app/main.tf --
locals { fallback = "${path.module} fallback" }
data "terraform_remote_state" "net" {
  backend  = "local"
  config   = { path = "../net/terraform.tfstate" }
  defaults = {
    name = local.fallback # overridden while net is there
    more = <<-EOT
      more
    EOT
  }
}
output "all" { value = data.terraform_remote_state.net.outputs }
`)
	e.init("net", "app")
	e.wants(e.preview("app", e.net()), map[string]string{
		"all": `{"more":"more\n","name":"net-x"} unknown {"id":true}`,
	})
	e.apply("net")
	e.wants(e.preview("app", e.net("-destroy")), map[string]string{
		"all": `{"more":"more\n","name":". fallback"}`,
	})
}

// TestBackend previews a stack whose state is on a server, and which reads one
// from a server that nobody may ask.
func TestBackend(t *testing.T) {
	t.Parallel()
	var state []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/app":
			t.Errorf("%s %s", r.Method, r.URL)
		case r.Method == http.MethodPost:
			state, _ = io.ReadAll(r.Body)
		case state == nil:
			w.WriteHeader(http.StatusNotFound)
		default:
			w.Write(state)
		}
	}))
	defer server.Close()
	e := newEstate(t, "-- app/main.tf --\n"+strings.ReplaceAll(`
terraform {
  backend "http" { address = "SERVER/app" }
}
resource "terraform_data" "this" {}
`, "SERVER", server.URL))
	e.init("app")
	e.apply("app")
	e.write("app/read.tf", strings.ReplaceAll(`
data "terraform_remote_state" "net" {
  backend = "http"
  config  = { address = "SERVER/net" }
}
output "name" { value = data.terraform_remote_state.net.outputs.name }
`, "SERVER", server.URL))
	p := e.preview("app", preview.Upstreams{{Type: "http", ID: server.URL + "/net"}: {"name": {After: "net"}}})
	e.wants(p, map[string]string{"name": `"net"`})
	if len(p.Changes) != 1 || p.Changes[0].Action != "no-op" {
		t.Errorf("the state was not read: %v", p.Changes)
	}
}

// TestVariables previews a read whose state is named by a variable, with the
// value that the tool itself takes (docs/scan.md, rule 36).
func TestVariables(t *testing.T) {
	t.Parallel()
	e := newEstate(t, `
-- app/main.tf --
variable "v" { default = "default" }
variable "names" {
  type    = set(string)
  default = ["dns"]
}
data "terraform_remote_state" "net" {
  backend = "local"
  config  = { path = "../${var.v}/terraform.tfstate" }
}
data "terraform_remote_state" "each" {
  for_each = var.names
  backend  = "local"
  config   = { path = "../${each.key}/terraform.tfstate" }
}
output "name" { value = data.terraform_remote_state.net.outputs.name }
output "each" { value = data.terraform_remote_state.each["dns"].outputs.name }
-- app/terraform.tfvars --
v = "first"
-- app/z.auto.tfvars.json --
{"v": "net"}
`)
	p := e.preview("app", preview.Upstreams{local("net"): {"name": {After: "planned"}}, local("dns"): {"name": {After: "also"}}})
	e.wants(p, map[string]string{"name": `"planned"`, "each": `"also"`})
}

// TestJSON previews a block of the JSON syntax, as specifications come to, in the
// private directory of one, beside what else is kept there.
func TestJSON(t *testing.T) {
	t.Parallel()
	e := newEstate(t, `
-- app/.assize/spec/main.tf.json --
{
  "variable": {"v": {"default": "from a variable"}},
  "data": {"terraform_remote_state": {"net": {
    "backend": "local", "config": {"path": "../../../net/terraform.tfstate"},
    "defaults": {"size": 3, "other": "${var.v}, \"quoted\"", "name": "old"}
  }}},
  "output": {
    "name":  {"value": "${data.terraform_remote_state.net.outputs.name}"},
    "size":  {"value": "${data.terraform_remote_state.net.outputs.size}"},
    "other": {"value": "${data.terraform_remote_state.net.outputs.other}"},
    "file":  {"value": "${file(\"../../note.txt\")}"},
    "kept":  {"value": "${fileexists(\"../plan.tfplan\")}"}
  }
}
-- app/.assize/plan.tfplan --
secret
-- app/note.txt --
beside
`)
	p := e.preview("app/.assize/spec", preview.Upstreams{local("net"): {"name": {After: "planned"}}})
	e.wants(p, map[string]string{"name": `"planned"`, "size": `3`, "other": `"from a variable, \"quoted\""`, "file": `"beside\n"`, "kept": `false`})
}

// TestWarnings names every read that stays as it is.
func TestWarnings(t *testing.T) {
	t.Parallel()
	e := newEstate(t, `
-- app/main.tf --
variable "v" {}
data "terraform_remote_state" "var" {
  backend = "local"
  config  = { path = "../${var.v}/terraform.tfstate" }
}
data "terraform_remote_state" "other" {
  backend = "local"
  config  = { path = "../other/terraform.tfstate" }
}
ephemeral "tfe_outputs" "e" {
  organization = "o"
  workspace    = "w"
}
module "m" {
  source = "../m"
  name   = "net"
}
-- app/json.tf.json --
{"data": {"terraform_remote_state": {"json": {"for_each": {"net": 1}, "backend": "local", "config": {"path": "../${each.key}/terraform.tfstate"}, "defaults": {"a": "b"}}}}}
-- m/main.tf --
variable "name" {}
data "terraform_remote_state" "m" {
  backend = "local"
  config  = { path = "../${var.name}/terraform.tfstate" }
}
`)
	e.mirror("app", preview.Upstreams{local("net"): {}, {Type: "remote", ID: "app.terraform.io/o/w"}: {}})
	for i, w := range e.warnings {
		e.warnings[i] = strings.Replace(w, " is not previewed, it reads what is there now", "", 1)
	}
	want := []string{
		"app/json.tf.json:1:46: data.terraform_remote_state.json: its defaults stand in JSON, and it has for_each",
		"app/main.tf:2:1: data.terraform_remote_state.var: which state it reads cannot be told from the code",
		"app/main.tf:10:1: ephemeral.tfe_outputs.e: it is no data block",
		"m/main.tf:2:1: data.terraform_remote_state.m: which state it reads cannot be told from the code",
	}
	if diff := cmp.Diff(want, e.warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	e.mirror("app", nil)
	if len(e.warnings) > 0 {
		t.Errorf("nothing is planned, and still: %q", e.warnings)
	}
}

// TestCloud previews tfe_outputs, whose own provider is not needed for it.
func TestCloud(t *testing.T) {
	t.Parallel()
	e := newEstate(t, `
-- app/main.tf --
data "tfe_outputs" "net" {
  organization = "o"
  workspace    = "net"
}
output "open" { value = data.tfe_outputs.net.nonsensitive_values }
output "all" {
  value     = data.tfe_outputs.net.values
  sensitive = true
}
`)
	p := e.preview("app", preview.Upstreams{{Type: "remote", ID: "app.terraform.io/o/net"}: {
		"name": {After: "net"}, "id": {AfterUnknown: true}, "secret": {After: "s3cret", AfterSensitive: true},
	}})
	e.wants(p, map[string]string{
		"open": `{"name":"net"} unknown {"id":true}`,
		"all":  `sensitive {"name":"net","secret":"s3cret"} unknown {"id":true}`,
	})
}

// TestRefused explains what a tool cannot plan.
func TestRefused(t *testing.T) {
	t.Parallel()
	e := newEstate(t, network+`
-- app/main.tf --
data "terraform_remote_state" "net" {
  backend = "local"
  config  = { path = "../net/terraform.tfstate" }
}
resource "terraform_data" "each" {
  for_each = toset([data.terraform_remote_state.net.outputs.id])
}
`)
	e.init("net", "app")
	up := e.net()
	if text := e.refused("app", up); !strings.Contains(text, "Invalid for_each argument") {
		t.Error(text)
	}
	id := up[local("net")]["id"]
	id.After, id.AfterUnknown, id.AfterSensitive = "hunter2", false, true
	if text := e.refused("app", preview.Upstreams{local("net"): {"id": id}}); !strings.Contains(text, "Invalid for_each argument") || strings.Contains(text, "hunter2") {
		t.Error(text)
	}
	outputs := preview.Outputs{"a": {AfterUnknown: []any{false, true}}, "b": {AfterUnknown: map[string]any{"x": map[string]any{"y": true}}}, "c": {After: "hunter2", AfterSensitive: true}}
	got := preview.Explain(map[string]preview.Outputs{"net": up[local("net")], "dns:prod": outputs, "known": {"x": {After: "x"}}})
	want := `not known before dns:prod is applied: output a[1], b["x"]["y"]; sensitive in dns:prod: output c; not known before net is applied: output id`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestMirrorRefuses checks what is no place for a mirror.
func TestMirrorRefuses(t *testing.T) {
	t.Parallel()
	e := newEstate(t, "-- app/main.tf --\n-- other/.assize/x --\n")
	for into, want := range map[string]string{
		"mirror":               "cannot be made in",
		"other/.assize/mirror": "cannot be made in",
		".assize/mirror":       "",
		"app/.assize/mirror":   "",
	} {
		_, _, err := preview.Mirror(preview.Mirroring{Root: e.root, Into: filepath.Join(e.root, into), Path: "app", DataDir: filepath.Join(e.root, "app/.terraform")})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", into, err, want)
		}
	}
}
