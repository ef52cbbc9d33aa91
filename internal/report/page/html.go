package page

import (
	"html"
	"strings"
)

// Code shows a text of somebody else in HTML, on one line of at most limit
// characters: inside of <code> nothing is markup, a mention or a reference.
func Code(text string, limit int) string {
	return "<code>" + html.EscapeString(Clip(Visible(text), limit)) + "</code>"
}

// Fit writes parts until there are room bytes of them, and returns how many are
// left.
func Fit(b *strings.Builder, parts []string, room int) (left int) {
	for i, part := range parts {
		if room -= len(part); room < 0 {
			return len(parts) - i
		}
		b.WriteString(part)
	}
	return 0
}
