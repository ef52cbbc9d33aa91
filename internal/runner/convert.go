package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/settings"
	"github.com/assize-iac/assize/internal/spec"
	"github.com/assize-iac/assize/internal/spec/convert"
)

// importedName is the file of a specification that was made of a stack.
const importedName = "estate.cue"

// An Imported is a specification that was made of a stack.
type Imported struct {
	*convert.Converted
	Dir     string // where it is
	Backend string // where the state is; local for a file
	State   string // that file, absolute; "" for any other backend
	Wrong   error  // why it does not evaluate as it stands; nil if it does
}

// Convert writes the specification that the stack comes to into a new directory, with
// the lock file, and evaluates it (docs/spec.md, rules 27 to 29). The stack is planned
// for it, and nothing of it is changed.
func (s *Stack) Convert(ctx context.Context, dir string) (*Imported, error) {
	if s.Specified() {
		return nil, problem.New(api.Invalid, "%s is a specification already", s.key())
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, problem.New(api.Invalid, "%s is there already", dir).WithHint("name a new directory with --out")
	}
	if err := s.Equip(ctx); err != nil {
		return nil, err
	}
	tools, from, err := s.describe(ctx)
	if err != nil {
		return nil, err
	}
	s.step("writing the specification")
	converted, err := convert.Convert(from)
	if err != nil {
		return nil, err
	}
	out := &Imported{Converted: converted, Dir: dir, Backend: from.Backend.Kind}
	if from.Backend.Kind == "local" {
		out.State = s.resolve(localState(from.Backend))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, unwritable(dir, err)
	}
	if err := os.WriteFile(filepath.Join(dir, importedName), converted.Text, 0o644); err != nil {
		return nil, unwritable(dir, err)
	}
	if err := copyOver(filepath.Join(s.Session.Dir, lockFileName), filepath.Join(dir, lockFileName)); err != nil {
		return nil, err
	}
	out.Wrong = evaluates(ctx, spec.Root{Dir: dir, Name: dir}, tools)
	return out, nil
}

// localState is the file of a state, by the rules of the tool's local backend: a
// workspace that has a name has a directory of its own.
func localState(b convert.Backend) string {
	path, _ := b.Config["path"].(string)
	if b.Named() {
		dir, _ := b.Config["workspace_dir"].(string)
		return filepath.Join(cmp.Or(dir, "terraform.tfstate.d"), b.Workspace, "terraform.tfstate")
	}
	return cmp.Or(path, "terraform.tfstate")
}

// evaluates says why a specification does not.
func evaluates(ctx context.Context, root spec.Root, printed spec.Tools) error {
	tools, err := pack(printed)
	if err != nil {
		return err
	}
	return evaluate(ctx, root, func(e *spec.Evaluation) error {
		if err := e.Equip(tools); err != nil {
			return err
		}
		_, err := e.Compile()
		return err
	})
}

// describe is everything that a conversion is made from. The plan holds secrets, and
// is gone when this returns.
func (s *Stack) describe(ctx context.Context) (tools spec.Tools, from convert.Stack, err error) {
	planned, err := s.Plan(ctx, Options{})
	if err != nil {
		return tools, from, err
	}
	defer planned.Close()
	from.Secret = settings.IsSecret
	if from.Plan, err = s.Session.Show(ctx, planned.File()); err != nil {
		return tools, from, err
	}
	if tools.Schemas, err = s.Session.Schemas(ctx); err != nil {
		return tools, from, err
	}
	if tools.Functions, err = s.Session.Functions(ctx); err != nil {
		return tools, from, err
	}
	toolbox, err := tools.Decode(nil)
	if err != nil {
		return tools, from, err
	}
	from.Providers = toolbox.Providers
	if from.Backend.Kind, from.Backend.Config, err = s.recordedBackend(); err != nil {
		return tools, from, err
	}
	if from.Backend.Workspace, err = s.Session.Workspace(); err != nil {
		return tools, from, err
	}
	from.Sources, err = s.sources()
	return tools, from, err
}

// sources are the files of the configuration, by module and name. Where the modules
// are is in the tool's own record; without one there are none.
func (s *Stack) sources() (map[string]map[string][]byte, error) {
	var record struct {
		Modules []struct{ Key, Dir string }
	}
	data, err := os.ReadFile(filepath.Join(s.Session.DataDir(), "modules", "modules.json"))
	if err == nil {
		err = json.Unmarshal(data, &record)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, problem.New(api.Unavailable, "the record of modules in %s cannot be read: %w", s.Session.DataDir(), err)
	}
	dirs := map[string]string{"": "."}
	for _, m := range record.Modules {
		dirs[m.Key] = m.Dir
	}
	all := map[string]map[string][]byte{}
	for key, dir := range dirs {
		if all[key], err = configurationIn(s.resolve(dir)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func configurationIn(dir string) (map[string][]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, unreadable(dir, err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || !isConfiguration(name) {
			continue
		}
		if files[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			return nil, unreadable(name, err)
		}
	}
	return files, nil
}
