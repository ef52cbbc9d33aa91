package cueengine

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"cuelang.org/go/cue/literal"
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
