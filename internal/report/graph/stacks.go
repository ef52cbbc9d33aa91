package graph

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/page"
)

// Stacks lists stacks, one a line: the key, the workspace, and where the state
// is kept, as far as the code says so. It ends with the directories that have
// resources and are no stacks (docs/scan.md, rule 38).
func Stacks(w io.Writer, stacks []api.Stack, stateless []string, o page.Options) error {
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
	if len(stateless) > 0 {
		p.Line(0, p.Paint(page.Dim, passedOver(stateless)))
	}
	_, err := p.WriteTo(w)
	return err
}

// namesMax is how many directories a line names.
const namesMax = 5

// passedOver says which directories people might look for among the stacks.
func passedOver(dirs []string) string {
	if len(dirs) == 1 {
		return "1 directory has resources and no backend, and is no stack: " + page.Visible(dirs[0]) + "; stacks.include makes it one"
	}
	var names []string
	for _, dir := range dirs[:min(len(dirs), namesMax)] {
		names = append(names, page.Visible(dir))
	}
	list := strings.Join(names, ", ")
	if more := len(dirs) - len(names); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%d directories have resources and no backend, and are no stacks: %s; stacks.include makes them stacks", len(dirs), list)
}
