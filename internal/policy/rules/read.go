package rules

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/strict"
)

// A ruleReader turns one node into a Rule. The rule it returns after a
// complaint is of no use, which the loader sees to.
type ruleReader struct {
	strict.ObjectReader
	ids map[string]string // of the loader
}

func (r *ruleReader) rule(n strict.Node) Rule {
	rule := Rule{Position: fmt.Sprintf("%s:%d:%d", r.File, n.Line, n.Column)}
	if !r.IsObject() {
		return rule
	}
	rule.ID = r.id(n.Members)
	r.Fields(fields())
	if v, ok := r.Need("level", "deny or warn"); ok {
		rule.Level = api.Level(r.Word(v, "level", words([]api.Level{api.Deny, api.Warn})))
	}
	if v, ok := r.Need("message", "say what the author of a change should do"); ok {
		rule.Message = strings.TrimSpace(r.Prose(v, "message"))
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
func (r *ruleReader) id(members []strict.Member) string {
	i := slices.IndexFunc(members, func(m strict.Member) bool { return m.Key.Text == "id" })
	if i < 0 {
		r.Fault(r.Start, "id is missing")
		return ""
	}
	v := members[i].Value
	id := r.Prose(v, "id")
	switch {
	case id == "":
		return ""
	case strings.ContainsFunc(id, unicode.IsControl):
		r.Fault(v, "id %q holds a control character", id)
		return ""
	}
	r.Called = fmt.Sprintf("rule %q", id)
	if first, dup := r.ids[id]; dup {
		r.Fault(v, "duplicate id, first used at %s", first)
		return id
	}
	r.ids[id] = fmt.Sprintf("%s:%d:%d", r.File, v.Line, v.Column)
	return id
}

// opOrCheck reads the one of the two that a rule has, and reports whether it
// is known. With both, one of them would silently not count.
func (r *ruleReader) opOrCheck(rule *Rule) bool {
	op, hasOp := r.Got["op"]
	check, hasCheck := r.Got["check"]
	switch {
	case hasOp && hasCheck:
		r.Fault(check, "both op and check; a rule has one of them")
	case hasOp:
		rule.Op = Op(r.Word(op, "op", words(Ops())))
	case hasCheck:
		rule.Check = Check(r.Word(check, "check", words(Checks())))
	default:
		r.Fault(r.Start, "neither op nor check; op compares the attribute at path, check looks at what the plan does")
	}
	return rule.Op != "" || rule.Check != ""
}

// misplaced complains about known fields that this rule would ignore.
func (r *ruleReader) misplaced(rule *Rule) {
	allowed := usable(rule)
	for _, name := range fields() {
		if v, ok := r.Got[name]; ok && !slices.Contains(allowed, name) {
			r.Fault(v, "%s has no use for %q; allowed: %s", rule.what(), name, strings.Join(allowed, ", "))
		}
	}
}

// selection reads what narrows a rule, and what unknown values do to it.
func (r *ruleReader) selection(rule *Rule) {
	for _, v := range r.strings("type", "glob") {
		rule.Types = append(rule.Types, plan.NewGlob(v.Text))
	}
	for _, v := range r.strings("address", "glob") {
		rule.Addresses = append(rule.Addresses, plan.NewGlob(v.Text))
	}
	rule.Modes = wordsOf[string](r, "mode", modes())
	if len(rule.Modes) == 0 {
		rule.Modes = []string{managed}
	}
	rule.Actions = wordsOf[plan.Action](r, "actions", words(actions()))
	if v, ok := r.Got["unknown"]; ok {
		rule.AllowUnknown = r.Word(v, "unknown", []string{"allow", "deny"}) == "allow"
	}
}

// wordsOf reads a word or a list of words, each once.
func wordsOf[T ~string](r *ruleReader, name string, allowed []string) []T {
	var out []T
	for _, v := range r.strings(name, "word") {
		if w := T(r.Word(v, name, allowed)); w != "" && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// strings reads a string or a list of them. Neither the list nor a string in
// it may be empty: it would select nothing, and the rule pass everything.
func (r *ruleReader) strings(name, what string) []strict.Node {
	v, ok := r.Got[name]
	if !ok {
		return nil
	}
	items := []strict.Node{v}
	if v.Kind == strict.List {
		items = slices.Clone(v.Items)
	} else if v.Kind != strict.Text {
		r.Fault(v, "%s is %s, want a string or a list of strings", name, v.Kind)
		return nil
	}
	if len(items) == 0 {
		r.Fault(v, "%s is an empty list, which selects nothing; leave it out or name at least one %s", name, what)
	}
	return slices.DeleteFunc(items, func(item strict.Node) bool {
		if item.Kind != strict.Text {
			r.Fault(item, "%s holds %s, want a string", name, item.Kind)
		} else if item.Text == "" {
			r.Fault(item, "%s holds an empty %s", name, what)
		}
		return item.Kind != strict.Text || item.Text == ""
	})
}

// path reads a path, which may turn out never to match anything for no reason
// but its spelling; package plan refuses those.
func (r *ruleReader) path(rule *Rule) plan.Path {
	v, ok := r.Need("path", rule.what()+" needs one, such as tags.owner")
	if !ok || r.Prose(v, "path") == "" {
		return nil
	}
	path, err := plan.ParsePath(v.Text)
	if err != nil {
		r.Fault(v, "%s", err)
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
