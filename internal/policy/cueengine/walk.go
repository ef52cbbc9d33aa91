package cueengine

import (
	"iter"
	"reflect"
	"slices"
	"strconv"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy/cuefile"
)

// A walk goes through the result of judging with the document as data, and
// collects every violation. CUE's own validation is not enough: where it meets
// a real conflict, it says nothing of what is incomplete beside it, so each
// field and element is asked by itself; and of what a policy adds, or asks of
// an unknown value, it says nothing at all (docs/policy.md, rules 29 and 30).
type walk struct {
	outcome *outcome
	part    part
	rule    *cuefile.Rule
	alone   cue.Value            // the policy without a document
	leads   map[helperError]bool // whether an error has to do with the document
}

// A place is a value of the document: what it is there, the document's own
// type as far down as it has one, and the path as CUE writes labels.
type place struct {
	have any
	typ  reflect.Type
	path []string
}

func (p place) below(label string, have any, typ reflect.Type) place {
	return place{have: have, typ: typ, path: append(slices.Clip(p.path), label)}
}

// result walks through the whole result.
func (w *walk) result(value cue.Value, document map[string]any) {
	w.at(value, place{have: document, typ: reflect.TypeFor[api.Document]()}, false)
}

// at adds the violations at and below a place. holds says that CUE has already
// found the value to hold with all that is in it. What CUE says of a field
// gives way to what the field says by itself, which is never less.
func (w *walk) at(value cue.Value, at place, holds bool) {
	var said []errors.Error
	if !holds {
		err := value.Validate(cue.Concrete(true))
		holds, said = err == nil, listed(err)
	}
	before := len(w.outcome.found)
	var spoke map[string]bool // the fields and elements that did, by label
	if holds || isWalkable(value, at) {
		spoke = w.below(value, at, holds)
	}
	depth := len(at.path)
	for _, e := range said {
		if path := shift(e.Path(), w.part.from); len(path) <= depth || !spoke[path[depth]] {
			w.outcome.add(violation{path: path, pos: e.Position(), err: e})
		}
	}
	// A helper that looks at what violates is in error too, for the same reason.
	if len(w.outcome.found) == before || depth == 0 {
		w.private(value, at.path)
	}
}

// isWalkable reports whether a value in error has fields or elements that can
// be asked: then the error is one of theirs. The changes are asked in any case,
// for they are what people want to see listed.
func isWalkable(value cue.Value, at place) bool {
	if len(at.path) == 0 || isChanges(at.path) {
		return true
	}
	if _, isList := at.have.([]any); isList {
		_, err := value.List()
		return err == nil
	}
	_, err := value.Fields()
	return err == nil
}

func isChanges(path []string) bool { return len(path) == 1 && path[0] == "changes" }

// below walks through fields and elements, and returns the labels of those in
// which it found something.
func (w *walk) below(value cue.Value, at place, holds bool) map[string]bool {
	found := map[string]bool{}
	count := func(label string, walk func()) {
		before := len(w.outcome.found)
		walk()
		if len(w.outcome.found) > before {
			found[label] = true
		}
	}
	switch have := at.have.(type) {
	case map[string]any:
		if holds && isMarker(have) {
			w.unknown(value, at.path)
		}
		for field, v := range fields(value) {
			count(field.String(), func() { w.field(v, field, at, holds) })
		}
		w.slips(value, at)
	case []any:
		typ, from := at.typ, 0
		if typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if isChanges(at.path) {
			from = w.part.from
		}
		for i, v := range elements(value) {
			if i += from; i < len(have) {
				label := strconv.Itoa(i)
				count(label, func() { w.at(v, at.below(label, have[i], typ), holds) })
			}
		}
	}
	return found
}

// field walks into a field that the document has, and judges one that the
// policy added.
func (w *walk) field(value cue.Value, field cue.Selector, parent place, holds bool) {
	name := field.Unquoted()
	have, exists := parent.have.(map[string]any)[name]
	known, isKnown := cuefile.Field(parent.typ, name)
	at := parent.below(field.String(), have, reflect.TypeFor[any]())
	if isKnown {
		at.typ = known.Type
	}
	switch {
	case exists:
		w.at(value, at, holds)
	case !holds && value.Validate(cue.Concrete(true)) != nil:
		w.at(value, at, false)
	default:
		w.added(value, name, parent, at)
	}
}

// elements are the values of a list. One that is in error as a whole has to be
// asked for each, which takes a search from the first on every time.
func elements(list cue.Value) iter.Seq2[int, cue.Value] {
	return func(yield func(int, cue.Value) bool) {
		it, err := list.List()
		for i := 0; err == nil && it.Next() && yield(i, it.Value()); i++ {
		}
		for i := 0; err != nil && i < wholeUpTo; i++ {
			v := list.LookupPath(cue.MakePath(cue.Index(i)))
			if !v.Exists() || !yield(i, v) {
				return
			}
		}
	}
}

// fields are the regular fields of a struct: those that are in the data model.
// Unlike CUE's own iterator, it goes through structs in error as well.
func fields(value cue.Value) iter.Seq2[cue.Selector, cue.Value] {
	return labelled(value, cue.StringLabel)
}

// helpers are the hidden fields and definitions of a struct: the author's own.
func helpers(value cue.Value) iter.Seq2[cue.Selector, cue.Value] {
	return labelled(value, cue.HiddenLabel, cue.HiddenDefinitionLabel, cue.DefinitionLabel)
}

func labelled(value cue.Value, types ...cue.SelectorType) iter.Seq2[cue.Selector, cue.Value] {
	return func(yield func(cue.Selector, cue.Value) bool) {
		it, err := value.Fields(cue.Hidden(true), cue.Definitions(true), cue.Optional(true))
		for err == nil && it.Next() {
			isThere := it.FieldType().ConstraintType() == 0 && slices.Contains(types, it.Selector().LabelType())
			if isThere && !yield(it.Selector(), it.Value()) {
				return
			}
		}
	}
}

// listed are the errors in one, in the order in which CUE prints them.
func listed(err error) []errors.Error {
	if e, ok := err.(errors.Error); ok {
		return errors.Errors(errors.Sanitize(e))
	}
	return errors.Errors(err)
}
