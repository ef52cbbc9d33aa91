package repo

import (
	"os"
	"path"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/repo/scan"
	"github.com/assize-iac/assize/internal/settings"
)

// keptMin is how many stacks make it worth to keep what they say: fewer are
// parsed before anybody notices.
const keptMin = 100

// Stacks scans what the configuration governs. repo is owner/repo, "" when it is
// unknown.
func (c Config) Stacks(repo string) (scan.Result, error) {
	files, err := scan.Checkout(c.Root)
	if err != nil {
		return scan.Result{}, err
	}
	if os.Getenv("GOGC") == "" { // what a scan leaves behind is cheaper to keep for a second than to collect
		defer debug.SetGCPercent(debug.SetGCPercent(400))
	}
	cache := scan.OpenCache(c.Root)
	r, err := scan.Scan(files, scan.Options{
		Rules: c.rules(), Repo: repo, Tool: c.Settings.Tool.Value, Instances: c.instances, Cache: cache,
	})
	if err == nil && len(r.Stacks) >= keptMin {
		_ = cache.Save() // without it the next scan is slower, and no less right
	}
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

// instances are what holds for each stack of a directory that a scan has found,
// without a link.
func (c Config) instances(dir string) ([]settings.Effective, []string, error) {
	d, err := c.directory(dir)
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

// KeyMatches reports whether a pattern such as infra/**:prod matches the key of a
// stack. What stands behind its colon is for the instance alone: ** would be no
// more than * beside a colon (docs/rollouts.md, rule 15).
func KeyMatches(pattern, key string) (bool, error) {
	ok, err := doublestar.Match(pattern, key)
	if err != nil {
		return false, problem.New(api.Invalid, "%q is no pattern of stacks: %w", pattern, err).WithHint("such as 'infra/**' or '**:prod', in quotes")
	}
	paths, instances, both := cutInstance(pattern)
	path, instance, has := strings.Cut(key, ":")
	if !both || !has {
		return ok, nil
	}
	return doublestar.MatchUnvalidated(paths, path) && doublestar.MatchUnvalidated(instances, instance), nil
}

// cutInstance cuts a pattern at its colon, unless that is one of alternatives, as
// in {network:prod,dns}.
func cutInstance(pattern string) (paths, instances string, ok bool) {
	paths, instances, ok = strings.Cut(pattern, ":")
	return paths, instances, ok && strings.Count(paths, "{") == strings.Count(paths, "}") && strings.Count(paths, "[") == strings.Count(paths, "]")
}
