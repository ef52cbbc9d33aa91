// Package decision decides whether what a policy gave is a decision: exactly
// the object of seed 000, "Result contract", within every bound
// (docs/decision.md, rule 6). What is not is an error, never fewer findings.
//
// It must not know how a decision came about, nor what the plan holds: no error
// quotes a value.
package decision

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// The bounds of a decision. Texts are counted in characters. Seed 000 gives the
// numbers of the first group, and says of details only that it is bounded.
const (
	MaxFindings = 500
	MaxID       = 128
	MaxTitle    = 160
	MaxMessage  = 4_000
	MaxAddress  = 512
	MaxBytes    = 2 << 20 // of the whole decision as JSON

	MaxDetailsDepth = 8        // objects and lists inside each other, details itself included
	MaxDetailsKeys  = 64       // of one object
	MaxDetailsItems = 256      // of one list
	MaxDetailsBytes = 16 << 10 // of one finding's details as JSON
)

// Read returns the findings of a decision, in its order; each is a deny whose
// rule is the finding's id. Values are those of JSON: nil, bool, json.Number,
// string, []any and map[string]any. Errors are invalid, or too_large for a
// bound.
func Read(decision any) ([]api.Finding, error) {
	object, ok := decision.(map[string]any)
	if !ok {
		return nil, invalid("it is no object")
	}
	// First, for JSON has another text in place of what is no UTF-8, and two
	// decisions would look the same.
	if !isText(decision) {
		return nil, invalid("it holds text that is no UTF-8")
	}
	list, ok := object["findings"].([]any)
	if !ok {
		return nil, invalid("findings is missing, or no list")
	}
	if len(object) > 1 {
		return nil, invalid("it has an unknown field beside findings")
	}
	if len(list) > MaxFindings {
		return nil, tooLarge("it has more than %d findings", MaxFindings)
	}
	if size(decision) > MaxBytes {
		return nil, tooLarge("it is larger than %d MiB", MaxBytes>>20)
	}
	return readAll(list)
}

func readAll(list []any) ([]api.Finding, error) {
	findings := make([]api.Finding, 0, len(list))
	first := map[string]int{}
	for i, element := range list {
		f, err := read(fmt.Sprintf("findings[%d]", i), element)
		if err != nil {
			return nil, err
		}
		if j, twice := first[f.Rule]; twice {
			return nil, invalid("findings[%d] repeats the id of findings[%d]", i, j)
		}
		first[f.Rule] = i
		findings = append(findings, f)
	}
	return findings, nil
}

// read reads one finding, which stands at the place at.
func read(at string, element any) (api.Finding, error) {
	f := api.Finding{Level: api.Deny}
	object, ok := element.(map[string]any)
	if !ok {
		return f, invalid("%s is no object", at)
	}
	known := 0
	for _, field := range []struct {
		name        string
		into        *string
		least, most int
		required    bool
	}{
		{"id", &f.Rule, 1, MaxID, true},
		{"title", &f.Title, 0, MaxTitle, true},
		{"message", &f.Message, 1, MaxMessage, true},
		{"resource_address", &f.Address, 0, MaxAddress, false},
	} {
		value, there := object[field.name]
		text, isString := value.(string)
		length := utf8.RuneCountInString(text)
		switch {
		case !there && !field.required:
			continue
		case !isString:
			return f, invalid("%s.%s is missing, or no string", at, field.name)
		case length < field.least:
			return f, invalid("%s.%s is empty", at, field.name)
		case length > field.most:
			return f, tooLarge("%s.%s is longer than %d characters", at, field.name, field.most)
		}
		*field.into = text
		known++
	}
	if value, there := object["details"]; there {
		if f.Details, ok = value.(map[string]any); !ok {
			return f, invalid("%s.details is no object", at)
		}
		if err := checkDetails(at+".details", f.Details); err != nil {
			return f, err
		}
		known++
	}
	if len(object) > known {
		return f, invalid("%s has an unknown field", at)
	}
	return f, nil
}

func checkDetails(at string, details map[string]any) error {
	if err := checkShape(at, details, 1); err != nil {
		return err
	}
	if size(details) > MaxDetailsBytes {
		return tooLarge("%s is larger than %d KiB", at, MaxDetailsBytes>>10)
	}
	return nil
}

// checkShape goes no deeper than the bound on depth.
func checkShape(at string, v any, depth int) error {
	var below []any
	switch v := v.(type) {
	case map[string]any:
		if len(v) > MaxDetailsKeys {
			return tooLarge("%s has an object with more than %d keys", at, MaxDetailsKeys)
		}
		for _, k := range slices.Sorted(maps.Keys(v)) { // one decision has one error
			below = append(below, v[k])
		}
	case []any:
		if len(v) > MaxDetailsItems {
			return tooLarge("%s has a list with more than %d elements", at, MaxDetailsItems)
		}
		below = v
	default:
		return nil
	}
	if depth > MaxDetailsDepth {
		return tooLarge("%s has more than %d objects and lists inside each other", at, MaxDetailsDepth)
	}
	for _, e := range below {
		if err := checkShape(at, e, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// isText reports whether every text and key of v is UTF-8. Policies can make
// others, with base64.decode for one.
func isText(v any) bool {
	switch v := v.(type) {
	case string:
		return utf8.ValidString(v)
	case []any:
		for _, e := range v {
			if !isText(e) {
				return false
			}
		}
	case map[string]any:
		for k, e := range v {
			if !utf8.ValidString(k) || !isText(e) {
				return false
			}
		}
	}
	return true
}

// size is the number of bytes of v as JSON, in the plain spelling: & is one
// byte. What cannot be written has no size within any bound.
func size(v any) int {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return MaxBytes + 1
	}
	return text.Len() - 1 // the line break that ends it
}

const hint = "docs/decision.md lists the fields and bounds of a decision; `assize policy schema decision` prints its JSON Schema"

func invalid(format string, args ...any) error {
	return problem.New(api.Invalid, "could not judge: the decision is malformed: "+format, args...).WithHint(hint)
}

func tooLarge(format string, args ...any) error {
	return problem.New(api.TooLarge, "could not judge: the decision is too large: "+format, args...).
		WithHint("let the policy report each violation once and shortly; " + hint)
}
