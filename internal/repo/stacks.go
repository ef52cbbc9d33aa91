package repo

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/assize-iac/assize/internal/repo/scan"
	"github.com/assize-iac/assize/internal/settings"
)

// Stacks scans what the configuration governs. repo is owner/repo, "" when it is
// unknown.
func (c Config) Stacks(repo string) (scan.Result, error) {
	files, err := scan.Checkout(c.Root)
	if err != nil {
		return scan.Result{}, err
	}
	r, err := scan.Scan(files, scan.Options{
		Rules: c.rules(), Repo: repo, Tool: c.Settings.Tool.Value, Instances: c.instances,
	})
	for _, dir := range r.Broken {
		r.Warnings = append(r.Warnings, dir+" could not be read; it may be a stack, and is missing here")
	}
	return r, err
}

// within reports whether dir is root or in it.
func within(root, dir string) bool { return dir == root || strings.HasPrefix(dir, root+"/") }

func (c Config) rules() scan.Rules {
	s := c.Settings.Stacks
	return scan.Rules{Discover: s.Discover, Include: s.Include, Exclude: s.Exclude, Modules: c.Settings.ModulePaths}
}

// instances are what holds for each stack of a directory.
func (c Config) instances(dir string) ([]settings.Effective, []string, error) {
	d, err := c.Directory(dir)
	if err != nil {
		return nil, nil, err
	}
	matched, err := c.MatchVarFiles(dir)
	if err != nil {
		return nil, nil, err
	}
	names, warnings, err := settings.Instances(c.Settings, dir, d, matched)
	if err != nil {
		return nil, warnings, err
	}
	all := make([]settings.Effective, len(names))
	for i, in := range names {
		if all[i], err = settings.Resolve(c.Settings, dir, d, in.Name, in.VarFile); err != nil {
			return nil, warnings, err
		}
	}
	return all, warnings, nil
}

// Ignores reports whether a change of the path affects nothing. A state is not
// what a stack is made of (docs/scan.md, rule 27).
func (c Config) Ignores(name string) bool {
	for _, state := range []string{".tfstate", ".tfstate.backup", ".tfstate.lock.info"} {
		if strings.HasSuffix(name, state) {
			return true
		}
	}
	return slices.ContainsFunc(c.Settings.Stacks.Ignore, func(glob string) bool {
		return doublestar.MatchUnvalidated(glob, path.Clean(name))
	})
}
