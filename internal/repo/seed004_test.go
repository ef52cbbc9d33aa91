package repo_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/internal/repo"
	"github.com/assize-iac/assize/internal/stack"
)

const (
	partial  = "terraform {\n  backend \"s3\" {}\n}\n"
	instance = "stacks: {instances: {from_var_files: 'workspaces/*.tfvars.json'}}\nbackend_config: [state.tfbackend, 'key={{ .Path }}/{{ .Instance }}.tfstate']\n"
	reads    = "data \"terraform_remote_state\" \"x\" {\n  backend = \"s3\"\n  config = {\n    bucket = \"states\"\n    key    = \"net/${terraform.workspace}.tfstate\"\n  }\n}\n"
)

// TestSeed004 holds what a checkout comes to, from its files to the graph,
// against sentences of seed 004, "Scan and graph" unless they say otherwise.
func TestSeed004(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		says  string
		files map[string]string
		want  string
	}{
		{
			"The scanner globs from_var_files in each stack directory, computes the instance set and calls addStack once per instance.",
			map[string]string{
				"assize.yaml": instance, "state.tfbackend": "bucket = \"states\"\n",
				"net/main.tf": partial, "net/workspaces/prod.tfvars.json": "{}", "net/workspaces/dev.tfvars.json": "{}",
				"app/main.tf": partial, "app/workspaces/prod.tfvars.json": "{}", "lib/workspaces/x.tfvars.json": "{}",
			},
			`app:prod in prod, s3 states/app/prod.tfstate, watches state.tfbackend
			net:dev in dev, s3 states/net/dev.tfstate, watches state.tfbackend
			net:prod in prod, s3 states/net/prod.tfstate, watches state.tfbackend`,
		},
		{
			"name=value sets one attribute, in order; only what names the state is read, everything else is ignored.",
			map[string]string{
				"assize.yaml":     "backend_config: [state.tfbackend, region=eu, workspace_key_prefix=ws, use_lockfile=true, profile=me, key=last]\n",
				"state.tfbackend": "bucket = \"states\"\nkey = \"first\"\nshared_credentials_files = [\"x\"]\n",
				"net/main.tf":     partial, "net/.assize.yaml": "workspace: blue\n",
			},
			"net:blue in blue, workspace blue, s3 states/ws/blue/last, watches state.tfbackend",
		},
		{
			"Identities and names: Meta bucket and key (the full S3 object key, workspace prefix included).",
			map[string]string{
				"assize.yaml": "backend_config: [bucket=states, key=net]\n", "net/main.tf": partial, "net/.assize.yaml": "workspace: blue\n",
				"app/main.tf":      "terraform {\n  backend \"local\" {}\n}\ndata \"terraform_remote_state\" \"x\" {\n  backend   = \"s3\"\n  workspace = \"blue\"\n  config = {\n    bucket = \"states\"\n    key    = \"net\"\n  }\n}\n",
				"app/.assize.yaml": "backend_config: []\n", "app/x": "",
			},
			`app in default, local app/terraform.tfstate
			net:blue in blue, workspace blue, s3 states/env:/blue/net
			app reads_state net:blue, s3 states/env:/blue/net`,
		},
		{
			"Inferred reads_state edges and the shared-state-object warning therefore work per instance, including two instances that render the same key.",
			map[string]string{
				"assize.yaml": "backend_config: [bucket=states]\n", "net/main.tf": partial,
				"net/.assize.yaml": "instances: {a: {backend_config: [key=net/a.tfstate]}, b: {backend_config: [key=net/b.tfstate]}, c: {backend_config: [key=net/b.tfstate]}}\n",
				"app/main.tf":      partial + reads, "app/.assize.yaml": "instances: [a, b]\nworkspace: '{{ .Instance }}'\nbackend_config: ['key=app']\n",
			},
			`app:a in a, workspace a, s3 states/env:/a/app
			app:b in b, workspace b, s3 states/env:/b/app
			net:a in a, s3 states/net/a.tfstate
			net:b in b, s3 states/net/b.tfstate
			net:c in c, s3 states/net/b.tfstate
			app:a reads_state net:a, s3 states/net/a.tfstate
			app:b reads_state net:b, s3 states/net/b.tfstate
			app:b reads_state net:c, s3 states/net/b.tfstate
			warning: several stacks keep their state in the same place, s3 states/net/b.tfstate: net:b, net:c`,
		},
		{
			"A missing file is a scan error.",
			map[string]string{"assize.yaml": "backend_config: [gone.tfbackend]\n", "net/main.tf": partial},
			`warning: net could not be read; it may be a stack, and is missing here
			problem: net: backend_config: gone.tfbackend does not exist`,
		},
		{
			"WatchPaths holds the files that the stack's own directory does not own, sorted and unique. A listed var file that does not exist is a scan warning.",
			map[string]string{
				"assize.yaml": "backend_config: [z.tfbackend, a.tfbackend, z.tfbackend, net/own.tfbackend, bucket=states, key=net]\nvar_files: [../z.tfvars, ../z.tfvars, own.tfvars, inner/x.tfvars, none.tfvars]\n",
				"z.tfbackend": "", "a.tfbackend": "", "z.tfvars": "", "net/own.tfbackend": "", "net/own.tfvars": "", "net/main.tf": partial,
				"net/inner/main.tf": "terraform {\n  backend \"local\" {}\n}\n", "net/inner/.assize.yaml": "var_files: []\n", "net/inner/x.tfvars": "", "net/inner/own.tfvars": "",
				"net/inner/inner/x.tfvars": "", "net/inner/none.tfvars": "", "net/z.tfvars": "",
			},
			`net in default, s3 states/net, watches a.tfbackend net/inner/x.tfvars z.tfbackend z.tfvars
			net/inner in default, local net/inner/terraform.tfstate, watches a.tfbackend net/own.tfbackend net/z.tfvars z.tfbackend
			warning: net: var_files: net/none.tfvars does not exist`,
		},
		{
			"A rendered depends_on entry without a suffix that names a directory with instances resolves to the instance of the same name; a cross-repository entry names its instance itself, with a template if it wants the same one.",
			map[string]string{
				"assize.yaml": instance, "state.tfbackend": "bucket = \"states\"\n",
				"net/main.tf": partial, "net/workspaces/prod.tfvars.json": "{}", "net/workspaces/dev.tfvars.json": "{}",
				"app/main.tf": partial, "app/workspaces/prod.tfvars.json": "{}",
				"app/.assize.yaml": "depends_on: ['{{ trimSuffix \"app\" .Path }}net', 'acme/other//tgw:{{ .Instance }}']\n",
			},
			`app:prod in prod, s3 states/app/prod.tfstate, watches state.tfbackend
			net:dev in dev, s3 states/net/dev.tfstate, watches state.tfbackend
			net:prod in prod, s3 states/net/prod.tfstate, watches state.tfbackend
			app:prod depends_on acme/other//tgw:prod
			app:prod depends_on net:prod`,
		},
		{
			"Stack instances: workspace: blue is one instance named blue, keyed path:blue; with instances the workspace is a template such as {{ .Instance }}.",
			map[string]string{
				"a/main.tf": "terraform {\n  backend \"local\" {}\n}\n", "a/.assize.yaml": "workspace: blue\n",
				"b/main.tf": "terraform {\n  backend \"local\" {}\n}\n", "b/.assize.yaml": "instances: [x]\nworkspace: 'w-{{ .Instance }}'\nenvironment: default\n",
			},
			`a:blue in blue, workspace blue, local a/terraform.tfstate.d/blue/terraform.tfstate
			b:x in default, workspace w-x, local b/terraform.tfstate.d/w-x/terraform.tfstate`,
		},
	} {
		t.Run(tt.says, func(t *testing.T) {
			t.Parallel()
			var want []string
			for line := range strings.Lines(tt.want) {
				want = append(want, strings.TrimSpace(line))
			}
			dir := tree(t, tt.files)
			for range 3 { // the order of maps and files never matters
				if diff := cmp.Diff(want, estate(t, dir)); diff != "" {
					t.Fatalf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

// estate is the graph of a checkout as the cases write it.
func estate(t *testing.T, dir string) (lines []string) {
	t.Helper()
	cfg, err := repo.Settings(dir)
	if err != nil {
		t.Fatal(err)
	}
	scanned, err := cfg.Stacks("acme/infra")
	if err != nil {
		t.Fatal(err)
	}
	g, err := stack.Build(scanned.Scanned)
	if err != nil {
		t.Fatal(err)
	}
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	shape := g.Shape()
	for _, s := range shape.Stacks {
		if s.External {
			continue
		}
		parts := []string{s.Key + " in " + s.Environment}
		if s.Workspace != "" {
			parts = append(parts, "workspace "+s.Workspace)
		}
		parts = append(parts, s.State.Type+" "+s.State.ID)
		if len(s.WatchPaths) > 0 {
			parts = append(parts, "watches "+strings.Join(s.WatchPaths, " "))
		}
		add("%s", strings.Join(parts, ", "))
	}
	for _, e := range shape.Edges {
		text := fmt.Sprintf("%s %s %s", e.From, e.Kind, e.To)
		if e.State != nil {
			text += ", " + e.State.Type + " " + e.State.ID
		}
		add("%s", text)
	}
	for _, w := range slices.Sorted(slices.Values(shape.Warnings)) {
		add("warning: %s", w)
	}
	for _, p := range scanned.Problems {
		add("problem: %s", p.Message)
	}
	return lines
}
