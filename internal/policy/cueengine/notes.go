package cueengine

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/assize-iac/assize/internal/policy/cuefile"
)

// maxNotes bounds what one file can make us say about itself.
const maxNotes = 20

// notes are what the author should know besides the verdict: each is about a
// way in which a policy holds, or fails, for no good reason.
func (d *document) notes(r cuefile.Rule, o outcome) []string {
	var out []string
	for _, path := range o.noted {
		out = append(out, fmt.Sprintf("%s adds %s, which the plan document does not have: it forbids nothing", r.Self, path))
	}
	if idiom := d.guardIdiom(o); idiom != "" {
		out = append(out, idiom)
	}
	if o.total == 0 {
		out = append(out, r.LooseFields()...)
	}
	if o.total == 0 && d.unknown {
		out = append(out, d.blind(r)...)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	out = out[:min(len(out), maxNotes)]
	for i := range out {
		out[i] = d.safe(out[i])
	}
	return out
}

// blind says where r overlooks values of this plan that are not known.
func (d *document) blind(r cuefile.Rule) (out []string) {
	for _, b := range r.Blinds() {
		for i := range d.doc.Changes {
			side := d.doc.Changes[i].After
			if b.Path[0] == "before" {
				side = d.doc.Changes[i].Before
			}
			if meetsUnknown(side, b.Path[1:], b.Below) {
				out = append(out, fmt.Sprintf("%s: %s does not see a value that is known only after apply, and this plan has some: "+
					"write the allowed set as a constraint", cuefile.Position(b.Pos), b.What))
				break
			}
		}
	}
	return out
}

// meetsUnknown reports whether a path meets an unknown value, at its end or on
// the way; or below its end.
func meetsUnknown(v any, path []string, below bool) bool {
	if m, ok := v.(map[string]any); ok && isMarker(m) {
		return true
	}
	if len(path) == 0 && !below {
		return false
	}
	isAny := len(path) == 0 || path[0] == cuefile.Any
	rest := path[min(1, len(path)):]
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if (isAny || k == path[0]) && meetsUnknown(e, rest, below) {
				return true
			}
		}
	case []any:
		for i, e := range v {
			if (isAny || strconv.Itoa(i) == path[0]) && meetsUnknown(e, rest, below) {
				return true
			}
		}
	}
	return false
}

// guardIdiom explains the violations of changes that have no after: a no-op
// and a delete have none, and what a policy requires there is absent.
func (d *document) guardIdiom(o outcome) string {
	for _, v := range o.violations {
		c := d.change(v.path)
		if c == nil || len(v.path) < 3 || v.path[2] != "after" || c.After != nil {
			continue
		}
		return fmt.Sprintf("%s has no after, because its action is %s: guard attribute rules with type: string, action: string, "+
			`if type == %q && (action == "create" || action == "update" || action == "replace") {...}`, c.Addr, c.Action, c.Type)
	}
	return ""
}
