package graph

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/page"
)

// Mermaid draws the graph for Markdown, as GitHub and GitLab show it. An arrow
// goes from what depends to what it depends on, dotted where a state is read.
func Mermaid(w io.Writer, p Picture, _ page.Options) error {
	nodes, arrows := p.nodes()
	var b bytes.Buffer
	b.WriteString("flowchart RL\n")
	classes := map[string][]string{}
	for _, n := range nodes {
		left, right, class := "[", "]", ""
		switch {
		case n.module != nil:
			left, right, class = "{{", "}}", "module"
		case n.why != nil:
			class = "affected"
		case n.note() != "":
			class = "absent"
		}
		fmt.Fprintf(&b, "  %s%s%s%s\n", n.id, left, quoteMermaid(n.name), right)
		classes[class] = append(classes[class], n.id)
	}
	for _, a := range arrows {
		line := "-->"
		if a.kind == api.ReadsState {
			line = "-.->"
		}
		fmt.Fprintf(&b, "  %s %s %s\n", nodes[a.from].id, line, nodes[a.to].id)
	}
	for _, class := range []struct{ name, style string }{
		{"affected", "stroke:#0d9488,stroke-width:3px"},
		{"absent", "stroke-dasharray:4 3"},
		{"module", "stroke:#9ca3af"},
	} {
		if ids := classes[class.name]; len(ids) > 0 {
			fmt.Fprintf(&b, "  classDef %s %s\n  class %s %s\n", class.name, class.style, strings.Join(ids, ","), class.name)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// quoteMermaid writes visible text as a label. Everything that Mermaid, Markdown
// or HTML could take for more than a letter is a character code, which is how
// Mermaid escapes.
func quoteMermaid(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9',
			strings.ContainsRune(" /:.-", r), r > 0x7f:
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
