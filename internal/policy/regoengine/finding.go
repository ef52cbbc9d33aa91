package regoengine

import (
	"encoding/json"
	"maps"

	"github.com/assize-iac/assize/api"
)

// finding reads one element of a rule: a string, or an object with a string
// msg (docs/policy.md, rule 24). conftest drops every other element and takes
// an empty message for a pass: the author meant to deny something, and nobody
// would hear of it.
func (r rule) finding(element any) (api.Finding, error) {
	f := api.Finding{Engine: api.Rego, Rule: r.id(), Level: r.level}
	switch e := element.(type) {
	case string:
		f.Message = e
	case map[string]any:
		msg, ok := e["msg"].(string)
		if !ok {
			return f, unjudged("%s holds an object without a string msg (%s)", r.id(), position(r.at)).
				WithHint(`results are strings, or objects such as {"msg": msg, "address": rc.address}`)
		}
		f.Message = msg
		attach(&f, e)
	default:
		return f, unjudged("%s holds %s where a message belongs (%s)", r.id(), kindOf(e), position(r.at)).
			WithHint(`results are strings, or objects such as {"msg": msg, "address": rc.address}`)
	}
	if f.Message == "" {
		return f, unjudged("%s holds an empty message (%s)", r.id(), position(r.at)).
			WithHint("say what is wrong; conftest counts an empty message as a pass")
	}
	return f, nil
}

// attach moves what a finding has a field for out of the result; the rest,
// conftest's metadata, stays as details. The fields may also stand in a nested
// object, as in results made for Gatekeeper; they are copied from there, so that
// details stay what the author wrote. A field that is no string is metadata: an
// address that is a number addresses nothing.
func attach(f *api.Finding, result map[string]any) {
	rest := maps.Clone(result)
	delete(rest, "msg")
	if loc, ok := rest["_loc"].(map[string]any); ok {
		f.Positions = located(loc)
	}
	delete(rest, "_loc")
	fields := map[string]*string{"rule": &f.Rule, "address": &f.Address, "deposed": &f.Deposed}
	for _, nested := range []string{"_details", "details"} {
		inner, _ := rest[nested].(map[string]any)
		for name, field := range fields {
			if text, ok := inner[name].(string); ok && text != "" {
				*field = text
			}
		}
	}
	for name, field := range fields {
		if text, ok := rest[name].(string); ok && text != "" {
			*field = text
			delete(rest, name)
		}
	}
	if len(rest) > 0 {
		f.Details = rest
	}
}

// located reads the position that a policy attaches for conftest to show. It is
// reserved there: never part of the metadata, even when it is malformed.
func located(loc map[string]any) []string {
	file, _ := loc["file"].(string)
	line, _ := loc["line"].(json.Number)
	switch {
	case file != "" && line != "":
		return []string{file + ":" + string(line)}
	case file != "":
		return []string{file}
	}
	return nil
}

// kindOf names what a value is without quoting it, because it may come from the
// plan.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case json.Number:
		return "a number"
	case string:
		return "a string"
	case map[string]any:
		return "an object"
	}
	return "a list"
}
