package cueengine

import (
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"
)

// private judges the hidden fields and definitions of a struct. CUE's own
// validation takes each for a template and lets an incomplete one be, so a
// constraint that an author put there would hold whatever the plan says
// (docs/policy.md, rule 29).
func (w *walk) private(value cue.Value, path []string) {
	for label, v := range helpers(value) {
		w.helper(v, append(slices.Clip(path), label.String()), true)
	}
}

// helper adds what keeps a helper from having a value, and what it asks of
// values that are not known. A mere type is no error. The fields of a helper
// may be a template, incomplete until somebody uses it: of these, only what
// looks at the document is asked.
func (w *walk) helper(value cue.Value, path []string, isWhole bool) {
	if err := value.Err(); err != nil && (isWhole || w.isOfDocument(path, err)) {
		for _, e := range listed(err) {
			w.outcome.add(violation{path: shift(e.Path(), w.part.from), pos: e.Position(), err: e})
		}
		return
	}
	if value.IncompleteKind() == cue.ListKind {
		for i, v := range elements(value) {
			w.helper(v, append(slices.Clip(path), strconv.Itoa(i)), isWhole)
		}
		return
	}
	if known, err := value.LookupPath(cue.MakePath(cue.Str("$unknown"))).Bool(); err == nil && known {
		w.unknown(value, path)
	}
	w.copied(value, path)
	for label, v := range fields(value) {
		w.helper(v, append(slices.Clip(path), label.String()), false)
	}
	for label, v := range helpers(value) {
		w.helper(v, append(slices.Clip(path), label.String()), false)
	}
}

// isOfDocument reports whether a helper's error has to do with the document:
// the helper has such a field only where there is a plan, or what is in error
// is an expression that leads out of the helper into a field of the document,
// or the helper hands such a field to a template.
func (w *walk) isOfDocument(path []string, err error) bool {
	if !w.alone.LookupPath(general(path)).Exists() {
		return true
	}
	return slices.ContainsFunc(errors.Errors(err), func(e errors.Error) bool {
		at := helperError{offset: e.Position().Offset(), helpers: strings.Join(slices.DeleteFunc(slices.Clone(path), isPublic), ".")}
		leads, isKnown := w.leads[at]
		if !isKnown {
			leads = w.rule.LeadsOut(e.Position()) || w.rule.HandsOver(path, e.Position())
			w.leads[at] = leads
		}
		return leads
	})
}

// A helperError is where in a policy an error arises, by way of which helpers:
// the same for every change.
type helperError struct {
	offset  int
	helpers string
}

func isPublic(label string) bool {
	return !strings.HasPrefix(label, "_") && !strings.HasPrefix(label, "#")
}

// general is the path in the policy alone, where a template stands for every
// element of changes.
func general(path []string) cue.Path {
	selectors := make([]cue.Selector, len(path))
	_, isElement := changeIndex(path)
	for i, label := range path {
		n, err := strconv.Atoi(label)
		switch {
		case i == 1 && isElement:
			selectors[i] = cue.AnyIndex
		case err == nil:
			selectors[i] = cue.Index(n)
		default:
			parsed := cue.ParsePath(label).Selectors()
			if len(parsed) != 1 {
				return cue.MakePath(cue.Str(label))
			}
			selectors[i] = parsed[0]
		}
	}
	return cue.MakePath(selectors...)
}
