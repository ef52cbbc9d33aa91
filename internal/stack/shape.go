package stack

import (
	"cmp"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
)

// describe says what the graph is in the words of the api, sorted.
func (b *builder) describe() {
	absent := b.shape.Stacks
	b.shape.Stacks = make([]api.Stack, 0, len(b.keys))
	for i, s := range b.stacks {
		b.shape.Stacks = append(b.shape.Stacks, s.shape(b.keys[i]))
	}
	b.shape.Stacks = append(b.shape.Stacks, absent...)
	slices.SortFunc(b.shape.Stacks, func(x, y api.Stack) int { return strings.Compare(x.Key, y.Key) })

	b.shape.Modules = append([]api.StackModule{}, b.modules.shapes...)
	b.shape.Edges = append([]api.Edge{}, b.edges...)
	slices.SortFunc(b.shape.Edges, func(x, y api.Edge) int {
		return cmp.Or(strings.Compare(x.From, y.From), strings.Compare(x.To, y.To),
			strings.Compare(string(x.Kind), string(y.Kind)), strings.Compare(x.Source, y.Source))
	})
	// A stack that is called as a module makes the same calls as both.
	b.shape.Edges = slices.CompactFunc(b.shape.Edges, func(x, y api.Edge) bool {
		return x.From == y.From && x.To == y.To && x.Kind == y.Kind
	})
	b.shape.Warnings = sortedTexts(b.warnings)
}

func (s Stack) shape(key string) api.Stack {
	return api.Stack{
		Key: key, Path: s.Key.Path, Instance: s.Key.Instance, Workspace: s.Workspace, Environment: s.Environment,
		Tool: s.Tool, ToolVersion: s.ToolVersion, State: s.State.ref(), WatchPaths: slices.Clone(s.WatchPaths),
		TreeHash: s.TreeHash, Position: s.Position,
	}
}

// sortedTexts returns each text once; never nil.
func sortedTexts(texts []string) []string {
	out := append([]string{}, texts...)
	slices.Sort(out)
	return slices.Compact(out)
}
