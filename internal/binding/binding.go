// Package binding says how a request of the native API is a Go value: which field
// stands in the path, which in the query, which in the body. The server reads
// requests by it, the client writes them, and the OpenAPI document is derived from
// it, so the three cannot differ. It decides nothing and knows no endpoint.
package binding

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A Request is the input of one endpoint: a struct that says by its tags where
// each field stands, and by Route where it goes.
type Request interface {
	// Route is a method and a path as http.ServeMux has them. It is the same for
	// every value of a type.
	Route() string
}

// A Place is where in a request a field stands.
type Place string

// The places, each with the tag of its name.
const (
	Path   Place = "path"
	Query  Place = "query"
	Body   Place = "json"
	Stream Place = "stream" // the whole body, as bytes of the media type that is its name
)

// textMax is the size of a text in bytes where its field says no other.
const textMax = 255

// A Field is one field of a request.
type Field struct {
	Name     string
	Place    Place
	Index    []int // for reflect.Value.FieldByIndex
	Type     reflect.Type
	Required bool
	Max      int // bytes of a text, or the value of a number
	Doc      string
}

// Fields are those of a struct, embedded ones as if they stood in it.
func Fields(t reflect.Type) []Field {
	var fields []Field
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous || !f.IsExported() {
			continue
		}
		for _, place := range []Place{Path, Query, Stream, Body} {
			tag, ok := f.Tag.Lookup(string(place))
			if !ok || tag == "-" {
				continue
			}
			fields = append(fields, field(f, place, tag))
			break
		}
	}
	return fields
}

func field(f reflect.StructField, place Place, tag string) Field {
	name, options, _ := strings.Cut(tag, ",")
	required := place == Path || place == Body && !strings.Contains(options, "omit")
	most, err := strconv.Atoi(f.Tag.Get("max"))
	if err != nil {
		most = textMax
	}
	return Field{Name: name, Place: place, Index: f.Index, Type: f.Type, Required: required, Max: most, Doc: f.Tag.Get("doc")}
}

// in are the fields that stand in one place.
func in(fields []Field, place Place) []Field {
	return slices.DeleteFunc(slices.Clone(fields), func(f Field) bool { return f.Place != place })
}

// names are those of fields.
func names(fields []Field) []string {
	var all []string
	for _, f := range fields {
		all = append(all, f.Name)
	}
	return all
}
