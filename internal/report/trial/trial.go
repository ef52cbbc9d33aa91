// Package trial decides how trying out a policy looks: testing it by its
// fixtures, and replaying stored plans. Like all reports, it shows text of
// unknown origin and never interprets it (docs/report.md, rules 1 to 4). It
// must not know how a policy is judged.
package trial

import (
	"fmt"
	"io"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/page"
)

// Test writes what tests of policies came to: policy by policy, and within one
// only what somebody has to look at, then one line that says it all.
func Test(w io.Writer, t api.PolicyTest, o page.Options) error {
	p := writer{page.New(o)}
	for _, policy := range t.Policies {
		p.policy(policy)
	}
	_, err := p.WriteTo(w)
	return err
}

type writer struct{ *page.Page }

// mark is an outcome as the first word of a line.
func (p writer) mark(o api.Outcome) string {
	word, color := "ERROR", page.Red
	switch o {
	case api.Passed:
		word, color = "ok", page.Green
	case api.Failed:
		word = "FAIL"
	case api.Skipped:
		word = "SKIP"
	}
	return p.Paint(color, word) + strings.Repeat(" ", 6-len(word))
}

func (p writer) policy(t api.TestedPolicy) {
	name := page.Visible(t.Path)
	if t.Error != "" {
		p.wrote(t.Plans)
		p.because("Policy "+name+" could not be tested", strings.TrimPrefix(t.Error, "could not judge: "), t.Hint)
		return
	}
	for _, plan := range t.Plans {
		p.plan(plan)
	}
	for _, test := range t.Tests {
		p.test(test)
	}
	for _, what := range t.Untested {
		p.Line(0, p.mark(api.Failed)+"untested: there is "+what)
	}
	if t.Coverage != nil {
		p.coverage(*t.Coverage)
	}
	if t.Mutation != nil {
		p.mutation(*t.Mutation)
	}
	if t.Unmutated != "" {
		p.Line(0, p.Paint(page.Yellow, "mutants: not tried, because "+page.Visible(t.Unmutated)))
	}
	color := page.Red
	if t.Outcome == api.Passed {
		color = page.Green
	}
	p.Line(0, p.Paint(color, fmt.Sprintf("Policy %s: %s", name, summary(t))))
	p.wrote(t.Plans)
}

// wrote names the files that were changed, which somebody has to read.
func (p writer) wrote(plans []api.TestedPlan) {
	var paths []string
	for _, plan := range plans {
		if plan.Wrote != "" {
			paths = append(paths, plan.Wrote)
		}
	}
	for _, path := range paths {
		p.Line(0, "wrote "+page.Visible(path))
	}
	if len(paths) > 0 {
		p.Line(0, "This is what the policy finds, which may be wrong: read the diff.")
	}
}

func (p writer) plan(t api.TestedPlan) {
	p.Line(0, p.mark(t.Outcome)+page.Visible(t.Name))
	for _, line := range t.Missing {
		p.Line(6, "missing: "+page.Visible(line))
	}
	for _, line := range t.Unexpected {
		p.Line(6, "not wanted: "+page.Visible(line))
	}
	p.why(t.Error, t.Hint)
}

func (p writer) test(t api.RegoTest) {
	p.Line(0, p.mark(t.Outcome)+page.Visible(t.Name+" ("+t.Position+")"))
	p.why(t.Error, "")
}

func (p writer) because(what, text, hint string) {
	p.Prose(0, 2, page.Red, what+": "+text)
	if hint != "" {
		p.Prose(2, 4, page.Plain, "hint: "+hint)
	}
}

func (p writer) coverage(c api.Coverage) {
	for _, r := range c.Rules {
		p.Line(0, fmt.Sprintf("rule  %s looked at %s", page.Visible(r.Rule), page.Plural(r.Matched, "change")))
	}
	for _, f := range c.Files {
		all := len(f.Covered) + len(f.Missed)
		p.Line(0, fmt.Sprintf("lines %s: %d of %d", page.Visible(f.File), len(f.Covered), all))
		if len(f.Missed) > 0 {
			p.Line(6, "not evaluated: "+ranges(f.Missed))
		}
	}
	for _, rule := range c.Idle {
		p.Line(0, p.Paint(page.Yellow, "idle")+"  "+page.Visible(rule)+" found nothing in any plan")
	}
}

func (p writer) mutation(m api.Mutation) {
	for _, s := range m.Survivors {
		rule := ""
		if s.Rule != "" {
			rule = s.Rule + ": "
		}
		p.Line(0, p.mark(api.Failed)+page.Visible(s.Position+": "+rule+s.Change)+": nothing tells the difference")
		if s.Tell != "" {
			p.Line(6, "add "+page.Visible(s.Tell))
		}
	}
	p.Line(0, fmt.Sprintf("mutants: %d, survived: %d", m.Mutants, len(m.Survivors)))
	if m.Left > 0 {
		p.Line(0, p.Paint(page.Yellow, fmt.Sprintf("mutants: %d more were not tried; raise --max-mutants", m.Left)))
	}
}

// summary is what one policy came to, in a line.
func summary(t api.TestedPolicy) string {
	passed := 0
	for _, p := range t.Plans {
		if p.Outcome == api.Passed {
			passed++
		}
	}
	out := fmt.Sprintf("%s: %s%d of %s as wanted", t.Outcome, lacks(t), passed, page.Plural(len(t.Plans), "plan"))
	if t.Engine != api.Rego {
		return out
	}
	passed = 0
	for _, test := range t.Tests {
		if test.Outcome == api.Passed {
			passed++
		}
	}
	return out + fmt.Sprintf(", %d of %s in Rego passed", passed, page.Plural(len(t.Tests), "test"))
}

// lacks is what failed although everything may be as wanted.
func lacks(t api.TestedPolicy) string {
	switch m := t.Mutation; {
	case len(t.Untested) > 0:
		return "untested, "
	case m != nil && len(m.Survivors) > 0:
		return fmt.Sprintf("%d of %s survived, ", len(m.Survivors), page.Plural(m.Mutants, "mutant"))
	}
	return ""
}

// ranges writes sorted numbers, neighbours as 3-5.
func ranges(lines []int) string {
	var parts []string
	for i := 0; i < len(lines); {
		j := i
		for j+1 < len(lines) && lines[j+1] == lines[j]+1 {
			j++
		}
		if part := fmt.Sprint(lines[i]); j == i {
			parts = append(parts, part)
		} else {
			parts = append(parts, fmt.Sprintf("%s-%d", part, lines[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}
