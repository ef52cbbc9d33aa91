package scan

import (
	"path"
	"slices"
)

// data are the files and directories that links in a stack's directory, or in
// those of its modules, lead to, and the links on the way: what the code reads
// through them is part of the stack, and nobody but the tool knows whether it
// does (docs/scan.md, rule 21).
func (s *scanner) data(d *directory, modules []*directory) []string {
	var work []string
	for _, name := range s.linksIn(d.path) {
		if s.owner(name) == d.path {
			work = append(work, name)
		}
	}
	for _, m := range modules {
		work = append(work, s.linksIn(m.path)...)
	}
	var all []string
	seen := map[string]bool{}
	for len(work) > 0 {
		link := work[0]
		work = work[1:]
		if seen[link] {
			continue
		}
		seen[link] = true
		real, via, err := s.resolve(link)
		if err != nil || s.configured[real] {
			continue
		}
		all = append(append(all, via...), real)
		work = append(work, s.linksIn(real)...)
	}
	return all
}

// linksIn are the links in a directory, however deep.
func (t *tree) linksIn(dir string) []string {
	if dir == "." {
		return t.links
	}
	from, _ := slices.BinarySearch(t.links, dir+"/")
	to, _ := slices.BinarySearch(t.links, dir+"0") // the byte after the slash
	return t.links[from:to]
}

// mark notes the directories with configuration somewhere in them. A link to one
// is how modules are called; whoever does so watches the module, and a change of
// another is nothing to it.
func (t *tree) mark() {
	for dir, names := range t.dirs {
		if !slices.ContainsFunc(names, isConfiguration) {
			continue
		}
		for ; !t.configured[dir]; dir = path.Dir(dir) {
			t.configured[dir] = true
		}
	}
}
