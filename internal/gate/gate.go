// Package gate decides whether a plan may be applied, and issues and opens the
// warrant that an apply needs. It is pure: files, processes and the clock are
// its callers'. It must not know how a plan is made, nor what a policy means.
//
// Whatever is missing or unknown is a refusal (docs/warrant.md, rule 1).
package gate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
)

// Facts is everything a decision depends on.
type Facts struct {
	Sealed   api.Warrant
	Now      api.Binding   // observed now; Document is that of the plan that was judged
	Policies int           // how many policies the applier named
	Verdicts []api.Verdict // theirs, on the plan that is about to be applied
	Place    string        // of the stack, in the directory where their paths begin

	Overrides []api.Override // those at hand, whatever they are for
	At        time.Time      // the moment of the decision
}

// A Decision says whether a plan may be applied. Only [Decide] makes one that
// allows; the zero value refuses.
type Decision struct {
	allowed   bool
	refusals  []api.Refusal
	overrides []api.Override
}

// Allowed reports whether the apply may start.
func (d Decision) Allowed() bool { return d.allowed && len(d.refusals) == 0 }

// Refusals lists every reason against it; at least one unless it is allowed.
func (d Decision) Refusals() []api.Refusal {
	if !d.allowed && len(d.refusals) == 0 {
		return []api.Refusal{refusal("warrant", "nothing was decided", planAgain)}
	}
	return d.refusals
}

// Overrides lists those that let a soft failure pass, in the order of the
// verdicts.
func (d Decision) Overrides() []api.Override { return d.overrides }

// Violation tells "no" from "not any more": it reports whether policies, and
// overrides that are missing, are the only reason against the apply.
func (d Decision) Violation() bool {
	for _, r := range d.Refusals() {
		if r.What != "policy" && r.What != "override" {
			return false
		}
	}
	return !d.Allowed()
}

const planAgain = "assize plan"

// Decide looks at all facts and gives every reason against the apply, in the
// order of the documentation.
func Decide(f Facts) Decision {
	var refusals []api.Refusal
	if err := intact(f.Sealed); err != nil {
		refusals = append(refusals, refusal("warrant", err.Error(), planAgain))
	}
	if up := f.Sealed.Upstream; len(up) > 0 { // docs/warrant.md, rule 19
		refusals = append(refusals, refusal("upstream",
			"the plan is conditional: it was made against what "+strings.Join(up, " and ")+" will be", planAgain))
	}
	refusals = append(refusals, Compare(f.Sealed.Binding, f.Now)...)
	if was := f.Sealed.Binding.Document; was == "" || was != f.Now.Document {
		refusals = append(refusals, refusal("document", "the plan does not say what was judged", planAgain))
	}
	reasons, overrides := judged(f)
	refusals = append(refusals, reasons...)
	return Decision{allowed: len(refusals) == 0, refusals: refusals, overrides: overrides}
}

// judged gives the reasons that lie in the verdicts, and the overrides that
// take one away. No policy at all is no reason: what an applier does not name
// does not bind (docs/warrant.md, rule 7).
func judged(f Facts) (refusals []api.Refusal, overrides []api.Override) {
	if f.Policies != len(f.Verdicts) {
		refusals = append(refusals, refusal("policy",
			fmt.Sprintf("%d policies were named and %d judged", f.Policies, len(f.Verdicts)), "assize apply"))
	}
	for _, v := range f.Verdicts {
		if r, ok := against(v, f.Now.Document); ok {
			refusals = append(refusals, r)
		} else if policy.Stand(v) == api.StandsSoftFailed {
			o, missing := f.override(v)
			if refusals = append(refusals, missing...); len(missing) == 0 {
				overrides = append(overrides, o)
			}
		}
	}
	return append(refusals, unheard(f)...), overrides
}

// unheard refuses to leave out a policy that has failed softly when the plan
// was made: naming other policies, or others of the same name, must not take
// the place of an override (docs/warrant.md, rule 14). Such a policy is one of
// assize.yaml, which judges an apply that names none.
func unheard(f Facts) []api.Refusal {
	var refusals []api.Refusal
	for _, r := range Soft(f.Sealed) {
		heard := slices.ContainsFunc(f.Verdicts, func(v api.Verdict) bool { return v.Path == r.Policy && v.Engine == r.Engine })
		elsewhere := moved(f.Sealed.Place, f.Place)
		if heard && !elsewhere {
			continue
		}
		message := fmt.Sprintf("the policy %s, which the plan violates, has not judged it again", r.Policy)
		if heard {
			message += ": another file of that name did"
		}
		refusals = append(refusals, refusal("override", message, "assize apply"))
	}
	return refusals
}

// against gives the reason that lies in one verdict, but for a soft failure. The digest of what it
// judged comes first: a pass of another plan is worth nothing.
func against(v api.Verdict, document string) (api.Refusal, bool) {
	if v.Input != document || document == "" {
		return refusal("policy", "the policy "+called(v)+" judged another plan", planAgain), true
	}
	switch policy.Stand(v) {
	case api.StandsPassed, api.StandsSoftFailed: // whether that is overridden is another question
		return api.Refusal{}, false
	case api.StandsHardFailed:
		return refusal("policy", "the plan violates the policy "+called(v), "change the configuration and run assize plan"), true
	}
	why := v.Error
	if why == "" {
		why = "it gave no outcome"
	}
	return refusal("policy", fmt.Sprintf("the policy %s could not judge the plan: %s", called(v), why), v.Hint), true
}

func called(v api.Verdict) string {
	return fmt.Sprintf("%s (sha256:%s)", v.Path, policy.Short(v.Digest))
}

func refusal(what, message, hint string) api.Refusal {
	return api.Refusal{What: what, Message: message, Hint: hint}
}
