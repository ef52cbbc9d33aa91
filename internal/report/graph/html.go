package graph

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // for the parts of the page
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/page"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// HTML writes one page with an interactive picture. It needs no network and may
// not use one: its policy lets only its own script run and nothing be fetched.
// Without scripts it is a list of the waves.
func HTML(w io.Writer, p Picture, _ page.Options) error {
	data := p.data()
	text, err := json.Marshal(data) // escapes < and >, so no name can end the element that it stands in
	if err != nil {
		return fmt.Errorf("encoding the picture: %w", err)
	}
	t, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return fmt.Errorf("the template of the page: %w", err)
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"Title":    data.Title,
		"Columns":  data.Columns,
		"Nodes":    data.Nodes,
		"Warnings": data.Warnings,
		"Data":     template.JS(page.Inert(text)),
		"CSS":      template.CSS(pageCSS),
		"JS":       template.JS(pageJS),
		"Policy":   "default-src 'none'; base-uri 'none'; form-action 'none'; style-src '" + hashOf(pageCSS) + "'; script-src '" + hashOf(pageJS) + "'",
	})
	if err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	_, err = w.Write(page.DisarmXML(b.Bytes()))
	return err
}

// hashOf is how a policy names the one text that it lets in.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// The data of the page. Every text in it is visible. It is no interface: only
// the script beside it reads it.
type (
	pageData struct {
		Title    string       `json:"title"`
		Compared bool         `json:"compared"` // it is known what is affected
		Columns  []pageColumn `json:"columns"`
		Nodes    []pageNode   `json:"nodes"`
		Edges    [][3]int     `json:"edges"` // from, to, place in Kinds
		Kinds    []string     `json:"kinds"`
		Warnings []string     `json:"warnings"`
	}
	pageColumn struct {
		Title string `json:"title"`
		Nodes []int  `json:"nodes"` // from top to bottom
	}
	pageNode struct {
		Name    string      `json:"name"`
		Kind    string      `json:"kind"` // stack, absent or module
		Note    string      `json:"note,omitempty"`
		Reasons string      `json:"reasons,omitempty"` // of an affected one
		Why     [][2]string `json:"why,omitempty"`     // reason, from
		Facts   [][2]string `json:"facts,omitempty"`
	}
)

func (p Picture) data() pageData {
	nodes, arrows := p.nodes()
	d := pageData{
		Title: "Stacks", Compared: p.Affected != nil, Columns: []pageColumn{}, Nodes: []pageNode{}, Edges: [][3]int{},
		Kinds: []string{string(api.DependsOn), string(api.ReadsState), string(api.UsesModule)}, Warnings: []string{},
	}
	if p.Graph.Repo != "" {
		d.Title = "Stacks of " + page.Visible(p.Graph.Repo)
	}
	l := p.arrange(nodes, arrows)
	for i, title := range l.titles {
		d.Columns = append(d.Columns, pageColumn{title, l.columns[i]})
	}
	for _, n := range nodes {
		d.Nodes = append(d.Nodes, n.data())
	}
	kinds := map[api.EdgeKind]int{api.DependsOn: 0, api.ReadsState: 1, api.UsesModule: 2}
	for _, a := range arrows {
		d.Edges = append(d.Edges, [3]int{a.from, a.to, kinds[a.kind]})
	}
	warnings := p.Graph.Warnings
	if p.Affected != nil {
		warnings = p.Affected.Warnings
	}
	for _, warning := range warnings {
		d.Warnings = append(d.Warnings, page.Visible(warning))
	}
	return d
}

func (n node) data() pageNode {
	d := pageNode{Name: n.name, Kind: "stack", Note: n.note(), Reasons: n.reasons()}
	if n.why != nil {
		for _, v := range n.why.Via {
			d.Why = append(d.Why, [2]string{string(v.Reason), page.Visible(v.From)})
		}
	}
	fact := func(name, value string) {
		if value != "" {
			d.Facts = append(d.Facts, [2]string{name, page.Visible(value)})
		}
	}
	if n.module != nil {
		d.Kind = "module"
		fact("ref", n.module.Ref)
		return d
	}
	s := n.stack
	if s.External || s.Unknown {
		d.Kind = "absent"
	}
	fact("environment", s.Environment)
	fact("workspace", s.Workspace)
	fact("tool", s.Tool)
	fact("version", s.ToolVersion)
	if s.State != nil {
		fact("state", s.State.Type+" "+s.State.ID)
	}
	fact("declared in", s.Position)
	return d
}
