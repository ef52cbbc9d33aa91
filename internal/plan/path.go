package plan

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan/planjson"
	"github.com/assize-iac/assize/internal/problem"
)

// A Path leads to an attribute.
type Path []Step

// A Step is one step of a Path: a key, an index, or every element.
type Step struct {
	Key   string
	Index int
	Kind  StepKind
}

// A StepKind says which of the three a [Step] is.
type StepKind int

// The three kinds. A bare number, as in disk.0.size, is a key that leads into
// lists as well (seed 002, step 3).
const (
	Key   StepKind = iota
	Index          // [0]
	Each           // [*]: every element of a list, every value of a map
)

// stepForm is one step: [*], [0], ["key"], or a bare key, which ends at a dot
// or a bracket.
var stepForm = regexp.MustCompile(`^(?:\[(\*)\]|\[(0|[1-9][0-9]{0,8})\]|\[("(?:[^"\\]|\\.)*")\]|([^.\[\]"\\\x00-\x20\x7f]+))`)

// ParsePath parses tags.owner, tags["a.b/c"], disk[0].size and disk[*].size. A
// path that could never match is an error, for a rule over it would pass
// everything (docs/policy.md, rule 11).
func ParsePath(text string) (Path, error) {
	var path Path
	for rest := text; ; {
		form := stepForm.FindStringSubmatch(rest)
		step, ok := stepOf(form)
		if !ok {
			return nil, malformed(text, rest)
		}
		path, rest = append(path, step), rest[len(form[0]):]
		if rest == "" {
			return path, nil
		}
		if after, dot := strings.CutPrefix(rest, "."); dot && !strings.HasPrefix(after, "[") {
			rest = after
		} else if rest[0] != '[' {
			return nil, malformed(text, rest)
		}
	}
}

func stepOf(form []string) (step Step, ok bool) {
	switch {
	case form == nil, form[4] == "*": // a bare * would be a key that nothing has
		return Step{}, false
	case form[1] != "":
		return Step{Kind: Each}, true
	case form[2] != "":
		i, err := strconv.Atoi(form[2])
		return Step{Index: i, Kind: Index}, err == nil
	case form[3] != "":
		v, err := planjson.Parse(form[3])
		key, ok := v.(string)
		return Step{Key: key}, ok && err == nil
	default:
		return Step{Key: form[4]}, utf8.ValidString(form[4])
	}
}

func malformed(text, rest string) error {
	if rest == "" {
		rest = "the end"
	}
	return problem.New(api.Invalid, "%q is no path: cannot read %q", text, rest).
		WithHint(`paths look like tags.owner, tags["a.b/c"], disk[0].size and disk[*].size`)
}

// String writes p so that [ParsePath] gives p again.
func (p Path) String() string {
	var b strings.Builder
	for i, s := range p {
		switch {
		case s.Kind == Each:
			b.WriteString("[*]")
		case s.Kind == Index:
			b.WriteString("[" + strconv.Itoa(s.Index) + "]")
		case !isBare(s.Key):
			b.WriteString("[" + Quote(s.Key) + "]")
		case i > 0:
			b.WriteString("." + s.Key)
		default:
			b.WriteString(s.Key)
		}
	}
	return b.String()
}

const wordBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// isBare reports whether key can stand in a path without quotes.
func isBare(key string) bool {
	if key != "" && strings.Trim(key, wordBytes) == "" {
		return true // nearly every key; a policy looks up millions
	}
	form := stepForm.FindStringSubmatch(key)
	return form != nil && form[4] == key && key != "*" && utf8.ValidString(key)
}

// until returns p up to its first [*]: what can be said of a path whose
// elements are not known.
func (p Path) until() Path {
	for i, s := range p {
		if s.Kind == Each {
			return p[:i:i]
		}
	}
	return p
}
