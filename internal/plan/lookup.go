package plan

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/assize-iac/assize/internal/plan/mark"
	"github.com/assize-iac/assize/internal/plan/planjson"
)

// A State is one of the four that a value at a path can be in.
type State int

// The four states. Missing and Null are two, for `exists` tells them apart
// from a value but not from each other, and a message should.
const (
	Missing State = iota // absent, or below something that is no container
	Null
	Unknown
	Present
)

// A Found is what stands at one concrete path.
type Found struct {
	Path      string // [*] replaced by the index or the key, unless the key is secret
	State     State
	Value     any    // where State is Present
	Sensitive bool   // by the plan's maps, or because a secret of the plan is in the value
	Partial   bool   // Present, but something below is unknown: Value lacks it, so to compare it proves nothing
	Reason    string // why it is Unknown, or Partial, where that is not "known after apply"
}

// Lookup finds what would stand at path after the change: one Found, or one
// for each element that [*] reaches; none where [*] meets an empty list.
//
// A value is unknown where after_unknown is true at its path or at any prefix,
// whatever stands in after (docs/policy.md, rule 7). A path may go on inside a
// string that holds a JSON object or list (docs/policy.md, rule 12).
func (p *Plan) Lookup(c *Change, path Path) []Found {
	w := walk{plan: p}
	w.visit(node{c.After, c.After != nil, c.AfterUnknown, c.AfterSensitive}, nil, path)
	return w.found
}

// LookupBefore is Lookup in what stands there now.
func (p *Plan) LookupBefore(c *Change, path Path) []Found {
	w := walk{plan: p}
	w.visit(node{c.Before, c.Before != nil, nil, c.BeforeSensitive}, nil, path)
	return w.found
}

// A node is one place in a value with what the plan's maps say of it. Each map
// is a bool, an object, a list or null at every level.
type node struct {
	value     any
	exists    bool
	unknown   any
	sensitive any
}

type walk struct {
	plan  *Plan
	found []Found
}

// visit adds what stands at rest below n, which is itself at the path at. That
// something is unknown is asked first, at every step: what after holds there is
// the provider's guess, or nothing.
func (w *walk) visit(n node, at, rest Path) {
	n.sensitive = mark.Fitted(n.sensitive, n.value)
	if reason, hidden := w.plan.hidden(n, len(rest) == 0); hidden {
		w.add(n, at, rest, Unknown)
		w.found[len(w.found)-1].Reason = reason
		return
	}
	if len(rest) == 0 {
		w.add(n, at, rest, stateOf(n))
		return
	}
	text, _ := n.value.(string)
	n, ok := unwrap(n)
	if text != "" && w.plan.HasSecret(text) {
		n.sensitive = true // what stands in a secret text is secret, however short
	}
	if !ok {
		w.add(n, at, rest, Unknown)
		w.found[len(w.found)-1].Reason = "text that looks like JSON and is not"
		return
	}
	if rest[0].Kind == Each {
		w.each(n, at, rest)
		return
	}
	child, ok := n.child(rest[0])
	if !ok {
		w.add(child, at, rest, Missing)
		return
	}
	w.visit(child, append(at[:len(at):len(at)], rest[0]), rest[1:])
}

// each visits every element. Where there is no list to have elements, it adds
// one Found, so that a rule over the elements cannot pass for want of any.
func (w *walk) each(n node, at, rest Path) {
	steps, ok := n.steps()
	if !ok {
		state := Missing
		if n.exists && n.value == nil {
			state = Null
		}
		w.add(n, at, rest, state)
	}
	for _, s := range steps {
		child, _ := n.child(s)
		if s.Kind == Key && n.sensitive == true {
			s = Step{Kind: Each} // the keys of a secret are part of it: nobody is told them
		}
		next := append(at[:len(at):len(at)], s)
		if s.Kind != Index && len(rest) > 1 && child.isScalar() {
			// One object where a list of them was meant, as IAM allows: what the
			// path asks for stands here, and to miss it below would pass.
			w.add(child, next, nil, Unknown)
			w.found[len(w.found)-1].Reason = "no object"
			continue
		}
		w.visit(child, next, rest[1:])
	}
}

// add ends a walk. Value stays nil unless it is Present: what is not known is
// not to be judged by accident.
func (w *walk) add(n node, at, rest Path, state State) {
	f := Found{Path: slices.Concat(at, rest.until()).String(), State: state}
	if state == Present {
		f.Value, f.Reason = n.value, w.plan.hiddenPart(n)
		f.Partial = mark.Any(n.unknown) || f.Reason != ""
	}
	f.Sensitive = mark.Any(n.sensitive) || w.plan.HasSecret(f.Value)
	w.found = append(w.found, f)
}

// hidden reports whether n is unknown, and why, where that is not "known after
// apply". A null with unknown marks below it is unknown only where a path ends.
func (p *Plan) hidden(n node, last bool) (reason string, hidden bool) {
	switch {
	case !mark.Fits(n.unknown, n.value): // part of it is, and nobody can say which
		return "marked as unknown in another shape than it has", true
	case n.unknown == true, last && n.value == nil && mark.Any(n.unknown):
		return "", true
	case n.exists && p.withheld(n.value, n.sensitive):
		return "removed from the plan because it is sensitive", true
	}
	return "", false
}

// hiddenPart is the reason of the first part of n that is hidden for one: with
// it n is equal to nobody knows what (docs/policy.md, rule 7).
func (p *Plan) hiddenPart(n node) string {
	if !mark.Any(n.unknown) && !mark.Any(n.sensitive) {
		return ""
	}
	steps, _ := n.steps()
	for _, s := range steps {
		part, _ := n.child(s)
		part.sensitive = mark.Fitted(part.sensitive, part.value)
		reason, hidden := p.hidden(part, true)
		if !hidden {
			reason = p.hiddenPart(part)
		}
		if reason != "" {
			return reason
		}
	}
	return ""
}

// withheld reports whether v is the null that the first Terraforms to know of
// sensitivity wrote in place of a secret: a value that this plan does not show
// (docs/policy.md, rule 7).
func (p *Plan) withheld(v, marks any) bool {
	return v == nil && p.FormatVersion == "0.1" && mark.Any(marks)
}

func stateOf(n node) State {
	switch {
	case !n.exists:
		return Missing
	case n.value == nil:
		return Null
	default:
		return Present
	}
}

// isScalar reports whether a path ends at n, because n is known and has nothing
// below it.
func (n node) isScalar() bool {
	in, ok := unwrap(n)
	switch in.value.(type) {
	case bool, json.Number, string:
		return ok && n.unknown != true
	}
	return false
}

// child is the node one step below n; ok is false where no such step can be
// taken, neither in the value nor in what is unknown. The maps are walked along
// with the value even where it ends: the provider may yet add what they mark.
func (n node) child(s Step) (child node, ok bool) {
	child.sensitive = below(n.sensitive, s)
	child.unknown = below(n.unknown, s)
	child.value, child.exists = take(n.value, s)
	return child, child.exists || child.unknown != nil
}

// steps lists what [*] reaches in n, unknown elements included; ok is false
// where n is no container.
func (n node) steps() (steps []Step, ok bool) {
	if n.value == nil && !mark.Any(n.unknown) {
		return nil, false // {} or [] there says nothing of a value that is not here
	}
	list, isList := n.value.([]any)
	hidden, hiddenList := n.unknown.([]any)
	if isList || n.value == nil && hiddenList {
		for i := range max(len(list), len(hidden)) {
			steps = append(steps, Step{Index: i, Kind: Index})
		}
		return steps, true
	}
	object, isObject := n.value.(map[string]any)
	marks, hiddenObject := n.unknown.(map[string]any)
	if !isObject && (n.value != nil || !hiddenObject) {
		return nil, false
	}
	keys := slices.Collect(maps.Keys(object))
	for k, below := range marks {
		if _, known := object[k]; !known && mark.Any(below) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		steps = append(steps, Step{Key: k})
	}
	return steps, true
}

// take is one step in a value. A bare number leads into lists too.
func take(v any, s Step) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		if s.Kind == Key { // the key of an index is "", which an object may have
			e, ok := v[s.Key]
			return e, ok
		}
	case []any:
		i := s.Index
		if s.Kind == Key {
			var err error
			if i, err = strconv.Atoi(s.Key); err != nil || strconv.Itoa(i) != s.Key {
				return nil, false
			}
		}
		if i >= 0 && i < len(v) {
			return v[i], true
		}
	}
	return nil, false
}

// below is one step in a map of marks: true holds for everything below it.
func below(marks any, s Step) any {
	if marks == true {
		return true
	}
	m, _ := take(marks, s)
	return m
}

// unwrap replaces a string that holds a JSON object or list by what it holds,
// as IAM policies do. A text that looks like one but is malformed, or says a
// thing twice, cannot be judged: ok is false (docs/policy.md, rule 12).
func unwrap(n node) (in node, ok bool) {
	text, _ := n.value.(string)
	v, holds, err := planjson.Inner(text)
	if err != nil {
		return n, false
	}
	if !holds {
		return n, true
	}
	n.value = v
	if n.sensitive != true {
		n.sensitive = nil // a map of marks describes the plan's own values only
	}
	return n, true
}
