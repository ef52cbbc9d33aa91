package trial

import (
	"fmt"
	"io"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/page"
)

// Replay writes what a candidate would change: plan by plan what is not the
// same, then one line that says it all.
func Replay(w io.Writer, r api.Replay, o page.Options) error {
	p := writer{page.New(o)}
	for _, plan := range r.Plans {
		p.replayed(plan)
	}
	c := r.Counts
	parts := []string{counted(c.NewlyRefused, "newly refused"), counted(c.NewlyErrored, "newly errored"), counted(c.NewlyPassed, "newly passing"),
		counted(c.NewlyJudged, "newly judged"), counted(c.Unjudged, "not judged by either side"), counted(c.Findings, "with other findings"), counted(c.Unread, "unread"), counted(c.Same, "the same")}
	color := page.Red
	if r.Outcome == api.Passed {
		color = page.Green
	}
	p.Line(0, p.Paint(color, fmt.Sprintf("%s: %s", page.Plural(c.Plans, "plan"), strings.Join(nonzero(parts), ", "))))
	_, err := p.WriteTo(w)
	return err
}

func counted(n int, what string) string { return fmt.Sprintf("%d %s", n, what) }

func nonzero(parts []string) (out []string) {
	for _, p := range parts {
		if !strings.HasPrefix(p, "0 ") {
			out = append(out, p)
		}
	}
	return out
}

func (p writer) replayed(r api.ReplayedPlan) {
	word, color := "CANNOT BE READ", page.Red
	switch r.Difference {
	case api.NewlyRefused:
		word = "NEWLY REFUSED"
	case api.NewlyErrored:
		word = "NEWLY ERRORED"
	case api.NewlyJudged:
		word = "NEWLY JUDGED"
	case api.Unjudged:
		word = "NOT JUDGED"
	case api.NewlyPassed:
		word, color = "newly passes", page.Green
	case api.OtherFinding:
		word, color = "other findings", page.Yellow
	}
	p.Line(0, fmt.Sprintf("%s%s %s", p.Paint(color, word), strings.Repeat(" ", 14-len(word)), page.Visible(r.Path)))
	p.findings("+", r.Added, r.MoreAdded)
	p.findings("-", r.Removed, r.MoreGone)
	p.why(r.Error, r.Hint)
	for _, e := range r.Errors {
		p.why(e.Side+" "+e.Policy+": "+e.Error, e.Hint)
	}
}

func (p writer) why(text, hint string) {
	if text != "" {
		p.Prose(6, 8, page.Plain, text)
	}
	if hint != "" {
		p.Prose(6, 8, page.Plain, "hint: "+hint)
	}
}

func (p writer) findings(sign string, findings []api.Finding, more int) {
	for _, f := range findings {
		level := string(f.Level)
		if f.Excepted {
			level = "excepted"
		}
		p.Line(6, page.Visible(strings.TrimRight(fmt.Sprintf("%s %s %s %s", sign, level, f.Rule, f.Address), " ")))
		if f.Message != "" {
			p.Prose(10, 10, page.Dim, f.Message)
		}
	}
	if more > 0 {
		p.Line(6, fmt.Sprintf("%s %d more", sign, more))
	}
}
