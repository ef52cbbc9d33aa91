// Package graph decides how the graph of a repository looks: as a tree, as DOT,
// as Mermaid, as JSON and as a page with an interactive picture.
//
// A stack is called after a directory, and whoever may open a pull request may
// name directories. The one idea of the package is that of package report: a
// name is shown, never interpreted (docs/stacks.md, rule 22). It must not know
// how a graph comes about.
package graph

import (
	"io"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/page"
)

// A Picture is a graph, where each stack stands in it, and what is affected.
type Picture struct {
	Graph    api.Graph
	Waves    [][]string    // of every stack of the repository, by key
	Affected *api.Affected // nil where nothing was compared
}

// A Format is one way to draw a picture.
type Format struct {
	Name  string
	Write func(io.Writer, Picture, page.Options) error
}

// Formats lists every format, in the order of the documentation.
func Formats() []Format {
	return []Format{
		{"text", Text},
		{"dot", DOT},
		{"mermaid", Mermaid},
		{"json", JSON},
		{"html", HTML},
	}
}

// JSON writes the graph as it is, without what is affected.
func JSON(w io.Writer, p Picture, _ page.Options) error { return page.JSON(w, p.Graph) }

// A node is a stack or a module of a picture.
type node struct {
	id     string // s0, m0: nothing of the name is in it
	name   string // visible
	stack  *api.Stack
	module *api.StackModule
	why    *api.AffectedStack // nil where it is not affected
}

// An arrow is an edge between the places of two nodes.
type arrow struct {
	from, to int
	kind     api.EdgeKind
}

// nodes returns the stacks and then the modules, and what is between them.
func (p Picture) nodes() ([]node, []arrow) {
	why := map[string]*api.AffectedStack{}
	if p.Affected != nil {
		for i, s := range p.Affected.Stacks {
			why[s.Key] = &p.Affected.Stacks[i]
		}
	}
	var nodes []node
	stacks, modules := map[string]int{}, map[string]int{}
	for i := range p.Graph.Stacks {
		s := &p.Graph.Stacks[i]
		stacks[s.Key] = len(nodes)
		nodes = append(nodes, node{id: id("s", i), name: page.Visible(s.Key), stack: s, why: why[s.Key]})
	}
	for i := range p.Graph.Modules {
		m := &p.Graph.Modules[i]
		modules[m.Key] = len(nodes)
		nodes = append(nodes, node{id: id("m", i), name: page.Visible(m.Key), module: m})
	}
	var arrows []arrow
	for _, e := range p.Graph.Edges {
		from, isStack := stacks[e.From]
		to := stacks[e.To]
		if e.Kind == api.UsesModule {
			to = modules[e.To]
		}
		if isStack {
			arrows = append(arrows, arrow{from, to, e.Kind})
		}
		// A stack that is called as a module calls as both.
		if m, ok := modules[e.From]; ok && e.Kind == api.UsesModule {
			arrows = append(arrows, arrow{m, to, e.Kind})
		}
	}
	return nodes, arrows
}

// note is what a reader must know of a node beside its name.
func (n node) note() string {
	switch {
	case n.stack == nil:
		if n.module.Kind == "local" {
			return ""
		}
		return n.module.Kind
	case n.stack.External:
		return "another repository"
	case n.stack.Unknown:
		return "unknown"
	}
	return ""
}

// reasons are why a node is affected, in words.
func (n node) reasons() string {
	if n.why == nil {
		return ""
	}
	text := ""
	for i, r := range n.why.Reasons {
		if i > 0 {
			text += ", "
		}
		text += string(r)
	}
	return text
}
