package cueengine

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
)

// copied judges what a policy adds to a struct that a helper took from the
// document: it would hold there whatever the plan does, as it would in the
// document itself (docs/policy.md, rules 29 and 30).
func (w *walk) copied(value cue.Value, path []string) {
	if !w.isCopy(value) {
		return
	}
	it, err := value.Fields(cue.Optional(true))
	if err != nil {
		w.violate(value, path, "the plan does not decide which of the policy's alternatives holds")
		return
	}
	for it.Next() {
		field := it.Value()
		at := append(slices.Clip(path), strings.TrimSuffix(it.Selector().String(), "!"))
		switch constraint := it.FieldType().ConstraintType(); {
		case constraint == cue.RequiredConstraint:
			w.violate(field, at, "the plan does not have this value; the policy requires it")
		case constraint != 0, w.isGiven(field), w.rule.Computes(field.Pos()):
		default:
			w.missing(field, at)
		}
	}
}

// isCopy reports whether a helper's struct is one of the document, or was read
// from a text in it. One that the author put together of values from there is not.
func (w *walk) isCopy(value cue.Value) bool {
	if value.IncompleteKind() != cue.StructKind {
		return false
	}
	if w.isGiven(value) {
		return true
	}
	for _, v := range fields(value) {
		if w.isGiven(v) {
			return true
		}
	}
	return slices.ContainsFunc(operands(value, 0), func(v cue.Value) bool { return w.rule.Takes(v.Pos()) })
}

// isGiven reports whether a value stands in the document, or in a text of it,
// and not only in the policy.
func (w *walk) isGiven(value cue.Value) bool {
	return slices.ContainsFunc(operands(value, 0), func(v cue.Value) bool {
		return v.Pos().IsValid() && v.Pos().Filename() != w.rule.Path
	})
}

// operands are the values that were unified into one.
func operands(value cue.Value, depth int) (out []cue.Value) {
	op, parts := value.Expr()
	if op != cue.AndOp || depth > maxOperands {
		return []cue.Value{value}
	}
	for _, part := range parts {
		out = append(out, operands(part, depth+1)...)
	}
	return out
}
