package secret

import (
	"regexp"

	"github.com/assize-iac/assize/internal/plan/mark"
)

// masked stands in a document in place of a secret. It is a struct, so that it
// conflicts with every constraint and equals nothing but another one.
func masked() any { return map[string]any{"$sensitive": true} }

// Mask replaces every secret of v, by mark or by value, by {"$sensitive": true}.
// A key that holds one has (sensitive) in its place. v itself is not changed.
func (s *Set) Mask(v, marks any) any {
	if m, ok := v.(map[string]any); ok && len(m) == 1 && m["$unknown"] == true {
		return v
	}
	if marks = mark.Fitted(marks, v); marks == true && v != nil {
		return masked()
	}
	switch v := v.(type) {
	case map[string]any:
		below, _ := marks.(map[string]any)
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[s.Redact(k)] = s.Mask(e, below[k])
		}
		return out
	case []any:
		below, _ := marks.([]any)
		out := make([]any, len(v))
		for i, e := range v {
			var m any
			if i < len(below) {
				m = below[i]
			}
			out[i] = s.Mask(e, m)
		}
		return out
	}
	if s.In(v) {
		return masked()
	}
	return v
}

// instanceKey matches one instance key of an address, as the tools write it.
var instanceKey = regexp.MustCompile(`\["(?:[^"\\]|\\.)*"\]`)

// Address is an address of the tools as it may be shown: an instance key with a
// secret in it is replaced as a whole (docs/policy.md, rule 4). No tool lets a value
// that is marked into a key, but an unmarked copy gets there.
//
// Only keys are searched, for everything else in an address is a name that somebody
// has chosen in the configuration. And secrets that are plain words stay: a secret
// such as prod would hide half of all addresses.
func (s *Set) Address(address string) string {
	return instanceKey.ReplaceAllStringFunc(address, func(key string) string {
		if s.InKey(key[2 : len(key)-2]) {
			return `["` + s.Marker() + `"]`
		}
		return key
	})
}
