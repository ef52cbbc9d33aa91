package stack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// A Graph says what depends on what. [Build] makes it, and nothing changes it
// afterwards, so several may read it at once.
//
// Stacks and what they depend on are nodes, numbered from 0: first the stacks
// of this repository in the order of their keys, then the absent ones. Modules
// are numbered by themselves. Every list of numbers is in ascending order, and
// so everything derived from the graph is the same whatever order it was
// scanned in.
type Graph struct {
	stacks   []Stack          // a stack's index is its number
	keys     []string         // of every node
	byKey    map[string]int   // every node
	byPath   map[string][]int // directory: its stacks
	needs    [][]need         // node: what it depends on
	neededBy [][]int          // node: what depends on it
	order    []int            // every node, after all that it depends on
	modules  modules

	shape api.Graph
}

// A need is one edge to a node, without what only people want to know of it.
type need struct {
	to   int
	kind api.EdgeKind
}

// Build makes the graph of what a scan has found, in any order (docs/stacks.md,
// rule 2). It fails where two stacks have one key, and, with [Cycles], where
// stacks depend on themselves.
func Build(s Scanned) (Graph, error) {
	b, err := newBuilder(s)
	if err != nil {
		return Graph{}, err
	}
	b.callModules(s.Modules)
	b.shareStates()
	for i := range b.stacks {
		b.depend(i)
		b.read(i)
	}
	b.connect()
	if err := b.arrange(); err != nil {
		return Graph{}, err
	}
	b.describe()
	return b.Graph, nil
}

// Shape is the graph as it leaves the process. It is shared: do not change it.
func (g Graph) Shape() api.Graph { return g.shape }

// Stack returns what the scan found out about a stack of this repository.
func (g Graph) Stack(k Key) (Stack, bool) {
	i, ok := g.byKey[k.String()]
	if !ok || i >= len(g.stacks) {
		return Stack{}, false
	}
	return g.stacks[i], true
}

// In returns the keys of the stacks of exactly one directory, sorted: none, one,
// or one for each instance.
func (g Graph) In(dir string) []Key {
	var keys []Key
	for _, i := range g.byPath[dir] {
		keys = append(keys, g.stacks[i].Key)
	}
	return keys
}

// Find returns the one stack that people mean by a key. A directory with
// instances is not enough where there are several (docs/stacks.md, rule 3).
func (g Graph) Find(text string) (Stack, error) {
	k, err := ParseKey(text)
	if err != nil {
		return Stack{}, err
	}
	if strings.EqualFold(k.Repo, g.shape.Repo) {
		k.Repo = ""
	}
	if s, ok := g.Stack(k); ok {
		return s, nil
	}
	in := g.byPath[k.Path]
	switch {
	case k.Repo != "":
		return Stack{}, problem.New(api.NotFound, "%s is a stack of another repository", k)
	case len(in) == 0:
		return Stack{}, problem.New(api.NotFound, "there is no stack %s", k).WithHint("assize stacks lists them all")
	case len(in) == 1 && k.Instance == "":
		return g.stacks[in[0]], nil
	}
	return Stack{}, problem.New(api.NotFound, "there is no stack %s", k).
		WithHint("%s has %s", k.Path, g.list(in))
}

// Dependents returns every stack of this repository that depends on one of the
// keys, directly or through others, without the keys themselves, sorted.
func (g Graph) Dependents(keys ...Key) []Key {
	return g.reach(keys, func(i int) []int { return g.neededBy[i] })
}

// Dependencies returns every stack of this repository that one of the keys
// depends on, directly or through others, without the keys themselves, sorted.
func (g Graph) Dependencies(keys ...Key) []Key {
	return g.reach(keys, func(i int) []int {
		next := make([]int, len(g.needs[i]))
		for j, n := range g.needs[i] {
			next[j] = n.to
		}
		return next
	})
}

func (g Graph) reach(keys []Key, next func(int) []int) []Key {
	var from []int
	start := make([]bool, len(g.keys))
	for _, k := range keys {
		if i, ok := g.byKey[k.String()]; ok {
			from, start[i] = append(from, i), true
		}
	}
	var out []Key
	for i, reached := range closure(len(g.keys), from, next) {
		if reached && !start[i] && i < len(g.stacks) {
			out = append(out, g.stacks[i].Key)
		}
	}
	return out
}

// closure marks from and everything that next leads to. It keeps its own stack,
// for a chain may be as long as there are stacks.
func closure(n int, from []int, next func(int) []int) []bool {
	seen := make([]bool, n)
	work := slices.Clone(from)
	for _, i := range work {
		seen[i] = true
	}
	for len(work) > 0 {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		for _, j := range next(i) {
			if !seen[j] {
				seen[j] = true
				work = append(work, j)
			}
		}
	}
	return seen
}

func (g Graph) names(nodes []int) []string {
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = g.keys[n]
	}
	return out
}

// listMax is how many names a message holds: a directory may have hundreds of
// instances.
const listMax = 10

func (g Graph) list(nodes []int) string {
	if len(nodes) <= listMax {
		return strings.Join(g.names(nodes), ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(g.names(nodes[:listMax]), ", "), len(nodes)-listMax)
}

// A builder is a graph in the making.
type builder struct {
	Graph
	states   map[State][]int // who keeps its state there
	declared []int           // node: the last stack that declared it depends on it, or none
	inferred []int           // node: the last stack that was found to read its state, or none
	edges    []api.Edge
	warnings []string
}

// none is the number of no stack.
const none = -1

func newBuilder(s Scanned) (*builder, error) {
	b := &builder{states: map[State][]int{}, warnings: slices.Clone(s.Warnings)}
	b.shape.Repo = s.Repo
	keys := make(map[string]int, len(s.Stacks)) // where each stands in s
	for i, st := range s.Stacks {
		key := st.Key.String()
		if j, twice := keys[key]; twice {
			other := s.Stacks[j].Position
			return nil, problem.New(api.Invalid, "two stacks are called %s: %s and %s", key,
				min(other, st.Position), max(other, st.Position))
		}
		keys[key] = i
		b.keys = append(b.keys, key)
	}
	slices.Sort(b.keys)
	b.stacks = make([]Stack, len(b.keys))
	b.byKey = make(map[string]int, len(b.keys))
	b.byPath = make(map[string][]int, len(b.keys))
	b.needs = make([][]need, len(b.keys))
	b.declared = slices.Repeat([]int{none}, len(b.keys))
	b.inferred = slices.Repeat([]int{none}, len(b.keys))
	for i, key := range b.keys {
		st := s.Stacks[keys[key]]
		b.stacks[i], b.byKey[key] = st, i
		b.byPath[st.Key.Path] = append(b.byPath[st.Key.Path], i)
		if st.State != (State{}) {
			b.states[st.State] = append(b.states[st.State], i)
		}
	}
	return b, nil
}

func (b *builder) warn(format string, args ...any) {
	b.warnings = append(b.warnings, fmt.Sprintf(format, args...))
}

// connect sorts what every node needs and turns it around.
func (b *builder) connect() {
	b.neededBy = make([][]int, len(b.keys))
	for i := range b.needs {
		slices.SortFunc(b.needs[i], func(x, y need) int {
			return cmp.Or(cmp.Compare(x.to, y.to), cmp.Compare(x.kind, y.kind))
		})
		for _, n := range b.needs[i] {
			b.neededBy[n.to] = append(b.neededBy[n.to], i)
		}
	}
}
