package cueengine

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
)

// unknown judges what a policy asks of a value that is known only after apply.
// In its place stands a struct, and CUE lets a struct have whatever optional
// fields, patterns and counts of fields one asks for, as long as it shows
// nothing to the contrary; but what the plan does not show is not allowed
// (docs/policy.md, rule 29).
func (w *walk) unknown(value cue.Value, path []string) {
	it, err := value.Fields(cue.Optional(true), cue.Patterns(true))
	for err == nil && it.Next() {
		isPattern := it.FieldType()&cue.PatternConstraint != 0
		isLimit := isPattern && it.Selector().String() != "[string]" // in a closed struct, it says which names may be there
		if it.FieldType().ConstraintType() == 0 || !isLimit && asksNothing(it.Value()) {
			continue
		}
		at, asks := path, it.Selector().String()
		if !isPattern {
			at = append(slices.Clip(path), strings.TrimSuffix(asks, "?"))
		}
		w.violate(it.Value(), at, fmt.Sprintf("the value is known only after apply, and the policy says what %s may be", asks))
	}
	if check, found := countsFields(value, 0); found {
		w.violate(check, path, "the value is known only after apply, and the policy counts its fields")
	}
}

// isMarker reports whether v stands for a value that is not known.
func isMarker(v map[string]any) bool { return len(v) == 1 && v["$unknown"] == true }

// asksNothing reports whether a constraint is _, which holds of anything.
func asksNothing(constraint cue.Value) bool {
	name, ok := constraint.Syntax().(*ast.Ident)
	return ok && name.Name == "_"
}

// maxOperands bounds how deep a constraint is looked into; what lies deeper
// was generated to be deep.
const maxOperands = 20

// countsFields finds struct.MinFields or struct.MaxFields in a constraint: of
// all that CUE can ask of a struct, only these two look at it as a whole.
func countsFields(value cue.Value, depth int) (check cue.Value, found bool) {
	op, operands := value.Expr()
	switch {
	case depth > maxOperands, op == cue.CallOp && isCount(operands[0]), op == cue.NoOp && isCount(value):
		return value, true
	case op == cue.AndOp, op == cue.OrOp, op == cue.CallOp:
		for _, operand := range operands {
			if check, found = countsFields(operand, depth+1); found {
				return check, true
			}
		}
	case op == cue.SelectorOp, op == cue.IndexOp:
		if to := cue.Dereference(value); to != value { // a loop's variable leads to itself
			return countsFields(to, depth+1)
		}
	}
	return cue.Value{}, false
}

// isCount reports whether a value is one of the two, or the function that makes
// one: the evaluator shows neither but as text.
func isCount(value cue.Value) bool {
	return strings.HasPrefix(fmt.Sprint(value), "struct.M")
}
