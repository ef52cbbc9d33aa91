package translate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy/rules"
)

// values are those that may stand where the path goes on by rest, as
// alternatives: what is not there cannot be wrong (docs/policy.md, rule 17), so
// fields are optional, and everything that the step cannot lead into is allowed.
func values(r *rules.Rule, rest plan.Path) string {
	if len(rest) == 0 {
		return strings.Join(allowed(r), " | ")
	}
	return "_scalar | " + containers(r, rest)
}

// containers are the lists and structs among values.
func containers(r *rules.Rule, rest plan.Path) string {
	below, s := values(r, rest[1:]), rest[0]
	lists, structs := "[...]", "_struct"
	if s.Kind == plan.Each {
		member := below
		if len(rest) > 1 { // one object where a list of them was meant (docs/policy.md, rule 18)
			member = "null | " + containers(r, rest[1:])
		}
		lists, structs = "[..."+below+"]", `{"$unknown"?: _|_, [string]: `+member+"}"
	}
	if i, ok := indexOf(s); ok {
		lists = fmt.Sprintf("list.MaxItems(%d) | [%s%s, ...]", i, strings.Repeat("_, ", i), below)
	}
	if s.Kind == plan.Key { // quoted, or the name could capture what the constraint refers to
		structs = fmt.Sprintf(`{"$unknown"?: _|_, %s?: %s, ...}`, cueText(s.Key), below)
	}
	return lists + " | " + structs
}

// exists lists the statements that refuse a change whose value at base, or
// somewhere below, does not exist along rest. A required field would say it
// shorter, but CUE mentions what is missing only where nothing else is wrong.
func exists(base string, rest plan.Path, refuse string) []string {
	i := slices.IndexFunc(rest, func(s plan.Step) bool { return s.Kind == plan.Each })
	if i < 0 {
		return []string{fmt.Sprintf("if (%s & _set) == _|_ %s", base+selectors(rest), refuse)}
	}
	base += selectors(rest[:i])
	element := fmt.Sprintf("e%d", len(rest)) // fewer in each loop within
	out := []string{
		fmt.Sprintf("if (%s & _some) == _|_ %s", base, refuse),
		fmt.Sprintf("if (%s & _struct) != _|_ if len(%s) == 0 %s", base, base, refuse),
		fmt.Sprintf("if (%s & _some) != _|_ for %s in %s {", base, element, base),
	}
	return slices.Concat(out, indent("\t", exists(element, rest[i+1:], refuse)), []string{"}"})
}

// selectors write a path without [*] as CUE does. Of what is not there they are
// in error, which is how a guard sees that it is missing.
func selectors(path plan.Path) string {
	var b strings.Builder
	for _, s := range path {
		if s.Kind == plan.Index {
			fmt.Fprintf(&b, "[%d]", s.Index)
			continue
		}
		b.WriteString("[" + cueText(s.Key) + "]")
	}
	return b.String()
}

// indexOf is where a step leads in a list; a bare number leads there too.
func indexOf(s plan.Step) (int, bool) {
	keys := keysOf(s)
	n, ok := keys[len(keys)-1].(json.Number)
	i, err := strconv.Atoi(string(n))
	return i, ok && err == nil
}

// allowed are the values with which a rule holds. Null is one of them: it is for
// exists and absent to ask about (docs/policy.md, rule 17).
func allowed(r *rules.Rule) []string {
	out := []string{"null"}
	switch r.Op {
	case rules.Absent:
	case rules.Eq, rules.In:
		for _, v := range operands(r) {
			out = append(out, cueLiteral(v))
		}
	case rules.Ne, rules.NotIn:
		return others(r)
	default:
		compare := map[rules.Op]string{
			rules.Matches: "=~", rules.NotMatches: "!~", rules.Lt: "<", rules.Lte: "<=", rules.Gt: ">", rules.Gte: ">=",
		}[r.Op]
		out = append(out, fmt.Sprintf("%s(%s)", compare, cueLiteral(r.Value))) // <-5 would be an arrow
	}
	return out
}

// others are all values but the rule's, type by type: in CUE, != wants a value
// of the same type.
func others(r *rules.Rule) []string {
	number, text, bools := "number", "string", []string{"true", "false"}
	for _, v := range operands(r) {
		switch v := v.(type) {
		case json.Number:
			number += " & !=" + cueLiteral(v)
		case string:
			text += " & !=" + cueLiteral(v)
		case bool:
			bools = slices.DeleteFunc(bools, func(b string) bool { return b == strconv.FormatBool(v) })
		}
	}
	// A container equals none of them, but one that is known in part proves
	// nothing (docs/policy.md, rule 7).
	containers := []string{"[..._known]", `{"$unknown"?: _|_, [string]: _known}`}
	return slices.Concat([]string{"null"}, bools, []string{number, text}, containers)
}

// operands are the values that eq, ne, in and not_in compare with.
func operands(r *rules.Rule) []any {
	if list, ok := r.Value.([]any); ok && (r.Op == rules.In || r.Op == rules.NotIn) {
		return list
	}
	return []any{r.Value}
}

// cueLiteral writes a value. There are no objects among them: beyondCUE has
// refused those.
func cueLiteral(v any) string {
	switch v := v.(type) {
	case []any:
		out := make([]string, len(v))
		for i, e := range v {
			out[i] = cueLiteral(e)
		}
		return "[" + strings.Join(out, ", ") + "]"
	case string:
		return cueText(v)
	default: // null, a boolean, a number
		return plan.Quote(v)
	}
}

// cueText is quote in CUE, which writes what is beyond sixteen bits in one
// escape. A backslash is escaped, so that nothing is interpolated.
func cueText(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r > 0xffff && !unicode.IsPrint(r) {
			fmt.Fprintf(&b, `\U%08x`, r)
			continue
		}
		q := quote(string(r))
		b.WriteString(q[1 : len(q)-1])
	}
	return `"` + b.String() + `"`
}
