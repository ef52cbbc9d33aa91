package runner

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// A HookRun is what a hook is told, besides the environment of the tool.
type HookRun struct {
	RunID    string
	PlanJSON []byte // as the tool shows the plan, secrets in clear; nil before there is one
	PlanFile string // "" before there is one
}

// Hook runs ROOT/.assize/hooks/NAME.sh, where there is one: name is pre-plan,
// post-plan, pre-apply or post-apply. It runs in the stack's directory, and what
// it prints goes where the tool prints. A hook that fails is an error (seed 004,
// "Identities and names"; docs/configuration.md, rules 30 to 32).
func (s *Stack) Hook(ctx context.Context, name string, h HookRun) error {
	if s.root == "" {
		return nil
	}
	script, err := s.hookScript(name)
	if script == "" || err != nil {
		return err
	}
	p, err := s.newPrivate()
	if err != nil {
		return err
	}
	defer p.close()
	env := slices.Clone(s.Session.Tool.Env)
	env = append(env, "ASSIZE_RUN_ID="+h.RunID)
	// A hook gets copies: what was judged is not for it to change.
	shown, planned := "", ""
	if h.PlanJSON != nil {
		shown = filepath.Join(p.path, "plan.json")
		if err := os.WriteFile(shown, h.PlanJSON, 0o600); err != nil {
			return unwritable(shown, err)
		}
	}
	if h.PlanFile != "" {
		planned = filepath.Join(p.path, "plan.tfplan")
		if _, err := copyFile(h.PlanFile, planned); err != nil {
			return err
		}
	}
	env = append(env, "ASSIZE_PLAN_JSON="+shown, "ASSIZE_PLAN_FILE="+planned)
	s.step("running the hook " + name)
	return s.Session.Script(ctx, "the hook "+name, script, env)
}

// hookScript is the hook's program, "" where there is none. A link may lead to
// another file of the root, and not out of it.
func (s *Stack) hookScript(name string) (string, error) {
	path := filepath.Join(s.root, dirName, "hooks", name+".sh")
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", unreadable(path, err)
	}
	root, err := filepath.EvalSymlinks(s.root)
	if err != nil {
		return "", unreadable(s.root, err)
	}
	if rel, err := filepath.Rel(root, real); err != nil || !filepath.IsLocal(rel) {
		return "", problem.New(api.Invalid, "the hook %s leads out of %s", path, s.root).WithHint("put the script itself there")
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", unreadable(path, err)
	}
	if !info.Mode().IsRegular() {
		return "", problem.New(api.Invalid, "the hook %s is no regular file", path).WithHint("remove it, or put a script there")
	}
	if info.Mode().Perm()&0o111 == 0 {
		return "", problem.New(api.Invalid, "the hook %s cannot be executed", path).WithHint("chmod +x %s", path)
	}
	return real, nil
}
