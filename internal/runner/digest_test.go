package runner_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/assize-iac/assize/api"
)

func (st *stage) still() api.Binding {
	st.t.Helper()
	b, err := st.Still(api.Binding{Salt: "salt", VarFiles: []string{"prod.tfvars"}})
	if err != nil {
		st.t.Fatal(err)
	}
	return b
}

// Each change moves exactly the part of the binding that it is about.
func TestWhatMoves(t *testing.T) {
	t.Parallel()
	remove := func(name string) func(*stage) {
		return func(st *stage) {
			if err := os.Remove(filepath.Join(st.dir, name)); err != nil {
				st.t.Fatal(err)
			}
		}
	}
	write := func(name, text string) func(*stage) { return func(st *stage) { st.write(name, text) } }
	env := func(entry string) func(*stage) {
		return func(st *stage) { st.Session.Tool.Env = append(st.Session.Tool.Env, entry) }
	}
	for _, tc := range []struct {
		name string
		do   func(*stage)
		want string
	}{
		{"nothing", func(*stage) {}, ""},
		{"a byte of the configuration", write("main.tf", "resource {} \n"), "configuration"},
		{"a new file", write("new.tf.json", "{}"), "configuration"},
		{"a new file of OpenTofu", write("new.tofu", ""), "configuration"},
		{"a file is gone", remove("other.tf"), "configuration"},
		{"a local module", write("../modules/net/main.tf", "changed"), "configuration"},
		{"a link's target", write("../shared.tf", "changed"), "configuration"},
		{"a link that leads nowhere", remove("../shared.tf"), "configuration"},
		{"a downloaded module is the plan file's business", write(".terraform/modules/far/main.tf", "changed"), ""},
		{"a readme", write("README.md", "changed"), ""},
		{"an editor's file", write(".#main.tf", "changed"), ""},
		{"the lock file", write(".terraform.lock.hcl", "changed"), "lock"},
		{"the lock file is gone", remove(".terraform.lock.hcl"), "lock"},
		{"terraform.tfvars", write("terraform.tfvars", "a = 2"), "variables"},
		{"a new auto.tfvars", write("z.auto.tfvars.json", "{}"), "variables"},
		{"a named variable file", write("prod.tfvars", "a = 2"), "variables"},
		{"a named variable file is gone", remove("prod.tfvars"), "variables"},
		{"a variable file that nobody named", write("dev.tfvars", "a = 2"), ""},
		{"TF_VAR_a", env("TF_VAR_a=2"), "variables"},
		{"a variable is moved from one entry to another", env("TF_VAR_b=1\nTF_VAR_c=2"), "variables"},
		{"another environment variable", env("HOME=/nowhere"), ""},
		{"TF_WORKSPACE", env("TF_WORKSPACE=prod"), "workspace"},
		{"the chosen workspace", write(".terraform/environment", "prod"), "workspace"},
		{"the tool", func(st *stage) { st.Session.Tool.Path = filepath.Join(st.dir, "main.tf") }, "tool"},
		{"the tool's name", func(st *stage) { st.Session.Tool.Name = "terraform" }, "tool"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			st := furnished(t)
			before := st.still()
			tc.do(st)
			after := st.still()
			got := ""
			for _, f := range []struct {
				name  string
				moved bool
			}{
				{"configuration", before.Configuration != after.Configuration}, {"lock", before.LockFile != after.LockFile},
				{"variables", before.Variables != after.Variables}, {"workspace", before.Workspace != after.Workspace},
				{"tool", before.Tool != after.Tool},
			} {
				if f.moved {
					got += f.name
				}
			}
			if got != tc.want {
				t.Errorf("moved %q, want %q", got, tc.want)
			}
		})
	}
}

// TestFilesOfTheConfiguration has a digest for each file, by the name that people
// know, until there are too many to keep.
func TestFilesOfTheConfiguration(t *testing.T) {
	t.Parallel()
	st := furnished(t)
	before := st.still().Files
	if before["main.tf"] == "" || before["../modules/net/main.tf"] == "" || before["README.md"] != "" {
		t.Fatalf("the files are %v", before)
	}
	st.write("main.tf", "changed")
	st.write("bad\xff.tf", "") // which JSON cannot write
	after := st.still().Files
	if len(after) != len(before) || after["main.tf"] == before["main.tf"] || after["../modules/net/main.tf"] != before["../modules/net/main.tf"] {
		t.Errorf("the files were %v and are %v", before, after)
	}
	for i := range 300 {
		st.write(fmt.Sprintf("f%d.tf", i), "")
	}
	if many := st.still(); many.Files != nil || many.Configuration == "" {
		t.Errorf("%d files are kept", len(many.Files))
	}
}

// furnished is a stack with everything that a plan can be made from.
func furnished(t *testing.T) *stage {
	t.Helper()
	st := newStage(t, nil)
	st.dir = filepath.Join(st.dir, "stack")
	st.Session.Dir = st.dir
	st.write("main.tf", "resource {}\n")
	st.write("other.tf", "")
	st.write("../shared.tf", "shared")
	st.write("../modules/net/main.tf", "module")
	st.write(".terraform/modules/far/main.tf", "far")
	st.write(".terraform/modules/modules.json",
		`{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"net","Source":"../modules/net","Dir":"../modules/net"},{"Key":"far","Source":"git::x","Dir":".terraform/modules/far"}]}`)
	st.write(".terraform.lock.hcl", "lock")
	st.write("terraform.tfvars", "a = 1")
	st.write("prod.tfvars", "b = 1")
	if err := os.Symlink("../shared.tf", filepath.Join(st.dir, "shared.tf")); err != nil {
		t.Fatal(err)
	}
	return st
}

// Equal variables in two warrants must not look equal, and the same salt must
// find them again.
func TestVariablesAreSalted(t *testing.T) {
	t.Parallel()
	st := furnished(t)
	digest := func(salt string) string {
		b, err := st.Still(api.Binding{Salt: salt})
		if err != nil {
			t.Fatal(err)
		}
		return b.Variables
	}
	first, again, other := digest("a"), digest("a"), digest("b")
	if first != again || first == other {
		t.Errorf("the salt does not salt: %s, again %s, with another one %s", first, again, other)
	}
}
