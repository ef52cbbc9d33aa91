package runner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/redact"
	"github.com/assize-iac/assize/internal/settings"
	"github.com/assize-iac/assize/internal/stack"
	"github.com/assize-iac/assize/internal/tofu"
)

// A Setup is one stack as it is configured.
type Setup struct {
	Root     string             // absolute: of assize.yaml, or of the checkout
	Settings settings.Effective // merged, rendered, after Override
	Mode     settings.Mode      // what the tool is run for
	Environ  []string           // of this process, all of it
	Digests  *tofu.Digests      // shared by the stacks of a command; may be nil
}

// Place is a stack and its saved plan; without [Stack.Equip] nothing can be run in
// it. It writes nothing into the stack's directory (docs/configuration.md, rules 23
// to 29).
func Place(o Setup) (*Stack, error) {
	e := o.Settings
	s := &Stack{root: o.Root, settings: e, mode: o.Mode, digests: o.Digests, process: slices.DeleteFunc(append([]string{}, o.Environ...), ourSecret)}
	s.Session.Dir = filepath.Join(o.Root, filepath.FromSlash(e.Path))
	if info, err := os.Stat(s.Session.Dir); err != nil || !info.IsDir() {
		return nil, problem.New(api.NotFound, "the stack %s has no directory %s", s.key(), s.Session.Dir)
	}
	if err := s.place(); err != nil {
		return nil, err
	}
	if _, twice := e.Env[workspaceVariable]; twice && e.Workspace != "" {
		return nil, problem.New(api.Invalid, "%s: workspace is %q, and env sets %s as well", s.key(), e.Workspace, workspaceVariable).
			WithHint("leave one of them out")
	}
	s.Session.Tool.Env = s.environ(o.Mode)
	return s, nil
}

// ourSecret reports whether an entry of the environment is a secret of assize: the
// tool, its providers and hooks have no business with it.
func ourSecret(entry string) bool {
	name, _, _ := strings.Cut(entry, "=")
	return name == "ASSIZE_ARTIFACT_KEY" || name == "ASSIZE_API_KEY"
}

// Equip finds the tool of the stack, and makes configuration of a specification.
func (s *Stack) Equip(ctx context.Context) error {
	if err := s.find(); err != nil || !s.Specified() {
		return err
	}
	return s.specify(ctx)
}

// find finds the tool of the stack.
func (s *Stack) find() error {
	tool, err := tofu.Find(s.settings.Tool, s.settings.ToolVersion, tofu.Tool{Env: s.process}.Getenv)
	if err != nil {
		return err
	}
	tool.Env, tool.Digests = s.Session.Tool.Env, s.digests
	s.Session.Tool = tool
	s.Session.Plugins = tool.PluginCache()
	s.Session.Secrets = redact.New(s.secrets(nil))
	return nil
}

// workspaceVariable is the tools' own, which beats what was selected.
const workspaceVariable = "TF_WORKSPACE"

// key is what the stack is called.
func (s *Stack) key() string {
	return stack.Key{Path: cmp.Or(s.settings.Path, "."), Instance: s.settings.Instance}.String()
}

// selects is the workspace that the settings select, "" where they leave it to
// the user. A backend that the settings configure may have been left on another
// one (seed 004, "CLI").
func (s *Stack) selects() string {
	if s.settings.Workspace != "" {
		return s.settings.Workspace
	}
	if _, own := s.settings.Env[workspaceVariable]; len(s.settings.BackendConfig) == 0 || own {
		return ""
	}
	return "default"
}

// environ is the environment of the tool and of the hooks in a mode: the
// process's own, what the settings set, and last what is not for either to say
// (docs/configuration.md, rule 24).
func (s *Stack) environ(mode settings.Mode) []string {
	e := s.settings
	env := slices.Clone(s.process)
	configured := e.EnvFor(mode)
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		env = append(env, name+"="+configured[name])
	}
	env = append(env, "ASSIZE_STACK="+s.key(), "ASSIZE_STACK_PATH="+cmp.Or(e.Path, "."), "ASSIZE_INSTANCE="+e.Instance)
	if e.Instance != "" {
		data := filepath.Join(s.home(), "terraform")
		if users := (tofu.Tool{Env: env}).Getenv("TF_DATA_DIR"); users != "" {
			data = s.resolve(filepath.Join(users, e.Instance))
		}
		env = append(env, "TF_DATA_DIR="+data)
	}
	if name := s.selects(); name != "" {
		env = append(env, workspaceVariable+"="+name)
	}
	return env
}

// asPlanned is the tool in the environment of the mode that a plan was made in.
// The values of a plan are frozen in its file, so it is them that an apply
// compares, while the tool runs with the apply's, which reach ephemeral variables
// and providers alone (seed 004, "CLI"; docs/warrant.md, rule 18).
func (s *Stack) asPlanned(b api.Binding) tofu.Tool {
	tool := s.Session.Tool
	if s.process != nil {
		tool.Env = s.environ(settings.Mode(b.Mode))
	}
	return tool
}

// secrets are the values that are kept out of what the tool prints: of
// variables of the environment, of the settings in every mode, of settings of
// the backend, and of the command line, whose names look like those of secrets
// (seed 004, "CLI"; docs/warrant.md, rule 17).
func (s *Stack) secrets(vars []string) []string {
	values := slices.Collect(maps.Values(s.Session.Tool.Matching(settings.IsSecret)))
	for name, v := range s.settings.Env {
		for _, value := range []*string{v.Plan, v.Apply, v.Drift} {
			if value != nil && settings.IsSecret(name) {
				values = append(values, *value)
			}
		}
	}
	pairs := slices.Concat(s.settings.BackendConfig, s.settings.ExtraBackendConfig)
	for _, arg := range vars {
		if pair, ok := strings.CutPrefix(arg, "-var="); ok {
			pairs = append(pairs, pair)
		}
	}
	for _, pair := range pairs {
		if name, value, ok := strings.Cut(pair, "="); ok && settings.IsSecret(name) {
			values = append(values, value)
		}
	}
	return values
}

// varFiles are those of the settings, as the tool takes them. Each must be there
// (docs/configuration.md, rule 26).
func (s *Stack) varFiles() ([]string, error) {
	var args []string
	for _, file := range s.settings.VarFiles {
		if s.Specified() {
			return nil, problem.New(api.Conflict, "%s: a specification has no variables, so the var file %s says nothing to it", s.key(), file).
				WithHint("take it out of var_files, and write what differs in the specification")
		}
		if _, err := os.Stat(s.resolve(file)); err != nil {
			return nil, problem.New(api.NotFound, "%s: the var file %s does not exist", s.key(), file).
				WithHint("create it in %s, or take it out of var_files", s.Session.Dir)
		}
		args = append(args, "-var-file="+file)
	}
	return args, nil
}

// settingsDigest is that of what assize.yaml says of the stack, in every mode.
// The tool and its version are bound by themselves, wherever they were asked
// for, and so is what the environment adds to the backend.
func (s *Stack) settingsDigest(salt string) (string, error) {
	e := s.settings
	text, err := json.Marshal(struct {
		Path, Instance, Workspace string
		BackendConfig, VarFiles   []string
		Env                       map[string]settings.PerMode
	}{e.Path, e.Instance, e.Workspace, e.BackendConfig, e.VarFiles, e.Env})
	if err != nil {
		return "", problem.New(api.Internal, "the settings cannot be written: %w", err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "assize.settings/v1\n%q\n%s\n", salt, text)
	return sum(h), nil
}
