package scan

import (
	"fmt"
	"path"
	"slices"

	"github.com/assize-iac/assize/internal/stack"
)

// A claim is that a stack reads a state of the repository, and where it says so.
type claim struct {
	by, at string
	state  stack.State
}

// claims notes which of the states that a block reads lie in the repository, by
// their place.
func (b *building) claims(by stack.Key, at string, states ...stack.State) {
	for _, state := range states {
		if state.Type == "local" && !path.IsAbs(state.ID) && !escapes(state.ID) {
			b.claimed = append(b.claimed, claim{by.String(), at, state})
		}
	}
}

// unkept warns of reads of states that no stack here keeps: a path with a typo
// orders nothing, and nobody would notice. Where a stack may keep its state
// anywhere, nothing is said (docs/scan.md, rule 37).
func (s *scanner) unkept(built []building, r Result) (warnings []string) {
	kept := map[stack.State]bool{}
	for _, st := range r.Stacks {
		kept[st.State] = true
	}
	vague := func(b building) bool { return b.vague }
	if len(r.Broken) > 0 || slices.ContainsFunc(built, vague) {
		return nil
	}
	for _, b := range built {
		for _, c := range b.claimed {
			if !kept[c.state] && !s.elsewhere(c.state.ID) {
				warnings = append(warnings, fmt.Sprintf("%s reads the state %s, which no stack here keeps (%s)", c.by, quote(c.state.ID), c.at))
			}
		}
	}
	return warnings
}

// elsewhere reports whether a path lies where stacks are somebody else's.
func (s *scanner) elsewhere(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if s.excluded(dir) || slices.Contains(s.foreign, dir) {
			return true
		}
	}
	return false
}
