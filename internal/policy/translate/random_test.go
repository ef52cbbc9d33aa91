package translate_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// What rules and plans are made of: few enough that they meet, and each a place
// where two readers of a plan may part ways.
var (
	someKeys    = []string{"a", "b", "0", "size", "1", "01", "k.x", `q"uote`, "é", "*", "sp ace", "<&>", "[0]", ""}
	someNumbers = []string{
		"0", "-0", "1", "1.0", "1e0", "10e-1", "5", "-5", "500", "0.1", "0.10000000000000000001", "9007199254740992", "9007199254740993",
		"123456789012345678901234567890", "123456789012345678901234567891.0", "1e30", "1000000000000000000000000000000", "1e400", "10e399", "-1e-400",
	}
	someTexts = []string{
		"", "abc", "Abc", "team-data", "1", "true", "null", "0", " [ ] ", "{}", "[]", "\t{ }\n", "[\u00a0]", "\u00a0[]", "\ufeff{\"a\":[1,null]}", "\u2003\ufeff[\"abc\",{}]", "\v[1]", "\u200b[1]", "[1", "{a}", `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`,
		`{"a":{"b":1,"b":2},"b":1}`, `["\ud800"]`, `["\ud83d\ude00"]`, `["\\ud800"]`, `{"a":"\"b\":"}`, `[1e9999]`, `[{"a":1e99999999}]`, `{"a":9007199254740993.0}`, "[1] 2", "a\nb", "𝄞",
	}
	addresses = []string{"t.x", "t.db", "t.db[0]", `t.db["a.b"]`, `t.db["[0]"]`, "u.x", "module.m.t.x", `module.m["a.b"].t.db[1]`, "data.t.x", "ephemeral.t.x", "t.x[\"new\nline\"]", "t.x{a}", `t.x["\\"]`}
	globs     = []string{
		"*", "t.x", "t.*", "t.db[*", "t.db[0]", "t.db[?]", `t.db["a.?"]`, `*.t.x`, "*t.x*", "module.*", "t", "?", "u", "t.[dx]*", "t.x{a}", "t.{x,db}", `*\\*`, "*(*|*)*", "t^x", "t.x$", "^t.x$", "data.*", "*\n*", "é*", "**?*",
	}
	patterns = []string{".", "^$", "^[a-z]+$", "a", "^team-", `\d`, "(?i)ABC", "^.$", `\.`, "a\nb", `"`, "x{2}|é", "𝄞"}
	tuples   = []string{`"no-op"`, `"create"`, `"read"`, `"update"`, `"delete"`, `"forget"`, `"delete","create"`, `"create","delete"`, `"create","forget"`, `"forget","create"`}
	words    = []string{"no-op", "create", "read", "update", "replace", "delete", "forget", "create,forget", "forget,create"}
)

// upTo draws one of n numbers from 0 on. rapid prefers small ones, which would
// make nearly every choice below the first of its list; here none is preferred.
func upTo(t *rapid.T, n int) int {
	return int(rapid.Uint64().Draw(t, "n") * 0x9e3779b97f4a7c15 >> 33 % uint64(n))
}

func oneOf[T any](t *rapid.T, from []T) T { return from[upTo(t, len(from))] }

func chance(t *rapid.T, percent int) bool { return upTo(t, 100) < percent }

func quoted(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// value draws a JSON text; null only below the top when it is a rule's.
func value(t *rapid.T, depth int) string {
	kind := upTo(t, 10)
	if depth == 0 {
		kind = min(kind, 4)
	}
	switch kind {
	case 0:
		return "null"
	case 1:
		return oneOf(t, []string{"true", "false"})
	case 2, 3:
		return oneOf(t, someNumbers)
	case 4:
		return quoted(oneOf(t, someTexts))
	case 5:
		return quoted(oneOf(t, []string{"", " ", "\n", "\u3000"}) + value(t, depth-1)) // JSON in a text, or nearly
	case 6, 7:
		return list(t, upTo(t, 4), func(int) string { return value(t, depth-1) })
	default:
		return object(keysOf(t), func(string) string { return value(t, depth-1) })
	}
}

// some draws at most n different ones.
func some(t *rapid.T, from []string, n int) (out []string) {
	for range n {
		if s := oneOf(t, from); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func list(_ *rapid.T, n int, element func(int) string) string {
	out := make([]string, n)
	for i := range out {
		out[i] = element(i)
	}
	return "[" + strings.Join(out, ",") + "]"
}

func object(keys []string, member func(string) string) string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = quoted(k) + ":" + member(k)
	}
	return "{" + strings.Join(out, ",") + "}"
}

// keysOf draws few keys often and the rest seldom, so that rules and plans meet.
func keysOf(t *rapid.T) []string {
	from := someKeys[:4]
	if chance(t, 25) {
		from = someKeys
	}
	return some(t, from, upTo(t, 5))
}

// marks draws a map of marks for a value: mostly of its shape, as tools write
// it, sometimes of another.
func marks(t *rapid.T, text string) string {
	return marksOf(t, decode(text), 3)
}

func marksOf(t *rapid.T, v any, depth int) string {
	if chance(t, 8) && depth > 0 { // of no shape that fits
		return oneOf(t, []string{"true", "null", "[true]", "[false]", `{"a":true}`, `{"a":[false,true]}`, `{"b":{}}`, `{"0":true}`, "1", `"true"`, "[[],true]"})
	}
	switch v := v.(type) {
	case []any:
		n := len(v) + upTo(t, 3) - 1
		return list(t, max(0, n), func(i int) string { return marksOf(t, append(v, nil)[min(i, len(v))], depth-1) })
	case map[string]any:
		var keys []string
		for _, k := range someKeys {
			if _, has := v[k]; has && chance(t, 60) || chance(t, 3) {
				keys = append(keys, k)
			}
		}
		return object(keys, func(k string) string { return marksOf(t, v[k], depth-1) })
	}
	return oneOf(t, []string{"false", "false", "false", "true", "null"})
}

// like draws a value that mostly has the keys of another, so that a rule finds
// something in many changes.
func like(t *rapid.T, shape any) string {
	if chance(t, 10) {
		return value(t, 2)
	}
	switch v := shape.(type) {
	case []any:
		return list(t, len(v), func(i int) string { return like(t, v[i]) })
	case map[string]any:
		keys := slices.DeleteFunc(slices.Sorted(maps.Keys(v)), func(string) bool { return chance(t, 10) })
		return object(keys, func(k string) string { return like(t, v[k]) })
	}
	if chance(t, 50) {
		return value(t, 0)
	}
	return quoted(shape)
}

// decode reads a JSON text, numbers as they are written.
func decode(text string) (v any) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		panic(err)
	}
	return v
}

// attributes draws what a plan accepts as before or after: an object or null.
func attributes(t *rapid.T, shape any) string {
	text := like(t, shape)
	if text == "null" || strings.HasPrefix(text, "{") {
		return text
	}
	return `{"a":` + text + "}"
}

// change draws one entry of resource_changes, with marks of what is sensitive
// where the plan has secrets.
func change(t *rapid.T, i int, shape any, secrets bool) string {
	actions, address := oneOf(t, tuples), oneOf(t, addresses)
	before, after := attributes(t, shape), attributes(t, shape)
	if chance(t, 10) {
		after = oneOf(t, []string{"null", "{}"})
	}
	fields := []string{fmt.Sprintf(`"address":%s,"deposed":"%d"`, quoted(address), i)} // no two are one object
	if chance(t, 40) {
		fields = []string{fmt.Sprintf(`"address":%s`, quoted(fmt.Sprintf("%s[%d]", address, i)))}
	}
	add := func(percent int, format string, args ...any) {
		if chance(t, percent) {
			fields = append(fields, fmt.Sprintf(format, args...))
		}
	}
	add(85, `"mode":%q`, oneOf(t, []string{"managed", "managed", "managed", "managed", "managed", "managed", "data", "ephemeral"}))
	add(85, `"type":%q`, oneOf(t, []string{"t", "u", "é"}))
	add(70, `"name":"x"`)
	add(20, `"previous_address":%s`, quoted(oneOf(t, addresses)))
	add(20, `"action_reason":"replace_because_tainted"`)
	if strings.Contains(strings.Join(fields, ","), `"mode":"ephemeral"`) && chance(t, 50) {
		actions = oneOf(t, []string{`"open"`, `"Open"`})
	}
	delta := []string{fmt.Sprintf(`"actions":[%s]`, actions)}
	for _, member := range []string{`"before":` + before, `"after":` + after, `"after_unknown":` + marks(t, after)} {
		if !chance(t, 5) {
			delta = append(delta, member)
		}
	}
	if chance(t, 20) {
		delta = append(delta, `"importing":`+oneOf(t, []string{"null", "{}", `{"id":"x"}`}))
	}
	if secrets && chance(t, 50) {
		delta = append(delta, `"after_sensitive":`+marks(t, after), `"before_sensitive":`+marks(t, before))
	}
	return "{" + strings.Join(append(fields, `"change":{`+strings.Join(delta, ",")+"}"), ",") + "}"
}

// randomPlan draws the text of a plan.
func randomPlan(t *rapid.T, changes int, shape any) string {
	format, secrets := oneOf(t, []string{"1.2", "1.2", "1.0", "0.1"}), chance(t, 50)
	fields := []string{
		fmt.Sprintf(`"format_version":%q`, format),
		`"resource_changes":` + list(t, changes, func(i int) string { return change(t, i, shape, secrets) }),
	}
	if secrets { // what is in a text that holds a secret is one by value, which Rego cannot see
		fields[1] = looksLikeJSON.ReplaceAllString(fields[1], `"x`)
	}
	if chance(t, 50) {
		fields = append(fields, `"configuration":{"root_module":{"resources":[],"module_calls":`+calls(t, 2)+"}}")
	}
	if chance(t, 50) {
		fields = append(fields, `"checks":`+list(t, 3, func(i int) string {
			return fmt.Sprintf(`{"address":{"to_display":"check.c%d"},"status":%q}`, i, oneOf(t, []string{"pass", "fail", "error", "unknown", "", "new\n"}))
		}))
	}
	if chance(t, 30) {
		fields = append(fields, `"complete":`+oneOf(t, []string{"true", "false", "null"}), `"deferred_changes":`+list(t, upTo(t, 3), func(i int) string {
			return fmt.Sprintf(`{"reason":"x","resource_change":%s}`, change(t, i, shape, secrets))
		}))
	}
	return "{" + strings.Join(fields, ",") + "}"
}

func calls(t *rapid.T, depth int) string {
	names := some(t, []string{"m", "net", "module", "module_calls"}, upTo(t, 3))
	return object(names, func(string) string {
		fields := []string{`"expressions":{"module_calls":{"x":{}}}`}
		if chance(t, 80) {
			fields = append(fields, `"source":`+quoted(oneOf(t, []string{"./modules/x", "registry/acme/x", "abc", ""})))
		}
		if depth > 0 {
			fields = append(fields, `"module":{"module_calls":`+calls(t, depth-1)+"}")
		}
		return "{" + strings.Join(fields, ",") + "}"
	})
}

// pathInto draws a path that mostly leads to something in v, and returns what
// stands there.
func pathInto(t *rapid.T, v any) (string, any) {
	var b strings.Builder
	for range 1 + upTo(t, 4) {
		if text, ok := v.(string); ok {
			var inside any
			if json.Unmarshal([]byte(text), &inside) == nil {
				v = inside
			}
		}
		var step string
		step, v = stepInto(t, v)
		b.WriteString(step)
	}
	return b.String(), v
}

func stepInto(t *rapid.T, v any) (string, any) {
	stray := chance(t, 15)
	switch v := v.(type) {
	case map[string]any:
		if keys := slices.Sorted(maps.Keys(v)); len(keys) > 0 && !stray {
			key := oneOf(t, keys)
			if chance(t, 25) {
				return "[*]", v[key]
			}
			return "[" + quoted(key) + "]", v[key]
		}
	case []any:
		if len(v) > 0 && !stray {
			i := upTo(t, len(v))
			return oneOf(t, []string{"[*]", fmt.Sprintf("[%d]", i), fmt.Sprintf(`["%d"]`, i)}), v[i]
		}
	}
	return oneOf(t, []string{"[*]", "[0]", "[1]", "[" + quoted(oneOf(t, someKeys)) + "]"}), nil
}

// randomRule draws a rule that the loader accepts.
func randomRule(t *rapid.T, i int, shape any) string {
	fields := []string{fmt.Sprintf(`"id":"r%d"`, i), fmt.Sprintf(`"level":%q`, oneOf(t, []string{"deny", "warn"})), `"message":"m"`}
	add := func(format string, args ...any) { fields = append(fields, fmt.Sprintf(format, args...)) }
	selects := func(percent int, name string, from []string) {
		if chance(t, percent) {
			add("%q:%s", name, quoted(some(t, from, 2)))
		}
	}
	check := ""
	if chance(t, 15) {
		check = oneOf(t, []string{"no_delete", "no_replace", "no_forget", "no_import", "max_deletes", "module_source", "checks_pass", "complete_plan"})
		add(`"check":%q`, check)
	}
	switch check {
	case "max_deletes":
		add(`"value":%d`, upTo(t, 3))
	case "module_source":
		add(`"value":%s`, quoted(some(t, patterns, 2)))
		selects(30, "address", []string{"module.*", "module.m", "*.module.net", "?"})
	case "checks_pass":
		selects(30, "address", []string{"check.*", "check.c1", "?"})
	case "":
		selects(40, "actions", words)
		path, there := pathInto(t, shape)
		add(`"path":%s`, quoted(path))
		operator(t, there, add)
	}
	if check == "checks_pass" || check == "" {
		if chance(t, 30) {
			add(`"unknown":%q`, oneOf(t, []string{"allow", "deny"}))
		}
	}
	if check != "module_source" && check != "checks_pass" && check != "complete_plan" {
		selects(12, "type", globs)
		selects(15, "address", globs)
		selects(10, "mode", []string{"managed", "data", "ephemeral"})
	}
	return "{" + strings.Join(fields, ",") + "}"
}

// operator adds one with a value, which often is what stands there.
func operator(t *rapid.T, there any, add func(string, ...any)) {
	operand := func() string {
		if there != nil && chance(t, 40) {
			return quoted(there)
		}
		for {
			if v := value(t, 2); v != "null" {
				return v
			}
		}
	}
	op := oneOf(t, []string{"exists", "absent", "eq", "ne", "in", "not_in", "matches", "not_matches", "lt", "lte", "gt", "gte"})
	add(`"op":%q`, op)
	switch op {
	case "exists", "absent":
	case "eq", "ne":
		add(`"value":%s`, operand())
	case "in", "not_in":
		add(`"value":[%s,%s]`, operand(), operand())
	case "matches", "not_matches":
		add(`"value":%s`, quoted(oneOf(t, patterns)))
	default:
		add(`"value":%s`, oneOf(t, someNumbers))
	}
}
