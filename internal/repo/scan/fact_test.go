package scan

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/internal/settings"
)

// texts are expressions of every kind that a fact has a form for, and some that
// it has none for.
var texts = []string{
	`"k"`, `"a for b"`, `1`, `true`, `null`, `"${terraform.workspace}/k"`, `terraform.workspace`, `path.module`, `"${path.root}/s"`,
	`local.a`, `local.w`, `local.v`, `local.gone`, `"${local.a}-${local.w}"`, `var.x`, `var.set`, `var.gone`, `var.hidden`, `"${var.y}-${var.x}"`, `toset(var.set)`, `{ name = var.y }`, `"${var.x}/${terraform.workspace}"`, `each.key`,
	`"${each.value}/k"`, `join("/", ["a", "b"])`, `upper(local.a)`, `(("k"))`, `true ? "a" : "b"`, `terraform.workspace == "x" ? "a" : "b"`,
	`[for s in ["a"] : s]`, `"%{for s in ["a"]}${s}%{endfor}"`, "<<EOT\nk\nEOT\n", "<<-EOT\n  ${terraform.workspace}\n  EOT\n", `{ name = "w" }`, `{ name = terraform.workspace }`,
	`{}`, `{ key = "k", region = var.x, (terraform.workspace) = "x" }`, `[{ prefix = "p-" }]`, `toset(["a", "b"])`, `{ a = "b", c = terraform.workspace }`, `file("x")`, `data.a.b.c`, `"é${terraform.workspace}"`, `["a"][0]`, `merge({ key = "k" }, { bucket = terraform.workspace })`,
}

// declared are the variables of the directories here.
const declared = `
variable "x" {}
variable "y" { default = "Y" }
variable "set" {
  type    = set(string)
  default = ["a", "b"]
}
variable "hidden" {
  default   = "canary"
  sensitive = true
}
`

// assignments are what is known of their values: nothing, no more than they
// say themselves, and what a plan gives them.
func (s *scanner) assignments(d *directory) []*assignment {
	text := "X"
	return []*assignment{nil, s.assign(d, settings.Effective{}), s.assign(d, settings.Effective{
		Env: map[string]settings.PerMode{"TF_VAR_x": {Plan: &text}, "TF_VAR_hidden": {Plan: &text}},
	})}
}

// TestSaying: an expression that was noted is what it was, in every scope and in
// every place that one can have.
func TestSaying(t *testing.T) {
	t.Parallel()
	for _, text := range texts {
		data := []byte("locals {\n  a = \"A\"\n  w = terraform.workspace\n  v = var.x\n}\n" + declared + "check \"c\" {\n  b = " + text + "\n}\n")
		body, diags := parse(data, "x/y/main.tf")
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		d := &directory{path: "x/y", locals: map[string]hcl.Expression{}, variables: map[string]variable{}}
		d.merge(body, false)
		blocks := body.(*hclsyntax.Body).Blocks
		expr := blocks[len(blocks)-1].Body.Attributes["b"].Expr
		noter := func() *noter {
			return &noter{d.scope("", ""), map[string][]byte{"x/y/main.tf": data}, true, map[string]bool{}}
		}
		n, m := noter(), noter()
		again, config := d.expression(n.say(expr)), d.expression(m.config(expr))
		if mayFail := strings.Contains(text, "local.") || strings.Contains(text, "EOT"); !n.ok && !mayFail {
			t.Errorf("%s cannot be noted", text)
		}
		for _, each := range []map[string]cty.Value{nil, {"key": cty.StringVal("a"), "value": cty.StringVal("b")}} {
			for _, workspace := range []string{"", "x"} {
				for _, module := range []string{"", "../m"} {
					show := func(e hcl.Expression, given *assignment) string {
						sc := d.scope(workspace, module)
						sc.each, sc.given = each, given
						text, ok := sc.text(e)
						elements, also := sc.elements(e)
						p := newPlace("s3")
						v, known := sc.value(e)
						p.setValue("workspaces", v, known)
						return fmt.Sprintf("%q %v %v %v %v", text, ok, elements, also, p)
					}
					where := func(e hcl.Expression, given *assignment) string {
						sc := d.scope(workspace, module)
						sc.each, sc.given = each, given
						p := newPlace("s3")
						p.overlayObject(e, sc)
						return fmt.Sprint(p)
					}
					for _, given := range new(scanner).assignments(d) {
						if want, got := show(expr, given), show(again, given); n.ok && got != want {
							t.Errorf("%s is %s, want %s", text, got, want)
						}
						if want, got := where(expr, given), where(config, given); m.ok && got != want {
							t.Errorf("%s: the config is %v, want %v", text, got, want)
						}
					}
				}
			}
		}
	}
}

// TestFact: a directory that recalls a fact says exactly what its syntax tree
// said, for every workspace and place.
func TestFact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		text := func() string { return rapid.SampledFrom(texts).Draw(r, "text") }
		var b strings.Builder
		fmt.Fprintf(&b, "locals {\n  a = \"A\"\n  w = terraform.workspace\n  v = %s\n}\n%s", text(), declared)
		fmt.Fprintf(&b, "terraform {\n  backend %q {\n    bucket = %s\n    key = %s\n    path = %s\n    workspaces {\n      name = %s\n    }\n  }\n}\n",
			rapid.SampledFrom([]string{"s3", "local", "remote", "gcs"}).Draw(r, "kind"), text(), text(), text(), text())
		fmt.Fprintf(&b, "module \"m\" {\n  source = %s\n  version = %s\n}\n", text(), text())
		each := ""
		if rapid.Bool().Draw(r, "each") {
			each = "  for_each = " + text() + "\n"
		}
		config := fmt.Sprintf("{\n    bucket = %s\n    key = %s\n    region = %s\n    workspaces = %s\n  }", text(), text(), text(), text())
		if rapid.IntRange(0, 4).Draw(r, "whole") == 0 {
			config = text()
		}
		fmt.Fprintf(&b, "data \"terraform_remote_state\" \"r\" {\n%s  backend = %s\n  workspace = %s\n  config = %s\n}\n", each, rapid.SampledFrom([]string{`"s3"`, `"remote"`, `"gcs"`, text()}).Draw(r, "backend"), text(), config)
		fmt.Fprintf(&b, "provider \"tfe\" {\n  organization = %s\n}\ndata \"tfe_outputs\" \"o\" {\n  organization = %s\n  workspace = %s\n}\n", text(), text(), text())
		sameFact(r, map[string]string{"main.tf": b.String()})
	})
}

// TestFactOfCases does it for the files of every case; facts of some can be made.
func TestFactOfCases(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatal(err)
	}
	noted := 0
	for _, name := range cases {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		dirs := map[string]map[string]string{}
		for _, f := range archive.Files {
			dir, base := filepath.Split(f.Name)
			if isConfiguration(base) {
				if dirs[dir] == nil {
					dirs[dir] = map[string]string{}
				}
				dirs[dir][base] = string(f.Data)
			}
		}
		for _, files := range dirs {
			if sameFact(t, files) {
				noted++
			}
		}
	}
	if noted == 0 {
		t.Error("no fact was made")
	}
}

// sameFact reports whether a fact could be made.
func sameFact(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, files map[string]string) bool {
	memory := fstest.MapFS{}
	for name, text := range files {
		memory["x/y/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	s, err := newScanner(memory, Options{})
	if err != nil {
		t.Fatal(err)
	}
	parsed := func() (*directory, map[string][]byte) {
		d, data := &directory{path: "x/y", locals: map[string]hcl.Expression{}, variables: map[string]variable{}}, map[string][]byte{}
		for _, name := range chosen(s.dirs["x/y"], "tofu") {
			name = "x/y/" + name
			data[name] = []byte(files[filepath.Base(name)])
			d.load(data[name], name)
		}
		return d, data
	}
	plain, _ := parsed()
	noted, data := parsed()
	f, ok := noted.fact(data)
	if !ok {
		return false
	}
	noted.recall(f)
	if want, got := s.says(plain), s.says(noted); got != want {
		t.Fatalf("%v\nthe tree says\n%s\nthe fact says\n%s", files, want, got)
	}
	return true
}

// says is everything that a directory says to whoever calls it.
func (s *scanner) says(d *directory) string {
	var b strings.Builder
	s.resolveCalls(d)
	fmt.Fprintln(&b, d.known, d.fixed, d.warnings, d.problems, d.position(), d.resources)
	for _, workspace := range []string{"", "default", "x"} {
		for _, module := range []string{"", ".", "../m"} {
			for _, given := range s.assignments(d) {
				sc := d.scope(workspace, module)
				sc.given = given
				if p, ok := d.place(sc, nil); ok {
					fmt.Fprintln(&b, p, p.state(workspace, "x/y"))
				}
				for _, r := range d.reads {
					states, ok := d.states(r, sc, "x/y")
					fmt.Fprintln(&b, r.kind, r.name, position(r.at), states, ok)
				}
			}
		}
	}
	return b.String()
}
