package board

import (
	"fmt"
	"io"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/page"
)

// Bounds of a summary: GitHub takes 1 MiB of a step, and a person less.
const (
	summaryMax = 400 << 10 // bytes of a list
	nameMax    = 200       // characters
	textMax    = 1000
)

// Summary writes a rollout as Markdown for the summary of a step of GitHub
// Actions: what became of each stack, and what has to be looked at
// (docs/rollouts.md, rule 34).
func Summary(w io.Writer, rollout api.Rollout) error {
	var b strings.Builder
	rows := rowsOf(rollout.Stacks)
	fmt.Fprintf(&b, "### assize %s: %s\n\n", rollout.Kind, tally(rows))
	var lines, wrong []string
	for _, r := range rows {
		said := strings.TrimSpace(r.findings() + " " + r.because())
		lines = append(lines, fmt.Sprintf("<tr><td>%d</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
			r.Wave+1, page.Code(r.Stack, nameMax), r.doing(), r.changes(), htmlOf(said)))
		if r.Error != "" {
			wrong = append(wrong, fmt.Sprintf("<li>%s: %s</li>\n", page.Code(r.Stack, nameMax), page.Code(r.advice(), textMax)))
		}
		for _, warning := range r.Warnings {
			wrong = append(wrong, fmt.Sprintf("<li>%s: %s</li>\n", page.Code(r.Stack, nameMax), page.Code("warning: "+warning, textMax)))
		}
	}
	b.WriteString("<table>\n<tr><th>wave</th><th>stack</th><th>status</th><th>changes</th><th></th></tr>\n")
	left := page.Fit(&b, lines, summaryMax)
	b.WriteString("</table>\n")
	if left > 0 {
		fmt.Fprintf(&b, "\nThere is no room for %s; all are in the log.\n", page.Plural(left, "more stack"))
	}
	if len(wrong) > 0 {
		b.WriteString("\n<ul>\n")
		page.Fit(&b, wrong, summaryMax)
		b.WriteString("</ul>\n")
	}
	_, err := w.Write(page.DisarmXML([]byte(b.String())))
	return err
}

func htmlOf(text string) string {
	if text == "" {
		return ""
	}
	return page.Code(text, textMax)
}
