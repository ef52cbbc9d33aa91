// Package gate decides whether a plan may be applied, and issues and opens the
// warrant that an apply needs. It is pure: files, processes and the clock are
// its callers'. It must not know how a plan is made, nor what a policy means.
//
// Whatever is missing or unknown is a refusal (docs/warrant.md, rule 1).
package gate

import (
	"fmt"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
)

// Facts is everything a decision depends on.
type Facts struct {
	Sealed   api.Warrant
	Now      api.Binding   // observed now; Document is that of the plan that was judged
	Policies int           // how many policies the applier named
	Verdicts []api.Verdict // theirs, on the plan that is about to be applied
}

// A Decision says whether a plan may be applied. Only [Decide] makes one that
// allows; the zero value refuses.
type Decision struct {
	allowed  bool
	refusals []api.Refusal
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

// Violation tells "no" from "not any more": it reports whether
// policies are the only reason against the apply.
func (d Decision) Violation() bool {
	for _, r := range d.Refusals() {
		if r.What != "policy" {
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
	refusals = append(refusals, Compare(f.Sealed.Binding, f.Now)...)
	if was := f.Sealed.Binding.Document; was == "" || was != f.Now.Document {
		refusals = append(refusals, refusal("document", "the plan does not say what was judged", planAgain))
	}
	refusals = append(refusals, judged(f)...)
	return Decision{allowed: len(refusals) == 0, refusals: refusals}
}

// judged gives the reasons that lie in the verdicts. No policy at all is no
// reason: what an applier does not name does not bind (docs/warrant.md, rule 7).
func judged(f Facts) []api.Refusal {
	var refusals []api.Refusal
	if f.Policies != len(f.Verdicts) {
		refusals = append(refusals, refusal("policy",
			fmt.Sprintf("%d policies were named and %d judged", f.Policies, len(f.Verdicts)), "assize apply"))
	}
	for _, v := range f.Verdicts {
		if r, ok := against(v, f.Now.Document); ok {
			refusals = append(refusals, r)
		}
	}
	return refusals
}

// against gives the reason that lies in one verdict. The digest of what it
// judged comes first: a pass of another plan is worth nothing.
func against(v api.Verdict, document string) (api.Refusal, bool) {
	name := fmt.Sprintf("%s (sha256:%s)", v.Path, policy.Short(v.Digest))
	switch {
	case v.Input != document || document == "":
		return refusal("policy", "the policy "+name+" judged another plan", planAgain), true
	case policy.Compose([]api.Verdict{v}) == api.Passed:
		return api.Refusal{}, false
	case v.Outcome == api.Failed:
		return refusal("policy", "the plan violates the policy "+name, "change the configuration and run assize plan"), true
	}
	why := v.Error
	if why == "" {
		why = "it gave no outcome"
	}
	return refusal("policy", fmt.Sprintf("the policy %s could not judge the plan: %s", name, why), v.Hint), true
}

func refusal(what, message, hint string) api.Refusal {
	return api.Refusal{What: what, Message: message, Hint: hint}
}
