package rules_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// anyJSON draws a value that is not null, as text.
func anyJSON(t *rapid.T, depth int, label string) string {
	kinds := 4
	if depth > 0 {
		kinds = 6
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, label) {
	case 0:
		return rapid.SampledFrom([]string{"0", "1", "1.0", "-0", "1e0", "0.1", "9007199254740993", "9007199254740992", "1e99999"}).Draw(t, "number")
	case 1:
		return rapid.SampledFrom([]string{"true", "false"}).Draw(t, "boolean")
	case 2:
		return rapid.SampledFrom([]string{`"1"`, `"true"`, `""`, `"{}"`, `"[1]"`}).Draw(t, "text")
	case 3:
		text, _ := json.Marshal(rapid.String().Draw(t, "string"))
		return string(text)
	case 4:
		return "[" + anyJSON(t, depth-1, "first") + "," + anyJSON(t, depth-1, "second") + "]"
	default:
		return `{"a":` + anyJSON(t, depth-1, "a") + `,"b":null}`
	}
}

// For any two values: eq and ne are opposites, in and not_in of one value are
// the same two again, and everything equals itself.
func TestEqualityIsOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		found, want := anyJSON(rt, 2, "found"), anyJSON(rt, 2, "want")
		p := decode(t, planOf(change(`{"v": `+found+`}`, `{}`, `{}`)))
		violates := func(name, op, value string) bool {
			return len(judge(t, source(name, with("path", `"v"`, "op", `"`+op+`"`, "value", value)), p).Findings) > 0
		}
		eq := violates("r.json", "eq", want)
		if violates("r.json", "ne", want) == eq || violates("r.json", "in", "["+want+"]") != eq || violates("r.json", "not_in", "["+want+"]") == eq {
			rt.Errorf("the operators disagree about %s and %s", found, want)
		}
		if violates("r.json", "eq", found) {
			rt.Errorf("%s does not equal itself", found)
		}
	})
}

// An unknown value violates every rule over it, whatever stands in its place.
func TestUnknownAlwaysViolates(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		leaf := rapid.SampledFrom([]string{"null", anyJSON(rt, 1, "leaf")}).Draw(rt, "after")
		unknown := rapid.SampledFrom([]string{`true`, `{"a": true}`, `{"a": {"b": true}}`, `{"a": {"b": true, "c": [false]}}`}).Draw(rt, "unknown")
		p := decode(t, planOf(change(`{"a": {"b": `+leaf+`}}`, unknown, `{}`)))
		op := rapid.SampledFrom([]string{"exists", "absent", "eq", "ne", "in", "not_in", "matches", "not_matches", "lt", "lte", "gt", "gte"}).Draw(rt, "op")
		value := map[string]string{"exists": "-", "absent": "-", "eq": "1", "ne": "1", "in": "[1]", "not_in": "[1]", "matches": `"."`, "not_matches": `"."`}[op]
		if value == "" {
			value = "1"
		}
		rule := with("op", `"`+op+`"`, "value", value)
		want := fmt.Sprint([]string{"a.b is known after apply, so it cannot be checked at plan time"})
		if got := fmt.Sprint(messages(t, rule, p)); got != want {
			rt.Errorf("%s says %s", rule, got)
		}
	})
}
