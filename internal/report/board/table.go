package board

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/page"
)

// Columns of a table that are wider are cut.
const (
	stackMax = 60
	doingMax = 24
)

// titles are the columns. The last has what policies found, or why a stack is
// where it is.
var titles = [...]string{"wave", "stack", "status", "time", "changes", "findings"}

// A cells is one line of a table. All of it is visible text.
type cells struct {
	text  [len(titles)]string
	color page.Color // of the status
}

// Table writes what is known at a time: a row for each stack, by wave and key. No
// line is wider than the terminal, and there are no more of them than it is high:
// the least urgent stacks are counted in one line in place of their rows, those
// first that ended well, and those that failed or are at work last
// (docs/rollouts.md, rule 9).
func (b *Board) Table(w io.Writer, now time.Time, o Options) error {
	p := page.New(o.Options)
	kept, folded := fold(b.rows, o.Height)
	lines := []cells{{text: titles, color: page.Plain}}
	for _, r := range kept {
		lines = append(lines, r.cells(now))
	}
	widths := measure(lines)
	for i, line := range lines {
		line.write(p, widths, o.Width, i == 0)
	}
	if len(folded) > 0 {
		whole(p, page.Dim, fmt.Sprintf("%d more: %s", len(folded), tally(folded)), o.Width)
	}
	whole(p, page.Bold, b.extent(now), o.Width)
	_, err := p.WriteTo(w)
	return err
}

// Record writes a rollout as its record has it, while nobody need be at work on it:
// what it was, then a row for each stack, by wave and key, with when it came to what
// it is (docs/rollouts.md, rule 36).
func Record(w io.Writer, rollout api.Rollout, o Options) error {
	p := page.New(o.Options)
	what := string(rollout.Kind) + ", " + rollout.Created
	if rollout.Base != "" {
		what += ", compared with " + rollout.Base
	}
	if rollout.Commit != "" {
		what += ", at commit " + rollout.Commit
	}
	whole(p, page.Bold, shown(what), o.Width)
	head := titles
	when := slices.Index(titles[:], "time")
	head[when] = "when"
	lines := []cells{{text: head, color: page.Plain}}
	for _, r := range rowsOf(rollout.Stacks) {
		line := r.cells(time.Time{})
		line.text[when] = shown(r.At)
		lines = append(lines, line)
	}
	widths := measure(lines)
	for i, line := range lines {
		line.write(p, widths, o.Width, i == 0)
	}
	_, err := p.WriteTo(w)
	return err
}

// extent is how far the rollout has come.
func (b *Board) extent(now time.Time) string {
	ended, wave := 0, len(b.waves)
	for _, r := range slices.Backward(b.rows) {
		if r.Status != "" {
			ended++
		} else {
			wave = r.Wave + 1
		}
	}
	return fmt.Sprintf("%d of %s done, wave %d of %d, %s", ended, page.Plural(len(b.rows), "stack"), wave, len(b.waves), took(now.Sub(b.began), false))
}

// fold leaves as many rows as there is room for in a table of that height, which
// has a line of titles, one that counts what is left out, and a last one.
func fold(rows []*row, height int) (kept, folded []*row) {
	if height == 0 || len(rows) <= height-2 {
		return rows, nil
	}
	room, keep := max(0, height-3), make([]bool, len(rows))
	for u := busy; u >= well && room > 0; u-- {
		for i, r := range rows {
			if room > 0 && lookOf(r.state()).urgency == u {
				keep[i] = true
				room--
			}
		}
	}
	for i, r := range rows {
		if keep[i] {
			kept = append(kept, r)
		} else {
			folded = append(folded, r)
		}
	}
	return kept, folded
}

func (r *row) cells(now time.Time) cells {
	last := r.findings()
	if why := r.because(); why != "" {
		last = strings.TrimPrefix(last+", "+why, ", ")
	}
	return cells{
		[...]string{strconv.Itoa(r.Wave + 1), tail(shown(r.Stack), stackMax), head(r.doing(), doingMax), r.time(now), r.changes(), last},
		lookOf(r.state()).color,
	}
}

// measure is how wide each column is.
func measure(lines []cells) (widths [len(titles)]int) {
	for _, line := range lines {
		for i, text := range line.text {
			widths[i] = max(widths[i], uniseg.StringWidth(text))
		}
	}
	return widths
}

// write lays out a line: numbers to the right, all else to the left. What does not
// fit is cut.
func (c cells) write(p *page.Page, widths [len(titles)]int, width int, title bool) {
	line, used := "", 0
	for i, text := range c.text {
		column := widths[i]
		if width > 0 {
			column = min(column, width-used)
			text = head(text, column)
		}
		pad := strings.Repeat(" ", max(0, column-uniseg.StringWidth(text)))
		color := page.Plain
		switch {
		case title:
			color = page.Dim
		case titles[i] == "status":
			color = c.color
		}
		if titles[i] == "wave" || titles[i] == "time" {
			line += pad + p.Paint(color, text)
		} else {
			line += p.Paint(color, text) + pad
		}
		line += "  "
		used += column + 2
	}
	p.Line(0, line)
}

// whole is a line without columns.
func whole(p *page.Page, c page.Color, text string, width int) {
	if width > 0 {
		text = head(text, width)
	}
	p.Line(0, p.Paint(c, text))
}

// head cuts a text after so many columns, and says so.
func head(text string, width int) string {
	if uniseg.StringWidth(text) <= width {
		return text
	}
	var b strings.Builder
	for g, used := uniseg.NewGraphemes(text), 1; g.Next(); b.WriteString(g.Str()) {
		if used += g.Width(); used > width {
			break
		}
	}
	if width < 1 {
		return ""
	}
	return b.String() + "…"
}

// tail cuts a text at its beginning: the end of a key is what tells it from others.
func tail(text string, width int) string {
	over := uniseg.StringWidth(text) - width
	if over <= 0 {
		return text
	}
	g := uniseg.NewGraphemes(text)
	for over++; over > 0 && g.Next(); over -= g.Width() {
	}
	_, end := g.Positions()
	return "…" + text[end:]
}

// sgr matches what [page.Page.Paint] adds.
var sgr = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// Width is how many columns of a terminal a line of a table takes.
func Width(line string) int { return uniseg.StringWidth(sgr.ReplaceAllString(line, "")) }
