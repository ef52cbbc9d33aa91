package page

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Visible returns text on one line in which nothing is hidden and nothing acts
// on a terminal: control characters, bidirectional overrides, zero-width and
// other invisible characters and broken UTF-8 are written as Go would escape
// them (docs/report.md, rule 2).
func Visible(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case printable(r):
			b.WriteRune(r)
		default:
			b.WriteString(escaped(r))
		}
		i += size
	}
	return b.String()
}

// printable is stricter than [strconv.IsPrint], which lets letters through that
// have no glyph. Variation selectors of the basic plane stay: emoji need them.
func printable(r rune) bool {
	switch {
	case ' ' <= r && r < 0x7f: // nearly every rune of a plan
		return true
	case r == '\u2800': // braille without dots
		return false
	case r > 0xFFFF && unicode.Is(unicode.Variation_Selector, r):
		return false
	case unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
		return false
	}
	return strconv.IsPrint(r)
}

// escaped spells a rune that cannot be shown. strconv would print the letters
// without a glyph, hence the second case.
func escaped(r rune) string {
	if quoted := strconv.QuoteRuneToASCII(r); r < utf8.RuneSelf {
		return quoted[1 : len(quoted)-1]
	}
	if r > 0xFFFF {
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// Paragraphs is [Visible] for texts that may have lines of their own, such as a
// compiler's message. A caller indents them, so that none looks like a line of
// the report (docs/report.md, rule 3).
func Paragraphs(text string) []string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var out []string
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		out = append(out, Visible(strings.TrimRight(line, " \t")))
	}
	return out
}

// Clip shortens text to at most n runes, and says so.
func Clip(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}

// lineCommand is what GitHub's runner takes for a command at the start of a
// line, after white space; colours must not hide it from us.
var lineCommand = regexp.MustCompile(`(?m)^((?:[ \t]|\x1b\[[0-9;]*m)*)::`)

// bracketCommand is the older form of GitHub's runner, and those of Azure
// Pipelines and TeamCity. They act anywhere in a line.
var bracketCommand = regexp.MustCompile(`##(\w*)\[`)

// Disarm makes text safe for the log of a CI job: no line of it is a workflow
// command. It is the last step, so that it sees lines as the runner does
// (docs/report.md, rule 4).
func Disarm(text []byte) []byte {
	text = lineCommand.ReplaceAll(text, []byte(`$1\::`))
	return bracketCommand.ReplaceAll(text, []byte(`##$1\[`))
}

// DisarmXML does to XML what [Disarm] does to text, without changing what it
// says. An encoder that escapes line breaks leaves no line to begin a command.
func DisarmXML(text []byte) []byte {
	return bracketCommand.ReplaceAll(text, []byte(`##$1&#91;`))
}

// Inert does to JSON what [Visible] and [Disarm] do to text, without changing what
// it says: only strings hold such characters, and there they can be escaped.
func Inert(text []byte) []byte {
	text = bracketCommand.ReplaceAll(text, []byte(`##$1\u005b`))
	var b bytes.Buffer
	for _, r := range string(text) {
		if r == '\n' || printable(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.Bytes()
}
