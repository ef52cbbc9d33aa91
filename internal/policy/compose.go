package policy

import "github.com/assize-iac/assize/api"

// Stand says what one verdict means for an apply (docs/policy.md, rule 5).
// Errored blocks whatever its enforcement; an outcome that is none of the
// three, or that its own findings contradict, counts as errored.
func Stand(v api.Verdict) api.Standing {
	switch {
	case v.Outcome == api.Passed && Derive(v.Findings) == api.Passed:
		return api.StandsPassed
	case v.Outcome != api.Failed:
		return api.StandsErrored
	case v.Enforcement == api.Advisory:
		return api.StandsPassed
	case v.Enforcement == api.SoftMandatory:
		return api.StandsSoftFailed
	}
	return api.StandsHardFailed
}

// Strongest is the standing of several verdicts together: that of the one
// which blocks most firmly. Without a policy among them nothing was judged,
// which is not a pass (docs/policy.md, rule 2).
func Strongest(verdicts []api.Verdict) api.Standing {
	out, judged := api.StandsPassed, false
	for _, v := range verdicts {
		judged = judged || v.Engine != api.Exceptions
		if s := Stand(v); firmness(s) > firmness(out) {
			out = s
		}
	}
	if !judged {
		return api.StandsErrored
	}
	return out
}

// firmness orders standings by how firmly they close the gate; what is none of
// them closes it as firmly as an error.
func firmness(s api.Standing) int {
	switch s {
	case api.StandsPassed:
		return 0
	case api.StandsSoftFailed:
		return 1
	case api.StandsHardFailed:
		return 2
	}
	return 3
}

// Compose is the outcome of several verdicts, as [Strongest] weighs them.
func Compose(verdicts []api.Verdict) api.Outcome {
	switch Strongest(verdicts) {
	case api.StandsPassed:
		return api.Passed
	case api.StandsSoftFailed, api.StandsHardFailed:
		return api.Failed
	}
	return api.Errored
}
