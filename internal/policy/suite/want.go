// Package suite decides whether a policy does what its author wants: it compares
// what the policy says of plans with what was written down, and says what the
// plans leave unproved (docs/testing.md). It reads no files, knows no language,
// and must not know how a policy is judged.
package suite

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// errored is the one line that wants a plan not to be judged.
const errored = "errored"

// A Want is what a policy should say of one plan: a line for each finding, in
// sorted order, or that it cannot judge (docs/testing.md, rule 2).
type Want struct {
	lines []string
}

// Found is what a verdict says.
func Found(v api.Verdict) Want {
	if v.Outcome != api.Passed && v.Outcome != api.Failed {
		return Want{[]string{errored}}
	}
	var lines []string
	for _, f := range v.Findings {
		lines = append(lines, lineOf(f))
	}
	slices.Sort(lines)
	return Want{lines}
}

// lineOf is a finding as a line: level, rule, address, and the key of a deposed
// object. What the finding says is not part of it: messages are for people and
// change.
func lineOf(f api.Finding) string {
	level := string(f.Level)
	if f.Excepted {
		level = "excepted"
	}
	line := level + " " + word(f.Rule)
	if f.Address != "" {
		line += " " + printable(f.Address)
	}
	if f.Deposed != "" {
		line += " deposed " + printable(f.Deposed)
	}
	return line
}

// word quotes a rule that would look like more than one word.
func word(rule string) string {
	if rule == "" || strings.ContainsFunc(rule, unicode.IsSpace) {
		return strconv.Quote(rule)
	}
	return printable(rule)
}

// printable quotes what would not survive on a line.
func printable(text string) string {
	if strings.TrimSpace(text) != text || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// ParseWant reads a .want file. Empty lines and lines that begin with # say
// nothing; the order of the others does not matter.
func ParseWant(text string) (Want, error) {
	var w Want
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		level, rest, _ := strings.Cut(line, " ")
		known := slices.Contains([]string{string(api.Deny), string(api.Warn), "excepted"}, level) && rest != ""
		if !known && line != errored {
			return Want{}, problem.New(api.Invalid, "%q is no line of a .want file", line).
				WithHint("write deny RULE ADDRESS, warn RULE ADDRESS, excepted RULE ADDRESS, or errored alone; or let --update write it")
		}
		w.lines = append(w.lines, line)
	}
	slices.Sort(w.lines)
	if len(w.lines) > 1 && slices.Contains(w.lines, errored) {
		return Want{}, problem.New(api.Invalid, "errored stands beside other lines").
			WithHint("a plan that cannot be judged has no findings")
	}
	return w, nil
}

// String is the text of a .want file: empty where nothing is found.
func (w Want) String() string {
	if len(w.lines) == 0 {
		return ""
	}
	return strings.Join(w.lines, "\n") + "\n"
}

// Equal reports whether two say the same.
func (w Want) Equal(other Want) bool { return slices.Equal(w.lines, other.lines) }

// Refuses reports whether a plan is wanted to be denied, and Passes whether
// nothing is wanted to stop it.
func (w Want) Refuses() bool {
	return slices.ContainsFunc(w.lines, func(l string) bool { return strings.HasPrefix(l, string(api.Deny)+" ") })
}

// Warns reports whether something is wanted to be said of a plan at all.
func (w Want) Warns() bool {
	return slices.ContainsFunc(w.lines, func(l string) bool { return strings.HasPrefix(l, string(api.Warn)+" ") })
}

// Passes reports whether nothing is wanted to stop the plan.
func (w Want) Passes() bool { return !w.Refuses() && !slices.Contains(w.lines, errored) }

// minus are the lines of w that other does not have, counted.
func (w Want) minus(other Want) []string {
	out, rest := []string{}, other.lines
	for _, line := range w.lines {
		i, found := slices.BinarySearchFunc(rest, line, cmp.Compare[string])
		if rest = rest[i:]; found {
			rest = rest[1:]
		} else {
			out = append(out, line)
		}
	}
	return out
}
