// Package report decides how a result looks: one [api.Check] as text, JSON,
// Markdown, SARIF, JUnit or GitHub annotations, and one plan as a summary.
//
// Every string of a result may have been written by somebody who wants to be
// believed: an address, a message that quotes a value, a file name. The one
// idea of this package is that such a string is shown, never interpreted,
// whatever reads the output (docs/report.md, rules 1 to 4). It must not know
// of files, terminals, time or how a result came about.
package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/report/page"
	"github.com/assize-iac/assize/internal/report/show"
)

// Options say what the reader can show. The zero value suits a file.
type Options struct {
	Color   bool   // the reader understands SGR escape sequences
	Width   int    // columns to wrap messages at; 0 does not wrap
	Version string // of this build, for formats that name the tool
}

// A Format is one way to write a result. Write returns an error only when the
// result cannot be written, never because of what it says.
type Format struct {
	Name  string
	Write func(io.Writer, api.Check, Options) error
}

// Formats lists every format, in the order of the documentation.
func Formats() []Format {
	return []Format{
		{"text", Text},
		{"json", JSON},
		{"markdown", Markdown},
		{"sarif", SARIF},
		{"junit", JUnit},
		{"github", GitHub},
	}
}

// Show writes the summary of one plan that `assize show` prints (docs/report.md,
// rules 13 to 15). It is here so that who prints needs to know one package.
func Show(w io.Writer, p *plan.Plan, o Options) error {
	return show.Plan(w, p, o.page())
}

// Problem writes what went wrong, or a hint, after the name of the program. An
// error may quote a file or an address of unknown origin, so it is shown and
// never interpreted, like everything else here (docs/report.md, rules 2 to 4).
func Problem(w io.Writer, kind, text string) {
	lines := page.Paragraphs(text)
	fmt.Fprintf(w, "assize: %s: %s\n", kind, page.Disarm([]byte(strings.Join(lines, "\n  "))))
}

// page leaves out what a page does not need to know.
func (o Options) page() page.Options { return page.Options{Color: o.Color, Width: o.Width} }

// JSON writes the result as it is: whoever reads it wants every byte of every
// value, so nothing is shortened or made visible (docs/report.md, rule 7).
func JSON(w io.Writer, c api.Check, _ Options) error {
	return page.JSON(w, complete(c))
}

// complete replaces every nil list by an empty one: a reader may count on a
// list wherever the type has one.
func complete(c api.Check) api.Check {
	c.Findings = append([]api.Finding{}, c.Findings...)
	c.Plans = append([]api.PlanCheck{}, c.Plans...)
	c.Policies = append([]api.Verdict{}, c.Policies...)
	for i := range c.Policies {
		v := &c.Policies[i]
		v.Rules = append([]api.RuleCount{}, v.Rules...)
		v.Notes = append([]string{}, v.Notes...)
	}
	return c
}
