package suite

import (
	"maps"
	"slices"

	"github.com/assize-iac/assize/api"
)

// Cover joins what several plans show of a policy: how many changes each rule
// looked at, which rules found nothing at all, and which lines were evaluated.
// The order of rules and files is that in which they come first
// (docs/testing.md, rule 13).
func Cover(verdicts []api.Verdict, lines [][]api.FileLines) api.Coverage {
	out := api.Coverage{Rules: []api.RuleCount{}, Idle: []string{}, Files: []api.FileLines{}}
	found, named := map[string]bool{}, map[string]int{}
	for _, v := range verdicts {
		for _, r := range v.Rules {
			i, ok := named[r.Rule]
			if !ok {
				i, named[r.Rule] = len(out.Rules), len(out.Rules)
				out.Rules = append(out.Rules, api.RuleCount{Rule: r.Rule})
			}
			out.Rules[i].Matched += r.Matched
		}
		for _, f := range v.Findings {
			found[f.Rule] = true
		}
	}
	for _, r := range out.Rules {
		if !found[r.Rule] && !renamed(found, named) {
			out.Idle = append(out.Idle, r.Rule)
		}
	}
	out.Files = joined(lines)
	return out
}

// renamed reports whether findings have names of their own, as results in Rego
// may: then nobody can tell which rule they are of.
func renamed(found map[string]bool, named map[string]int) bool {
	for rule := range found {
		if _, ok := named[rule]; !ok {
			return true
		}
	}
	return false
}

// joined has a line covered where one plan covered it.
func joined(lines [][]api.FileLines) []api.FileLines {
	var names []string
	covered, all := map[string]map[int]bool{}, map[string]map[int]bool{}
	for _, files := range lines {
		for _, f := range files {
			if all[f.File] == nil {
				names = append(names, f.File)
				covered[f.File], all[f.File] = map[int]bool{}, map[int]bool{}
			}
			for _, n := range f.Covered {
				covered[f.File][n], all[f.File][n] = true, true
			}
			for _, n := range f.Missed {
				all[f.File][n] = true
			}
		}
	}
	out := []api.FileLines{}
	for _, name := range names {
		f := api.FileLines{File: name, Covered: []int{}, Missed: []int{}}
		for _, n := range slices.Sorted(maps.Keys(all[name])) {
			if covered[name][n] {
				f.Covered = append(f.Covered, n)
			} else {
				f.Missed = append(f.Missed, n)
			}
		}
		out = append(out, f)
	}
	return out
}
