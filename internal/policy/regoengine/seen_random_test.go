package regoengine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy/regoengine"
)

// TestSeenAtRandom makes policies of the forms in which values flow, and plans
// with few names and fewer values, so that what one loses another has: 1,000
// policies, of which some 600 compile, each with three plans.
func TestSeenAtRandom(t *testing.T) {
	t.Parallel()
	judged, looked := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		for range 10 {
			var texts []string
			var plans []*plan.Plan
			for range 3 {
				text := randomDocument(t)
				texts, plans = append(texts, text), append(plans, mustDecode(t, text))
			}
			w := &writer{T: t}
			src := regoSource(w.policy())
			seen, whole, nothing, err := regoengine.Compare(src, plans...)
			if err != nil {
				continue // some do not compile: a variable is unsafe, or types cannot match; some OPA cannot judge
			}
			judged++
			if !cmp.Equal(whole, nothing) {
				looked++
			}
			if diff := cmp.Diff(whole, seen); diff != "" {
				paths, _ := regoengine.Seen(src)
				t.Fatalf("(-whole +seen):\n%s\n%s\nseen:\n%s\nplans:\n%s", diff, src.Files[0].Data, paths, strings.Join(texts, "\n"))
			}
		}
	})
	t.Logf("%d policies judged, for %d of which the plan matters", judged, looked)
	if looked < judged/3 {
		t.Error("too few of them")
	}
}

func mustDecode(t *rapid.T, text string) *plan.Plan {
	p, err := plan.Decode([]byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return p
}

// someNames are few, so that paths meet.
var someNames = []string{"a", "b", "c"}

func pick(t *rapid.T, from ...string) string { return rapid.SampledFrom(from).Draw(t, "pick") }

func chance(t *rapid.T, in int) bool { return rapid.IntRange(1, in).Draw(t, "chance") == 1 }

// randomDocument is a plan whose changes and top level have members a, b and c.
func randomDocument(t *rapid.T) string {
	doc := map[string]any{"format_version": "1.2", "terraform_version": "1.12.6"}
	var changes []any
	for i := range rapid.IntRange(1, 4).Draw(t, "changes") {
		c := map[string]any{
			"address": fmt.Sprintf("t.r%d", i), "mode": "managed", "type": "t", "name": "r",
			"change": map[string]any{"actions": []string{"update"}, "before": randomObject(t, 2), "after": randomObject(t, 2), "after_unknown": map[string]any{}},
		}
		for _, name := range someNames {
			if !chance(t, 8) {
				c[name] = randomValue(t, 3)
			}
		}
		if chance(t, 4) {
			c["action_reason"] = "x"
		}
		if chance(t, 12) {
			c["deposed"] = "0badcafe"
			if i > 0 {
				c["address"] = "t.r0"
				c["deposed"] = fmt.Sprint(i)
			}
		}
		changes = append(changes, c)
	}
	doc["resource_changes"] = changes
	for _, name := range someNames {
		doc[name] = randomValue(t, 3)
	}
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func randomValue(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 9).Draw(t, "kind")
	switch {
	case depth > 0 && kind < 6:
		return randomObject(t, depth)
	case depth > 0 && kind < 9:
		list := []any{}
		for range rapid.IntRange(1, 3).Draw(t, "length") {
			list = append(list, randomValue(t, depth-1))
		}
		return list
	}
	return rapid.SampledFrom([]any{"a", "b", 1, true, false, nil}).Draw(t, "scalar")
}

func randomObject(t *rapid.T, depth int) map[string]any {
	o := map[string]any{}
	for _, name := range someNames {
		if !chance(t, 8) {
			o[name] = randomValue(t, depth-1)
		}
	}
	return o
}

// A writer writes one policy.
type writer struct {
	*rapid.T
	vars  []string // bound so far in the body that is being written
	next  int
	rules []string // helper rules by what they are: "set r1", "object r2", "value r3"
}

// library has the ways in which functions pass values on.
const library = `package main
pass(x) := x
step(x) := x.a
get(o, k) := o[k]
default maybe(_) := "none"
maybe(x) := x.b
either(x) := y if y := x.a
else := x.b
both(x) := x.a if x.a
both(x) := x.b if x.c
any_of(x) := y if some y in x
pair(x) := [x.a, x]
wrap(x) := {"a": x, "b": x.b}
first([x, _]) := x
part({"a": x}) := x
same(x, x)
is_set_to(x, "a") := x.a
is_set_to(x, "b") := x.c
`

func (w *writer) policy() string {
	var b strings.Builder
	b.WriteString(library)
	for i := range rapid.IntRange(0, 3).Draw(w.T, "rules") {
		name := fmt.Sprintf("r%d", i)
		body := w.body()
		switch kind := pick(w.T, "set", "object", "value", "bag", "default"); kind {
		case "set":
			fmt.Fprintf(&b, "%s contains %s if { %s }\n", name, w.composite(), body)
			if chance(w.T, 3) {
				body = w.body()
				fmt.Fprintf(&b, "%s contains %s if { %s }\n", name, w.composite(), body)
			}
		case "object":
			fmt.Fprintf(&b, "%s[%s] := %s if { %s }\n", name, w.operand(), w.composite(), body)
		case "bag":
			fmt.Fprintf(&b, "%s[%s] contains %s if { %s }\n", name, w.operand(), w.operand(), body)
		case "value":
			fmt.Fprintf(&b, "%s := %s if { %s }\n", name, w.composite(), body)
		case "default":
			fmt.Fprintf(&b, "default %s := {\"a\": 1}\n%s := %s if { %s }\n", name, name, w.operand(), body)
			if chance(w.T, 2) {
				body = w.body()
				fmt.Fprintf(&b, "else := %s if { %s }\n", w.operand(), body)
			}
		}
		w.rules = append(w.rules, name)
	}
	for range rapid.IntRange(1, 2).Draw(w.T, "denies") {
		body := w.body()
		message := pick(w.T, `"fires"`, `sprintf("%v", [OPERAND])`, `sprintf("%v", [OPERAND])`, `sprintf("n %d", [count(OPERAND)])`, `{"msg": "m", "x": OPERAND}`)
		message = strings.Replace(message, "OPERAND", w.operand(), 1)
		fmt.Fprintf(&b, "deny contains %s if { %s }\n", message, body)
	}
	return b.String()
}

// body writes expressions, and leaves in w.vars what they bind.
func (w *writer) body() string {
	w.vars = nil
	var lines []string
	for range rapid.IntRange(1, 3).Draw(w.T, "lines") {
		lines = append(lines, w.line())
	}
	return strings.Join(lines, "; ")
}

func (w *writer) fresh() string {
	w.next++
	return fmt.Sprintf("v%d", w.next)
}

func (w *writer) bind(format string, values ...any) string {
	name := w.fresh()
	line := fmt.Sprintf(format, append([]any{name}, values...)...)
	w.vars = append(w.vars, name)
	return line
}

func (w *writer) line() string {
	switch rapid.IntRange(0, 21).Draw(w.T, "line") {
	case 0, 1, 2:
		return w.bind("some %s in %s", w.operand())
	case 3:
		k, v := w.fresh(), w.fresh()
		line := fmt.Sprintf("some %s, %s in %s", k, v, w.operand())
		w.vars = append(w.vars, k, v)
		return line
	case 4, 5:
		return w.bind("%s := %s", w.operand())
	case 6:
		return w.bind("%s := %s", w.composite())
	case 7:
		return w.bind("%s = %s", w.operand())
	case 8:
		return w.bind("%s := %s", w.comprehension())
	case 9:
		return w.bind("%s := %s", w.call())
	case 10:
		a, b := w.fresh(), w.fresh()
		line := fmt.Sprintf("[%s, %s] = %s", a, b, w.either(fmt.Sprintf("[%s, %s]", w.operand(), w.operand()), w.operand()))
		w.vars = append(w.vars, a, b)
		return line
	case 11:
		a := w.fresh()
		line := fmt.Sprintf(`{"a": %s} = %s`, a, w.either(w.operand(), fmt.Sprintf(`{"a": %s}`, w.operand())))
		w.vars = append(w.vars, a)
		return line
	case 12:
		return fmt.Sprintf("%s %s %s", w.operand(), pick(w.T, "==", "!=", "=", "<", ">="), w.operand())
	case 13:
		return fmt.Sprintf("%s %s %s", w.operand(), pick(w.T, "==", "!="), pick(w.T, `"a"`, "1", "null", "true", `{"a": 1}`, "[]"))
	case 14:
		return "not " + w.operand()
	case 15:
		return w.operand()
	case 16:
		return fmt.Sprintf("%s(%s)", pick(w.T, "is_object", "is_array", "is_string", "is_null"), w.operand())
	case 17:
		return fmt.Sprintf("%s in %s", w.operand(), w.operand())
	case 18:
		return fmt.Sprintf("every x in %s { x.%s }", w.operand(), pick(w.T, someNames...))
	case 19:
		return fmt.Sprintf("same(%s, %s)", w.operand(), w.operand())
	case 20:
		return w.bind("walk(%[2]s, [_, %[1]s])", w.operand())
	}
	return fmt.Sprintf("count(%s) > %s", w.operand(), pick(w.T, "0", "1"))
}

func (w *writer) either(a, b string) string {
	if chance(w.T, 2) {
		return a
	}
	return b
}

// operand is a reference: to the input, to what is bound, or to a rule.
func (w *writer) operand() string {
	base := pick(w.T, "input", "input.resource_changes", "input.resource_changes[_]", "input.resource_changes[_].change", "input.resource_changes[_].change.after")
	if len(w.vars) > 0 && !chance(w.T, 4) {
		base = pick(w.T, w.vars...)
	} else if len(w.rules) > 0 && chance(w.T, 2) {
		base = pick(w.T, w.rules...)
	}
	if strings.HasPrefix(base, "input") && len(base) < 6 {
		base += "." + pick(w.T, someNames...)
	}
	if strings.HasSuffix(base, "resource_changes") && !chance(w.T, 8) {
		base += pick(w.T, "[_]", "[_]", "[0]")
	}
	for range max(0, rapid.IntRange(-1, 2).Draw(w.T, "steps")) {
		switch rapid.IntRange(0, 11).Draw(w.T, "step") {
		case 0, 1, 2, 3:
			base += "." + pick(w.T, someNames...)
		case 4, 5, 6, 7, 8:
			base += "[_]"
		case 9:
			base += "[" + pick(w.T, "0", "1", `"a"`) + "]"
		case 10:
			if strings.Contains(base, "change") && !strings.Contains(base, ".change") {
				base += pick(w.T, ".change", ".change.before", ".address", ".change.after.a")
			}
		case 11:
			if len(w.vars) > 0 {
				base += "[" + pick(w.T, w.vars...) + "]"
			}
		}
	}
	return base
}

func (w *writer) composite() string {
	switch rapid.IntRange(0, 7).Draw(w.T, "composite") {
	case 0:
		return fmt.Sprintf("[%s, %s]", w.operand(), w.operand())
	case 1:
		return fmt.Sprintf(`{"a": %s, "b": %s}`, w.operand(), w.operand())
	case 2:
		return fmt.Sprintf("{%s: %s}", w.operand(), w.operand())
	case 3:
		return fmt.Sprintf("{%s, %s}", w.operand(), w.operand())
	case 4:
		return fmt.Sprintf("[[%s, 1], {\"c\": %s}]", w.operand(), w.operand())
	}
	return w.operand()
}

func (w *writer) comprehension() string {
	outer := w.vars
	defer func() { w.vars = outer }()
	w.vars = append([]string{}, outer...)
	body := w.line()
	if chance(w.T, 2) {
		body += "; " + w.line()
	}
	switch rapid.IntRange(0, 2).Draw(w.T, "comprehension") {
	case 0:
		return fmt.Sprintf("[%s | %s]", w.composite(), body)
	case 1:
		return fmt.Sprintf("{%s | %s}", w.composite(), body)
	}
	return fmt.Sprintf("{%s: %s | %s}", w.operand(), w.operand(), body)
}

func (w *writer) call() string {
	switch rapid.IntRange(0, 8).Draw(w.T, "call") {
	case 0:
		return fmt.Sprintf("get(%s, %s)", w.operand(), w.either(`"b"`, w.operand()))
	case 1:
		return fmt.Sprintf("object.get(%s, %s, %s)", w.operand(), pick(w.T, `"a"`, `["a", "b"]`, "[]", `["c", 0]`), w.either("null", w.operand()))
	case 2:
		return fmt.Sprintf("object.get(%s, %s, 1)", w.operand(), w.operand())
	case 3:
		return fmt.Sprintf("is_set_to(%s, %s)", w.operand(), w.either(`"a"`, w.operand()))
	case 4:
		return fmt.Sprintf("%s(%s)", pick(w.T, "object.keys", "type_name", "json.marshal", "sort", "max", "count", "array.reverse"), w.operand())
	case 5:
		return fmt.Sprintf("array.concat(%s, %s)", w.operand(), w.operand())
	case 6:
		return fmt.Sprintf("object.union(%s, %s)", w.operand(), w.operand())
	}
	return fmt.Sprintf("%s(%s)", pick(w.T, "pass", "step", "maybe", "either", "both", "any_of", "pair", "wrap", "first", "part"), w.operand())
}
