package scan

import (
	"io/fs"
	"path"
	"slices"
)

// MayBeStacks are those of dirs, and of the directories with a file that is a
// link, that are none of the known, and would be stacks of the tree or broken, if
// no stack called them as modules; sorted. It reads those directories and what
// they call.
func MayBeStacks(files fs.FS, o Options, dirs []string, known func(dir string) bool) ([]string, error) {
	s, err := newScanner(files, o)
	if err != nil {
		return nil, err
	}
	dirs = slices.Clone(dirs)
	for _, link := range s.links {
		if matters(path.Base(link)) {
			dirs = append(dirs, path.Dir(link))
		}
	}
	slices.Sort(dirs)
	return slices.DeleteFunc(slices.Compact(dirs), func(dir string) bool {
		_, walked := s.dirs[dir]
		return !walked || s.excluded(dir) || known(dir) ||
			!matches(s.Include, dir) && !s.candidate(s.once(dir)) && !s.callsItself(dir)
	}), nil
}

// once reads a directory, unless it was read.
func (s *scanner) once(dir string) *directory {
	at := reading{dir, s.Tool}
	if s.read[at] == nil {
		s.read[at] = s.readDirectory(dir, s.Tool, s.Cache)
		s.resolveCalls(s.read[at])
	}
	return s.read[at]
}

// callsItself reports whether dir calls itself through any modules.
func (s *scanner) callsItself(dir string) bool {
	next, seen := s.once(dir).callees(), map[string]bool{}
	for len(next) > 0 {
		callee := next[0]
		if next = next[1:]; callee == dir {
			return true
		}
		if !seen[callee] {
			seen[callee] = true
			next = append(next, s.once(callee).callees()...)
		}
	}
	return false
}
