package settings

import (
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/assize-iac/assize/internal/settings/shape"
	"github.com/assize-iac/assize/internal/settings/template"
	"github.com/assize-iac/assize/internal/strict"
)

// A reader reads the keys of one object. It gives back defaults for what is not
// there, and goes on after a complaint.
type reader struct {
	strict.ObjectReader
	shape *shape.Shape // what is asked for, noted for the schema; nil for a file
}

func newReader(c *strict.Complaints, file, called string, n strict.Node) *reader {
	return &reader{ObjectReader: strict.ObjectReader{Complaints: c, File: file, Called: called, Start: n}}
}

// described is a reader of an object that notes what is asked of it.
func (r *reader) described(path string) *reader {
	return &reader{ObjectReader: strict.ObjectReader{Complaints: r.Complaints}, shape: shape.New(path)}
}

func (r *reader) place(n strict.Node) Place {
	return Place{File: r.File, Line: n.Line, Column: n.Column}
}

func (r *reader) text(n strict.Node) Text { return Text{Value: n.Text, At: r.place(n)} }

// path is how complaints name a key of the object.
func (r *reader) path(name string) string {
	if r.Called == "" {
		return name
	}
	return r.Called + "." + name
}

// child reads the object under a key; without the key it has no fields.
func (r *reader) child(name string, known ...string) *reader {
	v, ok := r.Got[name]
	c := newReader(r.Complaints, r.File, r.path(name), v)
	c.shape = r.shape.Object(name)
	if ok && c.IsObject() {
		c.Fields(known)
	}
	return c
}

// entry reads one object of a list.
func (r *reader) entry(name string, i int, item strict.Node, known ...string) *reader {
	e := newReader(r.Complaints, r.File, fmt.Sprintf("%s: entry %d", r.path(name), i+1), item)
	if item.Kind == strict.Null { // it is the entry that is missing, and every field with it
		e.Got = map[string]strict.Node{}
	} else if e.IsObject() {
		e.Fields(known)
	}
	return e
}

// items returns the entries of a list.
func (r *reader) items(name string) []strict.Node {
	v, ok := r.Got[name]
	if ok && v.Kind != strict.List {
		r.Fault(v, "%s is %s, want a list", name, v.Kind)
	}
	return v.Items
}

// members returns the fields of an object whose names are the author's, and
// complains about one that stands there twice.
func (r *reader) members(name string) []strict.Member {
	v, ok := r.Got[name]
	if ok && v.Kind != strict.Object {
		r.Fault(v, "%s is %s, want an object", name, v.Kind)
	}
	seen := map[string]bool{}
	for _, m := range v.Members {
		if seen[m.Key.Text] {
			r.Fault(m.Key, "%s: duplicate key %q", name, strict.Cut(m.Key.Text))
		}
		seen[m.Key.Text] = true
	}
	return v.Members
}

// optional reads a string that may be empty, which is as if it was not there.
func (r *reader) optional(name string) Text {
	r.shape.Set(name, map[string]any{"type": "string"})
	v, ok := r.Got[name]
	if !ok {
		return Text{}
	}
	if v.Kind != strict.Text {
		r.Fault(v, "%s is %s, want a string%s", name, v.Kind, inQuotes(v))
		return Text{}
	}
	return r.text(v)
}

// inQuotes tells the author of 1.10 how to write a string that looks like
// something else.
func inQuotes(n strict.Node) string {
	if n.Kind == strict.Number || n.Kind == strict.Boolean {
		return "; put it in quotes"
	}
	return ""
}

// template reads an optional string that may be a template; check says what is
// wrong with one that is none.
func (r *reader) template(name string, check func(string) string) Text {
	t := r.optional(name)
	if wrong := t.parse(check); wrong != "" {
		r.Fault(r.Got[name], "%s: %s", name, wrong)
	}
	return t
}

// parse says what is wrong with a template, or with any other text by check,
// which may be nil.
func (t *Text) parse(check func(string) string) (wrong string) {
	var err error
	switch t.template, err = template.Parse(t.Value); {
	case err != nil:
		return err.Error()
	case check == nil || t.Value == "" || template.Is(t.Value):
		return ""
	}
	return check(t.Value)
}

// texts reads a list of strings that may be templates.
func (r *reader) texts(name string, check func(string) string) []Text {
	r.shape.Set(name, shape.Texts())
	var out []Text
	for i, item := range r.items(name) {
		called, t := fmt.Sprintf("%s: entry %d", name, i+1), r.text(item)
		if item.Kind != strict.Text {
			r.Fault(item, "%s is %s, want a string%s", called, item.Kind, inQuotes(item))
		} else if strings.TrimSpace(item.Text) == "" {
			r.Fault(item, "%s is empty", called)
		} else if wrong := t.parse(check); wrong != "" {
			r.Fault(item, "%s: %s", called, discreet(name, item.Text, wrong))
		}
		out = append(out, t)
	}
	return out
}

// word reads one of the words.
func (r *reader) word(name, fallback string, words ...string) Text {
	r.shape.Set(name, map[string]any{"type": "string", "enum": words})
	v, ok := r.Got[name]
	if !ok {
		return Text{Value: fallback}
	}
	return Text{Value: r.Word(v, name, words), At: r.place(v)}
}

func (r *reader) flag(name string, fallback bool) Placed[bool] {
	r.shape.Set(name, map[string]any{"type": "boolean", "default": fallback})
	v, ok := r.Got[name]
	if !ok {
		return Placed[bool]{Value: fallback}
	}
	if v.Kind != strict.Boolean {
		r.Fault(v, "%s is %s, want true or false", name, v.Kind)
	}
	return Placed[bool]{Value: v.Truth, At: r.place(v)}
}

// count reads a whole number that is not below least.
func (r *reader) count(name string, fallback, least int) Placed[int] {
	r.shape.Set(name, map[string]any{"type": "integer", "minimum": least, "maximum": math.MaxInt32, "default": fallback})
	v, ok := r.Got[name]
	if !ok {
		return Placed[int]{Value: fallback}
	}
	n, err := strconv.ParseInt(v.Text, 10, 32)
	if v.Kind != strict.Number || err != nil || int(n) < least {
		r.Fault(v, "%s is no whole number of %d or more", name, least)
	}
	return Placed[int]{Value: int(n), At: r.place(v)}
}

// globs reads a list of globs; an empty one is the fallback.
func (r *reader) globs(name string, fallback ...string) []string {
	r.shape.Set(name, shape.Texts())
	var out []string
	for i, item := range r.items(name) {
		glob := ""
		if item.Kind == strict.Text {
			glob = item.Text
		}
		if wrong := wrongGlob(glob); wrong != "" {
			r.Fault(item, "%s: entry %d: %s", name, i+1, wrong)
		}
		out = append(out, glob)
	}
	if len(out) == 0 {
		return fallback
	}
	return out
}

// wrongGlob refuses what could never match: a pattern that silently excludes
// nothing, or binds nothing, opens what its author has closed.
func wrongGlob(glob string) string {
	if path.Clean(glob) != glob || leaves(glob) {
		return fmt.Sprintf("%q never matches a directory; write it relative, such as infra/prod or infra/**", strict.Cut(glob))
	}
	if !doublestar.ValidatePattern(glob) {
		return fmt.Sprintf("%q is no valid pattern", strict.Cut(glob))
	}
	return ""
}

// paths reads a list of directories, without ./ in front and / at the end.
func (r *reader) paths(name string) []string {
	var out []string
	for _, t := range r.texts(name, nil) {
		if leaves(t.Value) {
			r.Add(t.At.File, t.At.Line, t.At.Column, "%s: %s: %q leads out of the repository", r.Called, name, strict.Cut(t.Value))
		}
		out = append(out, path.Clean(t.Value))
	}
	return out
}

// leaves reports whether a slash-separated path is absolute or leads above where
// it starts.
func leaves(p string) bool {
	clean := path.Clean(p)
	return path.IsAbs(p) || clean == ".." || strings.HasPrefix(clean, "../")
}
