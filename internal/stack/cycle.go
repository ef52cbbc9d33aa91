package stack

import (
	"fmt"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// cyclesMax is how many cycles one error tells. Who mends the first twenty will
// ask again.
const cyclesMax = 20

// Cycles is why a graph has no order. Each path begins with its smallest key
// and ends with it again; the shortest come first. Every stack that is on a
// cycle is on one of the paths, or there were more than twenty.
type Cycles struct {
	Paths [][]string
	More  bool // there are others
}

func (c *Cycles) Error() string {
	paths := make([]string, len(c.Paths))
	for i, p := range c.Paths {
		paths[i] = strings.Join(p, " -> ")
	}
	if c.More {
		paths = append(paths, "and more")
	}
	if len(paths) == 1 {
		return "stacks depend on themselves: " + paths[0]
	}
	return "stacks depend on themselves:\n" + strings.Join(paths, "\n")
}

// arrange puts every node after all that it depends on, or says why that cannot
// be (docs/stacks.md, rule 11).
func (b *builder) arrange() error {
	waits := make([]int, len(b.keys))
	for i, needs := range b.needs {
		waits[i] = len(needs)
		if waits[i] == 0 {
			b.order = append(b.order, i)
		}
	}
	for next := 0; next < len(b.order); next++ {
		for _, i := range b.neededBy[b.order[next]] {
			if waits[i]--; waits[i] == 0 {
				b.order = append(b.order, i)
			}
		}
	}
	if len(b.order) == len(b.keys) {
		return nil
	}
	cycles := b.cycles()
	return &problem.Error{Code: api.Invalid, Message: cycles.Error(), Cause: cycles,
		Hint: "remove one dependency of each cycle from depends_on; one that only a read of state makes goes under ignore_inferred"}
}

// cycles finds, for every stack that is on a cycle and on none that was found
// already, a shortest one through it. All cycles there are could be more than
// there are atoms.
func (b *builder) cycles() *Cycles {
	knots := b.knots()
	c := &Cycles{}
	covered := make([]bool, len(b.keys))
	for i := range b.stacks {
		if covered[i] || knots[i] < 0 {
			continue
		}
		if len(c.Paths) == cyclesMax {
			c.More = true
			break
		}
		path := b.shortestCycle(i, knots)
		for _, j := range path {
			covered[j] = true
		}
		path = path[:len(path)-1]
		at := slices.Index(path, slices.Min(path))
		path = slices.Concat(path[at:], path[:at], path[at:at+1])
		c.Paths = append(c.Paths, b.names(path))
	}
	slices.SortStableFunc(c.Paths, func(p, q []string) int {
		if len(p) != len(q) {
			return len(p) - len(q)
		}
		return slices.Compare(p, q)
	})
	return c
}

// shortestCycle walks breadth first from a node until it is there again, never
// leaving its knot.
func (b *builder) shortestCycle(start int, knots []int) []int {
	from := map[int]int{}
	work := []int{start}
	for next := 0; next < len(work); next++ {
		i := work[next]
		for _, n := range b.needs[i] {
			if n.to == start {
				path := []int{start}
				for j := i; j != start; j = from[j] {
					path = append(path, j)
				}
				path = append(path, start)
				slices.Reverse(path)
				return path
			}
			if _, seen := from[n.to]; !seen && knots[n.to] == knots[start] {
				from[n.to] = i
				work = append(work, n.to)
			}
		}
	}
	panic(fmt.Sprintf("%s is in a knot and on no cycle", b.keys[start]))
}

// knots returns for every node the number of the strongly connected component
// that it is in, or -1 where it is on no cycle. It is Tarjan's algorithm with a
// stack of its own, for a cycle may be as long as there are stacks.
func (b *builder) knots() []int {
	n := len(b.keys)
	index, low, knot, next := make([]int, n), make([]int, n), make([]int, n), make([]int, n)
	for i := range knot {
		knot[i] = -1
	}
	var path, open []int // what is being visited; what is not in a component yet
	isOpen := make([]bool, n)
	count := 0
	enter := func(i int) {
		count++
		index[i], low[i], isOpen[i] = count, count, true
		path, open = append(path, i), append(open, i)
	}
	for root := range n {
		if index[root] == 0 {
			enter(root)
		}
		for len(path) > 0 {
			i := path[len(path)-1]
			if next[i] < len(b.needs[i]) {
				j := b.needs[i][next[i]].to
				next[i]++
				if index[j] == 0 {
					enter(j)
				} else if isOpen[j] {
					low[i] = min(low[i], index[j])
				}
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				up := path[len(path)-1]
				low[up] = min(low[up], low[i])
			}
			if low[i] == index[i] {
				at := len(open) - 1
				for ; open[at] != i; at-- {
					isOpen[open[at]] = false
				}
				isOpen[i] = false
				b.tie(open[at:], knot)
				open = open[:at]
			}
		}
	}
	return knot
}

// tie numbers the nodes of one component, if there is a cycle in it.
func (b *builder) tie(nodes, knot []int) {
	first := nodes[0]
	if len(nodes) == 1 && !slices.ContainsFunc(b.needs[first], func(n need) bool { return n.to == first }) {
		return
	}
	for _, i := range nodes {
		knot[i] = first
	}
}
