package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

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
		command(&b, "error", "could not judge", f.advice())
	}
	weight := weigh(c)
	for _, f := range ranked(c.Findings) {
		kind := annotation(f, weight)
		if kind == "error" {
			errors++
		}
		command(&b, kind, f.Rule, annotationText(f))
	}
	// The last word, so that a log that shows no annotation still says it.
	if !judged(outcome(c)) || (c.Outcome == api.Failed && errors == 0) {
		command(&b, "error", "assize", summary(c))
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

// command writes one workflow command. The runner cuts properties at commas
// and ends them at the first "::", and reads a command wherever a line begins
// with one, so all four are escaped as it expects (docs/report.md, rule 4).
// Texts are disarmed first: other services read this log too.
func command(b *bytes.Buffer, kind, title, text string) {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	fmt.Fprintf(b, "::%s title=%s::%s\n", kind,
		property.Replace(disarmed(page.Visible(title))), data.Replace(disarmed(lines(text))))
}

func disarmed(text string) string { return string(page.Disarm([]byte(text))) }
