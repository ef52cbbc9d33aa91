package scan_test

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/internal/repo/scan"
	"github.com/assize-iac/assize/internal/settings"
	"github.com/assize-iac/assize/internal/stack"
)

// TestReadsAgree: in every tree, the blocks of a stack read what the graph says
// that it reads, itself and through modules.
func TestReadsAgree(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/*.txtar")
	must(t, err)
	checked := 0
	for _, name := range names {
		c := readTree(t, name)
		files := c.disk(t)
		r, err := scan.Scan(files, c.options)
		must(t, err)
		if len(r.Problems) > 0 { // of what is broken nothing is promised
			continue
		}
		for _, s := range r.Stacks {
			if strings.HasSuffix(s.Position, ".cue:1") { // what a specification comes to is there once it is planned
				continue
			}
			reading, err := scan.Reads(files, c.settings(t, s.Key), s.Tool)
			must(t, err)
			var got []stack.State
			for _, read := range reading.Reads {
				for _, state := range read.States {
					got = append(got, state)
				}
			}
			want := sorted(reads(r, s))
			if s.Tool != cmp.Or(c.options.Tool, "tofu") { // a module of the graph also has what only the other tool reads
				want = slices.DeleteFunc(want, func(state stack.State) bool { return !slices.Contains(got, state) })
			}
			if diff := gocmp.Diff(want, sorted(got)); diff != "" {
				t.Errorf("%s: %s (-graph +blocks)\n%s", name, s.Key, diff)
			}
			checked += len(got)
		}
	}
	if checked < 20 {
		t.Errorf("%d reads were compared", checked)
	}
}

// settings are those of a stack.
func (c *tree) settings(t *testing.T, k stack.Key) settings.Effective {
	t.Helper()
	if c.options.Instances == nil { // the case says nothing of any
		return settings.Effective{Path: k.Path}
	}
	all, _, err := c.options.Instances(k.Path)
	must(t, err)
	e := all[slices.IndexFunc(all, func(e settings.Effective) bool { return e.Instance == k.Instance })]
	e.Path = k.Path
	return e
}

// reads are those of a stack and of the modules that it calls.
func reads(r scan.Result, s stack.Stack) []stack.State {
	all, seen := slices.Clone(s.Reads), map[string]bool{}
	for next := s.Calls; len(next) > 0; next = next[1:] {
		i := slices.IndexFunc(r.Modules, func(m stack.Module) bool { return m.Path == next[0].Key })
		if next[0].Kind == stack.LocalModule && i >= 0 && !seen[next[0].Key] {
			seen[next[0].Key] = true
			all, next = append(all, r.Modules[i].Reads...), append(slices.Clip(next), r.Modules[i].Calls...)
		}
	}
	return all
}

func sorted(states []stack.State) []stack.State {
	slices.SortFunc(states, func(a, b stack.State) int {
		return cmp.Or(strings.Compare(a.Type, b.Type), strings.Compare(a.ID, b.ID))
	})
	return slices.Compact(states)
}

// TestReads says of each block where it stands and what it reads by key.
func TestReads(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"app/main.tf": {Data: []byte(`
locals { up = { one = "net", two = "dns" } }
data "terraform_remote_state" "each" {
  for_each = local.up
  backend  = "local"
  config   = { path = "../${each.value}/terraform.tfstate" }
  defaults = merge({ a = 1 }, {
    b = "€" # of two lines
  })
}
data "terraform_remote_state" "none" {
  for_each = toset([])
  backend  = "local"
}
module "m" { source = "../link" }
`)},
		"app/x.tf.json":        {Data: []byte(`{"data": {"tfe_outputs": {"t": {"workspace": "w-${terraform.workspace}", "organization": "o", "defaults": {"a": 1}}}}}`)},
		"app/main_override.tf": {Data: []byte(`data "terraform_remote_state" "each" { workspace = terraform.workspace }`)},
		"link":                 {Data: []byte("real"), Mode: 1 << 27},
		"real/main.tf": {Data: []byte(`
variable "v" {}
data "terraform_remote_state" "v" {
  backend = "local"
  config  = { path = var.v }
}
`)},
	}
	got, err := scan.Reads(files, settings.Effective{Path: "app", Workspace: "prod"}, "tofu")
	must(t, err)
	prod := stack.State{Type: "local", ID: "app/terraform.tfstate.d/prod/terraform.tfstate"}
	want := scan.Reading{
		Links: []string{"link"},
		Reads: []scan.Read{
			{
				Module: "app", Block: "data", Kind: "terraform_remote_state", Name: "each", Position: "app/main.tf:3:1", Each: true,
				States:   map[string]stack.State{"one": prod, "two": prod},
				Defaults: "merge({ a = 1 }, {\n    b = \"€\" # of two lines\n  })",
			},
			{Module: "app", Block: "data", Kind: "terraform_remote_state", Name: "none", Position: "app/main.tf:11:1", Each: true, States: map[string]stack.State{}},
			{
				Module: "app", Block: "data", Kind: "tfe_outputs", Name: "t", Position: "app/x.tf.json:1:32", Defaults: `{"a": 1}`, JSON: true,
				States: map[string]stack.State{"": {Type: "remote", ID: "app.terraform.io/o/w-prod"}},
			},
			{Module: "real", Block: "data", Kind: "terraform_remote_state", Name: "v", Position: "real/main.tf:3:1"},
		},
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	files["app/main.tf"] = &fstest.MapFile{Data: []byte("data {")}
	if _, err := scan.Reads(files, settings.Effective{Path: "app"}, "tofu"); err == nil {
		t.Error("what does not parse has reads")
	}
}
