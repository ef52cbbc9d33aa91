// Package mark knows the maps by which a plan marks parts of a value, as unknown
// or as sensitive: true, or an object or a list with true in it, in the shape of
// the value. Everything else marks nothing. It must not know what a mark means.
package mark

import "slices"

// Fits reports whether marks can be walked along with v: an object with an
// object, a list with a list. Marks of nothing, and of what is not there, fit.
func Fits(marks, v any) bool {
	same := true
	switch marks.(type) {
	case map[string]any:
		_, same = v.(map[string]any)
	case []any:
		_, same = v.([]any)
	}
	return same || v == nil || !Any(marks)
}

// Fitted is marks of sensitivity where they fit v. Where they do not (sets have
// coarser marks), all of v is sensitive, for nobody can say which part is.
func Fitted(marks, v any) any {
	list, isList := marks.([]any)
	values, _ := v.([]any)
	if !Fits(marks, v) || isList && v != nil && len(list) != len(values) && Any(list) {
		return true
	}
	return marks
}

// Any reports whether marks hold a true anywhere.
func Any(mark any) bool {
	switch mark := mark.(type) {
	case bool:
		return mark
	case []any:
		return slices.ContainsFunc(mark, Any)
	case map[string]any:
		for _, e := range mark {
			if Any(e) {
				return true
			}
		}
	}
	return false
}
