package estate

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"cuelang.org/go/cue/errors"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// nestingMax bounds how deep brackets nest, and rowMax how many operators and colons
// that nest by themselves stand in one declaration. The parser calls itself for each,
// and a stack that overflows cannot be recovered from.
const (
	nestingMax = 1000
	rowMax     = 10_000
)

// tooDeep finds what would exhaust the parser's stack. It looks at bytes, also at
// those of texts: nobody writes such a text.
func tooDeep(data []byte) bool {
	depth, row, last := 0, 0, byte(0)
	for _, c := range data {
		switch c {
		case '[', '(', '{':
			depth, row = depth+1, 0
		case ']', ')', '}':
			depth, row = max(depth-1, 0), 0
		case ',':
			row = 0
		case '!', '-', '+', '*', '<', '>', '~', '=', ':':
			row++
		case '\n':
			if bytes.IndexByte([]byte("!-+*<>~=:&|"), last) < 0 {
				row = 0
			}
			continue
		case ' ', '\t', '\r':
			continue
		}
		if last = c; depth > nestingMax || row > rowMax {
			return true
		}
	}
	return false
}

// shown is a path in a message: one with odd characters is quoted.
func shown(name string) string {
	if q := strconv.Quote(name); q != `"`+name+`"` {
		return q
	}
	return name
}

// wrong is an error of CUE as a problem: its first, with its position.
func wrong(name string, err error) error {
	first, at := errors.Errors(err)[0], shown(name)
	if p := first.Position(); p.IsValid() {
		at = place(p)
	}
	format, args := first.Msg()
	return problem.New(api.Invalid, "%s: %s", at, strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
}
