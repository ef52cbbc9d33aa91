package spec

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// An expression is what stands in place of a value in the configuration of the tool.
type expression interface {
	// json is the value of a field of a JSON configuration.
	json() any
	// code is the same within an expression of the tool's language.
	code() string
}

// A code is an expression of the tool's language.
type code string

func (c code) json() any    { return "${" + string(c) + "}" }
func (c code) code() string { return string(c) }

// A template is text with expressions in it.
type template []expression // of code and plain text

func (t template) json() any {
	var b strings.Builder
	for _, part := range t {
		b.WriteString(part.json().(string))
	}
	return b.String()
}

func (t template) code() string {
	var b strings.Builder
	for _, part := range t {
		if text, ok := part.(plain); ok {
			quoted := text.code()
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteString("${" + part.code() + "}")
	}
	return `"` + b.String() + `"`
}

// A plain is text that means itself.
type plain string

func (p plain) json() any    { return escape(string(p)) }
func (p plain) code() string { return quote(string(p)) }

// escape keeps the tool from finding a template in text.
func escape(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "${", "$${"), "%{", "%%{")
}

// quote is text as a string of the tool's language, whose escapes are those of Go
// as far as JSON needs any.
func quote(s string) string {
	quoted, _ := json.Marshal(escape(s)) // a string always can be
	return string(quoted)
}

// An atom is a number, a truth value or null, as JSON.
type atom json.RawMessage

func (a atom) json() any    { return json.RawMessage(a) }
func (a atom) code() string { return string(a) }

// A tuple is the elements of a list or set.
type tuple []expression

func (t tuple) json() any {
	all := make([]any, len(t))
	for i, e := range t {
		all[i] = e.json()
	}
	return all
}

func (t tuple) code() string {
	var all []string
	for _, e := range t {
		all = append(all, e.code())
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// An object is the entries of a map, or the fields of an object or block.
type object map[string]expression

func (o object) json() any {
	all := map[string]any{}
	for name, e := range o {
		all[escape(name)] = e.json()
	}
	return all
}

func (o object) code() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(o)) {
		all = append(all, quote(name)+" = "+o[name].code())
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// address is a reference as the tool's language wants it: CUE quotes keys as Go
// does, which has no templates.
func address(ref string) code {
	if !strings.Contains(ref, `["`) {
		return code(ref)
	}
	return code(escape(ref))
}

// addressOf is the address of an entry of a map.
func addressOf(at, key string) string { return at + "[" + strconv.Quote(key) + "]" }

// set reports whether an expression holds any value.
func set(e expression) bool {
	switch e := e.(type) {
	case object:
		return slices.ContainsFunc(slices.Collect(maps.Values(e)), set)
	case tuple:
		return slices.ContainsFunc(e, set)
	case atom:
		return string(e) != "null"
	}
	return e != nil
}
