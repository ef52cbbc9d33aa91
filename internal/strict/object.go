package strict

import (
	"fmt"
	"slices"
	"strings"
)

// An ObjectReader reads the fields of one object. It goes on after a
// complaint, so that one run names everything that is wrong; what it has read
// then is of no use, which its caller sees from the complaints.
type ObjectReader struct {
	*Complaints
	File   string
	Called string          // how complaints name the object: rule "x"; "" for a whole file
	Start  Node            // the object, for what is missing in it
	Got    map[string]Node // its fields, filled in by Fields
}

// Fault complains about a value of the object.
func (r *ObjectReader) Fault(n Node, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if r.Called != "" {
		text = r.Called + ": " + text
	}
	r.Add(r.File, n.Line, n.Column, "%s", text)
}

// IsObject complains when Start is something else.
func (r *ObjectReader) IsObject() bool {
	if r.Start.Kind != Object {
		r.Fault(r.Start, "%s, want an object", r.Start.Kind)
	}
	return r.Start.Kind == Object
}

// Fields collects the known fields by name, and complains about the others and
// about one that stands there twice.
func (r *ObjectReader) Fields(known []string) {
	r.Got = map[string]Node{}
	for _, m := range r.Start.Members {
		name := m.Key.Text
		if _, dup := r.Got[name]; dup {
			r.Fault(m.Key, "duplicate field %q", name)
		} else if !slices.Contains(known, name) {
			r.Fault(m.Key, "unknown field %q; allowed: %s%s", Cut(name), strings.Join(known, ", "), Near(name, known))
		} else {
			r.Got[name] = m.Value
		}
	}
}

// Need returns a field that must be there; hint says what it is for.
func (r *ObjectReader) Need(name, hint string) (Node, bool) {
	v, ok := r.Got[name]
	if !ok {
		r.Fault(r.Start, "%s is missing; %s", name, hint)
	}
	return v, ok
}

// Prose reads a string with something in it, or complains and returns "".
func (r *ObjectReader) Prose(v Node, name string) string {
	if v.Kind != Text {
		r.Fault(v, "%s is %s, want a string", name, v.Kind)
	} else if strings.TrimSpace(v.Text) == "" {
		r.Fault(v, "%s is empty", name)
	} else {
		return v.Text
	}
	return ""
}

// Word reads one of the words, or complains and returns "".
func (r *ObjectReader) Word(v Node, name string, words []string) string {
	w := r.Prose(v, name)
	if w != "" && !slices.Contains(words, w) {
		r.Fault(v, "%s %q is none of %s%s", name, Cut(w), strings.Join(words, ", "), Near(w, words))
		return ""
	}
	return w
}
