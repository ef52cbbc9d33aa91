package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/report/page"
)

// This file sorts a result and puts it into words, the same ones for every
// format: two formats that disagree about one result are a bug in one of them.

// A section is one plan with everything that was said of it.
type section struct {
	plan     api.PlanCheck
	groups   []group // the worst first
	verdicts []api.Verdict
}

// A group is every finding about one object; an empty address is the plan.
type group struct {
	address, deposed string
	findings         []api.Finding // denies, then warnings, then excepted
}

// A failure is one thing that could not be judged; it closes the gate, so no
// format may leave one out (docs/report.md, rule 1).
type failure struct {
	plan, policy string // policy is "" when it is about the plan as a whole
	why, hint    string
}

// sections sorts a result by plan. Nothing is lost: what names a plan that the
// result does not list gets a section of its own (docs/report.md, rule 5).
func sections(c api.Check) []section {
	out := make([]section, 0, len(c.Plans))
	at := map[string]int{}
	for _, p := range c.Plans {
		if _, ok := at[p.Path]; !ok {
			at[p.Path] = len(out)
		}
		out = append(out, section{plan: p})
	}
	// A finding need not name its plan when there is one; then it is that one.
	find := func(path string) int {
		if _, ok := at[path]; !ok && path == "" && len(c.Plans) == 1 {
			return 0
		} else if !ok {
			at[path] = len(out)
			out = append(out, section{plan: api.PlanCheck{Path: path}})
		}
		return at[path]
	}
	for _, v := range c.Policies {
		i := find(v.Plan)
		out[i].verdicts = append(out[i].verdicts, v)
	}
	// What identifies an object is address and deposed key: a deposed object
	// repeats the address of the current one.
	type object struct {
		section          int
		address, deposed string
	}
	groups := map[object]int{}
	for _, f := range ranked(c.Findings) {
		o := object{find(f.Plan), f.Address, f.Deposed}
		s := &out[o.section]
		if _, ok := groups[o]; !ok {
			groups[o] = len(s.groups)
			s.groups = append(s.groups, group{address: f.Address, deposed: f.Deposed})
		}
		g := &s.groups[groups[o]]
		g.findings = append(g.findings, f)
	}
	return out
}

// ranked orders findings by themselves and does not rely on the order of the
// result, which a caller may have put together. Denies come before warnings
// before what is excepted, and within each the order of the policies is kept.
func ranked(findings []api.Finding) []api.Finding {
	return slices.SortedStableFunc(slices.Values(findings), func(a, b api.Finding) int { return rank(a) - rank(b) })
}

// rank agrees with the way [policy.Collect] counts, so that the numbers of a
// summary are those of the lines above it: what is not a deny is a warning.
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

// level is how a finding is introduced in every format for people.
func level(f api.Finding) string { return [...]string{"DENY", "WARN", "EXCEPTED"}[rank(f)] }

// excused says why a finding does not count, or nothing.
func excused(f api.Finding) string {
	if f.Exception == nil || !f.Excepted {
		return ""
	}
	return "excepted until " + f.Exception.Expires + " by " + f.Exception.Owner + ": " + f.Exception.Reason
}

// where names what a finding is about, with what the plan does there: the same
// message weighs more on a replacement than on an update.
func where(f api.Finding) string {
	at := page.Visible(f.Address)
	if f.Address == "" {
		at = "the plan"
	}
	if what := actionWords(f); what != "" {
		at += " (" + what + ")"
	}
	return at
}

// said is what a finding says. A title is a first half-sentence: it stands
// before the message in every format, and needs no place of its own.
func said(f api.Finding) string {
	if f.Title == "" {
		return f.Message
	}
	return f.Title + ": " + f.Message
}

// actionWords says what the plan does at the address of a finding. Labels such
// as "replace (create before destroy)" lose their parentheses, for the words
// are put into parentheses themselves.
func actionWords(f api.Finding) string {
	words := strings.TrimSuffix(strings.Replace(f.Action, " (", ", ", 1), ")")
	if f.Deposed == "" {
		return page.Visible(words)
	}
	return strings.TrimPrefix(page.Visible(words+", deposed "+f.Deposed), ", ")
}

// failures lists what could not be judged (docs/report.md, rule 1). It derives
// from outcomes, not from error texts: an outcome that is neither passed nor failed is one, even where
// nobody said why.
func failures(c api.Check) []failure {
	var out []failure
	for _, s := range sections(c) {
		n := len(out)
		if s.plan.Error != "" {
			out = append(out, failure{s.plan.Path, "", because(s.plan.Error), s.plan.Hint})
		}
		for _, v := range s.verdicts {
			if !judged(v.Outcome) {
				out = append(out, failure{s.plan.Path, v.Path, because(v.Error), v.Hint})
			}
		}
		if len(out) == n && !judged(s.plan.Outcome) {
			out = append(out, failure{plan: s.plan.Path, why: "no policy judged this plan"})
		}
	}
	if len(out) == 0 && !judged(c.Outcome) {
		out = append(out, failure{why: "nothing was judged"})
	}
	return out
}

// outcome is the outcome of a result that agrees with its parts: one that calls
// itself passed and has a part that was not judged is not shown as a pass.
func outcome(c api.Check) api.Outcome {
	if len(failures(c)) > 0 {
		return api.Errored
	}
	return c.Outcome
}

// judged reports whether an outcome is one of the two that judging comes to.
func judged(o api.Outcome) bool { return o == api.Passed || o == api.Failed }

// because makes sure that a failure has a reason to print: a line that ends in
// a colon looks like one that was cut.
func because(why string) string {
	if strings.TrimSpace(why) == "" {
		return "no reason was given"
	}
	return why
}

// text names what could not be judged, and why. The reason is as it was given
// and may have several lines.
func (f failure) text() string {
	var parts []string
	if f.policy != "" {
		parts = append(parts, "policy "+page.Visible(f.policy))
	}
	if f.plan != "" {
		parts = append(parts, "plan "+page.Visible(f.plan))
	}
	return strings.TrimPrefix(strings.Join(parts, " on ")+": "+f.why, ": ")
}

// advice is the text with the hint below it.
func (f failure) advice() string {
	if f.hint == "" {
		return f.text()
	}
	return f.text() + "\nhint: " + f.hint
}

// summary is the last word of a report, and the first of a comment. It follows
// the outcome, not the counts: eight denies of an advisory policy are a pass,
// and one policy that could not judge is none (seed 002, step 6).
func summary(c api.Check) string {
	c.Outcome = outcome(c)
	counted := counts(c)
	switch {
	case c.Outcome == api.Passed && counted == "":
		return "policy passed"
	case c.Outcome == api.Passed:
		return "policy passed: " + counted
	case c.Outcome == api.Failed && counted == "":
		return "policy failed"
	case c.Outcome == api.Failed && c.Counts.Deny == 0 && c.Counts.Warn > 0:
		return counted + ", and warnings fail this check"
	case c.Outcome == api.Failed && c.Counts.Deny > 0:
		return counted
	case c.Outcome == api.Failed:
		return "policy failed: " + counted
	case counted == "":
		return "could not judge"
	default:
		return "could not judge; so far " + counted
	}
}

// counts lists what was found, by level, and leaves out what was not.
func counts(c api.Check) string {
	var parts []string
	if n := c.Counts.Deny; n > 0 && c.Outcome == api.Passed {
		parts = append(parts, fmt.Sprintf("%d denied by advisory policies", n))
	} else if n > 0 {
		parts = append(parts, fmt.Sprintf("%d denied", n))
	}
	if n := c.Counts.Warn; n > 0 {
		parts = append(parts, page.Plural(n, "warning"))
	}
	if n := c.Counts.Excepted; n > 0 {
		parts = append(parts, fmt.Sprintf("%d excepted", n))
	}
	return strings.Join(parts, ", ")
}

// named is a policy with the digits that identify it (seed 003). A policy that
// could not be read has none.
func named(v api.Verdict) string {
	if v.Digest == "" {
		return page.Visible(v.Path)
	}
	return fmt.Sprintf("%s (sha256:%s)", page.Visible(v.Path), page.Visible(policy.Short(v.Digest)))
}

// introduced is what a line about a verdict begins with.
func introduced(v api.Verdict) string {
	if v.Engine == api.Exceptions {
		return "Exceptions "
	}
	return "Policy "
}

// result says what a policy came to, and how much that weighs: a reader must
// not have to know the configuration to see why a violation does not block.
func result(v api.Verdict) string {
	switch {
	case v.Engine == api.Exceptions && v.Outcome == api.Passed:
		return "are in force."
	case v.Engine == api.Exceptions:
		return "cannot be used: "
	case v.Outcome == api.Passed:
		return "is satisfied."
	case v.Outcome == api.Failed && v.Enforcement == api.Advisory:
		return "is violated (advisory: it does not block)."
	case v.Outcome == api.Failed && v.Enforcement == api.SoftMandatory:
		return "is violated (soft mandatory: an override can allow it)."
	case v.Outcome == api.Failed:
		return "is violated."
	default:
		return "could not judge: "
	}
}

// A weight tells which findings block, which takes more than the finding: its
// policy may be advisory, and warnings may have been made to fail the check.
type weight struct {
	advisory map[[2]string]bool // plan and policy, where every verdict is advisory
	warnings bool               // warnings fail this check
}

func weigh(c api.Check) weight {
	w := weight{advisory: map[[2]string]bool{}}
	// A policy that is named twice is as strict as its strictest use.
	for _, v := range c.Policies {
		k := [2]string{v.Plan, v.Path}
		before, seen := w.advisory[k]
		w.advisory[k] = v.Enforcement == api.Advisory && (before || !seen)
	}
	w.warnings = c.Outcome == api.Failed && !slices.ContainsFunc(c.Findings, w.blocks)
	return w
}

// blocks reports whether a finding is why the answer is no. A policy that is
// not listed is taken to be mandatory.
func (w weight) blocks(f api.Finding) bool {
	if f.Excepted {
		return false
	}
	if f.Level == api.Deny {
		return !w.advisory[[2]string{f.Plan, f.Policy}]
	}
	return w.warnings
}
