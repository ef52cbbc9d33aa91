package cueengine

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy/cuefile"
)

// added judges a field that the policy added to the document. A concrete value
// in a place where the plan has none unifies by being added, so the rule over
// it holds whatever the plan does (docs/policy.md, rule 30).
//
// What the policy requires and the plan does not show is a violation
// (docs/policy.md, rule 29). Only a name that the document's own fixed shape
// does not know is no value of the plan at all, but a slip or the author's
// helper: it is noted, and the verdict stays as the seed's page has it ("Typos
// in a policy").
func (w *walk) added(value cue.Value, name string, parent, at place) {
	_, isKnown := cuefile.Field(parent.typ, name)
	switch {
	case isKnown && leftOut(at.typ, value):
	case !isKnown && isFixed(parent.typ):
		before := len(w.outcome.found)
		if w.helper(value, at.path, false); len(w.outcome.found) == before {
			w.outcome.noted = append(w.outcome.noted, strings.Join(at.path, "."))
		}
	case !isKnown && parent.typ.Kind() == reflect.Struct:
		w.violate(value, at.path, "the document has no such field; a helper must be hidden, as in _"+name)
	default:
		w.missing(value, at.path)
	}
}

// slips notes optional fields with names that the document does not know: they
// are never there, so what they say forbids nothing.
func (w *walk) slips(value cue.Value, at place) {
	if at.typ.Kind() != reflect.Struct {
		return
	}
	it, err := value.Fields(cue.Optional(true))
	for err == nil && it.Next() {
		if it.FieldType().ConstraintType() == 0 {
			continue
		}
		if _, isKnown := cuefile.Field(at.typ, it.Selector().Unquoted()); !isKnown {
			path := append(slices.Clone(at.path), strings.TrimSuffix(it.Selector().String(), "?"))
			if _, isElement := changeIndex(path); isElement {
				path[1] = "N" // one note for all changes
			}
			w.outcome.noted = append(w.outcome.noted, strings.Join(path, "."))
		}
	}
}

// missing is a violation for every leaf of value. An empty struct or list has
// none and requires nothing: it is what `tags: [string]: =~"x"` leaves where
// there are no tags. A default is the author's word on what absence means.
func (w *walk) missing(value cue.Value, path []string) {
	kind := value.IncompleteKind()
	if _, isDefault := value.Default(); isDefault && kind != cue.ListKind {
		return // of a list, CUE calls its closed form a default
	}
	switch kind {
	case cue.StructKind:
		for field, v := range fields(value) {
			w.missing(v, append(path, field.String()))
		}
	case cue.ListKind:
		for i, v := range elements(value) {
			w.missing(v, append(path, strconv.Itoa(i)))
		}
	default:
		w.violate(value, path, "the plan does not have this value; the policy requires "+literalText(value))
	}
}

// violate adds a violation that is not CUE's own.
func (w *walk) violate(value cue.Value, path []string, message string) {
	w.outcome.add(violation{path: slices.Clone(path), pos: value.Pos(), message: message})
}

// isFixed reports whether the names in a struct of this type are the
// document's own, none of them the configuration's.
func isFixed(typ reflect.Type) bool {
	return typ == reflect.TypeFor[api.Document]() || typ == reflect.TypeFor[api.Summary]() || typ == reflect.TypeFor[api.Stats]()
}

// leftOut reports whether the document leaves a field of this type out when it
// is value, so that its absence shows that it is. A pointer is left out when
// the tool says nothing, which shows nothing.
func leftOut(typ reflect.Type, value cue.Value) bool {
	empty := map[reflect.Kind]string{reflect.Bool: "false", reflect.String: `""`, reflect.Slice: "[]", reflect.Interface: "null"}
	text, err := value.MarshalJSON()
	return err == nil && string(text) == empty[typ.Kind()]
}

// literalText is a policy's value for a message.
func literalText(value cue.Value) string {
	if text, err := value.MarshalJSON(); err == nil {
		return string(text)
	}
	return value.IncompleteKind().String()
}
