package settings_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/settings"
)

func root(t interface{ Fatal(...any) }, yaml string) *settings.Root {
	r, err := settings.ParseRoot("assize.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func directory(t interface{ Fatal(...any) }, yaml string) *settings.Directory {
	d, err := settings.ParseDirectory(".assize.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// texts compares texts by what is written.
var texts = cmpopts.IgnoreUnexported(settings.Text{})

// TestDefaults: a repository that says nothing gets what the page promises.
func TestDefaults(t *testing.T) {
	t.Parallel()
	want := &settings.Root{
		Layer: settings.Layer{PlanOutput: settings.Text{Value: "full"}, Env: map[string]settings.Variable{}},
		Stacks: settings.Stacks{
			Ignore: []string{"**/*.md", "**/README", "**/README.{adoc,rst,txt}"},
		},
		ModulePaths: []string{"modules/**"},
		Apply: settings.ApplyPolicy{
			Mode: settings.Text{Value: "before_merge"}, FromPlan: settings.Placed[bool]{Value: true}, MaxParallel: settings.Placed[int]{Value: 6},
		},
		Propagate: settings.Propagate{Dependents: settings.Placed[bool]{Value: true}, CrossRepo: settings.Text{Value: "off"}},
	}
	for _, nothing := range []string{"", "\n", "# nothing\n", "---\n", "{}"} {
		if diff := cmp.Diff(want, root(t, nothing), texts); diff != "" {
			t.Errorf("%q (-want +got):\n%s", nothing, diff)
		}
		if diff := cmp.Diff(&settings.Directory{Layer: settings.Layer{Env: map[string]settings.Variable{}}}, directory(t, nothing), texts); diff != "" {
			t.Errorf("%q (-want +got):\n%s", nothing, diff)
		}
	}
}

// TestStacks: what the scan is told.
func TestStacks(t *testing.T) {
	t.Parallel()
	for yaml, want := range map[string]settings.Stacks{
		"stacks: {discover: [], exclude: []}": {Ignore: []string{"**/*.md", "**/README", "**/README.{adoc,rst,txt}"}},
		"stacks: {discover: ['a/**'], include: [./b/, c], exclude: [d], ignore: [], ignore_lockfile: true}": {
			Discover: []string{"a/**"}, Include: []string{"b", "c"}, Exclude: []string{"d"}, Ignore: []string{"**/.terraform.lock.hcl"},
		},
		"stacks: {ignore: []}": {},
	} {
		if diff := cmp.Diff(want, root(t, yaml).Stacks, texts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", yaml, diff)
		}
	}
}

// TestProblems: everything that is wrong with a file is said at once, in its
// order, with line, column and key, and with what to do (docs/configuration.md,
// rule 2).
func TestProblems(t *testing.T) {
	t.Parallel()
	_, err := settings.ParseRoot("assize.yaml", []byte(`version: "1"
tool: tofu
tool: terraform
tool_version: 1.10
stacks:
  discover: [./a, b/, '[', ~, 3]
  exclude: x
apply: ~
env:
  A: &x 1
`))
	want := "assize.yaml:10:6: anchors, aliases, merge keys and tags are not read here; write the value out"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	_, err = settings.ParseRoot("assize.yaml", []byte(`version: "1"
tool: tofu
tool: terraform
tool_version: 1.10
stacks:
  discover: [./a, b/, '[', ~, 3]
  exclude: x
apply: ~
policies: [{path: a, stacks: ['']}, ~]
exceptions: ""
`))
	want = `assize.yaml:1:10: version can only be the number 1
assize.yaml:3:1: duplicate field "tool"
assize.yaml:4:15: tool_version is a number, want a string; put it in quotes
assize.yaml:6:14: stacks: discover: entry 1: "./a" never matches a directory; write it relative, such as infra/prod or infra/**
assize.yaml:6:19: stacks: discover: entry 2: "b/" never matches a directory; write it relative, such as infra/prod or infra/**
assize.yaml:6:23: stacks: discover: entry 3: "[" is no valid pattern
assize.yaml:6:28: stacks: discover: entry 4: "" never matches a directory; write it relative, such as infra/prod or infra/**
assize.yaml:6:31: stacks: discover: entry 5: "" never matches a directory; write it relative, such as infra/prod or infra/**
assize.yaml:7:12: stacks: exclude is a string, want a list
assize.yaml:8:8: apply: null, want an object
assize.yaml:9:31: policies: entry 1: stacks: entry 1: "" never matches a directory; write it relative, such as infra/prod or infra/**
assize.yaml:9:37: policies: entry 2: it has no path
assize.yaml:10:13: exceptions is empty`
	if err == nil || problem.Hint(err) == "" {
		t.Fatalf("error %v, want one with a hint", err)
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

// TestResolveProblems: problems of several files and templates are one error,
// each at its place, and none shows a part of what is called like a secret.
func TestResolveProblems(t *testing.T) {
	t.Parallel()
	r := root(t, "var_files: ['../{{ .Name }}/../../../x']\nenv: {A: '{{ lt 1 \"a\" }}', TOKEN: '{{ lt 1 \"hunter2\" }}'}\n")
	d := directory(t, "depends_on: ['{{ .Path }}:{{ .Instance }}', '{{ if false }}x{{ end }}']\nworkspace: '{{ .Key }}'\n")
	_, err := settings.Resolve(r, "infra/a", d, "", "")
	want := `.assize.yaml:2:12: workspace: for infra/a: workspace "infra/a" holds a slash, a colon or a space
assize.yaml:1:13: var_files: for infra/a: "../a/../../../x" leads out of the repository; files are relative to the stack's directory
.assize.yaml:1:14: depends_on: for infra/a: "infra/a:" has no instance after the colon
.assize.yaml:1:45: depends_on: for infra/a: it renders to nothing
assize.yaml:2:10: env.A: for infra/a: the template: at <lt 1 "a">: error calling lt: incompatible types for comparison: int and string
assize.yaml:2:35: env.TOKEN: for infra/a: the template is wrong; why would show a part of it, and it is called like a secret`
	if err == nil {
		t.Fatal("it resolves")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

// TestSecretTemplates: nor does a complaint of the parser.
func TestSecretTemplates(t *testing.T) {
	t.Parallel()
	_, err := settings.ParseRoot("assize.yaml", []byte(`backend_config: ['secret_key={{ hunter2 }}']
env: {TOKEN: '{{ "hunter2" "x }}', A_PASSWORD: {plan: '{{ .hunter2 }}'}}
`))
	if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Count(err.Error(), "called like a secret") != 3 {
		t.Errorf("%v", err)
	}
}

// TestLiteralVarFile: the name of a file is no template, whoever named it so.
func TestLiteralVarFile(t *testing.T) {
	t.Parallel()
	file := "production.{{ .Path }}.tfvars"
	e, err := settings.Resolve(root(t, "stacks: {instances: {from_var_files: '*'}}"), "a", directory(t, ""), "production", file)
	if err != nil || !slices.Equal(e.VarFiles, []string{file}) {
		t.Errorf("%v, %v", e.VarFiles, err)
	}
}

// TestOverride: the environment is stronger than the files
// (docs/configuration.md, rule 19).
func TestOverride(t *testing.T) {
	t.Parallel()
	env := map[string]string{"ASSIZE_TOOL": "terraform", "ASSIZE_TOOL_VERSION": "1.2.3", "ASSIZE_BACKEND_CONFIG": "a=1, b.hcl,,"}
	e, err := settings.Resolve(root(t, "tool: tofu"), "a", directory(t, ""), "", "")
	if err == nil {
		err = e.Override(func(name string) string { return env[name] })
	}
	if err != nil || e.Tool != "terraform" || e.ToolVersion != "1.2.3" || !slices.Equal(e.ExtraBackendConfig, []string{"a=1", "b.hcl"}) {
		t.Errorf("%+v, %v", e, err)
	}
	if want := []string{"ASSIZE_TOOL"}; !slices.Equal(e.Origins["tool"], want) {
		t.Errorf("tool comes from %v, want %v", e.Origins["tool"], want)
	}
	if err := e.Override(func(string) string { return "pulumi" }); err == nil {
		t.Error("a tool that does not exist is accepted")
	}
}

// TestMergeOrder: whatever the levels say, lists are the levels' lists in order,
// and of a variable the most specific level counts, with the origin to match.
func TestMergeOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		level := func(name string) (lists []string, env map[string]string, yaml string) {
			lists = rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,4}`), 0, 3).Draw(t, name)
			env = rapid.MapOfN(rapid.SampledFrom([]string{"A", "B", "C"}), rapid.StringMatching(`[a-z]{0,3}`), 0, 3).Draw(t, name+" env")
			yaml = fmt.Sprintf("backend_config: %s, var_files: %[1]s, env: %s", flow(lists), flowMap(env))
			return lists, env, yaml
		}
		rootList, rootEnv, rootYAML := level("root")
		dirList, dirEnv, dirYAML := level("directory")
		instList, instEnv, instYAML := level("instance")
		e, err := settings.Resolve(root(t, "{"+rootYAML+"}"), "a/b", directory(t, "{"+dirYAML+", instances: {i: {"+instYAML+"}}}"), "i", "")
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Concat(rootList, dirList, instList)
		if !slices.Equal(e.BackendConfig, want) || !slices.Equal(e.VarFiles, want) || len(e.Origins["var_files"]) != len(want) {
			t.Fatalf("%v, %v; want %v", e.BackendConfig, e.VarFiles, want)
		}
		env := map[string]string{}
		for _, m := range []map[string]string{rootEnv, dirEnv, instEnv} {
			for name, value := range m {
				env[name] = value
			}
		}
		for _, mode := range []settings.Mode{settings.Plan, settings.Apply, settings.Drift} {
			if diff := cmp.Diff(env, e.EnvFor(mode)); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", mode, diff)
			}
		}
	})
}

func flow(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = fmt.Sprintf("%q", s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func flowMap(m map[string]string) string {
	var parts []string
	for k, v := range m {
		parts = append(parts, fmt.Sprintf("%s: %q", k, v))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// TestMostSpecificEnvironment: of the keys that match, no order of the file
// changes which one holds.
func TestMostSpecificEnvironment(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{":i", "a", "a/b", "a/b:i", "a:i", "b", "a/bc", ":j", "a/b:j", ".:k"}), 1, 8, rapid.ID).Draw(t, "keys")
		resolve := func(keys []string) string {
			m := make([]string, len(keys))
			for i, k := range keys {
				m[i] = fmt.Sprintf("%q: %q", k, k)
			}
			e, err := settings.Resolve(root(t, "environments: {"+strings.Join(m, ", ")+"}"), "a/b", directory(t, ""), "i", "")
			if err != nil {
				t.Fatal(err)
			}
			return e.Environment
		}
		want := "i"
		for _, k := range []string{"a", "a/b", ":i", "a:i", "a/b:i"} { // from the least specific on
			if slices.Contains(keys, k) {
				want = k
			}
		}
		if got := resolve(rapid.Permutation(keys).Draw(t, "order")); got != want {
			t.Fatalf("%v: %s holds, want %s", keys, got, want)
		}
	})
}
