package report

import (
	"bytes"
	"io"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/page"
)

// GitHub writes a result as workflow commands, one a line and nothing else.
// GitHub shows ten of a level in a step, so what could not be judged comes
// first, then denies, then warnings (docs/report.md, rule 12). A result without
// findings that passed writes nothing: there is nothing to annotate.
func GitHub(w io.Writer, c api.Check, _ Options) error {
	var b bytes.Buffer
	errors := 0
	for _, f := range failures(c) {
		b.WriteString(page.Annotation("error", "could not judge", f.advice()))
	}
	weight := weigh(c)
	for _, f := range ranked(c.Findings) {
		kind := annotation(f, weight)
		if kind == "error" {
			errors++
		}
		b.WriteString(page.Annotation(kind, f.Rule, annotationText(f)))
	}
	// The last word, so that a log that shows no annotation still says it.
	if !judged(outcome(c)) || (c.Outcome == api.Failed && errors == 0) {
		b.WriteString(page.Annotation("error", "assize", summary(c)))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// annotation is the level that GitHub shows. A deny of an advisory policy is a
// warning: an error on a green step is a riddle.
func annotation(f api.Finding, weight weight) string {
	switch {
	case f.Excepted:
		return "notice"
	case f.Level == api.Deny && weight.blocks(f):
		return "error"
	default:
		return "warning"
	}
}

// annotationText has everything that a log line would have: annotations are
// read away from the log.
func annotationText(f api.Finding) string {
	text := where(f) + ": " + said(f)
	if why := excused(f); why != "" {
		text += "\n" + why
	}
	for _, at := range f.Positions {
		text += "\nat " + at
	}
	return text
}
