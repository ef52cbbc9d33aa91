package settings

import (
	"fmt"
	"path"
	"strings"

	"github.com/assize-iac/assize/internal/strict"
)

// An Environment is one entry of environments: where the applies of some stacks
// run.
type Environment struct {
	Prefix   string // of whole segments of a path; "" is every path
	Instance string // "" is any
	Name     Text   // may be a template
}

// environments reads the table. Its keys are prefix, prefix:instance and
// :instance (docs/configuration.md, rule 17).
func (r *reader) environments() []Environment {
	r.shape.Set("environments", map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string", "minLength": 1}})
	var out []Environment
	seen := map[string]string{}
	for _, m := range r.members("environments") {
		written := m.Key.Text
		e, wrong := parseEnvironment(written)
		if wrong != "" {
			r.Fault(m.Key, "environments: %s", wrong)
			continue
		}
		id := e.Prefix + ":" + e.Instance
		if before, dup := seen[id]; dup && before != written { // the same text twice is a duplicate key already
			r.Fault(m.Key, "environments: %q and %q mean the same", strict.Cut(before), strict.Cut(written))
		}
		seen[id] = written
		called := fmt.Sprintf("environments: the name for %q", strict.Cut(written))
		e.Name = *r.value(called, m.Value)
		if m.Value.Kind == strict.Text && strings.TrimSpace(m.Value.Text) == "" {
			r.Fault(m.Value, "%s is empty", called)
		}
		out = append(out, e)
	}
	return out
}

func parseEnvironment(key string) (e Environment, wrong string) {
	prefix, instance, named := cutLast(key, ":")
	if strings.Contains(prefix, ":") {
		return e, fmt.Sprintf("%q has two colons; a key is prefix, prefix:instance or :instance", strict.Cut(key))
	}
	if named {
		if wrong := WrongInstance(instance); wrong != "" {
			return e, fmt.Sprintf("%q: %s", strict.Cut(key), strict.Cut(wrong))
		}
	}
	if leaves(prefix) {
		return e, fmt.Sprintf("%q leads out of the repository", strict.Cut(key))
	}
	prefix = path.Clean(prefix)
	if prefix == "." {
		prefix = ""
	}
	if prefix == "" && !named {
		return e, fmt.Sprintf("%q has neither a prefix nor an instance", key)
	}
	return Environment{Prefix: prefix, Instance: instance}, ""
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// matches reports whether the entry is about a stack.
func (e Environment) matches(dir, instance string) bool {
	if e.Instance != "" && e.Instance != instance {
		return false
	}
	return e.Prefix == "" || dir == e.Prefix || strings.HasPrefix(dir, e.Prefix+"/")
}

// beats reports whether the entry is more specific than another.
func (e Environment) beats(other Environment) bool {
	if (e.Instance == "") != (other.Instance == "") {
		return e.Instance != ""
	}
	return len(e.Prefix) > len(other.Prefix)
}

// environmentFor returns the most specific entry for a stack, not rendered, or
// an empty text (docs/configuration.md, rule 17).
func (r *Root) environmentFor(dir, instance string) Text {
	var best *Environment
	for i := range r.Environments {
		if e := &r.Environments[i]; e.matches(dir, instance) && (best == nil || e.beats(*best)) {
			best = e
		}
	}
	if best == nil {
		return Text{}
	}
	return best.Name
}
