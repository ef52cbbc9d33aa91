package rules

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/plan/planjson"
	"github.com/assize-iac/assize/internal/strict"
)

// A violation is what is wrong with a change.
type violation struct {
	path    string // concrete, without [*]; "" where it is about no attribute
	problem string
}

// attribute judges every value at the rule's path (seed 002, step 4). What is
// about to go has no planned values, so that a rule whose actions name delete
// or forget would never fire: it judges those that stand there now.
func (r *Rule) attribute(p *plan.Plan, c *plan.Change) []violation {
	lookup := p.Lookup
	if c.Action == plan.Delete || c.Action == plan.Forget {
		lookup = p.LookupBefore
	}
	var out []violation
	if r.Op == Exists {
		out = r.emptyLists(lookup, c)
	}
	for _, f := range lookup(c, r.Path) {
		if problem := r.judge(p, f); problem != "" {
			out = append(out, violation{f.Path, problem})
		}
	}
	return distinct(p, out)
}

// distinct leaves out what a reader has been told already: elements whose keys
// are secret look alike (docs/policy.md, rule 18).
func distinct(p *plan.Plan, all []violation) []violation {
	told := map[violation]bool{}
	return slices.DeleteFunc(all, func(v violation) bool {
		shown := violation{p.Redact(v.path), p.Redact(v.problem)}
		again := told[shown]
		told[shown] = true
		return again
	})
}

// emptyLists finds the lists that [*] meets and that hold nothing. Where
// something must exist in every element, there must be an element
// (docs/policy.md, rule 18); a look-up of the whole path does not mention an
// empty list at all. It looks up each prefix that ends before a [*], because
// with two of them only some of the inner lists may be empty.
func (r *Rule) emptyLists(lookup func(*plan.Change, plan.Path) []plan.Found, c *plan.Change) []violation {
	var out []violation
	for i, step := range r.Path {
		if step.Kind != plan.Each {
			continue
		}
		for _, f := range lookup(c, r.Path[:i]) {
			if f.State == plan.Present && !f.Partial && holdsNothing(f.Value) {
				at := f.Path + r.Path[i:].String()
				out = append(out, violation{at, at + " is missing"})
			}
		}
	}
	return out
}

func holdsNothing(v any) bool {
	switch v := v.(type) {
	case string: // which may hold JSON, behind white space that planjson.Inner looks through
		inner := strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) || r == '\ufeff' {
				return -1
			}
			return r
		}, v)
		return inner == "[]" || inner == "{}"
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// judge says what is wrong with one value, or "". The order of the cases is
// the meaning: unknown before everything, so that no operator can take what is
// not there yet for missing (docs/policy.md, rule 19).
func (r *Rule) judge(p *plan.Plan, f plan.Found) string {
	present := f.State == plan.Present
	switch {
	case f.State == plan.Unknown && f.Reason != "":
		// Not what the author allowed with unknown (docs/policy.md, rule 12).
		return fmt.Sprintf("%s is %s, so it cannot be checked", f.Path, f.Reason)
	case f.State == plan.Unknown && r.AllowUnknown:
		return ""
	case f.State == plan.Unknown:
		return f.Path + " is known after apply, so it cannot be checked at plan time"
	case r.Op == Exists && !present:
		return f.Path + " is missing"
	case r.Op == Absent && present:
		return fmt.Sprintf("%s is set to %s", f.Path, shown(f))
	case r.Op == Exists, r.Op == Absent, !present:
		return "" // a required value is two rules, one exists and one value check
	case f.Partial && r.comparesWhole() && f.Reason != "":
		return fmt.Sprintf("part of %s is %s, so it cannot be checked", f.Path, f.Reason)
	case f.Partial && r.comparesWhole() && !r.AllowUnknown:
		return "part of " + f.Path + " is known after apply, so it cannot be checked at plan time"
	case f.Partial && r.comparesWhole(), r.holds(f.Value):
		return ""
	}
	return fmt.Sprintf("%s is %s, want %s %s", f.Path, shown(f), r.Op, r.want(p, f))
}

// comparesWhole reports whether the operator looks into lists and objects, so
// that an unknown part makes its answer worthless (docs/policy.md, rule 7). The
// others are violated by a list or an object whatever is in it.
func (r *Rule) comparesWhole() bool {
	return r.Op == Eq || r.Op == Ne || r.Op == In || r.Op == NotIn
}

// holds compares a present and wholly known value with the rule's. A value of
// a type that the operator does not know violates.
func (r *Rule) holds(v any) bool {
	switch r.Op {
	case Eq:
		return same(v, r.Value)
	case Ne:
		return !same(v, r.Value)
	case In, NotIn:
		choices, _ := r.Value.([]any)
		return slices.ContainsFunc(choices, func(c any) bool { return same(v, c) }) == (r.Op == In)
	case Matches, NotMatches:
		s, ok := v.(string)
		return ok && r.patterns[0].MatchString(s) == (r.Op == Matches)
	}
	got, ok := v.(json.Number)
	if !ok {
		return false
	}
	n, ok := planjson.Compare(got, r.Value.(json.Number))
	switch {
	case !ok:
		return false
	case n < 0:
		return r.Op == Lt || r.Op == Lte
	case n > 0:
		return r.Op == Gt || r.Op == Gte
	default:
		return r.Op == Lte || r.Op == Gte
	}
}

// shown is a value in a message.
func shown(f plan.Found) string {
	if f.Sensitive {
		return "(sensitive)"
	}
	return strict.Cut(plan.Quote(f.Value))
}

// want is the rule's value in a message. Where a secret violates by being what
// the rule names, to quote the rule is to quote the secret (docs/policy.md,
// rule 23).
func (r *Rule) want(p *plan.Plan, f plan.Found) string {
	if f.Sensitive && (r.Op == Ne || r.Op == NotIn || r.Op == NotMatches) {
		return "(sensitive)"
	}
	return strict.Cut(p.Redact(plan.Quote(r.Value)))
}
