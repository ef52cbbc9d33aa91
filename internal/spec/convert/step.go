package convert

import (
	"encoding/json"
	"strconv"
	"strings"
)

// A step is a name in an address, or a key in brackets.
type step struct {
	name string
	key  any // a string or an int; nil for a name
}

// steps are those of an address: module.net["a"].random_pet.web[0].id. What follows
// something that cannot be read is left out.
func steps(address string) []step {
	var all []step
	for rest := address; rest != ""; {
		if !strings.HasPrefix(rest, "[") {
			end := strings.IndexAny(rest+".", ".[")
			all = append(all, step{name: rest[:end]})
			rest = strings.TrimPrefix(rest[end:], ".")
			continue
		}
		if quoted, err := strconv.QuotedPrefix(rest[1:]); err == nil {
			key, _ := strconv.Unquote(quoted)
			all = append(all, step{key: key})
			rest = strings.TrimPrefix(strings.TrimPrefix(rest[1+len(quoted):], "]"), ".")
			continue
		}
		number, after, _ := strings.Cut(rest[1:], "]")
		n, err := strconv.Atoi(number)
		if err != nil {
			return all
		}
		all = append(all, step{key: n})
		rest = strings.TrimPrefix(after, ".")
	}
	return all
}

// key is an index as a step has it.
func key(index any) any {
	if n, ok := index.(json.Number); ok {
		i, err := n.Int64()
		if err == nil {
			return int(i)
		}
	}
	return index
}
