package native

import (
	"maps"
	"slices"
	"strings"
)

// References are those of every expression in the fields of a block.
func References(v any) [][]string {
	switch v := v.(type) {
	case map[string]any:
		if e := ExpressionOf(v); len(e.References) > 0 {
			var all [][]string
			for _, ref := range Longest(e.References) {
				all = append(all, []string{ref})
			}
			return all
		}
		var all [][]string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, References(v[name])...)
		}
		return all
	case []any:
		var all [][]string
		for _, e := range v {
			all = append(all, References(e)...)
		}
		return all
	}
	return nil
}

// Longest leaves out the references that are the beginning of another: the tools
// print random_pet.web.id, and random_pet.web as well.
func Longest(refs []string) []string {
	var out []string
	for i, ref := range refs {
		beginning := false
		for k, other := range refs {
			rest, ok := strings.CutPrefix(other, ref)
			beginning = beginning || ok && i != k && (rest == "" && k < i || strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "["))
		}
		if !beginning {
			out = append(out, ref)
		}
	}
	return out
}
