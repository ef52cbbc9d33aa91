package preview_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/preview"
	"github.com/assize-iac/assize/internal/repo/scan"
	"github.com/assize-iac/assize/internal/settings"
	"github.com/assize-iac/assize/internal/stack"
)

// An estate is a checkout of stacks, the real tofu, and one provider for all.
type estate struct {
	*testing.T
	root     string
	provider *preview.Provider
	warnings []string
}

// newEstate writes the files of a txtar archive.
func newEstate(t *testing.T, archive string) *estate {
	t.Helper()
	e := &estate{T: t, root: t.TempDir()}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		e.write(f.Name, string(f.Data))
	}
	p, err := preview.Serve()
	e.check(err)
	e.provider = p
	t.Cleanup(func() { e.check(p.Close()) })
	return e
}

func (e *estate) check(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

func (e *estate) write(name, text string) {
	e.Helper()
	path := filepath.Join(e.root, name)
	e.check(os.MkdirAll(filepath.Dir(path), 0o755))
	e.check(os.WriteFile(path, []byte(text), 0o644))
}

// tofu runs it in a directory, and returns what it prints.
func (e *estate) tofu(dir string, env []string, args ...string) (string, error) {
	e.Helper()
	bin, err := filepath.Abs(filepath.Join("..", "..", ".bin"))
	e.check(err)
	cmd := exec.Command(filepath.Join(bin, "tofu"), args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), append([]string{"TF_CLI_CONFIG_FILE=" + filepath.Join(bin, "tofurc"), "TF_IN_AUTOMATION=1"}, env...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err = cmd.Run(); err != nil {
		return stdout.String() + stderr.String(), err
	}
	return stdout.String(), nil
}

func (e *estate) must(text string, err error) string {
	e.Helper()
	if err != nil {
		e.Fatalf("%v\n%s", err, text)
	}
	return text
}

func (e *estate) init(stacks ...string) {
	e.Helper()
	for _, name := range stacks {
		e.must(e.tofu(filepath.Join(e.root, name), nil, "init", "-input=false", "-no-color"))
	}
}

func (e *estate) apply(name string) {
	e.Helper()
	e.must(e.tofu(filepath.Join(e.root, name), nil, "apply", "-auto-approve", "-no-color"))
}

// plan plans a stack where it is.
func (e *estate) plan(name string, args ...string) *plan.Plan {
	e.Helper()
	return e.read(filepath.Join(e.root, name), nil, args...)
}

func (e *estate) read(dir string, env []string, args ...string) *plan.Plan {
	e.Helper()
	file := filepath.Join(e.TempDir(), "plan")
	e.must(e.tofu(dir, env, append([]string{"plan", "-input=false", "-no-color", "-lock=false", "-out=" + file}, args...)...))
	p, err := plan.Decode([]byte(e.must(e.tofu(dir, env, "show", "-json", file))))
	e.check(err)
	return p
}

// mirror makes the mirror of a stack, and returns the environment for it.
func (e *estate) mirror(name string, up preview.Upstreams) (dir string, env []string) {
	e.Helper()
	return e.mirrorOf(name, "", filepath.Join(e.root, name, ".terraform"), up)
}

func (e *estate) mirrorOf(name, workspace, data string, up preview.Upstreams) (dir string, env []string) {
	e.Helper()
	into := filepath.Join(e.root, ".assize", "preview", strings.ReplaceAll(name, "/", "_"))
	e.Cleanup(func() { e.check(os.RemoveAll(into)) })
	e.check(os.RemoveAll(into))
	dir, warnings, err := preview.Mirror(preview.Mirroring{
		Root: e.root, Into: into, Path: name, Tool: "tofu", DataDir: data, Reading: e.reading(name, workspace), Upstreams: up,
	})
	e.check(err)
	e.warnings = warnings
	reattach, err := e.provider.Environ("tofu", func(string) string { return "" })
	e.check(err)
	return dir, []string{reattach, "TF_DATA_DIR=" + data}
}

func (e *estate) reading(name, workspace string) scan.Reading {
	e.Helper()
	checkout, err := scan.Checkout(e.root)
	e.check(err)
	reading, err := scan.Reads(checkout, settings.Effective{Path: name, Workspace: workspace}, "tofu")
	e.check(err)
	return reading
}

// preview plans a stack in its mirror.
func (e *estate) preview(name string, up preview.Upstreams) *plan.Plan {
	e.Helper()
	dir, env := e.mirror(name, up)
	return e.read(dir, env)
}

// refused is what tofu says to a stack that cannot be planned in its mirror.
func (e *estate) refused(name string, up preview.Upstreams) string {
	e.Helper()
	dir, env := e.mirror(name, up)
	text, err := e.tofu(dir, env, "plan", "-input=false", "-no-color", "-lock=false")
	if err == nil {
		e.Fatalf("%s is planned:\n%s", name, text)
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "│", "")), " ")
}

// local is the state of a stack without a backend.
func local(name string) stack.State {
	return stack.State{Type: "local", ID: filepath.ToSlash(filepath.Join(name, "terraform.tfstate"))}
}

// wants checks planned outputs: name, then the value and what is unknown of it.
func (e *estate) wants(p *plan.Plan, want map[string]string) {
	e.Helper()
	got := map[string]string{}
	for name, o := range p.OutputsAfter() {
		value, err := json.Marshal(o.After)
		e.check(err)
		unknown, err := json.Marshal(o.AfterUnknown)
		e.check(err)
		got[name] = string(value)
		if string(unknown) != "false" {
			got[name] += " unknown " + string(unknown)
		}
		if o.AfterSensitive != false {
			got[name] = "sensitive " + got[name]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		e.Errorf("outputs (-want +got):\n%s", diff)
	}
}

// tree is everything below the root with its content, but .assize.
func (e *estate) tree() map[string]string {
	e.Helper()
	all := map[string]string{}
	e.check(filepath.WalkDir(e.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() == ".assize" {
			return cmpSkip(err)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		all[path] = info.Mode().String() + info.ModTime().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			all[path] += string(data)
			return err
		}
		return nil
	}))
	delete(all, e.root) // .assize is made in it
	return all
}

func cmpSkip(err error) error {
	if err == nil {
		return filepath.SkipDir
	}
	return err
}

const chain = `
-- a/main.tf --
variable "n" { default = "x" }
resource "terraform_data" "id" { input = var.n }
output "name" { value = "vpc-$${x} %%{if} ${"$"}$${y} \"q\" \\ é\n\t€😀" }
output "id" { value = terraform_data.id.id }
output "number" { value = length(terraform_data.id.id) }
output "list" { value = ["a", terraform_data.id.id] }
output "set" { value = toset(["a", "b"]) }
output "map" { value = tomap({ a = "1" }) }
output "objects" { value = tolist([{ a = null, b = true }, { a = "x", b = false }]) }
output "part" { value = { a = 1, b = terraform_data.id.id, c = { d = [terraform_data.id.id, -1.5] } } }
output "empty" { value = { list = [], map = {}, string = "", null = null } }
output "null" { value = null }
output "big" { value = 123456789012345678901234567890.123456789 }
output "secret" {
  value     = { word = "hunter2", id = terraform_data.id.id }
  sensitive = true
}
-- b/main.tf --
data "terraform_remote_state" "up" {
  backend = "local"
  config  = { path = "../a/terraform.tfstate" }
}
locals { up = data.terraform_remote_state.up.outputs }
resource "terraform_data" "each" {
  for_each = local.up.set
  input    = local.up.name
}
output "name" { value = local.up.name }
output "id" { value = local.up.id }
output "number" { value = local.up.number }
output "list" { value = local.up.list }
output "first" { value = local.up.list[0] }
output "map" { value = local.up.map }
output "objects" { value = local.up.objects }
output "part" { value = local.up.part }
output "empty" { value = local.up.empty }
output "null" { value = try(local.up.null, "is not there") }
output "big" { value = local.up.big }
output "secret" {
  value     = local.up.secret
  sensitive = true
}
-- c/main.tf --
data "terraform_remote_state" "up" {
  backend = "local"
  config  = { path = "../b/terraform.tfstate" }
}
output "all" {
  value     = data.terraform_remote_state.up.outputs
  sensitive = true
}
output "part" { value = data.terraform_remote_state.up.outputs.part }
`

// TestChain plans b against the planned outputs of a, and c against those of b.
// Nothing was ever applied.
func TestChain(t *testing.T) {
	t.Parallel()
	e := newEstate(t, chain)
	e.init("a", "b", "c")
	before := e.tree()
	a := e.plan("a")
	b := e.preview("b", preview.Upstreams{local("a"): a.OutputsAfter()})
	want := map[string]string{
		"name":    `"vpc-${x} %{if} $${y} \"q\" \\ é\n\t€😀"`,
		"id":      `null unknown true`,
		"number":  `null unknown true`,
		"list":    `["a",null] unknown [false,true]`,
		"first":   `"a"`,
		"map":     `{"a":"1"}`,
		"objects": `[{"a":null,"b":true},{"a":"x","b":false}]`,
		"part":    `{"a":1,"c":{"d":[null,-1.5]}} unknown {"b":true,"c":{"d":[true,false]}}`,
		"empty":   `{"list":[],"map":{},"null":null,"string":""}`,
		"null":    `"is not there"`,
		"big":     `123456789012345678901234567890.123456789`,
		"secret":  `sensitive {"word":"hunter2"} unknown {"id":true}`,
	}
	e.wants(b, want)
	var made []string
	for _, c := range b.Changes {
		if c.Mode == "managed" {
			made = append(made, c.Address)
		}
	}
	if want := []string{`terraform_data.each["a"]`, `terraform_data.each["b"]`}; !slices.Equal(made, want) {
		t.Errorf("b makes %q, want %q", made, want)
	}
	e.hides(b, "hunter2")
	c := e.preview("c", preview.Upstreams{local("b"): b.OutputsAfter()})
	if got := c.OutputsAfter()["part"].AfterUnknown; !cmp.Equal(got, a.OutputsAfter()["part"].AfterUnknown) {
		t.Errorf("c: part is unknown at %v", got)
	}
	if diff := cmp.Diff(before, e.tree()); diff != "" {
		t.Errorf("the user's tree has changed:\n%s", diff)
	}
}

// hides checks that a secret stands in a plan only where it is marked.
func (e *estate) hides(p *plan.Plan, secret string) {
	e.Helper()
	var doc struct {
		Configuration json.RawMessage
	}
	e.check(json.Unmarshal(p.Raw, &doc))
	if bytes.Contains(doc.Configuration, []byte(secret)) {
		e.Errorf("the configuration shows %q", secret)
	}
	if p.Redact(secret) == secret || bytes.Contains(p.MaskedJSON(plan.Labels{}), []byte(secret)) {
		e.Errorf("%q is not marked everywhere", secret)
	}
}

// TestLarge reads an output that is larger than what goes over the socket at once.
func TestLarge(t *testing.T) {
	t.Parallel()
	e := newEstate(t, `
-- b/main.tf --
data "terraform_remote_state" "up" {
  backend = "local"
  config  = { path = "../a/terraform.tfstate" }
}
output "size" { value = length(data.terraform_remote_state.up.outputs.text) }
`)
	e.init("b")
	const size = 3 << 20
	e.wants(e.preview("b", preview.Upstreams{local("a"): {"text": {After: strings.Repeat("x", size)}}}), map[string]string{"size": "3145728"})
}

// TestTargets plans against a plan that says only some outputs.
func TestTargets(t *testing.T) {
	t.Parallel()
	e := newEstate(t, chain)
	e.init("a", "b")
	e.apply("a")
	a := e.plan("a", "-target=terraform_data.id", "-var=n=y")
	e.preview("b", preview.Upstreams{local("a"): a.OutputsAfter()})
}
