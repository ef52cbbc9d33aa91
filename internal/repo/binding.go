package repo

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/bmatcuk/doublestar/v4"
)

// A Misfit is a glob of a policy's stacks that matches no directory, so that it
// binds nothing: most likely it is misspelt.
type Misfit struct {
	File   string // the assize.yaml, from the root of the one that governs
	Policy string // its path, as the file has it
	Glob   string
}

// Misfits are the globs that match no directory below the root that they are
// relative to. What cannot be looked into might hold one, so nothing is said of a
// glob that leads there.
func (c Config) Misfits() []Misfit {
	var out []Misfit
	for _, file := range c.files() {
		for _, p := range file.Settings.Policies {
			for _, glob := range p.Stacks {
				if !matchesDirectory(file.Root, glob) {
					out = append(out, Misfit{path.Join(file.from(c), ConfigName), p.Path, glob})
				}
			}
		}
	}
	return out
}

// notStacks are directories that tools and git fill; no stack is in there, and
// much else is.
var notStacks = []string{".git", ".terraform", ".assize"}

// matchesDirectory looks where the glob leads and no further than the first
// match, so that only one that is misspelt costs a walk.
func matchesDirectory(root, glob string) bool {
	base, _ := doublestar.SplitPattern(glob)
	err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(base)), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if doublestar.MatchUnvalidated(glob, filepath.ToSlash(rel)) {
			return errMatched
		}
		if slices.Contains(notStacks, d.Name()) {
			return fs.SkipDir
		}
		return nil
	})
	return err != nil && !errors.Is(err, os.ErrNotExist)
}

// errMatched ends a walk; like any other error but absence, it says that there
// may well be such a directory.
var errMatched = errors.New("it matches")
