package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/page"
)

// A writer lays out results on a page.
type writer struct{ *page.Page }

func newWriter(o Options) writer {
	return writer{page.New(o.page())}
}

// Text writes a result for people: plan by plan, address by address, denies
// first, then what each policy came to, then one line that says it all
// (docs/report.md, rule 6).
func Text(w io.Writer, c api.Check, o Options) error {
	p := newWriter(o)
	p.body(c)
	p.Line(0, p.Paint(outcomeColor(outcome(c)), summary(c)))
	return p.finish(w)
}

// Findings is [Text] without the last line, for results that are only a part of
// what there is to say: it would speak for the whole.
func Findings(w io.Writer, c api.Check, o Options) error {
	p := newWriter(o)
	p.body(c)
	return p.finish(w)
}

func (p writer) body(c api.Check) {
	all := sections(c)
	for _, s := range all {
		if len(all) > 1 {
			p.Line(0, p.Paint(page.Bold, "Plan "+page.Visible(s.plan.Path)+":"))
		}
		p.section(s)
		p.Line(0, "")
	}
	p.unexplained(c)
}

// Violation writes why `assize plan` and `assize apply` stop at a policy, in
// the form of seed 003, "Plan policy". It writes denies that no exception
// covers: a warning is not why they stop. It has no colours, for it goes where
// errors go.
func Violation(w io.Writer, v api.Verdict, findings []api.Finding) error {
	p := newWriter(Options{})
	p.Line(0, "Error: the plan violates the policy "+named(v)+":")
	for _, f := range findings {
		if rank(f) == 0 {
			p.violation(f)
		}
	}
	return p.finish(w)
}

// Satisfied writes the line of one policy. Whatever the caller believes, only a
// verdict that passed is called satisfied.
func Satisfied(w io.Writer, v api.Verdict) error {
	p := newWriter(Options{})
	p.verdict(v)
	return p.finish(w)
}

// Overridden writes what soft failures pass under: until when, who said so, and
// why.
func Overridden(w io.Writer, overrides []api.Override) error {
	p := newWriter(Options{})
	for _, o := range overrides {
		name := named(api.Verdict{Path: o.Policy, Digest: o.PolicyDigest})
		p.Prose(0, 2, page.Plain, fmt.Sprintf("Policy %s is overridden until %s by %s: %s", name, o.Expires, o.Actor, o.Justification))
	}
	return p.finish(w)
}

// Results writes one line a result, with all of its digest, which is what an
// override names.
func Results(w io.Writer, results []api.Result) error {
	p := newWriter(Options{})
	for _, r := range results {
		p.Line(2, "policy "+named(api.Verdict{Path: r.Policy, Digest: r.PolicyDigest})+", result "+page.Visible(r.Digest))
	}
	return p.finish(w)
}

func (p writer) finish(w io.Writer) error {
	_, err := p.WriteTo(w)
	return err
}

// violation writes one deny. The colon before positions, and none without
// them, are CUE's own way to print errors, which the seed shows.
func (p writer) violation(f api.Finding) {
	message := said(f)
	// CUE's messages begin with a path into the plan document; those of the
	// other engines do not say what they are about.
	if f.Engine != api.CUE {
		message = f.Rule + ": " + where(f) + ": " + said(f)
	}
	lines := page.Paragraphs(message)
	if len(f.Positions) > 0 {
		lines[len(lines)-1] += ":"
	}
	for i, line := range lines {
		p.Line(min(i, 1)*2, line) // (docs/report.md, rule 3)
	}
	for _, at := range f.Positions {
		p.Line(4, page.Visible(at))
	}
}

// section writes one plan. Its error comes before everything else: whatever
// policies said of a plan that could not be read is not about the plan.
func (p writer) section(s section) {
	if s.plan.Error != "" {
		p.Prose(0, 2, page.Red, "Plan "+page.Visible(s.plan.Path)+" could not be judged: "+because(s.plan.Error))
		p.hint(s.plan.Hint)
	}
	for _, g := range s.groups {
		for _, f := range g.findings {
			p.finding(f)
		}
	}
	if len(s.groups) > 0 && len(s.verdicts) > 0 {
		p.Line(0, "")
	}
	for _, v := range s.verdicts {
		p.verdict(v)
	}
}

// finding has the look of seed 002, step 7: level, rule, symbol, address and
// action in columns, and what to do about it below. A long rule pushes the
// columns of its line alone: to be aligned is worth less than to be whole.
func (p writer) finding(f api.Finding) {
	color := [...]page.Color{page.Red, page.Yellow, page.Dim}[rank(f)]
	word := level(f)
	pad := max(0, 5-len(word))
	rule := fmt.Sprintf("%-*s", 30-len(word)-pad, page.Visible(f.Rule))
	p.Line(0, fmt.Sprintf("%s%*s %s %-3s %s", p.Paint(color, word), pad, "", rule, page.Symbol(f.Action), where(f)))
	p.Prose(6, 6, page.Plain, said(f))
	if why := excused(f); why != "" {
		p.Prose(6, 6, page.Dim, why)
	}
	for _, at := range f.Positions {
		p.Line(10, page.Visible(at))
	}
}

// verdict writes the line of one policy (seed 003: with the first twelve digits
// of its digest), and below it what makes a green less green than it looks.
func (p writer) verdict(v api.Verdict) {
	head := introduced(v) + named(v) + " "
	if judged(v.Outcome) {
		p.Line(0, head+p.Paint(outcomeColor(v.Outcome), result(v)))
	} else {
		p.Prose(0, 2, page.Red, head+result(v)+because(once(v.Error)))
		p.hint(v.Hint)
	}
	for _, note := range v.Notes {
		p.Prose(2, 4, page.Dim, "note: "+note)
	}
}

// once takes off the words that engines begin with: the line has said them.
func once(why string) string { return strings.TrimPrefix(why, "could not judge: ") }

// unexplained writes the failures that no plan and no policy has a line for,
// such as a plan that no policy judged (docs/report.md, rule 1).
func (p writer) unexplained(c api.Check) {
	for _, f := range failures(c) {
		if f.policy == "" && !stated(c, f) {
			p.Prose(0, 2, page.Red, f.text())
		}
	}
}

// stated reports whether the section of the plan has said so already.
func stated(c api.Check, f failure) bool {
	for _, p := range c.Plans {
		if p.Path == f.plan && p.Error != "" {
			return true
		}
	}
	return false
}

// hint writes the next thing to type.
func (p writer) hint(hint string) {
	if hint != "" {
		p.Prose(2, 4, page.Plain, "hint: "+hint)
	}
}

// outcomeColor has two colours for three outcomes: what could not be judged
// blocks as a no does.
func outcomeColor(o api.Outcome) page.Color {
	if o == api.Passed {
		return page.Green
	}
	return page.Red
}
