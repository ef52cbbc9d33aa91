package stack

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
)

// removed lists the stacks that are gone, and marks what declares that it still
// depends on them: that has changed under it (docs/stacks.md, rule 19).
func (s *search) removed(c Changes) []api.RemovedStack {
	out := []api.RemovedStack{}
	for _, k := range c.Deleted {
		here := s.g.byPath[k.Path]
		if _, ok := s.g.Stack(k); ok || k.Instance == "" && len(here) > 0 {
			continue // it was said to be gone, and it is not
		}
		for _, key := range []string{k.String(), k.Path} {
			if i, ok := s.g.byKey[key]; ok && i >= len(s.g.stacks) {
				s.moved[i] = true
			}
		}
		r := api.RemovedStack{Key: k.String()}
		if len(here) == 0 {
			r.RenamedTo = s.renamedTo(k.Path, c.Renamed)
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b api.RemovedStack) int { return strings.Compare(a.Key, b.Key) })
	return slices.Compact(out)
}

// renamedTo is the directory of a stack to which most of dir went.
func (s *search) renamedTo(dir string, renames []Rename) string {
	votes := map[string]int{}
	for _, r := range renames {
		if to := r.carry(dir); len(s.g.byPath[to]) > 0 {
			votes[to]++
		}
	}
	best := ""
	for _, to := range slices.Sorted(maps.Keys(votes)) {
		if best == "" || votes[to] > votes[best] {
			best = to
		}
	}
	return best
}

// carry is where dir has gone if all of it went the way of r: with a directory
// that it is or is in, or with a file in it that kept the rest of its path. It
// is "" where r says nothing of dir.
func (r Rename) carry(dir string) string {
	if rest, ok := strings.CutPrefix(dir+"/", r.From+"/"); ok {
		return strings.TrimSuffix(r.To+"/"+rest, "/")
	}
	if rest, ok := strings.CutPrefix(r.From, dir+"/"); ok {
		to, _ := strings.CutSuffix(r.To, "/"+rest)
		return to
	}
	return ""
}

func removalWarnings(removed []api.RemovedStack) []string {
	var out []string
	for _, r := range removed {
		if r.RenamedTo != "" {
			out = append(out, fmt.Sprintf("stack %s has moved to %s: where the place of its state follows the directory, "+
				"move the state there, or everything is made a second time", r.Key, r.RenamedTo))
			continue
		}
		out = append(out, fmt.Sprintf("stack %s is gone from the repository, and what it made is not: "+
			"check out the base and run assize destroy %s, or move what it made to another stack", r.Key, r.Key))
	}
	return out
}
