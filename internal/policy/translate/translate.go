// Package translate writes rules as Rego or as CUE, for those who run opa,
// conftest or cue (seed 002, Hard). It decides what each rule becomes, and
// which rules a language cannot say: those are refused, never weakened.
//
// What is written must find what the rules engine finds, on every plan; the
// tests hold it to that with the real evaluators. The package writes text and
// must know neither of them.
package translate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy/rules"
	"github.com/assize-iac/assize/internal/problem"
)

// refused joins why rules cannot be written in a language. One complaint at a
// time would have the author run the command once for each of them.
func refused(language string, complaints []string) error {
	return problem.New(api.Invalid, "%s", strings.Join(complaints, "\n")).
		WithHint("leave these rules to `assize policy check --rules`, or change them; docs/compile.md says what %s cannot say", language)
}

func complaint(r *rules.Rule, format string, args ...any) string {
	return fmt.Sprintf("%s: rule %q: %s", r.Position, r.ID, fmt.Sprintf(format, args...))
}

// quote writes a text as a JSON string, which is a literal in Rego too, in
// ASCII but for what is printable: nothing in an id or a message may end the
// literal, or make the file look like something that it is not (right-to-left
// marks, look-alike spaces).
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// heading is a rule's id as it can stand in a comment, which ends with its
// line and loses its last spaces to formatters.
func heading(id string) string {
	if q := quote(id); q[1:len(q)-1] != id || strings.TrimSpace(id) != id {
		return q
	}
	return id
}

func sortedKeys(v map[string]any) []string { return slices.Sorted(maps.Keys(v)) }
