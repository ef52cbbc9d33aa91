package show

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/report/page"
)

// Limits of what is shown of one change; all of it is in what the tool itself
// prints (docs/report.md, rule 14).
const (
	editsMax = 20 // lines of one change
	valueMax = 60 // runes of one value
)

// What stands in place of a value. Both are the tools' own words.
const (
	unknownWord   = "(known after apply)"
	sensitiveWord = "(sensitive)"
)

// edits lists the attributes that an update or a replacement changes, one line
// each, and how many more there are. A new object has no line but its address:
// all of it is new.
func (s sheet) edits(c *plan.Change) (lines []string, more int) {
	if c.Action != plan.Update && c.Action != plan.Replace {
		return nil, 0
	}
	// The walk finds where something differs, and Lookup says what may be shown:
	// it alone knows all four states and every way to be sensitive.
	paths := changed(nil, sides{c.Before, c.After, c.AfterUnknown, c.BeforeSensitive, c.AfterSensitive})
	// Those that force a replacement must not be among those that are cut.
	slices.SortStableFunc(paths, func(a, b plan.Path) int { return cmp.Compare(forces(c, b), forces(c, a)) })
	for _, path := range paths[:min(editsMax, len(paths))] {
		before, after := s.plan.LookupBefore(c, path), s.plan.Lookup(c, path)
		// A mark on one side is meant for the attribute, as in what the tools print.
		if marked(c.BeforeSensitive, path) || marked(c.AfterSensitive, path) {
			for _, f := range [][]plan.Found{before, after} {
				for i := range f {
					f[i].Sensitive = true
				}
			}
		}
		line := s.said(path.String()) + ": " + s.found(before) + " → " + s.found(after)
		if forces(c, path) == 1 {
			line += " (forces the replacement)"
		}
		lines = append(lines, line)
	}
	return lines, len(paths) - len(lines)
}

// marked reports whether a map of marks says that all of what is at path is
// sensitive.
func marked(marks any, path plan.Path) bool {
	for _, step := range path {
		marks = child(marks, step)
	}
	return marks == true
}

// forces is 1 for an attribute that the tool names as a reason to replace.
func forces(c *plan.Change, path plan.Path) int {
	if slices.Contains(c.ReplacePaths, path.String()) {
		return 1
	}
	return 0
}

// sides are two values, and what the plan says of them: what of the second is
// unknown, and what of each is sensitive.
type sides struct{ before, after, unknown, wasSensitive, sensitive any }

func (s sides) at(step plan.Step) sides {
	return sides{child(s.before, step), child(s.after, step), child(s.unknown, step), child(s.wasSensitive, step), child(s.sensitive, step)}
}

// changed walks two values and what will be known of the second, and returns
// the paths of the smallest parts that differ. Lists of different lengths
// differ as a whole: which element moved where is not in the plan. So does what
// is sensitive as a whole: its keys are part of the secret, unless it is the
// resource itself, whose keys every resource of its type has.
func changed(at plan.Path, s sides) []plan.Path {
	if s.unknown == true {
		return []plan.Path{at}
	}
	common, ok := steps(s.before, s.after, s.unknown)
	if ok && (len(at) == 0 || s.wasSensitive != true && s.sensitive != true) {
		var out []plan.Path
		for _, step := range common {
			out = append(out, changed(slices.Concat(at, plan.Path{step}), s.at(step))...)
		}
		return out
	}
	if reflect.DeepEqual(s.before, s.after) && marks(s.unknown) == 0 {
		return nil
	}
	return []plan.Path{at}
}

// steps are the keys or indices that two values have; ok is false where they
// are not of one kind, so that only the whole can be compared.
func steps(before, after, unknown any) (out []plan.Step, ok bool) {
	switch b := before.(type) {
	case map[string]any:
		a, isMap := after.(map[string]any)
		if !isMap {
			return nil, false
		}
		keys := map[string]bool{}
		// An attribute that is known after apply is left out of after.
		hidden, _ := unknown.(map[string]any)
		for _, m := range []map[string]any{b, a, hidden} {
			for k := range m {
				keys[k] = true
			}
		}
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			out = append(out, plan.Step{Key: k})
		}
		return out, true
	case []any:
		a, isList := after.([]any)
		if !isList || len(a) != len(b) {
			return nil, false
		}
		for i := range b {
			out = append(out, plan.Step{Index: i, Kind: plan.Index})
		}
		return out, true
	}
	return nil, false
}

// child is one step into a value or into a map of marks; nil where there is no
// such step, which is also what an absent attribute compares as.
func child(v any, s plan.Step) any {
	switch v := v.(type) {
	case bool:
		return v // a mark, which holds for all that is below it
	case map[string]any:
		return v[s.Key]
	case []any:
		if s.Index < len(v) {
			return v[s.Index]
		}
	}
	return nil
}

// found shows what a lookup of one concrete path gave. More or fewer than one
// is a path that this package built wrongly; that must not print a value.
func (s sheet) found(all []plan.Found) string {
	if len(all) != 1 {
		return "(not shown)"
	}
	switch f := all[0]; {
	// Unknown comes first: what is not known yet cannot be given away.
	case f.State == plan.Unknown:
		return unknownWord
	case f.Sensitive:
		return sensitiveWord
	case f.State != plan.Present:
		return "null"
	case f.Partial:
		return s.quote(f.Value) + " (partly known after apply)"
	default:
		return s.quote(f.Value)
	}
}

// quote shows a value as JSON, shortened. A value that has a secret in it is not
// shown with the secret cut out: what is left would say how long it is and what
// stands around it (docs/report.md, rule 15).
func (s sheet) quote(v any) string {
	if s.plan.HasSecret(v) {
		return sensitiveWord
	}
	return page.Clip(s.said(plan.Quote(v)), valueMax)
}

// output shows what becomes of a root output. One mark in it hides all of it:
// an output is declared sensitive as a whole.
func (s sheet) output(o plan.Output) string {
	before, after := s.quote(o.Before), s.quote(o.After)
	if marks(o.BeforeSensitive) > 0 {
		before = sensitiveWord
	}
	switch {
	case marks(o.AfterSensitive) > 0:
		after = sensitiveWord
	case marks(o.AfterUnknown) > 0:
		after = unknownWord
	}
	switch o.Action {
	case plan.Create:
		return after
	case plan.Delete:
		return before
	}
	return before + " → " + after
}

// marks counts the marks in a map of marks: true, or a tree with true in it.
func marks(tree any) (n int) {
	switch m := tree.(type) {
	case bool:
		if m {
			return 1
		}
	case []any:
		for _, e := range m {
			n += marks(e)
		}
	case map[string]any:
		for _, e := range m {
			n += marks(e)
		}
	}
	return n
}
