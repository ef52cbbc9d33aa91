package mutate

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/rules"
)

// nothing is an address that no change and no module call has.
const nothing = "(nothing)"

// ofRules changes rules as they were loaded and writes them out again, all in
// one file of JSON: what a rule means does not depend on how it was written.
func ofRules(src policy.Source) ([]Mutant, error) {
	loaded, err := rules.Load(src)
	if err != nil {
		return nil, err
	}
	var out []Mutant
	for i, r := range loaded {
		for _, w := range weakenings(r) {
			changed := slices.Clone(loaded)
			changed[i] = w.rule
			text, err := writeRules(changed)
			if err != nil {
				return nil, err
			}
			m := Mutant{Source: src}
			m.Source.Files = []policy.File{{Name: "rules.json", Data: text}}
			m.Position, m.Rule, m.Change = r.Position[:strings.LastIndex(r.Position, ":")], r.ID, w.change
			m.Tell = telling(src.Language, w.change)
			out = append(out, m)
		}
	}
	return out, nil
}

// A weakening is a rule in the place of another.
type weakening struct {
	rule   rules.Rule
	change string
}

func weakenings(r rules.Rule) []weakening {
	dropped := rules.Rule{ID: r.ID, Level: r.Level, Message: r.Message, Check: rules.NoForget, Addresses: []plan.Glob{plan.NewGlob(nothing)}}
	out := []weakening{{dropped, "dropped the rule"}}
	add := func(change string, edit func(*rules.Rule)) {
		changed := r
		edit(&changed)
		out = append(out, weakening{changed, change})
	}
	if op := oppositeOp(r.Op); op != "" {
		add("turned op "+string(r.Op)+" into "+string(op), func(r *rules.Rule) { r.Op = op })
	}
	switch r.Check {
	case rules.NoDelete, rules.NoReplace, rules.NoImport:
		add("turned check "+string(r.Check)+" into no_forget", func(r *rules.Rule) { r.Check = rules.NoForget })
	case rules.NoForget:
		add("turned check no_forget into no_import", func(r *rules.Rule) { r.Check = rules.NoImport })
	case rules.MaxDeletes:
		add("raised value to 1000000", func(r *rules.Rule) { r.Value = json.Number("1000000") })
	case rules.ModuleSource:
		add("widened value to any source", func(r *rules.Rule) { r.Value = []any{"."} })
	}
	if narrow(r.Types) {
		add("widened type to *", func(r *rules.Rule) { r.Types = nil })
	}
	if narrow(r.Addresses) {
		add("widened address to *", func(r *rules.Rule) { r.Addresses = nil })
	}
	if p := misspeltPath(r.Path); p != nil {
		add("changed path to "+p.String(), func(r *rules.Rule) { r.Path = p })
	}
	return out
}

// narrow reports whether globs leave something out by their looks.
func narrow(globs []plan.Glob) bool {
	return len(globs) > 0 && !slices.ContainsFunc(globs, func(g plan.Glob) bool { return strings.Trim(g.String(), "*") == "" })
}

func oppositeOp(op rules.Op) rules.Op {
	return map[rules.Op]rules.Op{
		rules.Exists: rules.Absent, rules.Absent: rules.Exists, rules.Eq: rules.Ne, rules.Ne: rules.Eq,
		rules.In: rules.NotIn, rules.NotIn: rules.In, rules.Matches: rules.NotMatches, rules.NotMatches: rules.Matches,
		rules.Lt: rules.Gte, rules.Gte: rules.Lt, rules.Gt: rules.Lte, rules.Lte: rules.Gt,
	}[op]
}

// misspeltPath changes the last name of a path, nil when it has none.
func misspeltPath(p plan.Path) plan.Path {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i].Kind == plan.Key {
			p = slices.Clone(p)
			p[i].Key += "_"
			return p
		}
	}
	return nil
}

// writeRules is a file that loads as the rules do, positions aside.
func writeRules(loaded []rules.Rule) ([]byte, error) {
	var out []map[string]any
	for _, r := range loaded {
		fields := map[string]any{"id": r.ID, "level": r.Level, "message": r.Message}
		optional(fields, "type", texts(r.Types))
		optional(fields, "address", texts(r.Addresses))
		if r.Check != rules.ModuleSource && r.Check != rules.ChecksPass && r.Check != rules.CompletePlan {
			optional(fields, "mode", r.Modes)
		}
		if r.Op != "" {
			fields["op"], fields["path"] = r.Op, r.Path.String()
			optional(fields, "actions", r.Actions)
		} else {
			fields["check"] = r.Check
		}
		if r.Value != nil {
			fields["value"] = r.Value
		}
		if r.AllowUnknown {
			fields["unknown"] = "allow"
		}
		out = append(out, fields)
	}
	return json.Marshal(out)
}

func optional[T any](fields map[string]any, name string, values []T) {
	if len(values) > 0 {
		fields[name] = values
	}
}

func texts(globs []plan.Glob) (out []string) {
	for _, g := range globs {
		out = append(out, g.String())
	}
	return out
}
