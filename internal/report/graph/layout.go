package graph

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/assize-iac/assize/api"
)

// A layout gives every node a column and a row: the modules, what is not here,
// then the waves. So every edge goes to a column further left, but for those
// between modules.
type layout struct {
	titles  []string
	columns [][]int // nodes from top to bottom
}

// arrange puts the nodes into their columns and next to what they are linked to.
func (p Picture) arrange(nodes []node, arrows []arrow) layout {
	wave := map[string]int{}
	for i, keys := range p.Waves {
		for _, key := range keys {
			wave[key] = i
		}
	}
	var modules, absent []int
	waves := make([][]int, len(p.Waves))
	for i, n := range nodes {
		if n.module != nil {
			modules = append(modules, i)
		} else if w, ok := wave[n.stack.Key]; ok {
			waves[w] = append(waves[w], i)
		} else {
			absent = append(absent, i)
		}
	}
	var l layout
	add := func(title string, nodes []int) {
		if len(nodes) > 0 {
			l.titles = append(l.titles, title)
			l.columns = append(l.columns, nodes)
		}
	}
	add("modules", modules)
	add("not here", absent)
	for i := range waves {
		add(fmt.Sprintf("wave %d", i+1), waves[i])
	}
	l.untangle(len(nodes), arrows)
	return l
}

// sweeps is how often the columns are put in order; more changes little.
const sweeps = 6

// untangle orders each column by the mean height of what its nodes are linked
// to in the columns on one side, from the left and from the right by turns.
// It is what keeps lines short and few of them crossed; perfect would be NP-hard.
func (l layout) untangle(n int, arrows []arrow) {
	left, right := make([][]int, n), make([][]int, n)
	column := make([]int, n)
	for c, nodes := range l.columns {
		for _, i := range nodes {
			column[i] = c
		}
	}
	for _, a := range arrows {
		if column[a.from] == column[a.to] || a.kind == api.UsesModule && column[a.from] == 0 {
			continue
		}
		left[a.from] = append(left[a.from], a.to)
		right[a.to] = append(right[a.to], a.from)
	}
	height := make([]float64, n)
	settle := func(nodes []int) {
		for row, i := range nodes {
			height[i] = float64(row) - float64(len(nodes)-1)/2 // columns are centred
		}
	}
	for _, nodes := range l.columns {
		settle(nodes)
	}
	for s := range sweeps {
		for at := range l.columns {
			linked := left
			if s%2 == 1 {
				at, linked = len(l.columns)-1-at, right
			}
			nodes := l.columns[at]
			mean := map[int]float64{}
			for _, i := range nodes {
				mean[i] = height[i]
				if len(linked[i]) > 0 {
					sum := 0.0
					for _, j := range linked[i] {
						sum += height[j]
					}
					mean[i] = sum / float64(len(linked[i]))
				}
			}
			slices.SortStableFunc(nodes, func(x, y int) int { return cmp.Compare(mean[x], mean[y]) })
			settle(nodes)
		}
	}
}
