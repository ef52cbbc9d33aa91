// Package secret finds the secrets of a plan again, in whatever text they stand
// and however they are written there. It decides what of a marked value is a
// secret. It must not know where in a plan values and marks come from.
package secret

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/assize-iac/assize/internal/plan/mark"
	"github.com/assize-iac/assize/internal/plan/planjson"
)

// headLen is by how many bytes secrets are found, and the length from which on
// one is looked for inside words, and a line of one is a secret of its own.
const headLen = 4

// A Set is the sensitive values of a plan, in every form that a message may
// quote them in. It never changes; the zero value is empty.
//
// They go by value, because the tools' maps leave computed copies unmarked: one
// secret was found at 46 places of a plan of 90 kB (docs/policy.md, rule 8).
type Set struct {
	forms   map[string]bool
	lengths map[string][]int // of those that begin with these headLen bytes, longest first
	short   bool             // some are shorter than headLen
	marker  string
}

// A Collector gathers secret values while a plan is read. It takes too much
// rather than too little: a plan that marks an object as a whole makes secrets
// of all that is in it.
type Collector map[string]bool

// Marked takes what marks mark as sensitive in v. Where they do not have the
// shape of v (sets have coarser marks), all of v is taken.
func (c Collector) Marked(v, marks any) {
	if !mark.Any(marks) {
		return
	}
	switch m := mark.Fitted(marks, v).(type) {
	case map[string]any:
		object, _ := v.(map[string]any)
		for k, e := range object {
			c.Marked(e, m[k])
		}
	case []any:
		list, _ := v.([]any)
		for i, e := range list {
			c.Marked(e, m[i])
		}
	case bool:
		c.All(v)
	}
}

// All takes every text and every number of at least three digits in v, and
// those keys that are no plain word: user names and tokens are keys, too.
// Words such as "password", booleans, null and blank texts are no secrets: to
// remove them would leave nothing readable and hide nothing.
func (c Collector) All(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if len(k) >= headLen && !isPlainWord(k) {
				c.text(k)
			}
			c.All(e)
		}
	case []any:
		for _, e := range v {
			c.All(e)
		}
	case string:
		c.text(v)
	case json.Number:
		if len(strings.Trim(string(v), "-.")) >= 3 {
			for _, text := range planjson.Spellings(v) {
				c[text] = true
			}
		}
	}
}

// text takes a secret text, and those parts of it that would give it away: the
// lines of one that has several, the values of one that is JSON.
func (c Collector) text(s string) {
	if strings.TrimSpace(s) == "" {
		return
	}
	c[s] = true
	c[strings.TrimSpace(s)] = true
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); len(line) >= headLen {
			c[line] = true
		}
	}
	if inner, holds, _ := planjson.Inner(s); holds {
		c.All(inner)
	}
}

// Index prepares the search for what was collected.
func (c Collector) Index() Set {
	if len(c) == 0 {
		return Set{}
	}
	s := Set{forms: map[string]bool{}, lengths: map[string][]int{}}
	for text := range c {
		for _, form := range formsOf(text) {
			s.forms[form] = true
		}
	}
	for form := range s.forms {
		if len(form) < headLen {
			s.short = true
			continue
		}
		head := form[:headLen]
		if !slices.Contains(s.lengths[head], len(form)) {
			s.lengths[head] = append(s.lengths[head], len(form))
		}
	}
	for _, lengths := range s.lengths {
		slices.SortFunc(lengths, func(a, b int) int { return b - a })
	}
	s.marker = marker(s.forms)
	return s
}

// formsOf lists s as it stands in plain text, in JSON, in a Go string, in HCL and
// in YAML, and each of these quoted twice more, as for JSON inside a quoted string.
func formsOf(s string) []string {
	forms, from := []string{s}, 0
	if strings.Contains(s, "'") {
		forms = append(forms, strings.ReplaceAll(s, "'", "''"))
	}
	if template := strings.NewReplacer("${", "$${", "%{", "%%{").Replace(s); template != s { // as in HCL and in addresses
		forms = append(forms, template)
	}
	if strings.ContainsAny(s, "\x00\x1b") { // YAML has shorter escapes for these two
		quoted := strconv.Quote(s)
		forms = append(forms, strings.NewReplacer(`\x1b`, `\e`, `\x00`, `\0`).Replace(quoted[1:len(quoted)-1]))
	}
	for range 3 {
		to := len(forms)
		for _, form := range forms[from:to] {
			html, _ := json.Marshal(form)
			for _, quoted := range []string{string(html), string(planjson.Encode(form)), strconv.Quote(form), strconv.QuoteToASCII(form)} {
				if inner := quoted[1 : len(quoted)-1]; !slices.Contains(forms, inner) {
					forms = append(forms, inner)
				}
			}
		}
		from = to
	}
	return forms
}

// marker chooses what stands in place of a secret: the first text that can
// form no secret together with what stands around it, "" if there is none.
func marker(forms map[string]bool) string {
	markers := []string{"(sensitive)", "[redacted]", "***", "«secret»"}
	for form := range forms {
		markers = slices.DeleteFunc(markers, func(m string) bool { return overlaps(form, m) })
	}
	return append(markers, "")[0]
}

func overlaps(form, marker string) bool {
	if len(form) < headLen {
		return false // a word of its own, which no marker is
	}
	for i := 1; i < len(marker); i++ {
		if strings.HasSuffix(form, marker[:i]) || strings.HasPrefix(form, marker[i:]) {
			return true
		}
	}
	return strings.Contains(marker, form) || strings.Contains(form, marker)
}

// Empty reports whether there is no secret.
func (s *Set) Empty() bool { return len(s.forms) == 0 }

// Marker is what stands in place of a secret: (sensitive), where that can form
// no secret together with what stands around it.
func (s *Set) Marker() string { return s.marker }

// Redact replaces every secret in text by (sensitive), also where
// it is escaped as in JSON or Go. A secret of fewer than four bytes is found
// only as a whole word. What no longer has the secret's letters in their order
// (its base64, its digest, its reverse) is beyond it; so is a secret that the
// plan marks nowhere.
func (s *Set) Redact(text string) string {
	if s.Empty() {
		return text
	}
	var b strings.Builder
	done := 0 // text up to here is written, or removed
	for i := 0; i < len(text); i++ {
		end := i + s.longest(text, i)
		if end == i {
			continue
		}
		// Secrets may overlap: what belongs to any of them goes.
		for j := i + 1; j < end; j++ {
			end = max(end, j+s.longest(text, j))
		}
		b.WriteString(text[done:i])
		b.WriteString(s.marker)
		i, done = end-1, end
	}
	if done > 0 && s.marker == "" {
		return "" // nothing can stand in their place without forming a secret
	}
	b.WriteString(text[done:])
	return b.String()
}

// In reports whether a secret is anywhere in v, keys included.
func (s *Set) In(v any) bool {
	if s.Empty() {
		return false
	}
	switch v := v.(type) {
	case string:
		return s.in(v)
	case json.Number:
		return s.in(string(v))
	case []any:
		return slices.ContainsFunc(v, s.In)
	case map[string]any:
		for k, e := range v {
			if s.in(k) || s.In(e) {
				return true
			}
		}
	}
	return false
}

func (s *Set) in(text string) bool {
	for i := range len(text) {
		if s.longest(text, i) > 0 {
			return true
		}
	}
	return false
}

// longest is the length of the longest secret that begins at i, 0 for none.
func (s *Set) longest(text string, i int) int {
	rest := text[i:]
	if len(rest) >= headLen {
		for _, n := range s.lengths[rest[:headLen]] {
			if n <= len(rest) && s.forms[rest[:n]] {
				return n
			}
		}
	}
	if !s.short {
		return 0
	}
	for n := min(headLen-1, len(rest)); n > 0; n-- {
		if s.forms[rest[:n]] && isWord(text, i, i+n) {
			return n
		}
	}
	return 0
}

func isWord(text string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	after, _ := utf8.DecodeRuneInString(text[to:])
	return !inWord(before) && !inWord(after)
}

func inWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// InKey reports whether a secret that is more than a word is in an instance key.
func (s *Set) InKey(key string) bool {
	for i := range len(key) {
		if n := s.longest(key, i); n >= headLen && !isPlainWord(key[i:i+n]) {
			return true
		}
	}
	return false
}

// isPlainWord tells the names of things from user names and tokens.
func isPlainWord(text string) bool {
	return strings.Trim(text, "abcdefghijklmnopqrstuvwxyz_") == ""
}
