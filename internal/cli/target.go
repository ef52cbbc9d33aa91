package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/repo"
	"github.com/assize-iac/assize/internal/report"
	"github.com/assize-iac/assize/internal/runner"
	"github.com/assize-iac/assize/internal/settings"
	"github.com/assize-iac/assize/internal/stack"
	"github.com/assize-iac/assize/internal/tofu"
)

// This file is about the one stack that a command works on.

// A where is how the command line names it.
type where struct {
	dir string // -C
	key string // the argument; "" for the stack that dir is
}

// words are what names the stack, ready to be typed after a command.
func (w where) words() string { return quoteAll(w.key) + inDir(w.dir) }

// named is w without -C, where flags that follow repeat it.
func (w where) named() where { return where{dir: ".", key: w.key} }

// inDir repeats -C.
func inDir(dir string) string {
	if dir == "." {
		return ""
	}
	return flagged("-C", dir)
}

// fileOf reports whether arguments are a saved plan and the stack that it is of. Its path
// is one from the directory of the stack, as everywhere.
func fileOf(dir string, args []string) bool {
	if len(args) != 2 || slices.ContainsFunc(args, isPattern) {
		return false
	}
	cfg, err := repo.Settings(dir)
	if err != nil {
		return false
	}
	key, err := stackKey(cfg, dir, args[1:])
	if err != nil {
		return false
	}
	path := args[0]
	if !filepath.IsAbs(path) {
		path = filepath.Join(cfg.Root, filepath.FromSlash(key.Path), path)
	}
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// savedPlan reads an argument that names a saved plan, or the stack that has it.
// A file counts first: it is what the argument has always been.
func savedPlan(dir string, args []string) (w where, file string) {
	w.dir = dir
	if len(args) == 0 {
		return w, ""
	}
	if len(args) == 2 { // as a plan says it that was saved in a file of a stack elsewhere
		return where{dir: dir, key: args[1]}, args[0]
	}
	path := args[0]
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return w, args[0]
	}
	cfg, err := repo.Settings(dir)
	if err == nil {
		_, err = stackKey(cfg, dir, args)
	}
	if err != nil {
		return w, args[0]
	}
	w.key = args[0]
	return w, ""
}

// A target is one stack, and what holds for it.
type target struct {
	cfg      repo.Config // that governs the stack
	root     string      // its directory, absolute
	key      stack.Key
	settings settings.Effective
	digests  *tofu.Digests // nil for one stack alone
}

// find is the stack that the command line names.
func (w where) find(g *Globals) (target, error) {
	if _, err := stackDir(w.dir); err != nil {
		return target{}, err
	}
	cfg, err := repo.Settings(w.dir)
	if err != nil { // what does not say which policies bind does not say that none does
		return target{}, &Exit{ExitPolicy, err}
	}
	var args []string
	if w.key != "" {
		args = []string{w.key}
	}
	key, err := stackKey(cfg, w.dir, args)
	if err != nil {
		return target{}, err
	}
	if slices.Contains(strings.Split(key.Path, "/"), ".assize") {
		return target{}, problem.New(api.Invalid, "%s belongs to assize: it is no stack", key.Path).
			WithHint("name the stack that it was made for")
	}
	if w.key != "" && !holdsConfiguration(filepath.Join(cfg.Root, filepath.FromSlash(key.Path))) {
		return target{}, problem.New(api.NotFound, "%s is no stack: there is no configuration in it", key.Path).
			WithHint("assize stacks lists them; '%s/**' is every stack below", key.Path)
	}
	t, warnings, err := targetOf(cfg, key)
	for _, warning := range warnings {
		report.Problem(g.Err, "warning", warning)
	}
	return t, err
}

// of is w, or the stack that the arguments name.
func (w where) of(args []string) where {
	if len(args) == 1 {
		w.key = args[0]
	}
	return w
}

// place is the one stack in its place, for work of one mode; nothing is run yet.
func (w where) place(g *Globals, mode settings.Mode) (target, *runner.Stack, error) {
	t, err := w.find(g)
	if err != nil {
		return t, nil, err
	}
	s, err := t.open(mode)
	return t, s, err
}

func targetOf(cfg repo.Config, key stack.Key) (t target, warnings []string, err error) {
	t.cfg, t.root, t.key = cfg, cfg.Root, key
	t.settings, warnings, err = effective(cfg, key)
	t.key.Instance = t.settings.Instance
	return t, warnings, err
}

// dir is the stack's directory, absolute.
func (t target) dir() string { return filepath.Join(t.root, filepath.FromSlash(t.key.Path)) }

// open is the stack as its settings have it, for work of one mode.
func (t target) open(mode settings.Mode) (*runner.Stack, error) {
	return runner.Place(runner.Setup{Root: t.root, Settings: t.settings, Mode: mode, Environ: os.Environ(), Digests: t.digests})
}

// warnUnenforced says what assize.yaml wants of an apply and nobody here can know.
func (g *Globals) warnUnenforced(cfg repo.Config) {
	if keys := cfg.Settings.Unenforced(); len(keys) > 0 {
		report.Problem(g.Err, "warning", fmt.Sprintf("%s: %s is not enforced here: it takes a server to know who has approved what", repo.ConfigName, strings.Join(keys, ", ")))
	}
}

// fromHere is a file of the stack, from where the person stands.
func (w where) fromHere(t target, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	if w.key == "" {
		return filepath.Join(w.dir, file)
	}
	here, err := filepath.Abs(".")
	if err == nil {
		here, err = filepath.Rel(here, t.dir())
	}
	if err != nil {
		here = t.dir()
	}
	return filepath.Join(here, file)
}

// stackDir is the directory that -C names, absolute, for the tool works there.
func stackDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", problem.New(api.Invalid, "%s has no absolute path: %w", dir, err)
	}
	info, err := os.Stat(abs)
	if err != nil || !info.IsDir() {
		return "", problem.New(api.NotFound, "%s is no directory", dir).WithHint("-C names the stack's directory")
	}
	return abs, nil
}
