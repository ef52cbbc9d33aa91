package settings_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/assize-iac/assize/internal/settings"
	"github.com/assize-iac/assize/internal/stack"
)

// A sentence of seed 004, "Identities and names" or "Configuration" unless it
// says otherwise, and what becomes of it.
type sentence struct {
	says      string
	root, dir string   // YAML
	key       string   // of the stack; default infra/network:production
	matched   []string // by from_var_files
	ask       string   // a key of the settings, or instances
	want      string   // what answer says, or a part of the problem
}

const fromVarFiles = "stacks: {instances: {from_var_files: 'workspaces/*.tfvars.json'}}\n"

func TestSeed004(t *testing.T) {
	t.Parallel()
	prod, staging := "workspaces/production.tfvars.json", "workspaces/staging.tfvars.json"
	for i, s := range slices.Concat(instanceSentences(prod, staging), mergeSentences(prod), templateSentences(), environmentSentences(), strictSentences()) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			if s.key == "" {
				s.key = "infra/network:production"
			}
			if got := answer(s); got != s.want && (!strings.HasPrefix(got, "error: ") || s.want == "" || !strings.Contains(got, s.want)) {
				t.Errorf("%s\n%s is\n%s\nwant\n%s", s.says, s.ask, got, s.want)
			}
		})
	}
}

func instanceSentences(prod, staging string) []sentence {
	return []sentence{
		{"Stack key inside a repo: path or path:instance.", "", "", "infra/network:production", nil, "key", "infra/network:production"},
		{"Paths are repository relative, slash separated, no ./, no trailing /.", "", "", "./infra/network/:production", nil, "key", "infra/network:production"},
		{"A stack that sets workspace: blue and declares no instances is one instance named blue, keyed path:blue, whose Terraform workspace is blue.", "", "workspace: blue", "infra/network:blue", nil, "instances", "blue"},
		{"A stack that sets workspace: blue and declares no instances is one instance named blue, keyed path:blue, whose Terraform workspace is blue.", "", "workspace: blue", "infra/network:blue", nil, "workspace", "blue"},
		{"The suffix names an instance of the directory; it is never, by itself, a Terraform workspace.", "", "instances: [production]", "", nil, "workspace", ""},
		{"Instance names match [A-Za-z0-9][A-Za-z0-9._-]*", "", "instances: [_a]", "", nil, "instances", `"_a" is no name of an instance`},
		{"Instance names are at most 64 characters", "", "instances: [" + strings.Repeat("a", 65) + "]", "", nil, "instances", "has 65 characters, at most 64"},
		{"Instance names are at most 64 characters", "", "instances: [" + strings.Repeat("a", 64) + "]", "", nil, "instances", strings.Repeat("a", 64)},
		{"Instance names are never default", "", "instances: [default]", "", nil, "instances", `no instance is called "default"`},
		{"default is refused as an instance name in any letter case", "", "instances: [DeFault]", "", nil, "instances", `no instance is called "DeFault"`},

		{"The instance set is: the names in instances", fromVarFiles, "instances: [b, a]\nworkspace: w", "", []string{prod}, "instances", "b a; infra/network/workspaces/production.tfvars.json is not used: the instances of infra/network do not name \"production\""},
		{"instances is a list of names or a map from name to overrides", "", "instances: {b: {}, a: {environment: x}, c: }", "", nil, "instances", "b a c"},
		{"else one per file matched by from_var_files, named by the file's base name up to its first ., sorted", fromVarFiles, "workspace: w", "", []string{staging, prod}, "instances", "production=" + prod + " staging=" + staging},
		{"else [workspace] when the stack's rendered workspace is neither empty nor default", fromVarFiles, "workspace: blue", "", nil, "instances", "blue"},
		{"else [workspace] when the stack's rendered workspace is neither empty nor default", "", "workspace: default", "", nil, "instances", "-"},
		{"the template renders with an empty .Instance", "", "workspace: '{{ .Name }}{{ .Instance }}'", "", nil, "instances", "network"},
		{"the template renders with an empty .Instance", "", "workspace: '{{ .Name }}{{ .Instance }}'", "infra/network:network", nil, "workspace", "network"},
		{"else one instance with an empty name and a suffix-less key", "", "", "infra/network", nil, "instances", "-"},
		{"A derived name that is not a valid instance name (default.tfvars.json, say) is an error naming the file", fromVarFiles, "", "", []string{"workspaces/default.tfvars.json"}, "instances", "assize.yaml:1:38: stacks.instances.from_var_files: infra/network/workspaces/default.tfvars.json: no instance is called \"default\""},
		{"two matched files that derive the same name are an error naming the file", fromVarFiles, "", "", []string{prod, "workspaces/production.eu.tfvars.json"}, "instances", "infra/network/workspaces/production.tfvars.json: infra/network/workspaces/production.eu.tfvars.json is a file of the instance \"production\", too"},
		{"two matched files that derive the same name are an error naming the file", fromVarFiles, "instances: [production]", "", []string{prod, "workspaces/production.eu.tfvars.json"}, "instances", "is a file of the instance \"production\", too"},
		{"a stack workspace that renders to an invalid instance name is an error naming the file", "", "workspace: _x", "", nil, "instances", `infra/network/.assize.yaml:1:12: workspace: for infra/network: "_x" is no name of an instance`},
		{"a matched file whose derived name is not in an explicit instances list is a warning and is not used", fromVarFiles, "instances: [production]", "", []string{prod, staging}, "instances", "production=" + prod + "; infra/network/workspaces/staging.tfvars.json is not used: the instances of infra/network do not name \"staging\""},
		{"Matches are ignored when from_var_files is unset.", "", "", "", []string{prod}, "instances", "-"},

		{"CLI: with instances, the suffix must name one and a bare path is an error listing them", "", "instances: [a, b]", "infra/network", nil, "key", "infra/network has instances, and none is named"},
		{"CLI: with instances, the suffix must name one", "", "instances: [a, b]", "infra/network:c", nil, "key", `infra/network has no instance "c"`},
		{"CLI: with none, the suffix is a Terraform workspace (ad hoc, and a valid instance name)", "", "", "infra/network:x", nil, "workspace", "x"},
		{"CLI: with none, the suffix is a valid instance name", "", "", "infra/network:-x", nil, "workspace", "no name of an instance"},
		{"CLI: with none, the suffix is equal to workspace when set", "", "workspace: blue", "infra/network:green", nil, "workspace", `no instance "green"`},
	}
}

func mergeSentences(prod string) []sentence {
	levels := func(key string) (root, dir string) {
		return key + ": [root]\n", key + ": [dir]\ninstances: {production: {" + key + ": [instance]}}"
	}
	files, filesDir := levels("var_files")
	backend, backendDir := levels("backend_config")
	return []sentence{
		{"Var files, in order: root, stack, the matched file, then instance var_files", fromVarFiles + files, filesDir, "", []string{prod}, "var_files", "root dir " + prod + " instance"},
		{"the matched from_var_files file whose derived name equals the instance name, if any", fromVarFiles + files, filesDir, "", nil, "var_files", "root dir instance"},
		{"backend_config concatenates root, stack, instance", backend, backendDir, "", nil, "backend_config", "root dir instance"},
		{"a value containing = is name=value", "backend_config: ['key=../x']", "", "", nil, "backend_config", "key=../x"},
		{"anything else is a file path relative to the repository root", "backend_config: [../x]", "", "", nil, "backend_config", `assize.yaml:1:18: backend_config: entry 1: "../x" leads out of the repository`},
		{"Paths are relative to the stack directory.", "var_files: [../x]", "", "", nil, "var_files", "../x"},
		{"Paths are relative to the stack directory.", "var_files: [/x]", "", "", nil, "var_files", `"/x" leads out of the repository`},
		{"Paths are relative to the stack directory.", "var_files: [../../../x]", "", "", nil, "var_files", `"../../../x" leads out of the repository`},
		{"env merges per variable name, instance over stack over root", "env: {A: r, B: r, C: r}", "env: {B: s, C: s}\ninstances: {production: {env: {C: i}}}", "", nil, "env.plan", "A=r B=s C=i"},
		{"env: a value is an object with plan, apply and drift keys", "env: {A: {plan: p, apply: a, drift: d}}", "", "", nil, "env.drift", "A=d"},
		{"drift falls back to plan", "env: {A: {plan: p, apply: a}}", "", "", nil, "env.drift", "A=p"},
		{"a mode with no value leaves the variable as the job already has it", "env: {A: {plan: p}}", "", "", nil, "env.apply", ""},
		{"an env value is replaced as a whole", "env: {A: {plan: p, apply: a}}", "env: {A: x}", "", nil, "env.apply", "A=x"},
		{"an env value is replaced as a whole", "env: {A: x}", "env: {A: {plan: p}}", "", nil, "env.apply", ""},
		{"depends_on and ignore_inferred concatenate stack and instance lists", "", "depends_on: [a]\ninstances: {production: {depends_on: [b]}}", "", nil, "depends_on", "a b"},
		{"depends_on and ignore_inferred concatenate stack and instance lists", "", "ignore_inferred: [a]\ninstances: {production: {ignore_inferred: [b]}}", "", nil, "ignore_inferred", "a b"},
		{"workspace, plan_output, tool and tool_version take the most specific value set", "", "workspace: a\ninstances: {production: {workspace: b}}", "", nil, "workspace", "b"},
		{"workspace, plan_output, tool and tool_version take the most specific value set", "", "workspace: a\ninstances: {production: {}}", "", nil, "workspace", "a"},
		{"workspace, plan_output, tool and tool_version take the most specific value set", "plan_output: summary", "plan_output: full\ninstances: {production: {plan_output: summary}}", "", nil, "plan_output", "summary"},
		{"workspace, plan_output, tool and tool_version take the most specific value set", "plan_output: summary", "", "", nil, "plan_output", "summary"},
		{"workspace, plan_output, tool and tool_version take the most specific value set", "tool: terraform", "tool: tofu", "", nil, "tool", "tofu"},
		{"workspace, plan_output, tool and tool_version take the most specific value set", "tool: terraform\ntool_version: '1.9'", "tool: tofu", "", nil, "tool_version", "1.9"},
		{"apply.allowed_teams takes the most specific non-empty list", "apply: {allowed_teams: [r]}", "apply: {allowed_teams: [s]}\ninstances: {production: {apply: {allowed_teams: [i, j]}}}", "", nil, "apply.allowed_teams", "i j"},
		{"apply.allowed_teams takes the most specific non-empty list", "apply: {allowed_teams: [r]}", "apply: {allowed_teams: []}", "", nil, "apply.allowed_teams", "r"},
		{"an instance default means none", "", "instances: {a: {environment: x}}", "", nil, "resolve default", "environment default"},
	}
}

func templateSentences() []sentence {
	one := func(says, template, want string) sentence {
		return sentence{says, "", "instances: [production]\nenvironment: " + fmt.Sprintf("%q", template), "", nil, "environment", want}
	}
	list := "functions trimPrefix prefix s, trimSuffix suffix s, base, dir, replace old new s, lower and upper"
	refused := "range, define, template, block and every other builtin are refused"
	return []sentence{
		one("data .Path", "{{ .Path }}", "infra/network"),
		one("data .Name (the last path segment)", "{{ .Name }}", "network"),
		one("data .Instance", "{{ .Instance }}", "production"),
		one("data .Key", "{{ .Key }}", "infra/network:production"),
		one(list, `{{ trimPrefix "infra/" .Path }}`, "network"),
		one(list, `{{ trimSuffix "/network" .Path }}`, "infra"),
		one(list, `{{ base .Path }} {{ dir .Path }}`, "network infra"),
		one(list, `{{ replace "/" "-" .Path }}`, "infra-network"),
		one(list, `{{ upper .Name | lower }}{{ upper .Name }}`, "networkNETWORK"),
		one("plus the builtins and, or, not, eq, ne, lt, le, gt and ge, and if and with", `{{ if and (eq .Instance "production") (not (ne 1 1)) (or (lt 1 2) (le 1 2) (gt 1 2) (ge 1 2)) }}y{{ else }}n{{ end }}{{ with $x := .Name }}{{ . }}{{ $x }}{{ $.Name }}{{ end }}`, "ynetworknetworknetwork"),
		one("missingkey=error", "{{ .Instanse }}", "there is no .Instanse (did you mean \"Instance\"?)"),
		one("missingkey=error", "{{ if false }}{{ .Instanse }}{{ end }}", "there is no .Instanse"),
		one("missingkey=error", "{{ if false }}{{ $.Instanse }}{{ end }}", "there is no .Instanse"),
		one("a template of more than 4096 bytes is refused, too (ours)", "{{/*"+strings.Repeat("x", 4096)+"*/}}", "the template has 4104 bytes, at most 4096 are allowed"),
		one("missingkey=error", "{{ .Name.Length }}", "there is no .Name.Length"),
		one(refused, "{{ range .Path }}{{ end }}", "{{range}} is not allowed"),
		one(refused, `{{ define "it" }}x{{ end }}`, "{{define}} is not allowed"),
		one(refused, `{{- template "it" }}`, "{{template}} is not allowed"),
		one(refused, "{{\n\tblock \"x\" . }}{{ end }}", "{{block}} is not allowed"),
		one(refused, `{{ printf "%999999999d" 1 }}`, `the function "printf" is not allowed`),
		one(refused, `{{ if false }}{{ len .Path }}{{ end }}`, `the function "len" is not allowed`),
		one(refused, `{{ (dir .Path).Name }}`, "is not allowed in a template"),
		one(refused, `{{ env "HOME" }}`, `function "env" not defined`),
		one("a template or function whose output exceeds 4096 bytes fails", `{{ $x := "aaaaaaaaaaaaaaaa" }}{{ $x = replace "a" $x $x }}{{ $x = replace "a" "aaaaaaaaaaaaaaaaa" $x }}`, "it makes more than 4096 bytes"),
		one("a template or function whose output exceeds 4096 bytes fails", `{{ $x := "aaaaaaaaaaaaaaaa" }}{{ $x = replace "a" $x $x }}{{ $x = replace "a" "aaaaaaaaaaaaaaaa" $x }}{{ $x }}{{ $x }}`, "it makes more than 4096 bytes"),
		one("A rendering error is a validation error of the file that holds the template.", `{{ lt 1 "x" }}`, "infra/network/.assize.yaml:2:14: environment: for infra/network:production: the template: at <lt 1 \"x\">: error calling lt: incompatible types for comparison"),
		{"A string without {{ is used as is.", "", "instances: [production]\nenvironment: 'a }} b'", "", nil, "environment", "a }} b"},
		{"They apply to environments values", "environments: {infra: 'e-{{ .Instance }}'}", "instances: [production]", "", nil, "environment", "e-production"},
		{"They apply to workspace", "", "instances: [production]\nworkspace: '{{ .Instance }}'", "", nil, "workspace", "production"},
		{"They apply to backend_config", "backend_config: ['key={{ .Name }}']", "", "", nil, "backend_config", "key=network"},
		{"They apply to var_files", "var_files: ['{{ .Instance }}.tfvars']", "", "", nil, "var_files", "production.tfvars"},
		{"They apply to env values", "env: {A: {plan: '{{ .Name }}'}}", "", "", nil, "env.plan", "A=network"},
		{"They apply to depends_on", "", "depends_on: ['infra/iam:{{ .Instance }}']", "", nil, "depends_on", "infra/iam:production"},
		{"They apply to ignore_inferred", "", "ignore_inferred: ['infra/iam:{{ .Instance }}']", "", nil, "ignore_inferred", "infra/iam:production"},
	}
}

func environmentSentences() []sentence {
	table := func(says, entries, key, want string) sentence {
		return sentence{says, "environments: {" + entries + "}", "", key, nil, "environment", want}
	}
	specific := "The most specific key wins: one with an instance part before one without, then the longest prefix."
	order := "The GitHub environment of a stack is, in order: the instance override, the stack's environment, the environments match, the instance name, default"
	all := "environments: {infra: table}"
	return []sentence{
		table("environments keys are prefix, prefix:instance or :instance", "'infra/': e", "", "e"),
		table("environments keys are prefix, prefix:instance or :instance", "'infra:production': e", "", "e"),
		table("environments keys are prefix, prefix:instance or :instance", "':production': e", "", "e"),
		table("A key matches when its prefix matches the path (whole segments", "'infra/net': e", "", "production"),
		table("A key matches when its prefix matches the path (whole segments", "'infra/network': e", "", "e"),
		table("when it has an instance part, that part equals the instance", "'infra:staging': e", "", "production"),
		table(specific, "'infra/network': long, ':production': instance", "", "instance"),
		table(specific, "'infra/network:production': both, ':production': instance", "", "both"),
		table(specific, "'infra': short, 'infra/network': long", "", "long"),
		table("an empty prefix, allowed only with an instance part", "'': e", "", "neither a prefix nor an instance"),
		table("an empty prefix, allowed only with an instance part", "'./': e", "", "neither a prefix nor an instance"),
		table("The instance part must be a valid instance name", "'infra:default': e", "", `no instance is called "default"`),
		table("The instance part must be a valid instance name", "'infra:': e", "", "an instance has no name"),
		table("a prefix may not contain :", "'a:b:c': e", "", "two colons"),
		table("two keys whose prefixes normalise to the same path (infra, infra/, ./infra) with the same instance part are an error", "infra: a, 'infra/': b", "", `assize.yaml:1:26: environments: "infra" and "infra/" mean the same`),
		table("two keys whose prefixes normalise to the same path (infra, infra/, ./infra) with the same instance part are an error", "'infra:x': a, './infra:x': b", "", "mean the same"),
		table("an empty environment name is rejected", "infra: ''", "", `the name for "infra" is empty`),
		{order, all, "environment: stack\ninstances: {production: {environment: instance}}", "", nil, "environment", "instance"},
		{order, all, "environment: stack\ninstances: {production: {}}", "", nil, "environment", "stack"},
		{order, all, "", "", nil, "environment", "table"},
		{order, "", "instances: [production]", "", nil, "environment", "production"},
		{order, "", "", "infra/network", nil, "environment", "default"},
		{"the first of these that renders non-empty", all, "environment: '{{ if false }}x{{ end }}'", "", nil, "environment", "table"},
		{"Effective.EnvironmentConfigured reports that one did", all, "", "", nil, "configured", "true"},
		{"Effective.EnvironmentConfigured reports that one did", "", "instances: [production]", "", nil, "configured", "false"},
		{"A workspace: blue stack without instances therefore applies under blue", "", "workspace: blue", "infra/network:blue", nil, "environment", "blue"},
		{"it sets environment: default to apply under default", "", "workspace: blue\nenvironment: default", "infra/network:blue", nil, "environment", "default"},
		{"Stacks with no environment mapping run under default, never under an empty environment name", "", "environment: ''", "infra/network", nil, "environment", "default"},
	}
}

func strictSentences() []sentence {
	root := func(says, yaml, want string) sentence { return sentence{says, yaml, "", "", nil, "tool", want} }
	dir := func(says, yaml, want string) sentence { return sentence{says, "", yaml, "", nil, "tool", want} }
	names := "Environment variable names match [A-Za-z_][A-Za-z0-9_]* and may not start with a reserved prefix, compared without regard to case"
	out := []sentence{
		root("Validation is strict: an unknown key is an error.", "tol: tofu", `assize.yaml:1:1: unknown field "tol"`),
		root("Validation is strict: an unknown key is an error.", "apply: {x: 1}", `assize.yaml:1:9: apply: unknown field "x"`),
		root("Validation is strict: an unknown key is an error.", "stacks: {instances: {x: 1}}", `stacks.instances: unknown field "x"`),
		dir("Validation is strict: an unknown key is an error.", "instances: {a: {tool: tofu}}", `instances.a: unknown field "tool"`),
		dir("Validation is strict: an unknown key is an error.", "apply: {mode: on_merge}", `apply: unknown field "mode"`),
		root("A null list item under instances or a null env value is an error.", "env: {A: }", "env.A is null, want a string"),
		dir("A null list item under instances or a null env value is an error.", "instances: [~]", "instances: entry 1 is null"),
		root("An env value is a string or an object with plan, apply and drift keys", "env: {A: {plans: x}}", `env.A: unknown field "plans"`),
		root("An env value is a string or an object with plan, apply and drift keys", "env: {A: {plan: ~}}", "env.A.plan is null"),
		root("Only version 1 is supported (page stackorder-yaml)", "version: 2", "version can only be the number 1"),
		root("A tool outside its allowed values is rejected (page)", "tool: pulumi", `tool "pulumi" is none of tofu, terraform`),
		root("An apply.mode outside its allowed values is rejected (page)", "apply: {mode: x}", "none of before_merge, on_merge"),
		root("A propagate.cross_repo outside its allowed values is rejected (page)", "propagate: {cross_repo: x}", "none of off, plan"),
		root("A plan_output outside its allowed values is rejected (page)", "plan_output: x", "none of full, summary"),
		root("A negative apply.require_approvals is rejected (page)", "apply: {require_approvals: -1}", "no whole number of 0 or more"),
		root("An apply.max_parallel below 1 is rejected (page)", "apply: {max_parallel: 0}", "no whole number of 1 or more"),
		root("A drift.schedule that is no five-field cron expression is rejected (page)", "drift: {schedule: '@daily'}", "no cron expression of five fields"),
		root("A drift.schedule that is no five-field cron expression is rejected (page)", "drift: {schedule: '0 0 6 * * 1'}", "no cron expression of five fields"),
		root("A drift.schedule that is no five-field cron expression is rejected (page)", "drift: {schedule: 'CRON_TZ=Mars/One 0 6 * * *'}", "no cron expression of five fields"),
		root("A drift.schedule that is no five-field cron expression is rejected (page)", "drift: {schedule: 'TZ='}", "no cron expression of five fields"),
		root("Empty disables drift runs; CRON_TZ=<zone> may stand in front (page)", "drift: {schedule: 'CRON_TZ=Europe/Berlin 0 6 * * 1-5'}", ""),
		root("Empty disables drift runs (page)", "drift: {schedule: ''}", ""),
		root("An empty stacks.discover glob is rejected (page)", "stacks: {discover: ['']}", "never matches"),
		root("An empty stacks.exclude glob is rejected (page)", "stacks: {exclude: ['']}", "never matches"),
		root("An empty apply.allowed_teams entry is rejected (page)", "apply: {allowed_teams: ['']}", "apply: allowed_teams: entry 1 is empty"),
		root("A stacks.include path that is absolute or starts with .. is rejected (page)", "stacks: {include: [/a]}", "leads out of the repository"),
		root("A stacks.include path that is absolute or starts with .. is rejected (page)", "stacks: {include: [../a]}", "leads out of the repository"),
		dir("A workspace containing /, :, a space or a tab is rejected (page stack-yaml)", "workspace: a b", "holds a slash, a colon or a space"),
		dir("A workspace containing /, :, a space or a tab is rejected (page stack-yaml)", "instances: [production]\nworkspace: '{{ .Path }}'", "holds a slash, a colon or a space"),
		root("A duplicate key is an error.", "env: {A: x, A: y}", `assize.yaml:1:13: env: duplicate key "A"`),
		root("A duplicate key is an error.", "environments: {a: x, a: y}", `environments: duplicate key "a"`),
		dir("A duplicate key is an error.", "instances: [a, a]", `instances: "a" stands there twice`),
		dir("A duplicate key is an error.", "instances: {a: , a: }", `instances: duplicate key "a"`),
		dir("An empty list of instances does not fall through (ours)", "instances: []", "instances is empty"),
		dir("An empty list of instances does not fall through (ours)", "instances: {}", "instances is empty"),
		root("A boolean is true or false.", "apply: {four_eyes: yes}", "four_eyes is a string, want true or false"),
		root("A drift.schedule that is no five-field cron expression is rejected (page)", "drift: {schedule: 'CRON_TZ=Local 0 6 * * *'}", "no cron expression of five fields"),
		dir("An invalid depends_on entry is rejected (page stack-yaml)", "depends_on: ['a:Default']", `no instance is called "Default"`),
		dir("what the tool would take for a flag (ours)", "workspace: -x", "none that the tool can have"),
		dir("what the tool would refuse (ours)", "workspace: a%b", "none that the tool can have"),
		dir("A depends_on entry that is absolute is rejected (page stack-yaml)", "depends_on: [/a]", "no stack's key"),
		dir("A depends_on entry that starts with .. is rejected (page stack-yaml)", "depends_on: [../a]", "no stack's key"),
		dir("A depends_on entry that names a repository that is not owner/repo is rejected (page stack-yaml)", "depends_on: [acme//a]", "no repository as owner/repo"),
		dir("An empty ignore_inferred entry is rejected (page stack-yaml)", "ignore_inferred: ['']", "ignore_inferred: entry 1 is empty"),
	}
	for _, name := range []string{"ASSIZE_X", "GITHUB_X", "ACTIONS_X", "RUNNER_X", "PATH", "HOME", "github_x", "Path"} {
		out = append(out, root(names, "env: {"+name+": x}", name+" is reserved"))
	}
	for _, name := range []string{"1A", "A-B", "", "Ä"} {
		out = append(out, root(names, fmt.Sprintf("env: {%q: x}", name), "is no name of a variable"))
	}
	return out
}

// answer resolves the stack and says what was asked, or "error: " and why not.
func answer(s sentence) string {
	root, err := settings.ParseRoot("assize.yaml", []byte(s.root))
	if err != nil {
		return "error: " + err.Error()
	}
	dir, err := settings.ParseDirectory("infra/network/.assize.yaml", []byte(s.dir))
	if err != nil {
		return "error: " + err.Error()
	}
	if s.ask == "instances" {
		all, warnings, err := settings.Instances(root, "infra/network", dir, s.matched)
		if err != nil {
			return "error: " + err.Error()
		}
		return strings.Join(append([]string{names(all)}, warnings...), "; ")
	}
	if s.ask == "resolve default" {
		e, err := settings.Resolve(root, "infra/network", dir, "default", "")
		return fmt.Sprintf("environment %s%v", e.Environment, printable(err))
	}
	key, err := stack.ParseKey(s.key)
	if err != nil {
		return "error: " + err.Error()
	}
	e, _, err := settings.ResolveKey(settings.Lookup{Root: root, Directory: dir, Matched: s.matched}, key)
	if err != nil {
		return "error: " + err.Error()
	}
	return shown(e, s.ask)
}

func printable(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func names(all []settings.Instance) string {
	var out []string
	for _, in := range all {
		text := in.Name
		if text == "" {
			text = "-"
		}
		if in.VarFile != "" {
			text += "=" + in.VarFile
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func shown(e settings.Effective, ask string) string {
	if mode, ok := strings.CutPrefix(ask, "env."); ok {
		env := e.EnvFor(settings.Mode(mode))
		var out []string
		for _, name := range slices.Sorted(maps.Keys(env)) {
			out = append(out, name+"="+env[name])
		}
		return strings.Join(out, " ")
	}
	return map[string]string{
		"key":       stack.Key{Path: e.Path, Instance: e.Instance}.String(),
		"workspace": e.Workspace, "environment": e.Environment, "configured": fmt.Sprint(e.EnvironmentConfigured),
		"tool": e.Tool, "tool_version": e.ToolVersion, "plan_output": e.PlanOutput,
		"backend_config": strings.Join(e.BackendConfig, " "), "var_files": strings.Join(e.VarFiles, " "),
		"depends_on": strings.Join(e.DependsOn, " "), "ignore_inferred": strings.Join(e.IgnoreInferred, " "),
		"apply.allowed_teams": strings.Join(e.AllowedTeams, " "),
	}[ask]
}
