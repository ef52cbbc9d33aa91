package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cuelang.org/go/cue"
)

// A need is what one thing needs of another: it can be made only after that.
type need struct {
	of string // a key of compiler.needs
	by cue.Value
}

// need notes that what is being emitted needs a thing, for the sake of a value.
func (c *compiler) need(of string, by cue.Value) {
	if c.needs == nil {
		c.needs = map[string][]need{}
	}
	c.needs[c.emitting] = append(c.needs[c.emitting], need{of, by})
}

// refer notes what a reference in a value leads to.
func (c *compiler) refer(ref string, v cue.Value) {
	if item, _ := c.resolve(ref); item != nil {
		c.need(item.at, v)
	}
}

// ofProvider is the key of a provider among what is needed.
func ofProvider(p *provider) string { return "provider " + p.path }

// acyclic refuses things that need each other, directly or through others: none of
// them can be the first (docs/spec.md, rule 35). The tool would say so too, but knows
// neither paths in CUE nor places.
func (c *compiler) acyclic() error {
	cycle := c.cycle()
	if cycle == nil {
		return nil
	}
	var said, positions []string
	for _, n := range cycle {
		said = append(said, fmt.Sprintf("%s needs %s", visible(n.by.Path()), c.known(n.of)))
		if file, line := c.src.where(n.by); file != "" {
			positions = append(positions, fmt.Sprintf("%s:%d", file, line))
		}
	}
	return invalid("%s", located("evaluating "+c.src.Name+":\ncycle: "+strings.Join(said, ", "), positions)).
		WithHint("none of them can be made first: write one of these values down, or take it from what is there before")
}

// visible is a path as far as it is one of the specification's text: what is carried
// with a value stands below it, in definitions.
func visible(p cue.Path) string {
	all := p.Selectors()
	if i := slices.IndexFunc(all, cue.Selector.IsDefinition); i > 0 {
		all = all[:i]
	}
	return cue.MakePath(all...).String()
}

// known is a thing as the specification knows it.
func (c *compiler) known(key string) string {
	if i := c.items[key]; i != nil {
		return i.path
	}
	return strings.TrimPrefix(key, "provider ")
}

// cycle is the shortest way from a thing back to itself, of the first thing that has
// one; nil if there is none.
func (c *compiler) cycle() []need {
	done := map[string]bool{}
	for _, from := range slices.Sorted(maps.Keys(c.needs)) {
		if at := c.returns(from, map[string]bool{}, done); at != "" {
			return c.around(at)
		}
	}
	return nil
}

// returns is something that is met again on a way from here; "" if nothing is. done
// are things from which no way returns.
func (c *compiler) returns(from string, on, done map[string]bool) string {
	switch {
	case on[from]:
		return from
	case done[from]:
		return ""
	}
	on[from] = true
	for _, n := range c.needs[from] {
		if at := c.returns(n.of, on, done); at != "" {
			return at
		}
	}
	delete(on, from)
	done[from] = true
	return ""
}

// around is the shortest way from a thing back to itself.
func (c *compiler) around(thing string) []need {
	type step struct {
		need
		before int // in steps; -1 for the first
	}
	var steps []step
	seen := map[string]bool{}
	reach := func(from string, before int) {
		for _, n := range c.needs[from] {
			if !seen[n.of] {
				seen[n.of] = true
				steps = append(steps, step{n, before})
			}
		}
	}
	reach(thing, -1)
	for i := 0; i < len(steps); i++ {
		if steps[i].of != thing {
			reach(steps[i].of, i)
			continue
		}
		var way []need
		for at := i; at >= 0; at = steps[at].before {
			way = append(way, steps[at].need)
		}
		slices.Reverse(way)
		return way
	}
	return nil
}
