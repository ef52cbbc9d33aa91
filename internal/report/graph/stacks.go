package graph

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/page"
)

// Stacks lists stacks, one a line: the key, the workspace, and where the state
// is kept, as far as the code says so.
func Stacks(w io.Writer, stacks []api.Stack, o page.Options) error {
	p := page.New(o)
	wide := 0
	for _, s := range stacks {
		wide = max(wide, utf8.RuneCountInString(page.Visible(s.Key)))
	}
	for _, s := range stacks {
		key := page.Visible(s.Key)
		state := "state unknown"
		if s.State != nil {
			state = s.State.Type + " " + page.Visible(s.State.ID)
		}
		if s.Workspace != "" {
			state += ", workspace " + page.Visible(s.Workspace)
		}
		p.Line(0, key+strings.Repeat(" ", wide-utf8.RuneCountInString(key))+"  "+p.Paint(page.Dim, state))
	}
	if len(stacks) == 0 {
		p.Line(0, "There is no stack.")
	}
	_, err := p.WriteTo(w)
	return err
}
