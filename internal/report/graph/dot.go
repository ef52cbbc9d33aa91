package graph

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/page"
)

// DOT draws the graph for Graphviz: the waves from left to right, an arrow from
// what depends to what it depends on, dashed where a state is read, grey to a
// module.
func DOT(w io.Writer, p Picture, _ page.Options) error {
	nodes, arrows := p.nodes()
	var b bytes.Buffer
	b.WriteString("digraph stacks {\n  rankdir=RL;\n  node [shape=box, style=rounded, fontname=\"Helvetica\"];\n")
	ids := map[string]string{}
	for _, n := range nodes {
		if n.stack != nil {
			ids[n.stack.Key] = n.id
		}
		fmt.Fprintf(&b, "  %s [label=%s%s];\n", n.id, quoteDOT(n.name), dotStyle(n))
	}
	for _, wave := range p.Waves {
		b.WriteString("  { rank=same;")
		for _, key := range wave {
			b.WriteString(" " + ids[key] + ";")
		}
		b.WriteString(" }\n")
	}
	for _, a := range arrows {
		style := map[api.EdgeKind]string{
			api.ReadsState: " [style=dashed]",
			api.UsesModule: ` [color=gray, arrowhead=empty]`,
		}[a.kind]
		fmt.Fprintf(&b, "  %s -> %s%s;\n", nodes[a.from].id, nodes[a.to].id, style)
	}
	b.WriteString("}\n")
	_, err := w.Write(page.Disarm(b.Bytes()))
	return err
}

func dotStyle(n node) string {
	switch {
	case n.module != nil:
		return ", shape=component, color=gray"
	case n.why != nil:
		return `, style="rounded,filled", fillcolor="#ccfbf1", tooltip=` + quoteDOT(n.reasons())
	case n.note() != "":
		return ", style=dashed, tooltip=" + quoteDOT(n.note())
	}
	return ""
}

// quoteDOT writes visible text as a string of DOT. A backslash is doubled,
// because a label has escapes of its own: \N is the name of the node. Graphviz
// reads entities of HTML in every label.
func quoteDOT(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `&`, `&amp;`).Replace(text) + `"`
}
