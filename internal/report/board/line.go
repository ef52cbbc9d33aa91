package board

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/page"
)

// Line takes in the next event and writes what a log needs of it: a line when a
// wave begins, and one for each stack that has ended, with what went wrong
// (docs/rollouts.md, rule 10). Most events need none. After an interrupt there may
// be thousands of stacks that were skipped; they are counted in the end.
func (b *Board) Line(w io.Writer, e api.RolloutEvent, o Options) error {
	b.Add(e)
	i, ok := b.at[e.Stack]
	if !ok || b.rows[i].Status == api.StackSkipped {
		return nil
	}
	p, r := page.New(o.Options), b.rows[i]
	if r.Wave >= b.told {
		b.told = r.Wave + 1
		p.Line(0, p.Paint(page.Bold, b.wave(r.Wave)))
	}
	if e.Event != "stack" {
		_, err := p.WriteTo(w)
		return err
	}
	p.Line(0, r.line(p))
	annotated := ""
	switch failed := lookOf(r.Status).urgency == bad; {
	case failed && o.Annotate: // which the runner prints as well
		annotated = page.Annotation("error", r.Stack, r.advice())
	case failed:
		r.explain(p)
	}
	if _, err := p.WriteTo(w); err != nil {
		return err
	}
	_, err := io.WriteString(w, annotated)
	return err
}

// wave says that a wave begins.
func (b *Board) wave(wave int) string {
	return fmt.Sprintf("wave %d of %d: %s", wave+1, len(b.waves), page.Plural(b.waves[wave], "stack"))
}

// line is what became of a stack.
func (r *row) line(p *page.Page) string {
	parts := []string{shown(r.Stack), p.Paint(lookOf(r.state()).color, r.doing())}
	for _, part := range []string{r.changes(), r.time(time.Time{}), r.findings()} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if r.Error == "" && r.because() != "" {
		parts = append(parts, r.because())
	}
	return strings.Join(parts, "  ")
}

// explain says what went wrong, and what to do.
func (r *row) explain(p *page.Page) {
	if r.Error != "" {
		p.Prose(2, 4, page.Plain, "error: "+r.Error)
	}
	if r.Hint != "" {
		p.Prose(2, 4, page.Plain, "hint: "+r.Hint)
	}
}

// advice is that in one text. An annotation without a text is not shown.
func (r *row) advice() string {
	text := r.Error
	if text == "" {
		text = string(r.Status)
	}
	if r.Hint != "" {
		text += "\nhint: " + r.Hint
	}
	return text
}

// Closing writes the last words on a rollout: the warnings, then every stack that
// did not end well but those that were only skipped, with why, then the counts in one line (docs/rollouts.md, rule
// 11).
func Closing(w io.Writer, rollout api.Rollout, o Options) error {
	p, rows := page.New(o.Options), rowsOf(rollout.Stacks)
	for _, r := range rows {
		for _, warning := range r.Warnings {
			p.Prose(0, 2, page.Yellow, "warning: "+page.Visible(r.Stack)+": "+warning)
		}
	}
	color := page.Green
	for _, r := range rows {
		if r.Status.Good() {
			continue
		}
		color = page.Red
		if r.Status == api.StackSkipped {
			continue
		}
		p.Line(0, r.line(p))
		r.explain(p)
	}
	text := page.Plural(len(rows), "stack")
	if len(rows) > 0 {
		text += ": " + tally(rows)
	}
	p.Line(0, p.Paint(color, text))
	_, err := p.WriteTo(w)
	return err
}
