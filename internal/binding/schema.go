package binding

import (
	"reflect"
	"slices"
	"strings"
	"time"
)

// A Schemas is the JSON Schemas of types, each named type once, by its name.
type Schemas map[string]map[string]any

// Of is the schema of a type: of a struct a reference to its own.
func (s Schemas) Of(t reflect.Type) map[string]any {
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": s.Of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.Of(t.Elem())}
	case reflect.Pointer:
		return s.Of(t.Elem())
	}
	if t == reflect.TypeFor[time.Time]() {
		return map[string]any{"type": "string", "format": "date-time"}
	}
	if t.Kind() != reflect.Struct {
		return map[string]any{} // anything
	}
	name := typeName(t)
	if s[name] == nil {
		s[name] = map[string]any{} // before its fields: a type may hold itself
		s[name] = s.object(Fields(t))
	}
	return map[string]any{"$ref": "#/components/schemas/" + name}
}

// object is the schema of those fields that stand in a body.
func (s Schemas) object(fields []Field) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, f := range in(fields, Body) {
		properties[f.Name] = s.Field(f)
		if f.Required {
			required = append(required, f.Name)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		slices.Sort(required)
		schema["required"] = required
	}
	return schema
}

// Field is the schema of one field.
func (s Schemas) Field(f Field) map[string]any {
	schema := s.Of(f.Type)
	if f.Doc != "" {
		schema["description"] = f.Doc
	}
	return schema
}

// Bounded is the schema of a field of a request, with what [Decode] refuses.
func (s Schemas) Bounded(f Field) map[string]any {
	schema := s.Of(f.Type)
	switch f.Type.Kind() {
	case reflect.String:
		schema["maxLength"] = f.Max
	case reflect.Int, reflect.Int64:
		schema["minimum"], schema["maximum"] = 0, f.Max
	}
	return schema
}

// Request is the schema of the body of a request, nil for none.
func (s Schemas) Request(t reflect.Type) map[string]any {
	fields := in(Fields(t), Body)
	if len(fields) == 0 {
		return nil
	}
	schema := s.object(fields)
	for _, f := range fields {
		bounded := s.Bounded(f)
		if f.Doc != "" {
			bounded["description"] = f.Doc
		}
		schema["properties"].(map[string]any)[f.Name] = bounded
	}
	return schema
}

// typeName is the name of a type; that of a page of stacks is StackPage.
func typeName(t reflect.Type) string {
	name, of, generic := strings.Cut(t.Name(), "[")
	if !generic {
		return name
	}
	of = strings.TrimSuffix(of, "]")
	return of[strings.LastIndexByte(of, '.')+1:] + name
}
