// Package strict reads the small files that people write for Assize, rules,
// exceptions and settings, as JSON or YAML. It is what makes their loaders
// strict: every value has its place, nothing is read in two ways, a field that
// is unknown or stands there twice is seen, and everything that is wrong is
// said at once. It must not know what any field means.
package strict

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// fileMax bounds one file, in bytes.
const fileMax = 4 << 20

// Complaints collect what is wrong with files. The zero value holds none.
type Complaints struct{ all []complaint }

type complaint struct {
	file         string
	line, column int
	text         string
}

// Add complains about a place in a file; line and column begin at 1.
func (c *Complaints) Add(file string, line, column int, format string, args ...any) {
	c.all = append(c.all, complaint{file, line, column, fmt.Sprintf(format, args...)})
}

// Len is the number of complaints so far.
func (c *Complaints) Len() int { return len(c.all) }

// Sort puts the complaints from the given one on, all about one file, in the
// order of the file and not of its loader's steps.
func (c *Complaints) Sort(from int) {
	slices.SortStableFunc(c.all[from:], func(a, b complaint) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
}

// Err is one error with a line for each complaint, or nil without any.
func (c *Complaints) Err(hint string) error {
	if len(c.all) == 0 {
		return nil
	}
	lines := make([]string, len(c.all))
	for i, p := range c.all {
		lines[i] = fmt.Sprintf("%s:%d:%d: %s", p.file, p.line, p.column, p.text)
	}
	return problem.New(api.Invalid, "%s", strings.Join(lines, "\n")).WithHint("%s", hint)
}

// Read reads a file, JSON or YAML by its name. ok is false when it is neither,
// which it has complained about then.
func (c *Complaints) Read(name string, src []byte) (root Node, ok bool) {
	root, err := read(name, src)
	return root, c.readable(name, err)
}

// readable complains about what [read] says.
func (c *Complaints) readable(name string, err error) bool {
	if e, bad := err.(*misread); bad {
		c.Add(name, e.line, e.column, "%s", e.message)
	}
	return err == nil
}

// ReadSparse is Read for a file that may say nothing: one that is empty, or holds
// only comments, is an object without members.
func (c *Complaints) ReadSparse(name string, src []byte) (root Node, ok bool) {
	root, err := read(name, src)
	if e, bad := err.(*misread); bad && e.empty || err == nil && root.Kind == Null {
		return Node{Kind: Object, Line: 1, Column: 1}, true
	}
	return root, c.readable(name, err)
}

// read returns a node, or a *misread.
func read(name string, src []byte) (Node, error) {
	reader := readYAML
	switch strings.ToLower(path.Ext(name)) {
	case ".json":
		reader = readJSON
	case ".yaml", ".yml":
	default:
		return Node{}, &misread{line: 1, column: 1, message: "the name does not say the format; it must end in .json, .yaml or .yml"}
	}
	if len(src) > fileMax {
		return Node{}, &misread{line: 1, column: 1, message: fmt.Sprintf("the file has %d bytes, at most %d are read; split it into several", len(src), fileMax)}
	}
	if err := encoded(src); err != nil {
		return Node{}, err
	}
	return reader(src)
}

// Items finds the list that a file is: the file itself, or the member of that
// name, beside which there may be other fields that mean nothing here. It
// complains, and returns an ok of false, when there is no list.
func (c *Complaints) Items(file string, root Node, name string, beside ...string) (n Node, ok bool) {
	form := fmt.Sprintf("a file of %[1]s is a list of %[1]s, or an object with %[1]q", name)
	if root.Kind == Object {
		found, allowed := false, append(beside, name)
		for _, m := range root.Members {
			switch key := m.Key; {
			case slices.Contains(beside, key.Text):
			case key.Text != name:
				c.Add(file, key.Line, key.Column, "unknown field %q; allowed: %s%s", Cut(key.Text), strings.Join(allowed, ", "), Near(key.Text, []string{name}))
			case found:
				c.Add(file, key.Line, key.Column, "duplicate field %q", name)
			default:
				found, root = true, m.Value
			}
		}
		if !found {
			c.Add(file, root.Line, root.Column, "%q is missing; %s", name, form)
			return Node{}, false
		}
	}
	if root.Kind != List {
		c.Add(file, root.Line, root.Column, "%s where the list of %s should be; %s", root.Kind, name, form)
		return Node{}, false
	}
	return root, true
}

// Near suggests the word that was probably meant, or nothing. Two letters may
// be wrong, but not all of a short word.
func Near(word string, words []string) string {
	best, distance := "", 3
	for _, w := range words {
		if d := levenshtein.ComputeDistance(strings.ToLower(word), strings.ToLower(w)); d < distance && d < len(w) {
			best, distance = w, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// shownMax bounds what a message quotes: a whole file may stand in a value.
const shownMax = 500

// Cut shortens text for a message. Only what holds no secret may be cut: half
// of a secret is one that nobody recognises.
func Cut(s string) string {
	if len(s) <= shownMax {
		return s
	}
	end := shownMax
	for end > 0 && !utf8.RuneStart(s[end]) { // s may be no text at all
		end--
	}
	return fmt.Sprintf("%s… (%d bytes)", s[:end], len(s))
}
