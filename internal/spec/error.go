package spec

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// lineMax is how much is shown of one message, in bytes: CUE may quote the whole
// schema of a provider.
const lineMax = 400

// An Error says that a specification does not evaluate.
type Error struct{ problem *problem.Error }

func (e *Error) Error() string { return e.problem.Error() }

// Unwrap leads to the problem, with its code and its hint.
func (e *Error) Unwrap() error { return e.problem }

// refuse is what CUE says of a specification, with positions in the user's own
// files: those in generated packages would send the reader where nothing can be
// changed.
func (s *source) refuse(err error) *Error {
	var all []string
	hint := ""
	for _, e := range errors.Errors(errors.Sanitize(errors.Promote(err, ""))) {
		message := short(carried.ReplaceAllString(errors.String(e), ""))
		hint = cmp.Or(hint, s.advice(e, message))
		all = append(all, located(message, s.positions(e)))
	}
	p := problem.New(api.Invalid, "evaluating %s:\n%s", s.Name, strings.Join(unique(all), "\n"))
	p.Cause, p.Hint = err, hint
	return &Error{p}
}

// located is a message with positions below it, as CUE prints them.
func located(message string, positions []string) string {
	if len(positions) == 0 {
		return message
	}
	return message + ":\n    " + strings.Join(positions, "\n    ")
}

// carried matches the step in a path that leads into the parts of a text, which nobody
// has written (docs/spec.md, rule 15).
var carried = regexp.MustCompile(`\.#(parts|call\.args)(\.\d+)*\b`)

// unique is a list without what stands in it before.
func unique(all []string) []string {
	var once []string
	for _, text := range all {
		if !slices.Contains(once, text) {
			once = append(once, text)
		}
	}
	return once
}

// addresses matches what a generated package keeps beside a value.
var addresses = regexp.MustCompile(`#refs:\{[^{}]*\},?`)

func short(message string) string {
	message = addresses.ReplaceAllString(message, "")
	if len(message) <= lineMax {
		return message
	}
	return strings.ToValidUTF8(message[:lineMax], "") + "..."
}

// positions are those of an error that are in files of the user's; if there is none,
// that of the resource that it is about, or of the field of the package.
func (s *source) positions(e errors.Error) []string {
	var all []string
	for _, p := range errors.Positions(e) {
		if text := s.position(p); text != "" && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	if len(all) == 0 && s.found != nil {
		if at := s.found.holder(e.Path()).place; at.File != "" {
			all = append(all, fmt.Sprintf("%s:%d", at.File, at.Line))
		}
	}
	if path := e.Path(); len(all) == 0 && len(path) > 0 {
		if at := s.position(s.tops[path[0]]); at != "" {
			all = append(all, at)
		}
	}
	return all
}

// position is a place in a file of the user's, "" for any other.
func (s *source) position(p token.Pos) string {
	if !p.IsValid() || s.generated(p.Filename()) {
		return ""
	}
	return s.at(p)
}

// at is a position as people know the file.
func (s *script) at(p token.Pos) string {
	return fmt.Sprintf("%s:%d:%d", s.shown(s.absolute(p.Filename())), p.Line(), p.Column())
}

// absolute is the path of a file that CUE may name from the specification's directory.
func (s *script) absolute(name string) string {
	if path.IsAbs(name) {
		return name
	}
	return path.Join(s.Dir, name)
}

// where is the first place of a value in a file of the user's.
func (s *source) where(v cue.Value) (file string, line int) {
	if file, line = s.own(v.Pos()); file != "" {
		return file, line
	}
	for _, p := range sources(v) {
		if file, line = s.own(p); file != "" {
			break
		}
	}
	return file, line
}

// own is a place in a file of the user's, "" for any other.
func (s *source) own(p token.Pos) (file string, line int) {
	if !p.IsValid() || s.generated(p.Filename()) {
		return "", 0
	}
	return s.shown(s.absolute(p.Filename())), p.Line()
}

// sources are where the parts of a value are that were unified.
func sources(v cue.Value) []token.Pos {
	var all []token.Pos
	_, parts := v.Expr()
	for _, part := range parts {
		if n := part.Source(); n != nil {
			all = append(all, n.Pos())
		}
	}
	return all
}

// wrong refuses a value, and names it and where it is.
func (s *source) wrong(v cue.Value, format string, args ...any) *Error {
	message := short(cmp.Or(carried.ReplaceAllString(thing{path: v.Path().Selectors()}.String(), ""), `""`) + ": " + fmt.Sprintf(format, args...))
	var positions []string
	if file, line := s.where(v); file != "" {
		positions = append(positions, fmt.Sprintf("%s:%d", file, line))
	}
	return &Error{problem.New(api.Invalid, "%s", located(message, positions))}
}

// WithHint returns e with the next thing to do.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.problem = e.problem.WithHint(format, args...)
	return e
}

// invalid is a problem of a specification that says where by itself.
func invalid(format string, args ...any) *Error {
	return &Error{problem.New(api.Invalid, format, args...)}
}
