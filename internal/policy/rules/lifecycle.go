package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/strict"
)

// lifecycle judges what happens to one object (seed 002, step 5;
// docs/policy.md, rule 20). It reads the tool's words, never
// action_reason, which is only shown: a forgotten resource gives
// "delete_because_no_resource_config" as its reason. The words are more exact
// than the action, too: create,forget deletes nothing, a replacement does.
func (r *Rule) lifecycle(c *plan.Change) []violation {
	what := ""
	switch {
	case r.Check == NoDelete && c.Has("delete"):
		what = fmt.Sprintf("the plan would %s %s", c.Label(), protected(c))
	case r.Check == NoReplace && c.Has("delete") && c.Has("create"):
		what = "the plan would destroy and recreate it"
	case r.Check == NoForget && c.Has("forget"):
		what = "the plan would forget " + protected(c) + "; the object stays, and nothing manages it any more"
	case r.Check == NoImport && c.Importing != nil:
		what = "the plan would import it"
	default:
		return nil
	}
	if c.Reason != "" {
		what += "; reason " + c.Reason
	}
	if c.PreviousAddress != "" && !matchesAny(r.Addresses, c.Address) {
		what += "; it was moved from " + c.PreviousAddress
	}
	return []violation{{problem: what}}
}

// protected keeps a deposed object apart from the current one, which has the
// same address and may well stay.
func protected(c *plan.Change) string {
	if c.Deposed != "" {
		return fmt.Sprintf("a deposed object (%s) of a protected address", c.Deposed)
	}
	return "a protected address"
}

// maxDeletes counts what the rule selects and the plan destroys, replacements
// and deposed objects included, and speaks once (seed 002, Easy).
func (j *judgement) maxDeletes(r *Rule) int {
	deletes := 0
	selected := j.each(r, func(c *plan.Change) {
		if c.Has("delete") {
			deletes++
		}
	})
	if deletes > r.limit {
		j.add(r, api.Finding{}, fmt.Sprintf("the plan destroys %s, want at most %d", count(deletes, "resource"), r.limit))
	}
	return selected
}

// moduleSource judges the source of every module call, also of those inside
// modules (docs/policy.md, rules 14 and 21). An expression matches anywhere in
// it, as regex.match does in Rego; to anchor it is the author's part, because
// an anchor that we add could not be left out.
func (j *judgement) moduleSource(r *Rule) int {
	looked := 0
	for _, m := range j.plan.Modules {
		if !matchesAny(r.Addresses, m.Address) {
			continue
		}
		looked++
		if !slices.ContainsFunc(r.patterns, func(re *regexp.Regexp) bool { return re.MatchString(m.Source) }) {
			j.add(r, api.Finding{Address: m.Address, Action: "config"},
				fmt.Sprintf("source %s matches none of the allowed regular expressions", strict.Cut(plan.Quote(j.plan.Redact(m.Source)))))
		}
	}
	return looked
}

// checksPass judges the plan's own checks: check blocks, pre- and
// postconditions, variable validations (docs/policy.md, rule 22). Any status
// but pass violates, also one that this build has never heard of.
func (j *judgement) checksPass(r *Rule) int {
	looked := 0
	for _, c := range j.plan.Checks {
		if !matchesAny(r.Addresses, c.Address) {
			continue
		}
		looked++
		what, known := map[string]string{
			"fail":    "the check fails",
			"error":   "the check ended in an error",
			"unknown": "the check is known after apply, so it cannot be checked at plan time",
		}[c.Status]
		switch {
		case c.Status == "pass", c.Status == "unknown" && r.AllowUnknown:
			continue
		case !known:
			what = fmt.Sprintf("the check has the status %q", c.Status)
		}
		if len(c.Problems) > 0 {
			what += "; " + strict.Cut(j.plan.Redact(strings.Join(c.Problems, "; ")))
		}
		j.add(r, api.Finding{Address: c.Address}, what)
	}
	return looked
}

// completePlan judges whether the plan is the whole change. What neither the
// tool nor the caller says is not known here: OpenTofu's JSON does not show
// -target, so the flags of a plan file from elsewhere are missing.
func (j *judgement) completePlan(r *Rule) int {
	var why []string
	if j.plan.Complete != nil && !*j.plan.Complete {
		why = append(why, "the tool says that it is not complete")
	}
	if n := len(j.plan.Deferred); n > 0 {
		why = append(why, count(n, "change")+" left for another plan")
	}
	if t := j.plan.Flags.Targets; len(t) > 0 {
		why = append(why, "it was made with -target="+strings.Join(t, " -target="))
	}
	if len(why) > 0 {
		j.add(r, api.Finding{}, "the plan is not the whole change: "+strings.Join(why, "; "))
	}
	return 1
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
