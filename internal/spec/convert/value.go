package convert

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"cuelang.org/go/cue/literal"

	"github.com/assize-iac/assize/internal/spec/convert/cuetext"
)

// A writing is a value that is being written.
type writing struct {
	*reach
	c      *converter
	used   []*item
	secret bool // a part of it is sensitive and no reference: it cannot be written
	taken  bool // a part of it is a reference
	plain  bool // a part of it is written as it is
}

// write is a value as CUE: a reference to a candidate that has it, a text with
// references in it, or what it is. marks say what is sensitive.
func (w *writing) write(v, marks any) string {
	if r := w.reference(v); r != "" {
		return r
	}
	if marks == true {
		w.secret = true
		return "_|_"
	}
	switch v := v.(type) {
	case map[string]any:
		return w.fields(v, marks)
	case []any:
		var out []string
		for n, e := range v {
			out = append(out, w.write(e, intoMarks(marks, step{key: n})))
		}
		return cuetext.List(out)
	case string:
		return w.text(v)
	}
	w.plain = true
	text, _ := json.Marshal(v) // what was read can be written
	return string(text)
}

func (w *writing) fields(v map[string]any, marks any) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if v[name] == nil {
			continue
		}
		w.c.nested[name] = true
		out = append(out, cuetext.Field(name)+": "+w.write(v[name], intoMarks(marks, step{name: name})))
	}
	return cuetext.Struct(out)
}

// reference is the candidate whose value this is.
func (w *writing) reference(v any) string {
	if text, ok := v.(string); v == nil || ok && text == "" {
		return ""
	}
	for _, candidate := range w.all {
		if !equal(candidate.value, v) {
			continue
		}
		return w.take(candidate)
	}
	return ""
}

func (w *writing) take(candidate candidate) string {
	w.taken = true
	if candidate.of != nil {
		w.used = append(w.used, candidate.of)
	}
	return candidate.write()
}

// partMin is how long a value must be to count as a part of a text: a shorter one
// would be found where nobody has put it.
const partMin = 2

// text is text, with references where it holds the values of candidates.
func (w *writing) text(v string) string {
	var parts []string
	rest := v
	for rest != "" {
		at, best := -1, candidate{}
		for _, candidate := range w.all {
			part, ok := candidate.value.(string)
			if !ok || candidate.whole || candidate.sensitive || len(part) < partMin {
				continue
			}
			if n := strings.Index(rest, part); n >= 0 && (at < 0 || n < at || n == at && len(part) > len(best.value.(string))) {
				at, best = n, candidate
			}
		}
		if at < 0 {
			break
		}
		w.check(rest[:at])
		parts = append(parts, cuetext.Inner(rest[:at]), `\(`+w.take(best)+`)`)
		rest = rest[at+len(best.value.(string)):]
	}
	w.plain = w.plain || rest != "" && len(parts) == 0
	w.check(rest)
	if len(parts) == 0 && strings.Count(v, "\n") > 1 && strings.HasSuffix(v, "\n") {
		return literal.String.WithOptionalTabIndent(1).Quote(v)
	}
	return `"` + strings.Join(parts, "") + cuetext.Inner(rest) + `"`
}

// check looks for what is sensitive in text that would be written as it is.
func (w *writing) check(text string) {
	for _, secret := range w.c.secrets() {
		w.secret = w.secret || strings.Contains(text, secret)
	}
}

// secretMin is how long a sensitive text must be for what contains it to be a secret
// as well: terraform_data.output has what its input has, and is not marked.
const secretMin = 4

// secrets are the sensitive texts of the stack.
func (c *converter) secrets() []string {
	if c.known != nil {
		return c.known
	}
	c.known = []string{}
	for name, v := range c.doc.Variables {
		if config := c.doc.Configuration.Root.Variables[name]; config == nil || config.Sensitive {
			c.note(v.Value, true)
		}
	}
	for _, i := range c.items {
		c.note(map[string]any(i.Values), map[string]any(i.Sensitive))
	}
	for _, o := range c.doc.State.Values.Outputs {
		c.note(o.Value, o.Sensitive)
	}
	return c.known
}

func (c *converter) note(v, marks any) {
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			c.note(e, intoMarks(marks, step{name: name}))
		}
	case []any:
		for n, e := range v {
			c.note(e, intoMarks(marks, step{key: n}))
		}
	case string:
		if marks == true && len(v) >= secretMin {
			c.known = append(c.known, v)
		}
	}
}
