// Package page decides how text of somebody else is shown: on a terminal, in
// the log of a CI job, in JSON. It is shown and never acts. The package lays
// out lines and has the words and marks that all reports share; it must not
// know what a report says.
package page

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"
)

// A Color is an SGR code of the palette. Meaning never hangs on colour alone:
// every coloured word says the same thing in black and white.
type Color string

// The palette.
const (
	Plain  Color = ""
	Red    Color = "1;31"
	Yellow Color = "33"
	Green  Color = "32"
	Cyan   Color = "36"
	Bold   Color = "1"
	Dim    Color = "2"
)

// Options say what the reader can show. The zero value suits a file.
type Options struct {
	Color bool // the reader understands SGR escape sequences
	Width int  // columns to wrap prose at; 0 does not wrap
}

// A Page collects lines for people. What it writes in the end holds no command
// for a CI runner, whatever the lines say.
type Page struct {
	options Options
	b       bytes.Buffer
}

// New returns an empty page.
func New(o Options) *Page { return &Page{options: o} }

// Paint colours a text that is already visible, where the reader wants it.
func (p *Page) Paint(c Color, text string) string {
	if !p.options.Color || text == "" || c == Plain {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// Line adds one line of text that is already visible.
func (p *Page) Line(indent int, text string) {
	text = strings.TrimRight(text, " ")
	if text != "" {
		p.b.WriteString(strings.Repeat(" ", indent))
	}
	p.b.WriteString(text + "\n")
}

// Prose adds a text of somebody else, wrapped: its first line at one indent,
// and whatever follows at another, so that it cannot pass for a line of ours.
func (p *Page) Prose(first, rest int, c Color, text string) {
	indent := first
	for _, line := range Paragraphs(text) {
		for _, part := range wrap(line, p.options.Width-rest) {
			p.Line(indent, p.Paint(c, strings.TrimRight(part, " ")))
			indent = rest
		}
	}
}

// WriteTo writes the page.
func (p *Page) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(Disarm(p.b.Bytes()))
	return int64(n), err
}

// wrap breaks a line at spaces. A word longer than the width stays whole: an
// address that is cut in two can be neither read nor copied.
func wrap(line string, width int) []string {
	if width < 20 || utf8.RuneCountInString(line) <= width {
		return []string{line}
	}
	var out []string
	current := ""
	for word := range strings.SplitSeq(line, " ") {
		switch {
		case current == "":
			current = word
		case utf8.RuneCountInString(current)+1+utf8.RuneCountInString(word) > width:
			out, current = append(out, current), word
		default:
			current += " " + word
		}
	}
	return append(out, current)
}
