package rules

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
)

// maxFile bounds one file; a policy may be a directory of files.
const maxFile = 4 << 20

// Load reads every rule of a policy, in the order of its files. What is wrong
// is reported all at once, with positions: a misspelt rule that loads is worse
// than none, because the green check then means something false (seed 002,
// step 2; docs/policy.md, rule 15).
func Load(src policy.Source) ([]Rule, error) {
	l := loader{ids: map[string]string{}}
	var loaded []Rule
	for _, f := range src.Files {
		loaded = append(loaded, l.file(shownName(src, f), f.Data)...)
	}
	if len(l.complaints) == 0 && len(loaded) == 0 { // no file at all
		l.complain(src.Path, 1, 1, "no rules; a policy without rules would pass everything")
	}
	if err := l.err(); err != nil {
		return nil, err
	}
	return loaded, nil
}

// shownName is a file's name as the user can open it.
func shownName(src policy.Source, f policy.File) string {
	if f.Name == path.Base(src.Path) || f.Name == src.Path || src.Path == "" {
		return cmp.Or(src.Path, f.Name)
	}
	return path.Join(src.Path, f.Name)
}

// A loader collects what is wrong with a policy.
type loader struct {
	complaints []complaint
	ids        map[string]string // where each id was used first
}

type complaint struct {
	file         string
	line, column int
	text         string
}

func (l *loader) complain(file string, line, column int, format string, args ...any) {
	l.complaints = append(l.complaints, complaint{file, line, column, fmt.Sprintf(format, args...)})
}

func (l *loader) err() error {
	if len(l.complaints) == 0 {
		return nil
	}
	lines := make([]string, len(l.complaints))
	for i, c := range l.complaints {
		lines[i] = fmt.Sprintf("%s:%d:%d: %s", c.file, c.line, c.column, c.text)
	}
	return problem.New(api.Invalid, "%s", strings.Join(lines, "\n")).
		WithHint("correct the file; `assize policy schema rules` prints a JSON Schema that lets an editor check it")
}

// file reads the rules of one file.
func (l *loader) file(name string, src []byte) []Rule {
	first := len(l.complaints)
	root, err := read(name, src)
	if e, ok := err.(*misread); ok {
		l.complain(name, e.line, e.column, "%s", e.message)
		return nil
	}
	var loaded []Rule
	for i, n := range l.items(name, root) {
		r := ruleReader{loader: l, file: name, called: fmt.Sprintf("rule %d", i+1)}
		loaded = append(loaded, r.rule(n))
	}
	// In the order of the file, not of the loader's steps.
	slices.SortStableFunc(l.complaints[first:], func(a, b complaint) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	return loaded
}

// read returns a node, or a *misread.
func read(name string, src []byte) (node, error) {
	reader := readYAML
	switch strings.ToLower(path.Ext(name)) {
	case ".json":
		reader = readJSON
	case ".yaml", ".yml":
	default:
		return node{}, &misread{1, 1, "the name does not say the format; rules end in .json, .yaml or .yml"}
	}
	if len(src) > maxFile {
		return node{}, &misread{1, 1, fmt.Sprintf("the file has %d bytes, at most %d are read; split it into a directory of files", len(src), maxFile)}
	}
	if err := encoded(src); err != nil {
		return node{}, err
	}
	return reader(src)
}

// items finds the list of rules: the file itself, or the member that is called
// rules. $schema is where editors look for the schema of a file.
func (l *loader) items(name string, root node) []node {
	if root.kind == object {
		found := false
		for _, m := range root.members {
			switch {
			case m.key.text == "$schema":
			case m.key.text != "rules":
				l.complain(name, m.key.line, m.key.column, "unknown field %q; allowed: $schema, rules%s", m.key.text, near(m.key.text, []string{"rules"}))
			case found:
				l.complain(name, m.key.line, m.key.column, `duplicate field "rules"`)
			default:
				found, root = true, m.value
			}
		}
		if !found {
			l.complain(name, root.line, root.column, `"rules" is missing; a rules file is a list of rules, or an object with "rules"`)
			return nil
		}
	}
	if root.kind != list {
		l.complain(name, root.line, root.column, `%s where the list of rules should be; a rules file is a list of rules, or an object with "rules"`, root.kind)
		return nil
	}
	if len(root.items) == 0 {
		l.complain(name, root.line, root.column, "no rules; a policy without rules would pass everything")
	}
	return root.items
}

// near suggests the word that was probably meant, or nothing. Two letters may
// be wrong, but not all of a short word.
func near(word string, words []string) string {
	best, distance := "", 3
	for _, w := range words {
		if d := levenshtein.ComputeDistance(strings.ToLower(word), w); d < distance && d < len(w) {
			best, distance = w, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}
