package cueengine

import "cuelang.org/go/cue"

// unevaluated returns what keeps a hidden field or a definition of v from having
// a value. CUE's own validation takes such a field for a template and lets an
// incomplete one be, so a constraint that an author put there would hold
// whatever the plan says (docs/policy.md, rule 29). A mere type is no error,
// and a struct, which may be a template, is asked only for its fields.
func unevaluated(v cue.Value) error {
	if v.IncompleteKind() == cue.ListKind {
		list, err := v.List()
		for err == nil && list.Next() {
			if err := list.Value().Err(); err != nil {
				return err
			}
			if err := unevaluated(list.Value()); err != nil {
				return err
			}
		}
		return nil
	}
	fields, err := v.Fields(cue.Hidden(true), cue.Definitions(true))
	if err != nil {
		return nil // a scalar has no fields
	}
	for fields.Next() {
		value, label := fields.Value(), fields.Selector()
		if label.IsDefinition() || label.LabelType() == cue.HiddenLabel {
			if err := value.Err(); err != nil {
				return err
			}
		}
		if err := unevaluated(value); err != nil {
			return err
		}
	}
	return nil
}
