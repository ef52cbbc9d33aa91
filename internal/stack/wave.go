package stack

import "slices"

// Waves puts stacks of the graph into waves: each into the first in which all
// that it depends on, directly or through stacks that are not among the keys,
// is in an earlier one (docs/stacks.md, rule 18). A key that is no stack of the
// graph is in no wave. Within a wave, stacks are sorted by key.
func Waves(g Graph, keys []Key) [][]Key {
	in := make([]bool, len(g.keys))
	for _, k := range keys {
		if i, ok := g.byKey[k.String()]; ok {
			in[i] = true
		}
	}
	var out [][]Key
	for _, wave := range layers(g.waves(in), in[:len(g.stacks)]) {
		keys := make([]Key, len(wave))
		for j, i := range wave {
			keys[j] = g.stacks[i].Key
		}
		out = append(out, keys)
	}
	return out
}

// AllWaves puts every stack into its wave, by their keys; never nil.
func AllWaves(g Graph) [][]string {
	all := slices.Repeat([]bool{true}, len(g.stacks))
	return g.waveKeys(g.waves(slices.Concat(all, make([]bool, len(g.keys)-len(g.stacks)))), all)
}

// waves returns for every node the wave it is in, or would be in: the length of
// the longest path to it, counting the stacks that are in. A path through a
// stack that is out still orders, for what it made does stand in between.
func (g Graph) waves(in []bool) []int {
	wave := make([]int, len(g.keys))
	for _, i := range g.order {
		for _, n := range g.needs[i] {
			w := wave[n.to]
			if in[n.to] {
				w++
			}
			wave[i] = max(wave[i], w)
		}
	}
	return wave
}

// layers groups the stacks that are in by their wave.
func layers(wave []int, in []bool) [][]int {
	var out [][]int
	for i, is := range in {
		if !is {
			continue
		}
		for len(out) <= wave[i] {
			out = append(out, nil)
		}
		out[wave[i]] = append(out[wave[i]], i)
	}
	return out
}

func (g Graph) waveKeys(wave []int, in []bool) [][]string {
	out := [][]string{}
	for _, layer := range layers(wave, in) {
		out = append(out, g.names(layer))
	}
	return out
}
