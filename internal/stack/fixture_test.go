package stack

import (
	"strings"
	"testing"
)

// local is a call of a local module, as the scan reports it.
func local(dir string) Call {
	return Call{Name: "m", Source: "../" + dir, Kind: LocalModule, Key: dir}
}

func git(key, ref string) Call {
	return Call{Name: "m", Source: "git::https://github.com/" + key + "?ref=" + ref, Kind: GitModule, Key: key, Ref: ref}
}

func s3(id string) State { return State{Type: "s3", ID: "states/" + id} }

// st is a stack whose state has its name, with the dependencies that it declares.
func st(key string, dependsOn ...string) Stack {
	k := mustKey(key)
	return Stack{Key: k, Tool: "tofu", State: s3(key), DependsOn: dependsOn, Position: k.Path + "/main.tf:1"}
}

func (s Stack) calling(calls ...Call) Stack    { s.Calls = calls; return s }
func (s Stack) reading(states ...State) Stack  { s.Reads = states; return s }
func (s Stack) ignoring(keys ...string) Stack  { s.Ignore = keys; return s }
func (s Stack) watching(paths ...string) Stack { s.WatchPaths = paths; return s }
func (s Stack) at(state State) Stack           { s.State = state; return s }

func mustKey(text string) Key {
	k, err := ParseKey(text)
	if err != nil {
		panic(err)
	}
	return k
}

func keys(texts string) []Key {
	var out []Key
	for _, text := range strings.Fields(texts) {
		out = append(out, mustKey(text))
	}
	return out
}

func build(t testing.TB, s Scanned) Graph {
	t.Helper()
	g, err := Build(s)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// edgeTexts writes the edges of a graph one a line, as FROM -KIND-> TO.
func edgeTexts(g Graph) string {
	var b strings.Builder
	for _, e := range g.Shape().Edges {
		b.WriteString(e.From + " -" + string(e.Kind) + "-> " + e.To + "\n")
	}
	return b.String()
}

func affectedText(t testing.TB, g Graph, c Changes) string {
	t.Helper()
	a, err := Affected(g, c)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, s := range a.Stacks {
		b.WriteString(s.Key)
		for _, v := range s.Via {
			b.WriteString(" " + string(v.Reason) + "=" + v.From)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func waveText(waves [][]Key) string {
	var b strings.Builder
	for _, w := range waves {
		for i, k := range w {
			if i > 0 {
				b.WriteString(" ")
			}
			b.WriteString(k.String())
		}
		b.WriteString("\n")
	}
	return b.String()
}

// lines makes the want of a test readable: one item a line, tabs dropped.
func lines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
