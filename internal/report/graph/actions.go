package graph

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/page"
)

// MatrixMax is how many jobs GitHub Actions makes of one matrix.
const MatrixMax = 256

// The limits of a step summary, of which GitHub shows 1 MiB; other commands of
// the step may add to it.
const (
	summaryMax = 300_000 // bytes of the rows, of the errors and of the warnings
	nameMax    = 200     // runes of a stack, a path
	warningMax = 1_000   // runes
)

// Matrix joins what is affected with what a job must know of it. Of stacks it
// takes those that are affected.
func Matrix(a api.Affected, stacks []api.Stack) api.Matrix {
	byKey := map[string]api.Stack{}
	for _, s := range stacks {
		byKey[s.Key] = s
	}
	m := api.Matrix{Include: []api.MatrixEntry{}}
	for wave, keys := range a.Waves {
		for _, key := range keys {
			s := byKey[key]
			m.Include = append(m.Include, api.MatrixEntry{
				Key: key, Path: s.Path, Instance: s.Instance, Workspace: s.Workspace, Environment: s.Environment,
				Tool: s.Tool, ToolVersion: s.ToolVersion, Wave: wave, Slug: slug(key),
			})
		}
	}
	return m
}

// slug is a key for the name of a file: / and : are dashes, and the end tells a/b
// from a-b (seed 004, "Identities and names").
func slug(key string) string {
	sum := sha256.Sum256([]byte(key))
	return fmt.Sprintf("%s-%x", strings.NewReplacer("/", "-", ":", "-").Replace(key), sum[:4])
}

// Outputs writes matrix, waves, affected and count as the outputs of a step of
// GitHub Actions (docs/stacks.md, rule 24). Each is JSON on one line of its own,
// between lines of the delimiter: a random word, which begins with a letter as
// no such value does, so that no name can end a value and begin another.
func Outputs(w io.Writer, a api.Affected, stacks []api.Stack, delimiter string) error {
	var b strings.Builder
	keys := append([]string{}, slices.Concat(a.Waves...)...)
	for _, o := range []struct {
		name  string
		value any
	}{
		{"matrix", Matrix(a, stacks)}, {"waves", a.Waves}, {"affected", keys}, {"count", len(keys)},
	} {
		value, err := json.Marshal(o.value)
		if err != nil {
			return fmt.Errorf("encoding the output %s: %w", o.name, err)
		}
		fmt.Fprintf(&b, "%s<<%s\n%s\n%s\n", o.name, delimiter, page.Inert(value), delimiter)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Summary writes what is affected as Markdown for the summary of a step of
// GitHub Actions. Problems are what could not be read, and make the answer one
// that is not complete (docs/scan.md, rule 9).
//
// The table and the lists are HTML. A cell of Markdown cannot hold every text,
// and inside of <code> nothing is markup, a mention or a reference.
func Summary(w io.Writer, a api.Affected, problems []string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n", headline(a, len(problems)))
	summarize(&b, a)
	listed(&b, "Errors", problems)
	listed(&b, "Warnings", a.Warnings)
	_, err := w.Write(page.DisarmXML([]byte(b.String())))
	return err
}

func headline(a api.Affected, problems int) string {
	text := "No stack is affected"
	switch n := len(a.Stacks); {
	case n == 1:
		text = "1 stack is affected"
	case n > 1:
		text = fmt.Sprintf("%d stacks are affected, in %s", n, page.Plural(len(a.Waves), "wave"))
	}
	if problems > 0 {
		text = "⚠️ Not everything could be read. As far as it was: " + strings.ToLower(text[:1]) + text[1:]
	}
	return text
}

// summarize writes the stacks as a table, wave by wave, as many as there is room
// for.
func summarize(b *strings.Builder, a api.Affected) {
	if len(a.Stacks) == 0 {
		return
	}
	stacks := map[string]api.AffectedStack{}
	for _, s := range a.Stacks {
		stacks[s.Key] = s
	}
	var rows []string
	for i, wave := range a.Waves {
		for _, key := range wave {
			why := strings.Join(brought(stacks[key].Via, name), "<br>")
			rows = append(rows, fmt.Sprintf("<tr><td>%d</td><td>%s</td><td>%s</td></tr>\n", i+1, name(key), why))
		}
	}
	b.WriteString("\n<table>\n<tr><th>wave</th><th>stack</th><th>why</th></tr>\n")
	left := page.Fit(b, rows, summaryMax)
	b.WriteString("</table>\n")
	if left > 0 {
		fmt.Fprintf(b, "\nThere is no room for %s; `assize affected` prints all of them.\n", page.Plural(left, "more stack"))
	}
}

// listed writes texts under a title, as many as there is room for.
func listed(b *strings.Builder, title string, texts []string) {
	if len(texts) == 0 {
		return
	}
	items := make([]string, len(texts))
	for i, text := range texts {
		items[i] = "<li>" + page.Code(text, warningMax) + "</li>\n"
	}
	fmt.Fprintf(b, "\n**%s**\n\n<ul>\n", title)
	left := page.Fit(b, items, summaryMax)
	b.WriteString("</ul>\n")
	if left > 0 {
		fmt.Fprintf(b, "\nThere is no room for %d more; they are in the log.\n", left)
	}
}

// name shows a stack, a module or a path.
func name(text string) string { return page.Code(text, nameMax) }
