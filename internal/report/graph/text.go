package graph

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/page"
)

func id(kind string, n int) string { return kind + strconv.Itoa(n) }

// depthMax is how deep the tree is indented. What is deeper begins a tree of its
// own, or a chain would take space by the square of its length.
const depthMax = 16

// Text draws the trees of what depends on what, from what needs nothing down to
// what needs it: the order in which an apply goes. What hangs under a stack is
// drawn once, where the stack comes first; then come the modules with those that
// call them, and the warnings.
func Text(w io.Writer, p Picture, o page.Options) error {
	nodes, arrows := p.nodes()
	t := forest{Page: page.New(o), nodes: nodes, under: make([][]arrow, len(nodes)), drawn: make([]bool, len(nodes))}
	roots := make([]bool, len(nodes))
	for i := range nodes {
		roots[i] = nodes[i].stack != nil
	}
	for _, a := range arrows {
		t.under[a.to] = append(t.under[a.to], a)
		roots[a.from] = roots[a.from] && a.kind == api.UsesModule
	}
	for i, is := range roots {
		if is {
			t.tree(i)
		}
	}
	for len(t.later) > 0 {
		i := t.later[0]
		t.later = t.later[1:]
		if !t.drawn[i] {
			t.tree(i)
		}
	}
	t.modules()
	if len(nodes) == 0 {
		t.Line(0, "There is no stack.")
	}
	for _, warning := range p.Graph.Warnings {
		t.Line(0, t.Paint(page.Yellow, "warning: ")+page.Visible(warning))
	}
	_, err := t.WriteTo(w)
	return err
}

type forest struct {
	*page.Page
	nodes []node
	under [][]arrow // node: what needs it
	drawn []bool
	later []int // what was too deep to draw
}

// A twig is one line of a tree that is still to be drawn.
type twig struct {
	node   int
	kind   api.EdgeKind // of the edge to the line above; "" for a root
	indent string
	last   bool
	depth  int
}

func (t *forest) tree(root int) {
	work := []twig{{node: root}}
	for len(work) > 0 {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		under := t.under[at.node]
		stem, indent := "", ""
		if at.kind != "" {
			stem, indent = at.indent+"├─ ", at.indent+"│  "
			if at.last {
				stem, indent = at.indent+"└─ ", at.indent+"   "
			}
		}
		more := ""
		switch {
		case len(under) == 0:
		case t.drawn[at.node]:
			more, under = "  (above)", nil
		case at.depth == depthMax:
			more, under = "  (below)", nil
			t.later = append(t.later, at.node)
		default:
			t.drawn[at.node] = true
		}
		t.Line(0, stem+t.label(t.nodes[at.node], at.kind)+more)
		for i := len(under) - 1; i >= 0; i-- {
			work = append(work, twig{under[i].from, under[i].kind, indent, i == len(under)-1, at.depth + 1})
		}
	}
}

func (t *forest) label(n node, kind api.EdgeKind) string {
	text := n.name
	if note := n.note(); note != "" {
		text += "  (" + note + ")"
	}
	if kind == api.ReadsState {
		text += "  (reads its state)"
	}
	if n.why != nil {
		text += "  " + t.Paint(page.Cyan, "affected: "+n.reasons())
	}
	return text
}

// modules lists every module with what calls it.
func (t *forest) modules() {
	title := "modules"
	for i, n := range t.nodes {
		if n.module == nil {
			continue
		}
		if title != "" {
			t.Line(0, "")
			t.Line(0, t.Paint(page.Bold, title))
			title = ""
		}
		t.Line(0, t.label(n, ""))
		for j, a := range t.under[i] {
			stem := "├─ "
			if j == len(t.under[i])-1 {
				stem = "└─ "
			}
			t.Line(0, stem+t.nodes[a.from].name)
		}
	}
}

// Affected lists what is affected by its waves, with what brought each stack in,
// and what is gone.
func Affected(w io.Writer, a api.Affected, o page.Options) error {
	p := page.New(o)
	stacks := map[string]api.AffectedStack{}
	for _, s := range a.Stacks {
		stacks[s.Key] = s
	}
	for i, wave := range a.Waves {
		p.Line(0, p.Paint(page.Bold, "wave "+strconv.Itoa(i+1)))
		for _, key := range wave {
			p.Line(2, page.Visible(key)+"  "+p.Paint(page.Dim, strings.Join(brought(stacks[key].Via, page.Visible), ", ")))
		}
	}
	if len(a.Stacks) == 0 {
		p.Line(0, "No stack is affected.")
	}
	for _, warning := range a.Warnings {
		p.Line(0, p.Paint(page.Yellow, "warning: ")+page.Visible(warning))
	}
	_, err := p.WriteTo(w)
	return err
}

// brought names, for each reason, what comes first, as show shows it, and how
// many more there are.
func brought(via []api.Via, show func(string) string) []string {
	var out []string
	for i := 0; i < len(via); {
		n := 1
		for i+n < len(via) && via[i+n].Reason == via[i].Reason {
			n++
		}
		text := string(via[i].Reason) + " " + show(via[i].From)
		if n > 1 {
			text += fmt.Sprintf(" and %d more", n-1)
		}
		out = append(out, text)
		i += n
	}
	return out
}
