package plan

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/assize-iac/assize/internal/plan/planjson"
)

// headLen is by how many bytes secrets are found, and the length from which on
// one is looked for inside words, and a line of one is a secret of its own.
const headLen = 4

// secrets are the sensitive values of a plan, in every form that a message may
// quote them in. They are complete once Decode returns, and never change.
//
// They go by value, because the tools' maps leave computed copies unmarked: one
// secret was found at 46 places of a plan of 90 kB (docs/policy.md, rule 8).
type secrets struct {
	forms   map[string]bool
	lengths map[string][]int // of those that begin with these headLen bytes, longest first
	short   bool             // some are shorter than headLen
	marker  string
}

// A collector gathers secret values while a plan is read. It takes too much
// rather than too little: a plan that marks an object as a whole makes secrets
// of all that is in it.
type collector map[string]bool

// masked takes what mask marks as sensitive in v. Where mask does not have the
// shape of v (sets have coarser marks), all of v is taken.
func (c collector) masked(v, mask any) {
	if !anyTrue(mask) {
		return
	}
	switch m := fitted(mask, v).(type) {
	case map[string]any:
		object, _ := v.(map[string]any)
		for k, e := range object {
			c.masked(e, m[k])
		}
	case []any:
		list, _ := v.([]any)
		for i, e := range list {
			c.masked(e, m[i])
		}
	case bool:
		c.all(v)
	}
}

// all takes every text and every number of at least three digits in v, and
// those keys that are no plain word: user names and tokens are keys, too.
// Words such as "password", booleans, null and blank texts are no secrets: to
// remove them would leave nothing readable and hide nothing.
func (c collector) all(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if len(k) >= headLen && strings.Trim(k, "abcdefghijklmnopqrstuvwxyz_") != "" {
				c.text(k)
			}
			c.all(e)
		}
	case []any:
		for _, e := range v {
			c.all(e)
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
func (c collector) text(s string) {
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
	if inner, ok := unwrap(node{value: s}); ok {
		if _, isText := inner.value.(string); !isText {
			c.all(inner.value)
		}
	}
}

// index prepares the search for what was collected.
func (c collector) index() secrets {
	if len(c) == 0 {
		return secrets{}
	}
	s := secrets{forms: map[string]bool{}, lengths: map[string][]int{}}
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

// formsOf lists s as it stands in plain text, in JSON, in a Go string and in
// YAML, and each of these quoted twice more, as for JSON inside a quoted string.
func formsOf(s string) []string {
	forms, from := []string{s}, 0
	if strings.Contains(s, "'") {
		forms = append(forms, strings.ReplaceAll(s, "'", "''"))
	}
	if strings.ContainsAny(s, "\x00\x1b") { // YAML has shorter escapes for these two
		quoted := strconv.Quote(s)
		forms = append(forms, strings.NewReplacer(`\x1b`, `\e`, `\x00`, `\0`).Replace(quoted[1:len(quoted)-1]))
	}
	for range 3 {
		to := len(forms)
		for _, form := range forms[from:to] {
			html, _ := json.Marshal(form)
			for _, quoted := range []string{string(html), Quote(form), strconv.Quote(form), strconv.QuoteToASCII(form)} {
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

// Redact replaces every secret of the plan in text by (sensitive), also where
// it is escaped as in JSON or Go. A secret of fewer than four bytes is found
// only as a whole word. What no longer has the secret's letters in their order
// (its base64, its digest, its reverse) is beyond it; so is a secret that the
// plan marks nowhere.
func (p *Plan) Redact(text string) string {
	s := &p.secrets
	if len(s.forms) == 0 {
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

// HasSecret reports whether a secret of the plan is anywhere in v, keys
// included.
func (p *Plan) HasSecret(v any) bool {
	if len(p.secrets.forms) == 0 {
		return false
	}
	switch v := v.(type) {
	case string:
		return p.secrets.in(v)
	case json.Number:
		return p.secrets.in(string(v))
	case []any:
		return slices.ContainsFunc(v, p.HasSecret)
	case map[string]any:
		for k, e := range v {
			if p.secrets.in(k) || p.HasSecret(e) {
				return true
			}
		}
	}
	return false
}

func (s *secrets) in(text string) bool {
	for i := range len(text) {
		if s.longest(text, i) > 0 {
			return true
		}
	}
	return false
}

// longest is the length of the longest secret that begins at i, 0 for none.
func (s *secrets) longest(text string, i int) int {
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
