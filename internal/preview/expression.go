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
		value := expression(out.After, out.AfterUnknown, out.Type)
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
		if hidden, ok := hidden.(map[string]any); ok && len(hidden) > 0 {
			return expression(map[string]any{}, hidden, kind)
		}
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
		return wrap(constructor, "["+strings.Join(items, ", ")+"]")
	case map[string]any:
		hidden, _ := hidden.(map[string]any)
		names := slices.Sorted(maps.Keys(v))
		for name := range hidden {
			if _, known := v[name]; !known && marked(hidden[name]) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		items := make([]string, 0, len(names))
		for _, name := range names {
			items = append(items, quote(name)+" = "+inside(name, v[name], hidden[name]))
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

// typed gives an expression without a type that of a primitive. A list in which
// one element has no type would be unknown as a whole.
func typed(text string, kind any) string {
	switch kind {
	case "string", "number", "bool":
		return "to" + kind.(string) + "(" + text + ")"
	}
	return text
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
