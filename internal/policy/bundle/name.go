package bundle

import (
	"io/fs"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// maxName is more than any file system lets a path have in practice.
const maxName = 1024

// checkName accepts the names that mean the same place on every system, below
// the bundle's root (docs/bundle.md, rule 6). Nothing is ever written to a place
// that such a name says; but other programs unpack bundles.
func checkName(name string) error {
	switch {
	case name == "":
		return problem.New(api.Invalid, "the bundle holds a file without a name")
	case len(name) > maxName:
		return problem.New(api.Invalid, "the bundle holds a file whose name has %d bytes, at most %d are read", len(name), maxName)
	}
	if why := wrong(name); why != "" {
		return problem.New(api.Invalid, "the bundle holds a file %q, whose name %s", name, why)
	}
	return nil
}

// wrong says what is the matter with a name, "" when nothing is.
func wrong(name string) string {
	switch {
	case !utf8.ValidString(name):
		return "is not UTF-8"
	case strings.ContainsFunc(name, unprintable):
		return "holds a character that cannot be seen"
	case strings.Contains(name, `\`):
		return "holds a backslash"
	case strings.HasPrefix(name, "/"):
		return "is absolute"
	case len(name) > 1 && name[1] == ':':
		return "begins with a drive letter"
	case strings.HasSuffix(name, "/"):
		return "ends in a slash"
	case !fs.ValidPath(name) || name == ".":
		return "has an empty step, or one of . and .."
	}
	return ""
}

// unprintable is true of what two names may differ in although they look
// alike: controls, marks of direction, odd spaces, and halves of nothing.
func unprintable(r rune) bool { return !unicode.IsPrint(r) }
