package compare

import (
	"maps"
	"reflect"
	"slices"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/plan/mark"
)

// instead is what stands in place of a value (see [api.ValueDifference]).
func instead(word string) any { return map[string]any{"$" + word: true} }

// A side is what one plan says of one place: the value there, and what of it is
// unknown and sensitive. Numbers have one spelling, so equal ones are equal texts.
type side struct {
	value     any
	exists    bool
	unknown   any
	sensitive any
}

func whole(v, unknown, sensitive any) side {
	return side{v, v != nil || mark.Any(unknown), unknown, sensitive}
}

// isUnknown reports whether nothing of the value can be compared.
func (s side) isUnknown() bool {
	return s.unknown == true || !mark.Fits(s.unknown, s.value) || s.value == nil && mark.Any(s.unknown)
}

func (s side) isSensitive() bool { return mark.Any(mark.Fitted(s.sensitive, s.value)) }

func (s side) at(step plan.Step) side {
	out := side{unknown: child(s.unknown, step), sensitive: child(s.sensitive, step)}
	switch v := s.value.(type) {
	case map[string]any:
		out.value, out.exists = v[step.Key], has(v, step.Key)
	case []any:
		if out.exists = step.Index < len(v); out.exists {
			out.value = v[step.Index]
		}
	}
	return out
}

// A pair is one place in two plans, and every map of what is sensitive there: a
// mark in either plan, before or after, is meant for the attribute.
type pair struct {
	first, second side
	hide          []any
}

func (p pair) at(step plan.Step) pair {
	return pair{p.first.at(step), p.second.at(step), below(p.hide, step)}
}

// walk returns the smallest parts that differ, sorted by path. Lists of
// different lengths differ as a whole, for which element became which is not in
// a plan. So does what is sensitive as a whole: its keys are part of the secret,
// unless it is the resource itself, whose keys are its schema.
func (c comparison) walk(at plan.Path, p pair) []api.ValueDifference {
	if c.again && p.first.unknown == true {
		return nil
	}
	p.hide = fitted(fitted(p.hide, p.first.value), p.second.value)
	unknowns := [2]bool{p.first.isUnknown(), p.second.isUnknown()}
	if unknowns == [2]bool{} && (len(at) == 0 || !slices.Contains(p.hide, any(true))) {
		if steps := common(p.first, p.second); len(steps) > 0 {
			var out []api.ValueDifference
			for _, step := range steps {
				out = append(out, c.walk(append(at[:len(at):len(at)], step), p.at(step))...)
			}
			return out
		}
	}
	d := api.ValueDifference{Path: c.text(at.String())}
	switch marked := [2]bool{p.first.isSensitive(), p.second.isSensitive()}; marked {
	case [2]bool{true, false}:
		d.Marked = "first"
	case [2]bool{false, true}:
		d.Marked = "second"
	}
	if (d.Marked == "" || c.again) && c.same(p.first, p.second) { // what is read from another state loses its mark
		return nil
	}
	d.First, d.Second = c.shown(p.first, p.hide), c.shown(p.second, p.hide)
	return []api.ValueDifference{d}
}

// same compares two sides as a whole. What is known after apply in both is the
// same: no plan says more of it.
func (c comparison) same(a, b side) bool {
	if a.isUnknown() || b.isUnknown() {
		return a.isUnknown() && b.isUnknown()
	}
	if withheld(c.first, a) || withheld(c.second, b) {
		return false
	}
	none := !mark.Any(a.unknown) && !mark.Any(b.unknown)
	return a.exists == b.exists && reflect.DeepEqual(a.value, b.value) && (none || reflect.DeepEqual(a.unknown, b.unknown))
}

// common are the steps into two objects, or into two lists of one length; none
// where only the whole can be compared.
func common(a, b side) (out []plan.Step) {
	switch first := a.value.(type) {
	case map[string]any:
		if second, ok := b.value.(map[string]any); ok {
			for _, k := range keys(first, second, marks(a.unknown), marks(b.unknown)) {
				out = append(out, plan.Step{Key: k})
			}
		}
	case []any:
		if second, ok := b.value.([]any); ok && length(first, a.unknown) == length(second, b.unknown) {
			for i := range length(first, a.unknown) {
				out = append(out, plan.Step{Index: i, Kind: plan.Index})
			}
		}
	}
	return out
}

// marks are those of an object. An attribute that is known after apply is left
// out of the value.
func marks(unknown any) map[string]any {
	m, _ := unknown.(map[string]any)
	out := map[string]any{}
	for k, below := range m {
		if mark.Any(below) {
			out[k] = below
		}
	}
	return out
}

func keys(objects ...map[string]any) []string {
	all := map[string]any{}
	for _, o := range objects {
		maps.Copy(all, o)
	}
	return slices.Sorted(maps.Keys(all))
}

func length(list []any, unknown any) int {
	hidden, _ := unknown.([]any)
	return max(len(list), len(hidden))
}

func (c comparison) shown(s side, hide []any) any {
	if !s.exists && !mark.Any(s.unknown) {
		return instead("absent")
	}
	return c.seen(s.value, s.unknown, hide)
}

// seen is a value as it may be shown, given what of it is unknown and all maps
// of what is sensitive.
func (c comparison) seen(v, hidden any, hide []any) any {
	if (side{value: v, unknown: hidden}).isUnknown() {
		return instead("unknown") // what is not known yet cannot be given away
	}
	hide = fitted(hide, v)
	if slices.Contains(hide, any(true)) {
		return instead("sensitive")
	}
	switch value := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, k := range keys(value, marks(hidden)) {
			if c.secret(k) {
				return instead("sensitive")
			}
			step := plan.Step{Key: k}
			out[k] = c.seen(value[k], child(hidden, step), below(hide, step))
		}
		return out
	case []any:
		out := make([]any, length(value, hidden))
		for i := range out {
			step := plan.Step{Index: i, Kind: plan.Index}
			out[i] = c.seen((side{value: v}).at(step).value, child(hidden, step), below(hide, step))
		}
		return out
	}
	if c.secret(v) {
		return instead("sensitive")
	}
	return v
}

// fitted are maps of what is sensitive in v: true where one does not fit.
func fitted(hide []any, v any) []any {
	out := make([]any, len(hide))
	for i, h := range hide {
		out[i] = mark.Fitted(h, v)
	}
	return out
}

func below(hide []any, step plan.Step) []any {
	out := make([]any, len(hide))
	for i, h := range hide {
		out[i] = child(h, step)
	}
	return out
}

// child is one step into a map of marks; true holds for all that is below it.
func child(marks any, s plan.Step) any {
	switch m := marks.(type) {
	case bool:
		return m
	case map[string]any:
		return m[s.Key]
	case []any:
		if s.Index < len(m) && s.Kind == plan.Index {
			return m[s.Index]
		}
	}
	return nil
}

func has(object map[string]any, key string) bool {
	_, ok := object[key]
	return ok
}
