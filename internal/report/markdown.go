package report

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/page"
)

// The limits of a comment. All are bytes but the two of runes, because a byte
// count is never less than whatever GitHub counts.
const (
	// A comment holds 65,536 characters; a caller adds a marker and a link.
	commentMax  = 60_000
	policiesMax = 12_000 // so that 5,000 findings do not hide what judged them
	notesMax    = 1_000  // the title and what is left out

	messageMax = 1_000 // runes of one message; one finding must not hide the others
	nameMax    = 200   // runes of a rule, an address, a path
	foldAfter  = 20    // more entries than fit a screen are folded
)

// A header is text that some entries stand under, with what closes it. It costs
// room once, and only when one of its entries is kept.
type header struct {
	open, shut string
	kept       bool
}

// An entry is one list item of a comment, which is kept or left out as a whole.
type entry struct {
	under []*header // outermost first
	text  string
	noun  string // what it is, to count those that are left out
	rank  int    // what is kept first when there is no room for all
	kept  bool
}

// Markdown writes a result as one pull-request comment: the outcome first, at
// most 60,000 bytes, denies kept before warnings, and a note of what was left
// out (docs/report.md, rules 8 and 9).
//
// It has lists and no tables: inside a cell not every text can be written, and
// in a list every text can be a code span.
func Markdown(w io.Writer, c api.Check, _ Options) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "### %s %s\n", mark(outcome(c)), summary(c))
	findings := slices.Concat(failureEntries(c), findingEntries(c), quietEntries(c))
	policies := policyEntries(c)
	unused := pick(policies, policiesMax)
	pick(findings, commentMax-notesMax-policiesMax+unused)
	write(&b, findings)
	if left := leftOut(slices.Concat(findings, policies)); left != "" {
		fmt.Fprintf(&b, "\n**Left out: %s.** A comment has a limit; "+
			"`assize policy check` prints them all, as text or with `--format json`.\n", left)
	}
	write(&b, policies)
	_, err := w.Write(b.Bytes())
	return err
}

// mark is seen in a list of comments before a word is read. What could not be
// judged has a mark of its own: it wants somebody else than a violation does.
func mark(o api.Outcome) string {
	switch o {
	case api.Passed:
		return "✅"
	case api.Failed:
		return "❌"
	}
	return "⚠️"
}

// leftOut counts what was not kept, by what it is.
func leftOut(all []*entry) string {
	n := map[string]int{}
	for _, e := range all {
		if !e.kept {
			n[e.noun]++
		}
	}
	var parts []string
	for _, noun := range []string{"failure", "finding", "plan", "verdict"} {
		if n[noun] > 0 {
			parts = append(parts, page.Plural(n[noun], noun))
		}
	}
	return strings.Join(parts, ", ")
}

// failureEntries come before every finding: what could not be judged may hide
// any number of them.
func failureEntries(c api.Check) []*entry {
	title := &header{open: "\nCould not be judged:\n\n"}
	var out []*entry
	for _, f := range failures(c) {
		text := "- " + f.spans() + code(f.why, messageMax) + "\n"
		if f.hint != "" {
			text += "  - hint: " + code(f.hint, messageMax) + "\n"
		}
		out = append(out, &entry{under: []*header{title}, text: text, noun: "failure", rank: -1})
	}
	return out
}

// spans names what could not be judged in code spans.
func (f failure) spans() string {
	var parts []string
	if f.policy != "" {
		parts = append(parts, "policy "+code(f.policy, nameMax))
	}
	if f.plan != "" {
		parts = append(parts, "plan "+code(f.plan, nameMax))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, " on ") + ": "
}

// findingEntries are a list of objects for each plan, with a list of findings
// below each object.
func findingEntries(c api.Check) []*entry {
	var out []*entry
	for _, s := range sections(c) {
		plan := &header{open: fmt.Sprintf("\n#### %s\n\n%s\n\n", code(s.plan.Path, nameMax), touches(s.plan))}
		if n := s.size(); n > foldAfter {
			plan.open += fmt.Sprintf("<details open><summary>%s</summary>\n\n", page.Plural(n, "finding"))
			plan.shut = "\n</details>\n"
		}
		for _, g := range s.groups {
			at := &header{open: "- " + g.span() + "\n"}
			for _, f := range g.findings {
				out = append(out, &entry{under: []*header{plan, at}, text: item(f), noun: "finding", rank: rank(f)})
			}
		}
	}
	return out
}

// quietEntries are the plans that nothing was found in; one that could not be
// read is among the failures.
func quietEntries(c api.Check) []*entry {
	var out []*entry
	title := &header{open: "\nPlans without a finding:\n\n"}
	for _, s := range sections(c) {
		if len(s.groups) == 0 && s.plan.Error == "" {
			text := "- " + code(s.plan.Path, nameMax) + ": " + touches(s.plan) + "\n"
			out = append(out, &entry{under: []*header{title}, text: text, noun: "plan", rank: 3})
		}
	}
	return out
}

func (s section) size() (n int) {
	for _, g := range s.groups {
		n += len(g.findings)
	}
	return n
}

// span names the object that a group is about.
func (g group) span() string {
	at := "the plan"
	if g.address != "" {
		at = code(g.address, nameMax)
	}
	if what := actionWords(g.findings[0]); what != "" {
		at += " " + code(what, nameMax)
	}
	return at
}

// item is one finding. Positions help whoever wrote the policy; five are enough
// for whoever reads the comment.
func item(f api.Finding) string {
	text := fmt.Sprintf("  - **%s** %s: %s", level(f), code(f.Rule, nameMax), code(said(f), messageMax))
	for i, at := range f.Positions {
		if i == 5 {
			text += ", ..."
			break
		}
		text += [...]string{" at ", ", "}[min(i, 1)] + code(at, nameMax)
	}
	if why := excused(f); why != "" {
		text += "; " + code(why, messageMax)
	}
	return text + "\n"
}

// touches says what a plan does, and what judging it came to.
func touches(p api.PlanCheck) string {
	if !judged(p.Outcome) {
		return "could not be judged"
	}
	return fmt.Sprintf("%s (%s)", page.Tally(p.Summary), p.Outcome)
}

// policyEntries say which policies judged, by digest: a comment outlives the
// policy that it speaks of. Those that passed are the first to go.
func policyEntries(c api.Check) []*entry {
	title := &header{open: "\nPolicies:\n\n"}
	if len(c.Policies) > foldAfter {
		title = &header{
			open: fmt.Sprintf("\n<details><summary>%d policies judged</summary>\n\n", len(c.Policies)),
			shut: "\n</details>\n",
		}
	}
	var out []*entry
	for _, v := range c.Policies {
		text := "- " + code(named(v), nameMax) + " "
		if v.Engine == api.Exceptions {
			text = "- exceptions " + code(named(v), nameMax) + " "
		}
		if len(c.Plans) > 1 {
			text += "on " + code(v.Plan, nameMax) + " "
		}
		if text += strings.TrimSuffix(result(v), ": ") + "\n"; len(v.Notes) > 0 {
			text += notes(v.Notes)
		}
		e := &entry{under: []*header{title}, text: text, noun: "verdict"}
		if v.Outcome == api.Passed {
			e.rank = 1
		}
		out = append(out, e)
	}
	return out
}

// notes are those of one policy; a policy of a hundred rules may have as many.
func notes(all []string) string {
	var b strings.Builder
	for i, n := range all {
		if i == 5 {
			fmt.Fprintf(&b, "  - and %s more\n", page.Plural(len(all)-i, "note"))
			break
		}
		b.WriteString("  - note: " + code(n, messageMax) + "\n")
	}
	return b.String()
}

// pick keeps entries in the order of their rank until one does not fit: a
// warning never takes the place of a deny. It returns the room that is left.
func pick(all []*entry, room int) int {
	byRank := slices.SortedStableFunc(slices.Values(all), func(a, b *entry) int { return a.rank - b.rank })
	for _, e := range byRank {
		// A header is paid for by the first entry that needs it.
		cost := len(e.text)
		for _, h := range e.under {
			if !h.kept {
				cost += len(h.open) + len(h.shut)
			}
		}
		if cost > room {
			return room
		}
		room -= cost
		e.kept = true
		for _, h := range e.under {
			h.kept = true
		}
	}
	return room
}

// write prints what was kept in the order it is read in, each header once, and
// closes a header before the next one opens: an open <details> would swallow
// the rest of the page that the comment is on.
func write(b *bytes.Buffer, all []*entry) {
	var open []*header
	for _, e := range all {
		if !e.kept {
			continue
		}
		same := 0
		for same < len(open) && same < len(e.under) && open[same] == e.under[same] {
			same++
		}
		shut(b, open[same:])
		for _, h := range e.under[same:] {
			b.WriteString(h.open)
		}
		open = e.under
		b.WriteString(e.text)
	}
	shut(b, open)
}

func shut(b *bytes.Buffer, open []*header) {
	for i := len(open) - 1; i >= 0; i-- {
		b.WriteString(open[i].shut)
	}
}

var backticks = regexp.MustCompile("`+")

// code is a text of somebody else in a comment. In a code span nothing is
// markup: no HTML, link, image, mention, reference or emphasis. Its fence is
// longer than every run of backticks in it (docs/report.md, rule 8). Jobs
// print comments to their log as well, hence Disarm.
func code(text string, limit int) string {
	text = string(page.Disarm([]byte(page.Clip(page.Visible(text), limit))))
	fence := 1
	text = backticks.ReplaceAllStringFunc(text, func(run string) string {
		if len(run) > 16 { // GitHub's parser ignores a fence of more than 80
			return strings.Repeat(`\x60`, len(run))
		}
		fence = max(fence, len(run)+1)
		return run
	})
	if text == "" { // Markdown has no empty code span
		return "(empty)"
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") || strings.Trim(text, " ") != text {
		text = " " + text + " " // the parser takes one space off each end
	}
	quote := strings.Repeat("`", fence)
	return quote + text + quote
}
