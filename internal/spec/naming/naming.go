// Package naming is how what a specification calls something and what the tool calls
// it follow from each other.
package naming

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Tool is the name that something at a path in CUE has in the tool: web.front is
// web--front. Two paths never come to one name, because any byte that is no letter,
// digit or underscore, and the dash itself, is written as a dash and its number
// (docs/spec.md, rule 18).
func Tool(path string) string {
	var b strings.Builder
	for i := range len(path) {
		switch c := path[i]; {
		case c == '.':
			b.WriteString("--")
		case i == 0 && c == '_' && len(path) > 1 && !plain(path[1]): // else it would be taken for that of start
			fmt.Fprintf(&b, "_-%02x", c)
		case plain(c) && (i > 0 || c < '0' || c > '9'):
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%s-%02x", start(i), c)
		}
	}
	return b.String()
}

// Dotted is a path as it is printed where somebody may have written it as CUE does, with
// the number of an element in brackets: servers[0].name is servers.0.name.
func Dotted(path string) string { return element.ReplaceAllString(path, ".$1") }

var element = regexp.MustCompile(`\[(\d+)\]`)

// plain reports whether a byte stands for itself.
func plain(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// start is what a name begins with that would begin with a dash.
func start(i int) string {
	if i == 0 {
		return "_"
	}
	return ""
}

// Path is the path in CUE of something that the tool knows by this address:
// data.forge_image.web--front is web.front. An address that no specification makes
// is its own path.
func Path(address string) string {
	words := strings.Split(address, ".")
	name := words[len(words)-1]
	if strings.HasPrefix(name, "_-") {
		name = name[1:]
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		switch {
		case name[i] != '-':
			b.WriteByte(name[i])
		case strings.HasPrefix(name[i:], "--"):
			b.WriteByte('.')
			i++
		case len(name) < i+3:
			return address
		default:
			c, err := strconv.ParseUint(name[i+1:i+3], 16, 8)
			if err != nil {
				return address
			}
			b.WriteByte(byte(c))
			i += 2
		}
	}
	return b.String()
}
