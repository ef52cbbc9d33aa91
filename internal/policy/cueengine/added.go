package cueengine

import (
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"

	"github.com/assize-iac/assize/api"
)

// An addition looks for what a policy added to the document. A concrete value
// in a place where the plan has none unifies by being added, so the rule over
// it holds whatever the plan does (docs/policy.md, rule 30).
//
// What the policy requires and the plan does not show is a violation
// (docs/policy.md, rule 29). Only a name that the document's own fixed shape
// does not know is no value of the plan at all, but a slip or the author's
// helper: it is noted, and the verdict stays as the seed's page has it ("Typos
// in a policy").
type addition struct {
	outcome *outcome
	from    int // the index of the first change of this part
}

// find compares the result of judging with the document as data.
func (a *addition) find(result cue.Value, document map[string]any) {
	a.object(result, document, reflect.TypeFor[api.Document](), nil)
}

// compare goes down to where only the policy has a value. typ is the document's
// own type, as far down as it has one.
func (a *addition) compare(value cue.Value, have any, typ reflect.Type, path []string) {
	switch have := have.(type) {
	case map[string]any:
		a.object(value, have, typ, path)
	case []any:
		if typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		from := 0
		if len(path) == 1 && path[0] == "changes" {
			from = a.from
		}
		list, err := value.List()
		for i := from; err == nil && list.Next() && i < len(have); i++ {
			a.compare(list.Value(), have[i], typ, append(path, strconv.Itoa(i)))
		}
	}
}

func (a *addition) object(value cue.Value, have map[string]any, typ reflect.Type, path []string) {
	for field, v := range fields(value) {
		at := append(path, field.String())
		known, isKnown := jsonField(typ, field.Unquoted())
		switch old, exists := have[field.Unquoted()]; {
		case exists && isKnown:
			a.compare(v, old, known.Type, at)
		case exists:
			a.compare(v, old, reflect.TypeFor[any](), at)
		case isKnown && leftOut(known.Type, v):
		case !isKnown && isFixed(typ):
			a.outcome.added = append(a.outcome.added, strings.Join(at, "."))
		case !isKnown && typ.Kind() == reflect.Struct:
			a.violate(v, at, "the document has no such field; a helper must be hidden, as in _"+field.Unquoted())
		default:
			a.missing(v, at)
		}
	}
}

// missing is a violation for every leaf of value. An empty struct or list has
// none and requires nothing: it is what `tags: [string]: =~"x"` leaves where
// there are no tags. A default is the author's word on what absence means.
func (a *addition) missing(value cue.Value, path []string) {
	kind := value.IncompleteKind()
	if _, isDefault := value.Default(); isDefault && kind != cue.ListKind {
		return // of a list, CUE calls its closed form a default
	}
	switch kind {
	case cue.StructKind:
		for field, v := range fields(value) {
			a.missing(v, append(path, field.String()))
		}
	case cue.ListKind:
		list, err := value.List()
		for i := 0; err == nil && list.Next(); i++ {
			a.missing(list.Value(), append(path, strconv.Itoa(i)))
		}
	default:
		a.violate(value, path, "the plan does not have this value; the policy requires "+literalText(value))
	}
}

func (a *addition) violate(value cue.Value, path []string, message string) {
	v := violation{path: slices.Clone(path), pos: value.Pos(), message: label(path) + message}
	if v.pos.IsValid() {
		v.positions = []string{position(v.pos)}
	}
	a.outcome.violate(v)
}

// fields are the regular fields of a struct: those that are in the data model.
// Definitions, hidden and optional fields are the author's own.
func fields(value cue.Value) iter.Seq2[cue.Selector, cue.Value] {
	return func(yield func(cue.Selector, cue.Value) bool) {
		it, err := value.Fields()
		for err == nil && it.Next() {
			if !yield(it.Selector(), it.Value()) {
				return
			}
		}
	}
}

// isFixed reports whether the names in a struct of this type are the
// document's own, none of them the configuration's.
func isFixed(typ reflect.Type) bool {
	return typ == reflect.TypeFor[api.Document]() || typ == reflect.TypeFor[api.Summary]() || typ == reflect.TypeFor[api.Stats]()
}

// jsonField is the field that typ writes under a name.
func jsonField(typ reflect.Type, name string) (reflect.StructField, bool) {
	if typ.Kind() != reflect.Struct {
		return reflect.StructField{}, false
	}
	for i := range typ.NumField() {
		f := typ.Field(i)
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
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
