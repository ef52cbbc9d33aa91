// Package contrast decides how the difference between two plans looks to a
// person. It must not know how plans are compared.
package contrast

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/page"
)

// Limits of what is shown of one change; the rest is in JSON.
const (
	linesMax = 20 // attributes
	valueMax = 60 // runes of one value
)

// Text writes a difference: what only one plan does, what both do in another
// way, and then the outputs and the rest (docs/report.md, rule 19).
func Text(w io.Writer, d api.PlanDifference, o page.Options) error {
	s := sheet{page.New(o)}
	if d.Equal {
		s.Line(0, "The two plans do the same.")
	} else {
		s.Line(0, s.Paint(page.Bold, "The two plans differ."))
		s.changes(d.Changes)
		s.outputs(d.Outputs)
		if len(d.Facts) > 0 {
			s.title("Of the plan as a whole", len(d.Facts))
			s.values(2, d.Facts)
		}
	}
	_, err := s.WriteTo(w)
	return err
}

type sheet struct{ *page.Page }

func (s sheet) title(text string, n int) {
	s.Line(0, "")
	s.Line(0, s.Paint(page.Bold, fmt.Sprintf("%s (%d)", text, n)))
}

func (s sheet) changes(all []api.ChangeDifference) {
	for _, kind := range []struct {
		title string
		is    func(api.ChangeDifference) bool
	}{
		{"Only in the first plan", func(c api.ChangeDifference) bool { return c.Second == "" }},
		{"Only in the second plan", func(c api.ChangeDifference) bool { return c.First == "" }},
		{"In both, and not the same", func(c api.ChangeDifference) bool { return c.First != "" && c.Second != "" }},
	} {
		var found []api.ChangeDifference
		for _, c := range all {
			if kind.is(c) {
				found = append(found, c)
			}
		}
		if len(found) > 0 {
			s.title(kind.title, len(found))
		}
		for _, c := range found {
			s.change(c)
		}
	}
}

// change writes one, with the mark of what the second plan does, or else the
// first. The attributes come last, because they may be cut.
func (s sheet) change(c api.ChangeDifference) {
	label := c.Second
	if label == "" {
		label = c.First
	}
	head := fmt.Sprintf("%3s", page.Symbol(label)) + " " + page.Visible(c.Addr)
	if c.Deposed != "" {
		head += " (deposed object " + page.Visible(c.Deposed) + ")"
	}
	switch c.Part {
	case "deferred":
		head += " (left for another plan)"
	case "drift":
		head += " (changed outside of the configuration)"
	}
	s.Line(2, head)
	if c.First != "" && c.Second != "" && c.First != c.Second {
		s.Line(8, page.Visible(c.First)+" → "+page.Visible(c.Second))
	}
	s.values(8, c.Facts)
	s.values(8, c.Attributes)
}

func (s sheet) outputs(all []api.OutputDifference) {
	if len(all) > 0 {
		s.title("Outputs", len(all))
	}
	for _, o := range all {
		line := page.Visible(o.Name)
		if o.First != o.Second {
			line += ": " + action(o.First) + " → " + action(o.Second)
		}
		s.Line(2, line)
		s.values(8, o.Values)
	}
}

func action(name string) string {
	if name == "" {
		return "no change"
	}
	return page.Visible(name)
}

func (s sheet) values(indent int, all []api.ValueDifference) {
	for _, v := range all[:min(linesMax, len(all))] {
		s.Line(indent, value(v))
	}
	if more := len(all) - linesMax; more > 0 {
		s.Line(indent, fmt.Sprintf("and %s more", page.Plural(more, "value")))
	}
}

// value is one line. Two that look the same are told to be two: secrets, and
// texts that differ behind where they are cut.
func value(v api.ValueDifference) string {
	name := page.Visible(v.Path)
	if name == "" {
		name = "value"
	}
	if v.Side == "before" {
		name += " as it is now"
	}
	first, second := shown(v.First), shown(v.Second)
	line := name + ": " + first + " → " + second
	switch {
	case v.Marked != "":
		line += ", marked as sensitive in the " + v.Marked + " plan only"
	case first == second:
		line += ", which is another one"
	}
	return line
}

// shown is a value as JSON, shortened. What stands in place of a value is said
// in the words of the tools.
func shown(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "(not shown)"
	}
	text := strings.TrimSuffix(b.String(), "\n")
	for _, word := range []struct{ name, text string }{
		{"$unknown", "(known after apply)"}, {"$sensitive", "(sensitive)"}, {"$absent", "(none)"},
	} {
		text = strings.ReplaceAll(text, `{"`+word.name+`":true}`, word.text)
	}
	return page.Clip(page.Visible(text), valueMax)
}
