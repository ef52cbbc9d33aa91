package rules

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
)

// A ruleReader turns one node into a Rule. It goes on after a complaint, so
// that one run names everything that is wrong; the rule it returns then is of
// no use, which the loader sees to.
type ruleReader struct {
	*loader
	file   string
	called string          // how complaints name the rule
	got    map[string]node // its fields
	start  node            // where it begins: for what is missing
}

func (r *ruleReader) fault(n node, format string, args ...any) {
	r.complain(r.file, n.line, n.column, "%s: %s", r.called, fmt.Sprintf(format, args...))
}

func (r *ruleReader) rule(n node) Rule {
	rule := Rule{Position: fmt.Sprintf("%s:%d:%d", r.file, n.line, n.column)}
	if r.start = n; n.kind != object {
		r.fault(n, "%s, want an object", n.kind)
		return rule
	}
	rule.ID = r.id(n.members)
	r.fields(n.members)
	if v, ok := r.need("level", "deny or warn"); ok {
		rule.Level = api.Level(r.word(v, "level", words([]api.Level{api.Deny, api.Warn})))
	}
	if v, ok := r.need("message", "say what the author of a change should do"); ok {
		rule.Message = strings.TrimSpace(r.prose(v, "message"))
	}
	r.selection(&rule)
	if !r.opOrCheck(&rule) {
		return rule // what the other fields should be depends on it
	}
	r.misplaced(&rule)
	if rule.Op != "" {
		rule.Actions = widened(rule.Actions, rule.Modes)
		rule.Path = r.path(&rule)
	}
	r.value(&rule)
	return rule
}

// id reads the id before anything else, because complaints name the rule by
// it. Findings, exceptions and counts do so too, hence one line and no twin.
func (r *ruleReader) id(members []member) string {
	i := slices.IndexFunc(members, func(m member) bool { return m.key.text == "id" })
	if i < 0 {
		r.fault(r.start, "id is missing")
		return ""
	}
	v := members[i].value
	id := r.prose(v, "id")
	switch {
	case id == "":
		return ""
	case strings.ContainsFunc(id, unicode.IsControl):
		r.fault(v, "id %q holds a control character", id)
		return ""
	}
	r.called = fmt.Sprintf("rule %q", id)
	if first, dup := r.ids[id]; dup {
		r.fault(v, "duplicate id, first used at %s", first)
		return id
	}
	r.ids[id] = fmt.Sprintf("%s:%d:%d", r.file, v.line, v.column)
	return id
}

// fields collects the known fields by name.
func (r *ruleReader) fields(members []member) {
	r.got = map[string]node{}
	for _, m := range members {
		name := m.key.text
		if _, dup := r.got[name]; dup {
			r.fault(m.key, "duplicate field %q", name)
		} else if !slices.Contains(fields(), name) {
			r.fault(m.key, "unknown field %q; allowed: %s%s", cut(name), strings.Join(fields(), ", "), near(name, fields()))
		} else {
			r.got[name] = m.value
		}
	}
}

// need returns a field that must be there; hint says what it is for.
func (r *ruleReader) need(name, hint string) (node, bool) {
	v, ok := r.got[name]
	if !ok {
		r.fault(r.start, "%s is missing; %s", name, hint)
	}
	return v, ok
}

// prose reads a string with something in it, or complains and returns "".
func (r *ruleReader) prose(v node, name string) string {
	if v.kind != text {
		r.fault(v, "%s is %s, want a string", name, v.kind)
	} else if strings.TrimSpace(v.text) == "" {
		r.fault(v, "%s is empty", name)
	} else {
		return v.text
	}
	return ""
}

// word reads one of the words, or complains and returns "".
func (r *ruleReader) word(v node, name string, words []string) string {
	w := r.prose(v, name)
	if w != "" && !slices.Contains(words, w) {
		r.fault(v, "%s %q is none of %s%s", name, cut(w), strings.Join(words, ", "), near(w, words))
		return ""
	}
	return w
}

// opOrCheck reads the one of the two that a rule has, and reports whether it
// is known. With both, one of them would silently not count.
func (r *ruleReader) opOrCheck(rule *Rule) bool {
	op, hasOp := r.got["op"]
	check, hasCheck := r.got["check"]
	switch {
	case hasOp && hasCheck:
		r.fault(check, "both op and check; a rule has one of them")
	case hasOp:
		rule.Op = Op(r.word(op, "op", words(Ops())))
	case hasCheck:
		rule.Check = Check(r.word(check, "check", words(Checks())))
	default:
		r.fault(r.start, "neither op nor check; op compares the attribute at path, check looks at what the plan does")
	}
	return rule.Op != "" || rule.Check != ""
}

// misplaced complains about known fields that this rule would ignore.
func (r *ruleReader) misplaced(rule *Rule) {
	allowed := usable(rule)
	for _, name := range fields() {
		if v, ok := r.got[name]; ok && !slices.Contains(allowed, name) {
			r.fault(v, "%s has no use for %q; allowed: %s", rule.what(), name, strings.Join(allowed, ", "))
		}
	}
}

// selection reads what narrows a rule, and what unknown values do to it.
func (r *ruleReader) selection(rule *Rule) {
	for _, v := range r.strings("type", "glob") {
		rule.Types = append(rule.Types, plan.NewGlob(v.text))
	}
	for _, v := range r.strings("address", "glob") {
		rule.Addresses = append(rule.Addresses, plan.NewGlob(v.text))
	}
	rule.Modes = wordsOf[string](r, "mode", modes())
	if len(rule.Modes) == 0 {
		rule.Modes = []string{managed}
	}
	rule.Actions = wordsOf[plan.Action](r, "actions", words(actions()))
	if v, ok := r.got["unknown"]; ok {
		rule.AllowUnknown = r.word(v, "unknown", []string{"allow", "deny"}) == "allow"
	}
}

// wordsOf reads a word or a list of words, each once.
func wordsOf[T ~string](r *ruleReader, name string, allowed []string) []T {
	var out []T
	for _, v := range r.strings(name, "word") {
		if w := T(r.word(v, name, allowed)); w != "" && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// strings reads a string or a list of them. Neither the list nor a string in
// it may be empty: it would select nothing, and the rule pass everything.
func (r *ruleReader) strings(name, what string) []node {
	v, ok := r.got[name]
	if !ok {
		return nil
	}
	items := []node{v}
	if v.kind == list {
		items = slices.Clone(v.items)
	} else if v.kind != text {
		r.fault(v, "%s is %s, want a string or a list of strings", name, v.kind)
		return nil
	}
	if len(items) == 0 {
		r.fault(v, "%s is an empty list, which selects nothing; leave it out or name at least one %s", name, what)
	}
	return slices.DeleteFunc(items, func(item node) bool {
		if item.kind != text {
			r.fault(item, "%s holds %s, want a string", name, item.kind)
		} else if item.text == "" {
			r.fault(item, "%s holds an empty %s", name, what)
		}
		return item.kind != text || item.text == ""
	})
}

// path reads a path, which may turn out never to match anything for no reason
// but its spelling; package plan refuses those.
func (r *ruleReader) path(rule *Rule) plan.Path {
	v, ok := r.need("path", rule.what()+" needs one, such as tags.owner")
	if !ok || r.prose(v, "path") == "" {
		return nil
	}
	path, err := plan.ParsePath(v.text)
	if err != nil {
		r.fault(v, "%s", err)
	}
	return path
}

func words[T ~string](in []T) []string {
	out := make([]string, len(in))
	for i, w := range in {
		out[i] = string(w)
	}
	return out
}
