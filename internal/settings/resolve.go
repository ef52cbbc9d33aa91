package settings

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/stack"
	"github.com/assize-iac/assize/internal/strict"
)

// What an origin says where no file does.
const fromInstance = "the instance's name"

// DefaultEnvironment is that of a stack without an instance for which no file
// names another.
const DefaultEnvironment = "default"

// Resolve merges and renders what holds for one stack: the root's file, the
// directory's and the instance's entry in it, the later the more specific (seed
// 004, "Configuration"; docs/configuration.md, rules 12 to 18). dir has no
// suffix; the instance default is none; varFile is what from_var_files has
// matched for the instance, or "". It does not need to know where the instance
// came from. All problems are one error, each at the place of its template, in
// the order of the keys.
func Resolve(root *Root, dir string, d *Directory, instance, varFile string) (Effective, error) {
	if instance == DefaultEnvironment {
		instance = ""
	}
	if wrong := WrongInstance(instance); instance != "" && wrong != "" {
		return Effective{}, problem.New(api.Invalid, "%s: %s", dir, strict.Cut(wrong))
	}
	var override Layer
	for _, o := range d.Instances {
		if o.Name.Value == instance {
			override = o.Layer
		}
	}
	var c strict.Complaints
	r := resolver{c: &c, key: stack.Key{Path: dir, Instance: instance}, layers: []Layer{root.Layer, d.Layer, override}}
	r.e = Effective{Path: dir, Instance: instance, Origins: map[string][]string{}}
	r.e.Tool = r.chosen("tool", root.Tool, d.Tool)
	r.e.ToolVersion = r.chosen("tool_version", root.ToolVersion, d.ToolVersion)
	r.e.PlanOutput = r.chosen("plan_output", root.PlanOutput, d.PlanOutput, override.PlanOutput)
	r.e.Workspace = r.selected(d, override, varFile)
	r.environment(root.environmentFor(dir, instance))
	r.lists(root, varFile)
	r.env()
	if err := c.Err(hint); err != nil {
		return Effective{}, err // and not half of what should hold
	}
	return r.e, nil
}

// A resolver works on one stack.
type resolver struct {
	c      *strict.Complaints
	key    stack.Key
	layers []Layer // root, directory, instance
	e      Effective
}

func (r *resolver) fault(t Text, name, why string) {
	r.c.Add(t.At.File, t.At.Line, t.At.Column, "%s: for %s: %s", name, r.key, why)
}

// render returns "" for what does not render, and complains.
func (r *resolver) render(name string, t Text) string {
	text, err := t.template.Render(r.key)
	if err != nil {
		r.fault(t, name, discreet(name, t.Value, err.Error()))
	}
	return text
}

func (r *resolver) from(name string, at Place) {
	if at != (Place{}) {
		r.e.Origins[name] = append(r.e.Origins[name], at.String())
	}
}

// chosen is the last text that is not empty: the most specific one.
func (r *resolver) chosen(name string, texts ...Text) string {
	var last Text
	for _, t := range texts {
		if t.Value != "" {
			last = t
		}
	}
	r.from(name, last.At)
	return last.Value
}

// workspace renders one; default is none, as the tool has it.
func (r *resolver) workspace(t Text) string {
	name := r.render("workspace", t)
	if name == "default" {
		return ""
	}
	if wrong := wrongWorkspace(name); wrong != "" {
		r.fault(t, "workspace", wrong)
	}
	return name
}

// selected is the workspace of the stack: the most specific one that is set.
func (r *resolver) selected(d *Directory, override Layer, varFile string) string {
	t := d.Workspace
	if override.Workspace.At != (Place{}) {
		t = override.Workspace
	}
	if len(d.Instances) == 0 && varFile == "" {
		// The instance may be the one that the workspace makes. Then it is that
		// workspace, which was rendered before there was an instance.
		alone := resolver{c: &strict.Complaints{}, key: stack.Key{Path: r.key.Path}}
		if name := alone.workspace(t); name != "" && name == r.key.Instance {
			r.from("workspace", t.At)
			return name
		}
	}
	name := r.workspace(t)
	if name != "" {
		r.from("workspace", t.At)
	}
	return name
}

// environment is the first that renders to something: the instance's, the
// directory's, the table's; else the instance's name, else default.
func (r *resolver) environment(table Text) {
	for _, t := range []Text{r.layers[2].Environment, r.layers[1].Environment, table} {
		if name := r.render("environment", t); name != "" {
			r.e.Environment, r.e.EnvironmentConfigured = name, true
			r.from("environment", t.At)
			return
		}
	}
	r.e.Environment = DefaultEnvironment
	if r.key.Instance != "" {
		r.e.Environment = r.key.Instance
		r.e.Origins["environment"] = []string{fromInstance}
	}
}

// lists concatenates what is a list, and takes the most specific one of teams.
func (r *resolver) lists(root *Root, varFile string) {
	var backend, depends, ignore, teams []Text
	for i, layer := range r.layers {
		if i == 2 && varFile != "" { // the name of a file, and no template
			r.from("var_files", root.Stacks.FromVarFiles.At)
			r.e.VarFiles = append(r.e.VarFiles, varFile)
		}
		wrong := func(entry string) string { return wrongVarFile(r.key.Path, entry) }
		r.e.VarFiles = append(r.e.VarFiles, r.list("var_files", layer.VarFiles, wrong)...)
		backend = append(backend, layer.BackendConfig...)
		depends = append(depends, layer.DependsOn...)
		ignore = append(ignore, layer.IgnoreInferred...)
		if len(layer.AllowedTeams) > 0 {
			teams = layer.AllowedTeams
		}
	}
	r.e.BackendConfig = r.list("backend_config", backend, wrongBackendConfig)
	r.e.DependsOn = r.list("depends_on", depends, wrongKey)
	r.e.IgnoreInferred = r.list("ignore_inferred", ignore, wrongKey)
	for _, t := range teams {
		r.from("apply.allowed_teams", t.At)
		r.e.AllowedTeams = append(r.e.AllowedTeams, t.Value)
	}
}

func (r *resolver) list(name string, texts []Text, check func(string) string) []string {
	var out []string
	for _, t := range texts {
		before := r.c.Len()
		entry := r.render(name, t)
		if r.c.Len() > before {
			continue
		}
		wrong := check(entry)
		if entry == "" {
			wrong = "it renders to nothing"
		}
		if wrong != "" {
			r.fault(t, name, wrong)
		}
		r.from(name, t.At)
		out = append(out, entry)
	}
	return out
}

// env merges by name: a value is replaced as a whole.
func (r *resolver) env() {
	merged := map[string]Variable{}
	for _, layer := range r.layers {
		maps.Copy(merged, layer.Env)
	}
	r.e.Env = map[string]PerMode{}
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		v := merged[name]
		if v.Drift == nil {
			v.Drift = v.Plan
		}
		r.from("env."+name, v.At)
		values := map[*Text]*string{nil: nil} // one text may stand for several modes, and is complained about once
		for _, t := range []*Text{v.Plan, v.Apply, v.Drift} {
			if _, done := values[t]; !done {
				value := r.render("env."+name, *t)
				values[t] = &value
			}
		}
		r.e.Env[name] = PerMode{Plan: values[v.Plan], Apply: values[v.Apply], Drift: values[v.Drift]}
	}
}

// Override puts the variables of the caller's environment over what the files
// say (docs/configuration.md, rule 19).
func (e *Effective) Override(getenv func(string) string) error {
	for variable, field := range map[string]*string{"ASSIZE_TOOL": &e.Tool, "ASSIZE_TOOL_VERSION": &e.ToolVersion} {
		if value := getenv(variable); value != "" {
			*field = value
			e.Origins[strings.ToLower(strings.TrimPrefix(variable, "ASSIZE_"))] = []string{variable}
		}
	}
	if e.Tool != "" && !slices.Contains(tools, e.Tool) {
		return problem.New(api.Invalid, "ASSIZE_TOOL is %q, which is neither tofu nor terraform", e.Tool)
	}
	for _, entry := range strings.Split(getenv("ASSIZE_BACKEND_CONFIG"), ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			e.ExtraBackendConfig = append(e.ExtraBackendConfig, entry)
		}
	}
	return nil
}

// A Lookup is what [ResolveKey] needs to know of a checkout.
type Lookup struct {
	Root      *Root
	Directory *Directory
	Matched   []string // of from_var_files, relative to the directory
}

// ResolveKey finds the instance that a key names, and resolves it. Warnings are
// those of [Instances].
func ResolveKey(l Lookup, key stack.Key) (e Effective, warnings []string, err error) {
	if key.Repo != "" {
		return e, nil, problem.New(api.Invalid, "%s is a stack of another repository", key)
	}
	key.Path = path.Clean(key.Path)
	all, warnings, err := Instances(l.Root, key.Path, l.Directory, l.Matched)
	if err != nil {
		return e, nil, err
	}
	in, adHoc, err := Pick(all, l.Directory, key)
	if err != nil {
		return e, nil, err
	}
	e, err = Resolve(l.Root, key.Path, l.Directory, in.Name, in.VarFile)
	if err == nil && adHoc {
		e.Workspace = in.Name
		e.Origins["workspace"] = []string{fmt.Sprintf("the key %s", key)}
	}
	return e, warnings, err
}
