package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Type is one of the tools' types. The zero Type, and any other that is not known,
// is one of which nothing is known: its values are whatever they are.
type Type struct {
	Name    string           // string, number, bool, list, set, map, object, tuple, or ""
	Element *Type            // of a list, a set or a map
	Fields  map[string]*Type // of an object
}

// UnmarshalJSON reads a type as the tools write it: "string", ["list", "string"],
// ["object", {...}].
func (t *Type) UnmarshalJSON(data []byte) error {
	var name string
	if json.Unmarshal(data, &name) == nil {
		if t.Name = name; !t.Scalar() {
			t.Name = ""
		}
		return nil
	}
	var parts []json.RawMessage
	if json.Unmarshal(data, &parts) != nil || len(parts) < 2 || json.Unmarshal(parts[0], &name) != nil {
		return nil
	}
	switch name {
	case "list", "set", "map":
		t.Name, t.Element = name, &Type{}
		return json.Unmarshal(parts[1], t.Element)
	case "object":
		t.Name = name
		return json.Unmarshal(parts[1], &t.Fields)
	case "tuple":
		t.Name = name
	}
	return nil
}

// Scalar reports whether the values are text, numbers or truth.
func (t Type) Scalar() bool { return t.Name == "string" || t.Name == "number" || t.Name == "bool" }

// cue is the type as CUE, of a value that a specification sets. at is the address
// of the value as CUE text, "" where there is none that could be written.
func (t Type) cue(at string) string {
	switch {
	case t.Scalar():
		return marked(at, t.Name)
	case t.Name == "list" || t.Name == "set":
		return marked(at, "[..."+t.Element.cue("")+"]")
	case t.Name == "tuple":
		return marked(at, "[...]")
	case t.Name == "map":
		key := keyName(at)
		return marked(at, `[`+key+`=string]: `+t.Element.cue(entry(at, key)))
	case t.Name == "object":
		return marked(at, t.object(at, "?", Type.cue))
	}
	return marked(at, "_, ...")
}

// computed is the type as CUE, of a value that the provider may fill in. That of a
// collection is, until somebody sets it, one of two: so what asks for its length or
// its elements is told that they are not known, where [...string] alone would
// count as an empty list.
func (t Type) computed(at string) string {
	switch t.Name {
	case "object":
		return marked(at, t.object(at, "", Type.computed))
	case "list", "set", "map", "tuple":
		if at == "" {
			return t.cue("") + " | null"
		}
		return t.cue(at) + " | " + marked(at, "null")
	}
	return t.cue(at)
}

// object is the fields of an object, each said by field.
func (t Type) object(at, mark string, field func(Type, string) string) string {
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(t.Fields)) {
		fields = append(fields, strconv.Quote(name)+mark+": "+field(*t.Fields[name], dot(at, name)))
	}
	return strings.Join(fields, ", ")
}

// marked is a struct that holds content, scalar or fields, and where that is from.
// A scalar in a struct that has nothing else but definitions is a scalar in every
// respect, and what is embedded travels with it wherever it is used.
func marked(at, content string) string {
	switch {
	case at != "":
		return `{#refs: {"` + at + `": true, ...}, ` + content + `}`
	case content == "_, ...":
		return "_"
	case strings.HasPrefix(content, "[K") || strings.Contains(content, ":"):
		return "{" + content + "}"
	}
	return content
}

// dot and entry are the address of what is in the value at an address.
func dot(at, name string) string {
	if at == "" {
		return ""
	}
	return at + "." + name
}

func entry(at, key string) string {
	if at == "" {
		return ""
	}
	return at + `[\(strconv.Quote(` + key + `))]`
}

// keyName is a name for the keys of a map that no map around it has.
func keyName(at string) string { return "K" + strconv.Itoa(strings.Count(at, "strconv.Quote")) }
