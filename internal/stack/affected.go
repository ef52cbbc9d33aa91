package stack

import (
	"cmp"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// Changes is what is different from the base, and what somebody asks for. All
// paths are slash-separated and relative to the root.
type Changes struct {
	Paths   []string          // added, modified or deleted: files, or directories such as submodules
	Renamed []Rename          // both sides are changed paths too
	Deleted []Key             // stacks of the base that are gone, or all of the base; a directory's bare path where no more is known
	Ignore  func(string) bool // says which paths affect nothing; nil for none

	Requested []Key // stacks of this repository
	All       bool  // every stack is requested

	Only bool // leave out the stacks that depend on affected ones
}

// A Rename is a file or directory that has another name now.
type Rename struct{ From, To string }

// Affected says which stacks a change affects, why, and in which waves they go
// (docs/stacks.md, rules 12 to 20). It fails where a stack is requested that is
// not there.
func Affected(g Graph, c Changes) (api.Affected, error) {
	s := search{g: g, via: make([][]api.Via, len(g.keys)), moved: make([]bool, len(g.keys))}
	s.changed(c.paths())
	removed := s.removed(c)
	if !c.Only {
		s.propagate()
	}
	if err := s.request(c); err != nil {
		return api.Affected{}, err
	}
	out := s.result()
	out.Removed = removed
	out.Warnings = sortedTexts(append(removalWarnings(removed), g.shape.Warnings...))
	return out, nil
}

// paths is every changed path that counts, sorted.
func (c Changes) paths() []string {
	paths := slices.Clone(c.Paths)
	for _, r := range c.Renamed {
		paths = append(paths, r.From, r.To)
	}
	for i, p := range paths {
		paths[i] = strings.TrimSuffix(strings.TrimPrefix(p, "./"), "/")
	}
	paths = slices.DeleteFunc(paths, func(p string) bool {
		inside := slices.Contains(strings.Split(p, "/"), ".terraform") // what init downloads
		return p == "" || inside || c.Ignore != nil && c.Ignore(p)
	})
	slices.Sort(paths)
	return slices.Compact(paths)
}

// A search collects what brings each node in.
type search struct {
	g     Graph
	via   [][]api.Via
	moved []bool // nodes that the change itself brought in: what depends on them follows
}

func (s *search) bring(i int, reason api.Reason, from string) {
	s.via[i] = append(s.via[i], api.Via{Reason: reason, From: from})
	s.moved[i] = reason != api.ReasonRequested || s.moved[i]
}

// changed brings in the stacks that own, watch or call what was changed.
func (s *search) changed(paths []string) {
	var stackDirs, moduleDirs, watched places
	for dir := range s.g.byPath {
		stackDirs = append(stackDirs, dir)
	}
	for _, m := range s.g.modules.shapes {
		if m.Kind == string(LocalModule) { // the others are not in this repository
			moduleDirs = append(moduleDirs, m.Key)
		}
	}
	watchers := map[string][]int{}
	for i, st := range s.g.stacks {
		for _, p := range st.WatchPaths {
			watchers[p] = append(watchers[p], i)
		}
	}
	for p := range watchers {
		watched = append(watched, p)
	}
	slices.Sort(stackDirs)
	slices.Sort(moduleDirs)
	slices.Sort(watched)

	modules := map[int]bool{}
	for _, p := range paths {
		for _, dir := range stackDirs.of(p) {
			for _, i := range s.g.byPath[dir] {
				s.bring(i, api.ReasonChanged, p)
			}
		}
		for _, dir := range moduleDirs.of(p) {
			modules[s.g.modules.byKey[dir]] = true
		}
		for _, w := range append(watched.under(p), around(p)...) {
			for _, i := range watchers[w] {
				s.bring(i, api.ReasonWatchPath, p)
			}
		}
	}
	s.useModules(modules)
}

// around is a path and every directory that it is in, but for the root.
func around(p string) []string {
	all := []string{p}
	for i := strings.LastIndexByte(p, '/'); i > 0; i = strings.LastIndexByte(p, '/') {
		p = p[:i]
		all = append(all, p)
	}
	return all
}

// places are sorted paths.
type places []string

// of returns the directories that a changed path belongs to: the deepest one
// that it is in, and all that are in it, should it be a directory itself.
func (d places) of(path string) []string {
	dirs := d.under(path)
	for at := path; ; {
		if _, ok := slices.BinarySearch(d, at); ok {
			return append(dirs, at)
		}
		i := strings.LastIndexByte(at, '/')
		if i < 0 {
			break
		}
		at = at[:i]
	}
	if _, ok := slices.BinarySearch(d, "."); ok && path != "." {
		dirs = append(dirs, ".")
	}
	return dirs
}

// under returns the places inside a directory, by whole names: foo is not
// inside of foobar.
func (d places) under(dir string) []string {
	if dir == "." {
		return slices.Clone(d)
	}
	from, _ := slices.BinarySearch(d, dir+"/")
	to, _ := slices.BinarySearch(d, dir+"0") // the byte after the slash
	return slices.Clone(d[from:to])
}

// useModules brings in what uses the changed modules, directly or through
// others. Of several that a call leads to, the nearest stands for all; otherwise
// a large change would name every module for every stack.
func (s *search) useModules(changed map[int]bool) {
	m := s.g.modules
	origin := make([]int, len(m.shapes))
	var work []int
	for i := range m.shapes {
		origin[i] = none
		if changed[i] {
			origin[i] = i
			work = append(work, i)
		}
	}
	for next := 0; next < len(work); next++ {
		for _, i := range m.callers[work[next]] {
			if origin[i] == none {
				origin[i] = origin[work[next]]
				work = append(work, i)
			}
		}
	}
	for _, i := range work {
		for _, user := range m.users[i] {
			s.bring(user, api.ReasonModule, m.shapes[origin[i]].Key)
		}
	}
}

// propagate brings in what depends on what was brought in, once for each edge,
// so that the reason is that of the edge (docs/stacks.md, rule 16).
func (s *search) propagate() {
	var from []int
	for i, moved := range s.moved {
		if moved {
			from = append(from, i)
		}
	}
	s.moved = closure(len(s.moved), from, func(i int) []int { return s.g.neededBy[i] })
	for i := range s.moved {
		for _, n := range s.g.needs[i] {
			if s.moved[n.to] {
				s.bring(i, edgeReason(n.kind), s.g.keys[n.to])
			}
		}
	}
}

// edgeReason is why one stack is affected when what it needs is.
func edgeReason(kind api.EdgeKind) api.Reason {
	if kind == api.ReadsState {
		return api.ReasonReadsState
	}
	return api.ReasonDependent
}

func (s *search) request(c Changes) error {
	for _, k := range c.Requested {
		i, ok := s.g.byKey[k.String()]
		if !ok || i >= len(s.g.stacks) {
			return problem.New(api.NotFound, "there is no stack %s", k).WithHint("assize stacks lists them all")
		}
		s.bring(i, api.ReasonRequested, k.String())
	}
	if c.All {
		for i := range s.g.stacks {
			s.bring(i, api.ReasonRequested, "*")
		}
	}
	return nil
}

func (s *search) result() api.Affected {
	rank := map[api.Reason]int{}
	for i, r := range api.Reasons() {
		rank[r] = i
	}
	in := make([]bool, len(s.g.keys))
	for i := range s.g.stacks {
		in[i] = len(s.via[i]) > 0
	}
	wave := s.g.waves(in)
	out := api.Affected{Stacks: []api.AffectedStack{}, Waves: s.g.waveKeys(wave, in)}
	for i := range s.g.stacks {
		if !in[i] {
			continue
		}
		via := s.via[i]
		slices.SortFunc(via, func(a, b api.Via) int {
			return cmp.Or(cmp.Compare(rank[a.Reason], rank[b.Reason]), strings.Compare(a.From, b.From))
		})
		st := api.AffectedStack{Key: s.g.keys[i], Wave: wave[i], Via: slices.Compact(via)}
		for _, v := range st.Via {
			if !slices.Contains(st.Reasons, v.Reason) {
				st.Reasons = append(st.Reasons, v.Reason)
			}
		}
		out.Stacks = append(out.Stacks, st)
	}
	return out
}
