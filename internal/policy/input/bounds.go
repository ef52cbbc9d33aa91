package input

import (
	"fmt"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// Bounds say how large an input may be, each for itself; zero is the default
// (docs/policy-input.md, rule 11). They can be raised, not lowered, for a
// policy may rely on seeing every plan within them.
type Bounds struct {
	Bytes            int // of the text
	Nodes            int // values of any kind
	Changes          int
	SensitivityNodes int // values in sensitivity maps
	Keys             int // of one object
	Items            int // of one list other than resource_changes
	StringBytes      int // of one text or key
	Depth            int // containers inside each other
}

// DefaultBounds are those of seed 000; it gives no numbers for the last four.
func DefaultBounds() Bounds {
	return Bounds{
		Bytes: 2 << 20, Nodes: 50_000, Changes: 5_000, SensitivityNodes: 20_000,
		Keys: 5_000, Items: 10_000, StringBytes: 1 << 20, Depth: 64,
	}
}

// A bound is one of [Bounds] by the name that people use: on the page, in errors
// and on the command line.
type bound struct {
	name  string
	value *int
}

// each is the only list of the bounds, in the order of the fields, so that none
// can be measured and not enforced.
func (b *Bounds) each() []bound {
	return []bound{
		{"bytes", &b.Bytes},
		{"nodes", &b.Nodes},
		{"changes", &b.Changes},
		{"sensitivity_nodes", &b.SensitivityNodes},
		{"keys", &b.Keys},
		{"items", &b.Items},
		{"string_bytes", &b.StringBytes},
		{"depth", &b.Depth},
	}
}

// Set raises the bound of that name, as the table of the page calls it.
func (b *Bounds) Set(name string, limit int) error {
	var names []string
	for _, known := range b.each() {
		if known.name == name {
			*known.value = limit
			return nil
		}
		names = append(names, known.name)
	}
	return problem.New(api.Invalid, "there is no bound %q", name).WithHint("use one of %s", strings.Join(names, ", "))
}

// limits fills in the defaults. A bound below them is an error rather than
// ignored: whoever set it expects it to hold.
func (b Bounds) limits() (Bounds, error) {
	limits := DefaultBounds()
	least := limits.each()
	for i, given := range b.each() {
		if *given.value == 0 {
			continue
		}
		if *given.value < *least[i].value {
			return Bounds{}, problem.New(api.Invalid, "the bound %s is %d, below the contract's %d", given.name, *given.value, *least[i].value).
				WithHint("bounds of the policy input can be raised only")
		}
		*least[i].value = *given.value
	}
	return limits, nil
}

// within names every bound that found exceeds, so that nobody has to raise them
// one after the other.
func (found Bounds) within(limits Bounds) error {
	var over, raise []string
	most := limits.each()
	for i, f := range found.each() {
		if *f.value > *most[i].value {
			over = append(over, fmt.Sprintf("%s %d (limit %d)", f.name, *f.value, *most[i].value))
			raise = append(raise, fmt.Sprintf("--bound %s=%d", f.name, *f.value))
		}
	}
	if over == nil {
		return nil
	}
	return problem.New(api.TooLarge, "the policy input is too large: %s", strings.Join(over, ", ")).
		WithHint("a larger bound is a choice of whoever judges: %s", strings.Join(raise, " "))
}

// measure counts a document whose text has so many bytes. It is asked before
// anything else is, so it takes any shape: what is not where it belongs counts
// as a value like any other.
func measure(tree any, bytes int) Bounds {
	found := Bounds{Bytes: bytes}
	document, _ := tree.(map[string]any)
	changes, _ := document["resource_changes"].([]any)
	found.Changes = len(changes)
	for _, c := range changes {
		change, _ := c.(map[string]any)
		delta, _ := change["change"].(map[string]any)
		for _, name := range []string{"before_sensitive", "after_sensitive"} {
			if marks, ok := delta[name]; ok {
				var m Bounds
				m.count(marks, 1)
				found.SensitivityNodes += m.Nodes
			}
		}
	}
	found.count(tree, 1)
	return found
}

// count goes down recursively; the parser has refused what is ten thousand deep.
func (found *Bounds) count(v any, depth int) {
	found.Nodes++
	switch v := v.(type) {
	case string:
		found.StringBytes = max(found.StringBytes, len(v))
	case []any:
		found.Depth = max(found.Depth, depth)
		found.Items = max(found.Items, len(v))
		for _, e := range v {
			found.count(e, depth+1)
		}
	case map[string]any:
		found.Depth = max(found.Depth, depth)
		found.Keys = max(found.Keys, len(v))
		for k, e := range v {
			found.StringBytes = max(found.StringBytes, len(k))
			// Nobody else's list is meant: a map in a value may have the same key.
			if list, ok := e.([]any); ok && depth == 1 && k == "resource_changes" {
				found.countChanges(list)
				continue
			}
			found.count(e, depth+1)
		}
	}
}

// countChanges leaves the length of the list out: it has a bound of its own.
func (found *Bounds) countChanges(list []any) {
	found.Nodes++
	found.Depth = max(found.Depth, 2)
	for _, e := range list {
		found.count(e, 3)
	}
}
