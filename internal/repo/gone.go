package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/assize-iac/assize/internal/repo/scan"
	"github.com/assize-iac/assize/internal/settings"
	"github.com/assize-iac/assize/internal/stack"
)

// Gone are the stacks of the tree base that are none in now, of which the paths
// changed differ: directories, by their bare paths, and of those that stay the
// instances that are gone (docs/scan.md, rule 29). A directory that cannot be read
// now, or that another assize.yaml governs, is not gone. Warnings say of which
// directory it is not known.
func (c Config) Gone(base fs.FS, now scan.Result, changed []string) (gone []stack.Key, warnings []string, err error) {
	here := map[string][]stack.Key{} // nothing is known of a broken one
	for _, dir := range now.Broken {
		here[dir] = nil
	}
	for _, s := range now.Stacks {
		here[s.Key.Path] = append(here[s.Key.Path], s.Key)
	}
	dirs, err := c.goneDirectories(base, now, changed, func(dir string) bool {
		_, found := here[dir]
		return found || slices.ContainsFunc(now.Foreign, func(root string) bool { return within(root, dir) })
	})
	if err != nil {
		return nil, nil, err
	}
	for _, dir := range dirs {
		gone = append(gone, stack.Key{Path: dir})
	}
	redefined := c.Redefined(now.Stacks, changed)
	if len(redefined) == 0 {
		return gone, nil, nil
	}
	were, err := scan.MayBeStacks(base, c.atBase(), redefined, func(dir string) bool {
		_, found := slices.BinarySearch(redefined, dir)
		return !found
	})
	if err != nil {
		return nil, nil, err
	}
	for _, dir := range were {
		some, err := c.dropped(base, dir, here[dir])
		if err != nil {
			warnings = append(warnings, fmt.Sprintf("whether an instance of %s is gone is not known: at the base, %v", dir, err))
		}
		gone = append(gone, some...)
	}
	return gone, warnings, nil
}

// atBase is how another tree of this repository is scanned.
func (c Config) atBase() scan.Options {
	return scan.Options{Rules: c.rules(), Tool: c.Settings.Tool.Value, Cache: scan.OpenCache(c.Root)}
}

// goneDirectories are those that are stacks in base and not here. What a directory
// is depends on its own files and on who calls it, so one that is gone has changed,
// or is called now. Mostly none such was a stack, and the rest of the base need not
// be read.
func (c Config) goneDirectories(base fs.FS, now scan.Result, changed []string, isHere func(string) bool) ([]string, error) {
	o := c.atBase()
	suspects := slices.Clone(now.Called)
	for _, name := range changed {
		suspects = append(suspects, name, path.Dir(name))
	}
	found, err := scan.MayBeStacks(base, o, suspects, isHere)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	was, err := scan.Scan(base, o)
	if err != nil {
		return nil, err
	}
	gone := was.Broken
	for _, s := range was.Stacks {
		gone = append(gone, s.Key.Path)
	}
	slices.Sort(gone)
	return slices.DeleteFunc(slices.Compact(gone), isHere), nil
}

// dropped are the instances that the directory had in the tree base and has no
// more, by what its own files said of them. Where it had none, its only stack is
// not called gone: what has instances now may well be that one.
func (c Config) dropped(base fs.FS, dir string, here []stack.Key) (gone []stack.Key, err error) {
	name := path.Join(dir, DirectoryConfigName)
	data, err := fs.ReadFile(base, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, unreadable(name, err)
	}
	d, err := settings.ParseDirectory(name, data)
	if err != nil {
		return nil, err
	}
	var matched []string
	if glob := c.Settings.Stacks.FromVarFiles.Value; glob != "" {
		files, err := fs.Sub(base, dir)
		if err == nil {
			matched, err = varFiles(files, glob)
		}
		if err != nil {
			return nil, unreadable(dir, err)
		}
	}
	was, _, err := settings.Instances(c.Settings, dir, d, matched)
	if err != nil {
		return nil, err
	}
	for _, in := range was {
		if key := (stack.Key{Path: dir, Instance: in.Name}); in.Name != "" && !slices.Contains(here, key) {
			gone = append(gone, key)
		}
	}
	return gone, nil
}

// Redefined are the directories of stacks whose instances a change of these
// paths may have made others, sorted.
func (c Config) Redefined(stacks []stack.Stack, paths []string) (dirs []string) {
	glob := c.Settings.Stacks.FromVarFiles.Value
	isStack := map[string]bool{}
	for _, s := range stacks {
		isStack[s.Key.Path] = true
	}
	for _, name := range paths {
		for dir := path.Dir(name); ; dir = path.Dir(dir) {
			rest := strings.TrimPrefix(name, dir+"/")
			if isStack[dir] && (rest == DirectoryConfigName || glob != "" && doublestar.MatchUnvalidated(glob, rest)) {
				dirs = append(dirs, dir)
			}
			if dir == "." || dir == "/" {
				break
			}
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
