package settings

import (
	"slices"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/strict"
)

// A Root is what assize.yaml says, with the defaults of what it does not say.
// A template in it is not yet rendered.
type Root struct {
	Layer             // backend_config, var_files, env, plan_output and apply.allowed_teams
	Tool         Text // "" is the one that is found
	ToolVersion  Text
	Stacks       Stacks
	ModulePaths  []string // globs of directories that are never stacks
	Environments []Environment
	Apply        ApplyPolicy
	Propagate    Propagate
	Drift        DriftChecks
	Policies     []Policy
	Exceptions   Text // path of a file, relative to the root; "" is none
}

// Stacks say what is a stack. Paths and globs are relative to the root.
type Stacks struct {
	Discover     []string // globs of directories; nil where the file does not say: the rule without configuration holds
	Include      []string // directories that are stacks whatever is in them
	Exclude      []string // globs of directories; stronger than both
	Ignore       []string // globs of files whose change affects nothing
	FromVarFiles Text     // a glob relative to a stack's directory; "" derives no instances
}

// An ApplyPolicy is the section apply of assize.yaml, without allowed_teams,
// which is part of the Layer.
type ApplyPolicy struct {
	Mode                   Text // before_merge or on_merge
	RequireApprovals       Placed[int]
	RequireCodeownerReview Placed[bool]
	FourEyes               Placed[bool]
	FromPlan               Placed[bool]
	MaxParallel            Placed[int] // at least 1
}

// Unenforced are the keys with a value that only a server can enforce: it knows who
// has approved what (docs/configuration.md, rule 34).
func (r *Root) Unenforced() (keys []string) {
	for _, k := range []struct {
		name string
		set  bool
	}{
		{"apply.require_approvals", r.Apply.RequireApprovals.Value > 0},
		{"apply.require_codeowner_review", r.Apply.RequireCodeownerReview.Value},
		{"apply.allowed_teams", len(r.AllowedTeams) > 0},
		{"apply.four_eyes", r.Apply.FourEyes.Value},
	} {
		if k.set {
			keys = append(keys, k.name)
		}
	}
	return keys
}

// Propagate is the section propagate of assize.yaml.
type Propagate struct {
	Dependents Placed[bool]
	CrossRepo  Text // off or plan
}

// DriftChecks are the section drift of assize.yaml.
type DriftChecks struct {
	Schedule  Text // cron, five fields, UTC unless it starts with CRON_TZ=; "" is never
	OpenIssue Placed[bool]
}

// A Policy names one policy and the stacks it binds.
type Policy struct {
	Path        string // relative to the root
	Enforcement api.Enforcement
	Stacks      []string // globs of stack directories; empty means all
	At          Place
}

// Binds reports whether the policy binds the stacks of a directory.
func (p Policy) Binds(path string) bool {
	return len(p.Stacks) == 0 || slices.ContainsFunc(p.Stacks, func(glob string) bool {
		return doublestar.MatchUnvalidated(glob, path)
	})
}

// lockfiles is what stacks.ignore_lockfile adds to stacks.ignore.
const lockfiles = "**/.terraform.lock.hcl"

// hint goes with every problem of a file.
const hint = "correct the file; docs/configuration.md says what each key means"

// ParseRoot reads an assize.yaml; file is how problems call it. No data is an
// empty file, which is every default. All problems are one error.
func ParseRoot(file string, data []byte) (*Root, error) {
	var c strict.Complaints
	root := &Root{}
	if node, ok := c.ReadSparse(file, data); ok {
		r := newReader(&c, file, "", node)
		if r.IsObject() {
			r.Fields([]string{
				"version", "stacks", "modules", "tool", "tool_version", "environments", "backend_config", "var_files", "env",
				"plan_output", "apply", "propagate", "drift", "policies", "exceptions",
			})
			root = r.root()
		}
	}
	c.Sort(0)
	if err := c.Err(hint); err != nil {
		return nil, err
	}
	return root, nil
}

// RootSchema is the JSON Schema of an assize.yaml, for editors. Globs, templates and
// schedules are only text to it: the file is read more strictly than that.
func RootSchema() []byte {
	r := newReader(&strict.Complaints{}, "", "", strict.Node{}).described("")
	r.root()
	return r.shape.Document("assize.yaml", "What holds for the stacks of a repository (docs/configuration.md).")
}

func (r *reader) root() *Root {
	root := &Root{}
	r.version()
	root.Tool = r.word("tool", "", tools...)
	root.ToolVersion = r.optional("tool_version")
	root.PlanOutput = r.word("plan_output", "full", planOutputs...)
	r.shared(&root.Layer)
	root.Stacks = r.stacks()
	root.ModulePaths = r.child("modules", "paths").globs("paths", "modules/**")
	root.Environments = r.environments()
	root.Apply = r.apply(&root.Layer)
	propagate := r.child("propagate", "dependents", "cross_repo")
	root.Propagate = Propagate{Dependents: propagate.flag("dependents", true), CrossRepo: propagate.word("cross_repo", "off", "off", "plan")}
	drift := r.child("drift", "schedule", "open_issue")
	root.Drift = DriftChecks{Schedule: drift.schedule("schedule"), OpenIssue: drift.flag("open_issue", false)}
	root.Policies = r.policies()
	r.shape.Set("exceptions", map[string]any{"type": "string", "minLength": 1})
	if v, ok := r.Got["exceptions"]; ok {
		root.Exceptions = Text{Value: r.Prose(v, "exceptions"), At: r.place(v)}
	}
	return root
}

func (r *reader) version() {
	r.shape.Set("version", map[string]any{"const": 1})
	if v, ok := r.Got["version"]; ok && (v.Kind != strict.Number || v.Text != "1") {
		r.Fault(v, "version can only be the number 1")
	}
}

func (r *reader) stacks() Stacks {
	s := r.child("stacks", "discover", "include", "exclude", "ignore", "ignore_lockfile", "instances")
	stacks := Stacks{Discover: s.globs("discover"), Exclude: s.globs("exclude"), Include: s.paths("include")}
	stacks.Ignore = s.globs("ignore", "**/*.md", "**/README", "**/README.{adoc,rst,txt}")
	if v, ok := s.Got["ignore"]; ok && v.Kind == strict.List && len(v.Items) == 0 {
		stacks.Ignore = nil // it ignores nothing, where an empty list elsewhere is the default
	}
	if s.flag("ignore_lockfile", false).Value {
		stacks.Ignore = append(stacks.Ignore, lockfiles)
	}
	instances := s.child("instances", "from_var_files")
	stacks.FromVarFiles = instances.optional("from_var_files")
	if glob := stacks.FromVarFiles.Value; glob != "" {
		if wrong := wrongGlob(glob); wrong != "" {
			instances.Fault(instances.Got["from_var_files"], "from_var_files: %s", wrong)
		}
	}
	return stacks
}

func (r *reader) apply(layer *Layer) ApplyPolicy {
	a := r.child("apply", "mode", "require_approvals", "require_codeowner_review", "allowed_teams", "four_eyes", "from_plan", "max_parallel")
	layer.AllowedTeams = a.texts("allowed_teams", nil)
	return ApplyPolicy{
		Mode:                   a.word("mode", "before_merge", "before_merge", "on_merge"),
		RequireApprovals:       a.count("require_approvals", 0, 0),
		RequireCodeownerReview: a.flag("require_codeowner_review", false),
		FourEyes:               a.flag("four_eyes", false),
		FromPlan:               a.flag("from_plan", true),
		MaxParallel:            a.count("max_parallel", 6, 1),
	}
}

// policies reads what binds a stack (DESIGN 5.4). An entry is never left out:
// one that cannot be understood must not count as none.
func (r *reader) policies() []Policy {
	var out []Policy
	for i, item := range r.items("policies") {
		out = append(out, r.entry("policies", i, item, "path", "enforcement", "stacks").policy(item))
	}
	if r.shape != nil {
		e := r.described("policies")
		e.policy(strict.Node{})
		e.shape.Schema["required"] = []string{"path"}
		r.shape.Set("policies", map[string]any{"type": "array", "items": e.shape.Schema})
	}
	return out
}

func (r *reader) policy(item strict.Node) Policy {
	policy := Policy{At: r.place(item)}
	r.shape.Set("path", map[string]any{"type": "string", "minLength": 1})
	if v, ok := r.Got["path"]; ok {
		policy.Path = r.Prose(v, "path")
	} else {
		r.Fault(item, "it has no path")
	}
	policy.Enforcement = api.Enforcement(r.word("enforcement", string(api.HardMandatory),
		string(api.Advisory), string(api.SoftMandatory), string(api.HardMandatory)).Value)
	policy.Stacks = r.globs("stacks")
	return policy
}
