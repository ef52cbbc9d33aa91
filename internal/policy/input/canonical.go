package input

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/plan/planjson"
	"github.com/assize-iac/assize/internal/problem"
)

// treeOf is a document as its JSON has it: with the names, and without what is
// left out. Numbers get their one spelling.
func treeOf(d *api.PolicyInput) (any, error) {
	text, err := json.Marshal(d)
	if err == nil {
		var tree any
		if tree, err = planjson.Parse(string(text)); err == nil {
			return tree, nil
		}
	}
	return nil, problem.New(api.Internal, "the policy input cannot be written: %w", err)
}

// canonical writes a document in its one text (docs/policy-input.md, rule 14).
// Members in the order of UTF-16 and the shortest escapes are the library's
// work; it would round numbers too, which is why it is not asked for all of RFC 8785.
func canonical(tree any) ([]byte, error) {
	text, err := json.Marshal(spelled(tree))
	if err != nil {
		return nil, problem.New(api.Internal, "the policy input cannot be written: %w", err)
	}
	v := jsontext.Value(text)
	if err := v.Format(jsontext.ReorderRawObjects(true)); err != nil {
		return nil, problem.New(api.Internal, "the policy input cannot be written: %w", err)
	}
	return v, nil
}

// spelled copies a tree with its numbers as RFC 8785 spells them. The tree is
// left alone: its values belong to the plan as well.
func spelled(v any) any {
	switch v := v.(type) {
	case json.Number:
		return number(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = spelled(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = spelled(e)
		}
		return out
	}
	return v
}

// number is n as RFC 8785 spells it, but only if that is still n: a double
// does not hold 9007199254740993, and two numbers must not have one digest.
func number(n json.Number) json.Number {
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil {
		return n
	}
	text := string(jsontext.AppendFloat(nil, f, 64))
	if back, err := planjson.Number(text); err != nil || back != n {
		return n
	}
	return json.Number(text)
}

// digest is of the canonical text, never of the bytes that came in: two
// spellings of one document are one input (docs/policy-input.md, rule 14).
func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// difference says where got is not what would be written, "" for nowhere. It
// names fields, and no value: a document that is refused has not been cleared
// of secrets.
func difference(got, want any, at string) string {
	switch g := got.(type) {
	case map[string]any:
		if w, ok := want.(map[string]any); ok {
			return differentMember(g, w, at)
		}
	case []any:
		if w, ok := want.([]any); ok && len(w) == len(g) {
			for i, e := range g {
				if what := difference(e, w[i], fmt.Sprintf("%s[%d]", at, i)); what != "" {
					return what
				}
			}
			return ""
		}
	case nil:
		if want != nil {
			return at + " is null"
		}
		return ""
	default:
		if got == want {
			return ""
		}
	}
	return at + " is not what this version writes"
}

// differentMember goes through the members in order, so that one document has
// one error. Names are quoted, for they may hold line breaks.
func differentMember(got, want map[string]any, at string) string {
	below := func(k string) string {
		if at == "" {
			return plan.Quote(k)
		}
		return at + "." + plan.Quote(k)
	}
	for _, k := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[k]; !ok && got[k] == nil {
			return below(k) + " is null, or unknown"
		} else if !ok {
			return below(k) + " is an unknown field, or one that is left out when it is empty"
		}
		if what := difference(got[k], want[k], below(k)); what != "" {
			return what
		}
	}
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if _, ok := got[k]; !ok {
			return below(k) + " is missing"
		}
	}
	return ""
}
