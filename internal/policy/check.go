package policy

import (
	"slices"

	"github.com/assize-iac/assize/api"
)

// A Judged is one plan with the verdicts on it, or why it could not be read.
type Judged struct {
	Plan     api.PlanCheck // Outcome is derived; the rest is as given
	Verdicts []api.Verdict
}

// Collect joins the verdicts on several plans into one result. A plan that
// could not be read is errored, and so is a result without any plan.
func Collect(judged []Judged) api.Check {
	out := api.Check{Outcome: api.Passed, Findings: []api.Finding{}, Policies: []api.Verdict{}, Plans: []api.PlanCheck{}}
	if len(judged) == 0 {
		out.Outcome = api.Errored
	}
	for _, j := range judged {
		j.Plan.Outcome = Compose(j.Verdicts)
		if j.Plan.Error != "" {
			j.Plan.Outcome = api.Errored
		}
		out.Outcome = Worse(out.Outcome, j.Plan.Outcome)
		out.Plans = append(out.Plans, j.Plan)
		for _, v := range j.Verdicts {
			v.Plan = j.Plan.Path
			for i := range v.Findings {
				v.Findings[i].Plan = j.Plan.Path
			}
			out.Policies = append(out.Policies, v)
			out.Findings = append(out.Findings, v.Findings...)
		}
	}
	// Stable: within a level the order stays that of plans, policies and rules.
	slices.SortStableFunc(out.Findings, func(a, b api.Finding) int { return rank(a) - rank(b) })
	out.Counts = count(out.Findings)
	return out
}

// FailOnWarn makes warnings block (`--fail-on-warn`).
func FailOnWarn(c api.Check) api.Check {
	if c.Counts.Warn > 0 {
		c.Outcome = Worse(c.Outcome, api.Failed)
	}
	return c
}

func rank(f api.Finding) int {
	switch {
	case f.Excepted:
		return 2
	case f.Level == api.Deny:
		return 0
	default:
		return 1
	}
}

func count(findings []api.Finding) (n api.Counts) {
	for _, f := range findings {
		switch {
		case f.Excepted:
			n.Excepted++
		case f.Level == api.Deny:
			n.Deny++
		default:
			n.Warn++
		}
	}
	return n
}

// Worse orders outcomes by how firmly they close the gate; what is none of the
// three counts as errored.
func Worse(a, b api.Outcome) api.Outcome {
	for _, o := range []api.Outcome{a, b} {
		if o != api.Passed && o != api.Failed {
			return api.Errored
		}
	}
	if a == api.Failed || b == api.Failed {
		return api.Failed
	}
	return api.Passed
}
