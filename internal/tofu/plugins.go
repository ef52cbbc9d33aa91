package tofu

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// This file shares the providers of many stacks. The tools have a cache for
// that, and say that it does not stand two inits at once: they write into it in
// place, over what another stack may be running.
//
// The idea to know: no tool ever gets to see the cache. Each init gets a shelf of
// its own, on which stand links to what the cache has of the lock file. What the
// tool puts there besides moves into the cache when it is complete, by one
// rename, and never over what is there (docs/configuration.md, rule 28).

// cacheVariable is the tools' own for their cache.
const cacheVariable = "TF_PLUGIN_CACHE_DIR"

const shelfPrefix = ".assize-shelf-"

// PluginCache is the directory of the providers that stacks share: the one that
// TF_PLUGIN_CACHE_DIR or the tool's own configuration file names, else one for
// this user. It is "" where there is none that could be used, or where what the
// user has said is for the tool alone to understand.
func (t Tool) PluginCache() string {
	if dir := t.Getenv(cacheVariable); dir != "" {
		return absoluteDir(dir)
	}
	for _, file := range t.configFiles() {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), "plugin_cache_dir") {
			continue
		}
		if m := cacheSetting.FindSubmatch(text); m != nil {
			return absoluteDir(os.Expand(string(m[1]), t.Getenv))
		}
		return ""
	}
	caches, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	_ = os.Mkdir(caches, 0o700) // but no home for a user who has none
	if !exists(caches) {
		return ""
	}
	dir := filepath.Join(caches, "assize", "plugins")
	if os.MkdirAll(dir, 0o700) != nil {
		return ""
	}
	return dir
}

var cacheSetting = regexp.MustCompile(`(?m)^\s*plugin_cache_dir\s*=\s*"([^"\\]+)"`)

// configFiles are where the tools look for their own configuration.
func (t Tool) configFiles() []string {
	for _, variable := range []string{"TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"} {
		if file := t.Getenv(variable); file != "" {
			return []string{file}
		}
	}
	home := t.Getenv("HOME")
	if home == "" {
		return nil
	}
	config := t.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(home, ".config")
	}
	return []string{filepath.Join(home, ".tofurc"), filepath.Join(config, "opentofu", "tofurc"), filepath.Join(home, ".terraformrc")}
}

// absoluteDir returns dir if it is one and has an absolute path, else "".
func absoluteDir(dir string) string {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() || !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}

// A shelf is the cache as one init sees it.
type shelf struct {
	cache, path string
	providers   string // where the tool links to it
	lock        *os.File
	unlock      func() // of the cache, which is held while something is fetched
}

// shelve makes the shelf of one init. It is nil where there is no cache that
// could be written: then the tool goes without. An error is an interrupt.
func (s *Session) shelve(ctx context.Context) (*shelf, error) {
	if s.Plugins == "" {
		return nil, nil
	}
	cache, err := filepath.EvalSymlinks(s.Plugins) // as the tools resolve it
	if err != nil {
		return nil, nil
	}
	f := &shelf{cache: cache, providers: filepath.Join(s.DataDir(), "providers"), unlock: func() {}}
	packages := s.lockedPackages()
	// Whoever has to fetch what another one is fetching waits for it. Without a
	// lock file the tools fetch everything anyway.
	if !f.has(packages) {
		unlock, err := Lock(ctx, filepath.Join(f.cache, ".assize-lock"))
		switch {
		case errors.Is(err, ErrInterrupted):
			return nil, err
		case err != nil:
			return nil, nil
		case f.has(packages):
			unlock()
		default:
			f.unlock = unlock
		}
	}
	f.sweep()
	if err := f.fill(packages); err != nil {
		f.close()
		return nil, nil
	}
	return f, nil
}

func (f *shelf) has(packages []string) bool {
	return !slices.ContainsFunc(packages, func(p string) bool { return !exists(filepath.Join(f.cache, p)) })
}

// fill links what the lock file names and the cache has.
func (f *shelf) fill(packages []string) error {
	fresh, err := os.MkdirTemp(f.cache, ".assize-new-")
	if err != nil {
		return err
	}
	f.path = fresh
	if f.lock, err = os.Open(fresh); err != nil {
		return err
	}
	if err := syscall.Flock(int(f.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return err
	}
	// It gets the name by which it is swept only once it is locked.
	f.path = strings.Replace(fresh, ".assize-new-", shelfPrefix, 1)
	if err := os.Rename(fresh, f.path); err != nil {
		f.path = fresh
		return err
	}
	for _, p := range packages {
		from, to := filepath.Join(f.cache, p), filepath.Join(f.path, p)
		if !exists(from) {
			continue
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.Symlink(from, to)); err != nil {
			return err
		}
	}
	return nil
}

// keep moves what an init that went well has fetched into the cache.
func (f *shelf) keep() {
	for _, path := range packagesIn(f.path) {
		rel, err := filepath.Rel(f.path, path)
		if err != nil {
			continue
		}
		to := filepath.Join(f.cache, rel)
		if exists(to) || os.MkdirAll(filepath.Dir(to), 0o700) != nil {
			continue
		}
		_ = os.Remove(to)       // a link into a mirror that has moved
		_ = os.Rename(path, to) // somebody else was faster, or it is fetched again
	}
}

// close has the stack's links lead to the cache, for the shelf goes.
func (f *shelf) close() {
	for _, link := range packagesIn(f.providers) {
		target, err := os.Readlink(link)
		rel, below := strings.CutPrefix(target, f.path+string(filepath.Separator))
		if err != nil || !below {
			continue
		}
		_ = os.Remove(link)
		if to := filepath.Join(f.cache, rel); exists(to) {
			_ = os.Symlink(to, link)
		}
	}
	if f.path != "" {
		_ = os.RemoveAll(f.path)
	}
	if f.lock != nil {
		_ = f.lock.Close()
	}
	f.unlock()
}

// sweep removes the shelves of processes that were killed.
func (f *shelf) sweep() {
	left, _ := filepath.Glob(filepath.Join(f.cache, shelfPrefix+"*"))
	for _, path := range left {
		dir, err := os.Open(path)
		if err != nil {
			continue
		}
		if syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(path)
		}
		_ = dir.Close()
	}
}

// packagesIn lists the directories of packages: HOST/NAMESPACE/TYPE/VERSION/PLATFORM.
func packagesIn(dir string) []string {
	paths, _ := filepath.Glob(filepath.Join(dir, "*", "*", "*", "*", "*_*"))
	return slices.DeleteFunc(paths, func(path string) bool {
		info, err := os.Lstat(path)
		return err != nil || info.Mode().IsRegular() // OpenTofu locks with files
	})
}

var lockedProvider = regexp.MustCompile(`(?m)^provider "([^"\\]+/[^"\\]+/[^"\\]+)" \{\n\s*version\s*=\s*"([^"\\/]+)"`)

// lockedPackages are the packages that the lock file names, as a cache has them.
func (s *Session) lockedPackages() []string {
	text, err := os.ReadFile(filepath.Join(s.Dir, lockFileName))
	if err != nil {
		return nil
	}
	var packages []string
	for _, m := range lockedProvider.FindAllSubmatch(text, -1) {
		p := filepath.Join(filepath.FromSlash(string(m[1])), string(m[2]), runtime.GOOS+"_"+runtime.GOARCH)
		if filepath.IsLocal(p) && strings.Count(p, string(filepath.Separator)) == 4 {
			packages = append(packages, p)
		}
	}
	return packages
}
