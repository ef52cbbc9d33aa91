package plan

import "unicode/utf8"

// A Glob matches addresses: * is any run of characters, dots and newlines
// included, and ? is exactly one; everything else, brackets and quotes
// included, is literal (seed 002, step 3).
type Glob struct{ pattern string }

// NewGlob returns the glob of pattern. Every text is one.
func NewGlob(pattern string) Glob { return Glob{pattern} }

// Match reports whether the whole of text matches. It looks at no position of
// text more often than the pattern is long, whatever the pattern.
func (g Glob) Match(text string) bool {
	p, t := 0, 0
	star, retry := -1, 0 // after the last *, and where in text it is tried to end
	for t < len(text) {
		r, size := utf8.DecodeRuneInString(text[t:])
		switch want, width := utf8.DecodeRuneInString(g.pattern[p:]); {
		case width > 0 && want == '*':
			p += width
			star, retry = p, t
		case width > 0 && (want == '?' || want == r && g.pattern[p:p+width] == text[t:t+size]):
			p, t = p+width, t+size
		case star >= 0:
			// Only the last * need be tried again: an earlier one could only
			// take more, which the last one can take as well.
			_, size := utf8.DecodeRuneInString(text[retry:])
			retry += size
			p, t = star, retry
		default:
			return false
		}
	}
	for p < len(g.pattern) && g.pattern[p] == '*' {
		p++
	}
	return p == len(g.pattern)
}

func (g Glob) String() string { return g.pattern }
