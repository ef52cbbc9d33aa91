// Package compare says how two plans of one stack differ in what they would do.
// What it returns may be shown to anybody: no secret of either plan is in it. It
// must not know which of the two somebody wants, or how a difference looks.
package compare

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/plan/mark"
)

// Plans compares what two plans would do, and what a policy is told of that: the
// changes with both of their sides, what is deferred, what drifted and is recorded
// by an apply, outputs, checks, modules. It leaves out what they were made from:
// variables, versions, times (docs/report.md, rules 16 and 17).
func Plans(first, second *plan.Plan) api.PlanDifference {
	c := comparison{first: first, second: second}
	return c.difference(c.changes(first.Drifted, second.Drifted, "drift"))
}

// Again compares a plan with the one that was judged, of which it is to be a
// repetition. What was known after apply may have become known, or have turned
// out to change nothing; reading is no change; and what drifted says nothing of
// what would be done (docs/rollouts.md, rule 24).
func Again(judged, again *plan.Plan) api.PlanDifference {
	return comparison{first: judged, second: again, again: true}.difference(nil)
}

func (c comparison) difference(drift []api.ChangeDifference) api.PlanDifference {
	d := api.PlanDifference{
		Changes: append([]api.ChangeDifference{}, slices.Concat(
			c.changes(c.first.Changes, c.second.Changes, ""),
			c.changes(c.first.Deferred, c.second.Deferred, "deferred"),
			drift,
		)...),
		Outputs: c.outputs(),
		Facts:   c.facts(),
	}
	slices.SortStableFunc(d.Changes, func(a, b api.ChangeDifference) int {
		return cmp.Or(strings.Compare(a.Addr, b.Addr), strings.Compare(a.Deposed, b.Deposed))
	})
	d.Equal = len(d.Changes)+len(d.Outputs)+len(d.Facts) == 0
	return d
}

type comparison struct {
	first, second *plan.Plan
	again         bool // as [Again] says
}

// An id is what identifies a change in a plan. Where two are called the same, as
// among those that drifted, they are counted.
type id struct {
	address, deposed string
	n                int
}

func (a id) compare(b id) int {
	return cmp.Or(strings.Compare(a.address, b.address), strings.Compare(a.deposed, b.deposed), cmp.Compare(a.n, b.n))
}

// changes pairs those of two plans.
func (c comparison) changes(first, second []plan.Change, part string) (out []api.ChangeDifference) {
	pairs := map[id][2]*plan.Change{}
	for i, all := range [][]plan.Change{first, second} {
		for j := range all {
			ch := &all[j]
			if c.none(ch) {
				continue
			}
			at := id{ch.Address, ch.Deposed, 0}
			for pairs[at][i] != nil {
				at.n++
			}
			pair := pairs[at]
			pair[i] = ch
			pairs[at] = pair
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(pairs), id.compare) {
		pair := pairs[at]
		d := api.ChangeDifference{
			Addr: c.address(at.address), Deposed: c.text(at.deposed), Part: part,
			Facts: []api.ValueDifference{}, Attributes: []api.ValueDifference{},
		}
		if pair[0] != nil {
			d.First = pair[0].Label()
		}
		if pair[1] != nil {
			d.Second = pair[1].Label()
		}
		if pair[0] != nil && pair[1] != nil {
			d.Facts = append(d.Facts, c.changeFacts(pair[0], pair[1])...)
			d.Attributes = append(d.Attributes, c.attributes(pair[0], pair[1])...)
		}
		if pair[1] == nil && c.settled(pair[0].Action, pair[0].AfterUnknown) {
			continue
		}
		if d.First != d.Second || len(d.Facts)+len(d.Attributes) > 0 {
			out = append(out, d)
		}
	}
	return out
}

// none reports whether a change is none: a no-op that neither moves nor imports.
func (c comparison) none(ch *plan.Change) bool {
	moved := ch.PreviousAddress != "" && ch.PreviousAddress != ch.Address
	return ch.Action == plan.NoOp && !moved && ch.Importing == nil || c.again && ch.Action == plan.Read
}

// settled reports whether what was planned because something was not known may
// have turned out to change nothing. What was to be created is not there, so that
// it is not created any more is another plan.
func (c comparison) settled(action plan.Action, unknown any) bool {
	return c.again && (action == plan.Update || action == plan.Replace) && mark.Any(unknown)
}

// changeFacts are what a plan says of a change beside its values.
func (c comparison) changeFacts(a, b *plan.Change) (out []api.ValueDifference) {
	for _, f := range []struct {
		name          string
		first, second any
		same          bool
	}{
		{"provider", c.text(a.Provider), c.text(b.Provider), a.Provider == b.Provider},
		{"reason", c.text(a.Reason), c.text(b.Reason), a.Reason == b.Reason},
		{"previous_addr", c.address(a.PreviousAddress), c.address(b.PreviousAddress), a.PreviousAddress == b.PreviousAddress},
		{"importing", c.seen(a.Importing, nil, nil), c.seen(b.Importing, nil, nil), reflect.DeepEqual(a.Importing, b.Importing)},
		{"replace_paths", c.texts(c.first.ShownReplacePaths(a)), c.texts(c.second.ShownReplacePaths(b)), slices.Equal(a.ReplacePaths, b.ReplacePaths)},
	} {
		if !f.same {
			out = append(out, api.ValueDifference{Path: f.name, First: f.first, Second: f.second})
		}
	}
	return out
}

// attributes compares what is there and what would be. That one of the actions
// has no such side is said by the actions.
func (c comparison) attributes(a, b *plan.Change) (out []api.ValueDifference) {
	hide := []any{a.BeforeSensitive, a.AfterSensitive, b.BeforeSensitive, b.AfterSensitive}
	for _, s := range []struct {
		name string
		pair
	}{
		{"before", pair{whole(a.Before, nil, a.BeforeSensitive), whole(b.Before, nil, b.BeforeSensitive), hide}},
		{"after", pair{whole(a.After, a.AfterUnknown, a.AfterSensitive), whole(b.After, b.AfterUnknown, b.AfterSensitive), hide}},
	} {
		if s.first.exists != s.second.exists && a.Label() != b.Label() {
			continue
		}
		for _, d := range c.walk(nil, s.pair) {
			d.Side = s.name
			out = append(out, d)
		}
	}
	return out
}

// outputs compares the root outputs that either plan changes. One mark in an
// output hides all of it: it is declared sensitive as a whole.
func (c comparison) outputs() []api.OutputDifference {
	pairs := map[string][2]plan.Output{}
	for i, p := range []*plan.Plan{c.first, c.second} {
		for _, o := range p.Outputs {
			if o.Action != plan.NoOp {
				pair := pairs[o.Name]
				pair[i] = o
				pairs[o.Name] = pair
			}
		}
	}
	out := []api.OutputDifference{}
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		a, b := pairs[name][0], pairs[name][1]
		d := api.OutputDifference{Name: c.text(name), First: string(a.Action), Second: string(b.Action), Values: []api.ValueDifference{}}
		if a.Action != "" && b.Action != "" {
			marks := []any{mark.Any(a.BeforeSensitive), mark.Any(a.AfterSensitive), mark.Any(b.BeforeSensitive), mark.Any(b.AfterSensitive)}
			d.Values = append(d.Values, c.attributes(
				&plan.Change{Action: a.Action, Before: a.Before, After: a.After, AfterUnknown: a.AfterUnknown, BeforeSensitive: marks[0], AfterSensitive: marks[1]},
				&plan.Change{Action: b.Action, Before: b.Before, After: b.After, AfterUnknown: b.AfterUnknown, BeforeSensitive: marks[2], AfterSensitive: marks[3]},
			)...)
		}
		if b.Action == "" && c.settled(a.Action, a.AfterUnknown) {
			continue
		}
		if d.First != d.Second || len(d.Values) > 0 {
			out = append(out, d)
		}
	}
	return out
}

// facts are what policies are told of the plan as a whole.
func (c comparison) facts() []api.ValueDifference {
	first, second := said(c.first), said(c.second)
	out := []api.ValueDifference{}
	all := maps.Clone(first)
	maps.Copy(all, second)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a, inFirst := first[name]
		b, inSecond := second[name]
		if c.again && a == "unknown" && b == "pass" { // of a check
			continue
		}
		if a != b || inFirst != inSecond {
			kind, address, _ := strings.Cut(name, " ")
			path := strings.TrimSuffix(kind+" "+c.address(address), " ")
			out = append(out, api.ValueDifference{Path: path, First: c.orAbsent(a, inFirst), Second: c.orAbsent(b, inSecond)})
		}
	}
	return out
}

// said is each fact of a plan by its name.
func said(p *plan.Plan) map[string]string {
	facts := map[string]string{}
	if p.Complete != nil {
		facts["complete"] = map[bool]string{true: "yes", false: "no"}[*p.Complete]
	}
	for _, ch := range p.Checks {
		facts["check "+ch.Address] = strings.Join(append([]string{ch.Status}, ch.Problems...), ": ")
	}
	for _, m := range p.Modules {
		facts["module "+m.Address] = strings.TrimSpace(m.Source + " " + m.Version)
	}
	return facts
}

func (c comparison) orAbsent(text string, there bool) any {
	if !there {
		return instead("absent")
	}
	return c.text(text)
}

// text is a text of either plan as it may be shown: a secret of one may stand
// unmarked in the other.
func (c comparison) text(text string) string { return c.second.Redact(c.first.Redact(text)) }

func (c comparison) texts(all []string) []string {
	out := []string{}
	for _, text := range all {
		out = append(out, c.text(text))
	}
	return out
}

// address is text for an address.
func (c comparison) address(text string) string {
	return c.second.RedactAddress(c.first.RedactAddress(text))
}

// secret reports whether a secret of either plan is in v.
func (c comparison) secret(v any) bool { return c.first.HasSecret(v) || c.second.HasSecret(v) }

// withheld reports whether v is the null that the first Terraforms to know of
// sensitivity wrote for a secret: whether two of them are the same nobody knows.
func withheld(p *plan.Plan, s side) bool {
	return p.FormatVersion == "0.1" && s.value == nil && mark.Any(s.sensitive)
}
