package preview

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/stack"
)

// Outputs are the root outputs that a stack will have, by name: those of
// [plan.Plan.OutputsAfter].
type Outputs map[string]plan.Output

// Upstreams are the outputs of other stacks, by the state that will hold them.
type Upstreams map[stack.State]Outputs

// unknown is an expression whose value and type are not known while planning.
const unknown = "jsondecode(uuid())"

// expression is an object of all outputs in the tools' language. What is secret
// stays secret, and what is not known has an unknown in its place.
func (o Outputs) expression() string {
	var b strings.Builder
	b.WriteString("{\n")
	for _, name := range slices.Sorted(maps.Keys(o)) {
		out := o[name]
		kind := out.Type
		if out.AfterUnknown == true || !fits(out.After, out.AfterUnknown, kind) {
			kind = nil // it is that of another value, which the output had before
		}
		value := expression(out.After, out.AfterUnknown, kind)
		if marked(out.AfterSensitive) {
			value = "sensitive(" + value + ")"
		}
		fmt.Fprintf(&b, "    %s = %s\n", quote(name), value)
	}
	b.WriteString("  }")
	return b.String()
}

// openExpression is that of the outputs that are not sensitive.
func (o Outputs) openExpression() string {
	open := maps.Clone(o)
	maps.DeleteFunc(open, func(_ string, out plan.Output) bool { return marked(out.AfterSensitive) })
	return open.expression()
}

// expression writes a value. hidden is the tree that says what of it is not
// known, kind its type; nil kind is unknown, and then the value has the type that
// it is written in.
func expression(value, hidden, kind any) string {
	if hidden == true {
		return typed(unknown, kind)
	}
	constructor, of := typeOf(kind)
	inside := func(key any, value, hidden any) string {
		return expression(value, hidden, of(key))
	}
	switch v := value.(type) {
	case nil:
		return typed("null", kind)
	case bool:
		return fmt.Sprint(v)
	case json.Number:
		return v.String()
	case string:
		return quote(v)
	case []any:
		hidden, _ := hidden.([]any)
		items := make([]string, 0, len(v))
		for i := range max(len(v), len(hidden)) {
			items = append(items, inside(i, at(v, i), at(hidden, i)))
		}
		if len(items) == 0 && constructor != "" {
			return empty(constructor, of(0))
		}
		return wrap(constructor, "["+strings.Join(items, ", ")+"]")
	case map[string]any:
		hidden, _ := hidden.(map[string]any)
		var items []string
		for _, name := range names(v, hidden) {
			items = append(items, quote(name)+" = "+inside(name, v[name], hidden[name]))
		}
		if len(items) == 0 && constructor != "" {
			return empty(constructor, of(""))
		}
		return wrap(constructor, "{"+strings.Join(items, ", ")+"}")
	}
	return unknown // no value of a plan
}

func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

func wrap(function, text string) string {
	if function == "" {
		return text
	}
	return function + "(" + text + ")"
}

// typed gives null or an unknown its type. Beside elements that have one, another
// that has none would make a list unknown as a whole, or none at all.
func typed(text string, kind any) string {
	switch kind {
	case "string", "number", "bool":
		return "to" + kind.(string) + "(" + text + ")"
	}
	some, found := witness(kind)
	switch {
	case found && text == unknown: // which element it is, is what nobody knows
		return "tolist([" + some + "])[tonumber(" + unknown + ")]"
	case found:
		return "(true ? " + text + " : " + some + ")"
	}
	return text
}

// empty is a collection without elements whose type says of what.
func empty(constructor string, of any) string {
	some, found := witness(of)
	none := "slice(tolist([" + some + "]), 0, 0)"
	switch {
	case constructor == "tomap" && !found:
		return "tomap({})"
	case constructor == "tomap":
		return "zipmap(slice(tolist([\"\"]), 0, 0), " + none + ")"
	case !found:
		return constructor + "([])"
	}
	return wrap(constructor, none)
}

// witness is some value of a type; there is none of a type that is not known.
func witness(kind any) (text string, found bool) {
	switch kind {
	case "string":
		return `""`, true
	case "number":
		return "0", true
	case "bool":
		return "false", true
	}
	parts, _ := kind.([]any)
	if len(parts) < 2 {
		return "", false
	}
	constructor, of := typeOf(kind)
	var items []string
	add := func(name string, of any) bool {
		item, found := witness(of)
		items = append(items, name+item)
		return found
	}
	found = true
	switch members := parts[1].(type) {
	case map[string]any: // of an object
		for _, name := range slices.Sorted(maps.Keys(members)) {
			found = add(quote(name)+" = ", members[name]) && found
		}
		return "{" + strings.Join(items, ", ") + "}", found && parts[0] == "object"
	case []any:
		if parts[0] == "tuple" {
			for _, member := range members {
				found = add("", member) && found
			}
			return "[" + strings.Join(items, ", ") + "]", found
		}
	}
	if found = constructor != "" && add("", of(0)); constructor == "tomap" {
		return `tomap({"" = ` + items[0] + "})", found
	}
	return wrap(constructor, "["+strings.Join(items, ", ")+"]"), found
}

// typeOf takes a type apart, as the tools write it: the function that makes a
// value of it, and the types of what is in it.
func typeOf(kind any) (constructor string, of func(key any) any) {
	none := func(any) any { return nil }
	parts, _ := kind.([]any)
	if len(parts) < 2 {
		return "", none
	}
	switch parts[0] {
	case "list", "set", "map":
		return "to" + parts[0].(string), func(any) any { return parts[1] }
	case "object":
		members, _ := parts[1].(map[string]any)
		return "", func(key any) any { name, _ := key.(string); return members[name] }
	case "tuple":
		items, _ := parts[1].([]any)
		return "", func(key any) any { i, _ := key.(int); return at(items, i) }
	}
	return "", none
}

// fits reports whether a value may be of a type.
func fits(value, hidden, kind any) bool {
	if hidden == true || value == nil && !marked(hidden) {
		return true
	}
	constructor, of := typeOf(kind)
	switch v := value.(type) {
	case bool:
		return kind == "bool"
	case json.Number:
		return kind == "number"
	case string:
		return kind == "string"
	case []any:
		hidden, _ := hidden.([]any)
		for i := range v {
			if !fits(v[i], at(hidden, i), of(i)) {
				return false
			}
		}
		return constructor == "tolist" || constructor == "toset" || is(kind, "tuple", len(v))
	case map[string]any:
		hidden, _ := hidden.(map[string]any)
		all := names(v, hidden)
		for _, name := range all {
			if !fits(v[name], hidden[name], of(name)) {
				return false
			}
		}
		return constructor == "tomap" || is(kind, "object", len(all))
	}
	return false
}

// is reports whether a type is an object or a tuple of that many members.
func is(kind any, name string, members int) bool {
	parts, _ := kind.([]any)
	if len(parts) < 2 || parts[0] != name {
		return false
	}
	switch all := parts[1].(type) {
	case []any:
		return len(all) == members
	case map[string]any:
		return len(all) == members
	}
	return false
}

// names are those of the members of an object, also of those that are not known
// and are left out.
func names(value, hidden map[string]any) []string {
	all := slices.Collect(maps.Keys(value))
	for name := range hidden {
		if _, known := value[name]; !known && marked(hidden[name]) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// marked reports whether anything in a tree of marks is true.
func marked(tree any) bool {
	switch t := tree.(type) {
	case bool:
		return t
	case []any:
		return slices.ContainsFunc(t, marked)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(t)), marked)
	}
	return false
}

// quote writes text as a literal that is no template, whatever it holds.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range text {
		next := text[i+len(string(r)):]
		switch {
		case r == '"' || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case (r == '$' || r == '%') && strings.HasPrefix(next, "{"):
			fmt.Fprintf(&b, `\u%04x`, r) // doubled it would be ambiguous beside another one
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Explain says what of the outputs is not known or is secret, for the hint of an
// error that planning against them has had. Upstreams are named by the caller. It
// shows no value; "" is nothing to say.
func Explain(upstreams map[string]Outputs) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(upstreams)) {
		var hidden, secret []string
		for _, name := range slices.Sorted(maps.Keys(upstreams[key])) {
			out := upstreams[key][name]
			hidden = append(hidden, places(name, out.AfterUnknown)...)
			if marked(out.AfterSensitive) {
				secret = append(secret, name)
			}
		}
		if len(hidden) > 0 {
			all = append(all, fmt.Sprintf("not known before %s is applied: output %s", key, strings.Join(hidden, ", ")))
		}
		if len(secret) > 0 {
			all = append(all, fmt.Sprintf("sensitive in %s: output %s", key, strings.Join(secret, ", ")))
		}
	}
	return strings.Join(all, "; ")
}

// places are the paths at which a tree of marks is true.
func places(path string, tree any) (all []string) {
	switch t := tree.(type) {
	case bool:
		if t {
			all = append(all, path)
		}
	case []any:
		for i, item := range t {
			all = append(all, places(fmt.Sprintf("%s[%d]", path, i), item)...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(t)) {
			all = append(all, places(fmt.Sprintf("%s[%q]", path, name), t[name])...)
		}
	}
	return all
}
