package cueengine

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"cuelang.org/go/cue/literal"

	"github.com/assize-iac/assize/internal/plan"
)

// quoted finds what may be a CUE string or bytes literal on one line, as the
// evaluator writes values into its errors.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`)

// safe is a message that may be shown. Secrets go before the text is cut, for
// half a secret is one too that nobody would recognise.
func (d *document) safe(message string) string {
	message = d.redact(message)
	if len(message) <= maxMessage {
		return message
	}
	cut := maxMessage
	for !utf8.RuneStart(message[cut]) {
		cut--
	}
	return fmt.Sprintf("%s... (%d more bytes)", message[:cut], len(message)-cut)
}

// marked reports whether a path leads to or into a value that is sensitive, or
// to one that holds such. A search by text cannot find all of those: CUE has
// spellings of its own for numbers, and a short one is no text to search for
// (docs/policy.md, rule 4).
func (d *document) marked(path []string) bool {
	for _, f := range d.lookup(path) {
		if f.Sensitive {
			return true
		}
	}
	return false
}

func (d *document) lookup(path []string) []plan.Found {
	lists := map[string][]plan.Change{"changes": d.plan.Changes, "deferred": d.plan.Deferred}
	if n, ok := listIndex(path); ok && n < len(lists[path[0]]) && len(path) > 2 {
		switch c := &lists[path[0]][n]; path[2] {
		case "after":
			return d.plan.Lookup(c, steps(path[3:]))
		case "before":
			return d.plan.LookupBefore(c, steps(path[3:]))
		}
	}
	if len(path) < 2 || path[0] != "outputs" {
		return nil
	}
	for _, o := range d.plan.Outputs {
		if o.Name == steps(path[1:2])[0].Key {
			c := plan.Change{After: o.After, AfterUnknown: o.AfterUnknown, AfterSensitive: o.AfterSensitive}
			return d.plan.Lookup(&c, steps(path[2:]))
		}
	}
	return nil
}

// redact removes the plan's secrets, also from literals in CUE's own escapes.
// Where the quotes do not pair up (an author's message may hold one), escapes
// could hide a secret from it: then nothing after the path is shown.
func (d *document) redact(message string) string {
	text := quoted.ReplaceAllStringFunc(message, func(lit string) string {
		value, err := literal.Unquote(lit)
		if err != nil {
			return lit
		}
		clean := d.plan.Redact(value)
		if clean == value {
			return lit
		}
		return literal.String.Quote(clean)
	})
	text = d.plan.Redact(text)
	if plain := unescape(text); plain != text && d.plan.Redact(plain) != plain {
		path, _, _ := strings.Cut(text, ": ")
		return d.plan.Redact(path) + ": (the message holds a sensitive value)"
	}
	return text
}

// unescape undoes every escape that CUE knows, in and outside quotes.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		n := escapeLen(text[i:])
		if value, err := literal.Unquote(`"` + text[i:i+n] + `"`); n > 1 && err == nil {
			b.WriteString(value)
		} else {
			b.WriteString(text[i : i+n])
		}
		i += n
	}
	return b.String()
}

// escapeLen is the length of the escape that text begins with, else 1.
func escapeLen(text string) int {
	if len(text) < 2 || text[0] != '\\' {
		return 1
	}
	n := map[byte]int{'u': 6, 'U': 10}[text[1]]
	return min(max(n, 2), len(text))
}
