package binding

import (
	"errors"
	"io"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/strict"
)

// A Source is a request as it came.
type Source struct {
	Path  func(name string) string
	Query string // as it stands in the URL
	Body  io.Reader
}

// bodyMax is the size of a body that is a document, in bytes. One that is a stream
// is not read here.
const bodyMax = 1 << 20

// Decode reads a request into the struct that to points to. What the struct does
// not name is refused, and so is what is too long or no text; no message repeats a
// value (docs/api.md, rule 3).
func Decode(from Source, to any) error {
	v := reflect.ValueOf(to).Elem()
	fields := Fields(v.Type())
	for _, f := range in(fields, Path) {
		if err := set(v, f, from.Path(f.Name)); err != nil {
			return err
		}
	}
	if err := decodeQuery(from.Query, in(fields, Query), v); err != nil {
		return err
	}
	if streams := in(fields, Stream); len(streams) > 0 {
		v.FieldByIndex(streams[0].Index).Set(reflect.ValueOf(from.Body))
		return nil
	}
	return decodeBody(from.Body, in(fields, Body), to)
}

func decodeQuery(query string, fields []Field, to reflect.Value) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return problem.New(api.Invalid, "the query of the URL cannot be read").WithHint("each value must be percent-encoded")
	}
	for name := range values {
		if err := known(name, "query parameter", fields); err != nil {
			return err
		}
	}
	for _, f := range fields {
		given := values[f.Name]
		if len(given) > 1 {
			return problem.New(api.Invalid, "the query parameter %s is given more than once", f.Name)
		}
		if len(given) == 0 {
			continue
		}
		if err := set(to, f, given[0]); err != nil {
			return err
		}
	}
	return nil
}

// known refuses a name that no field has.
func known(name, what string, fields []Field) error {
	for _, f := range fields {
		if f.Name == name {
			return nil
		}
	}
	err := problem.New(api.Invalid, "there is no %s %q here", what, strict.Cut(name))
	if len(fields) == 0 {
		return err.WithHint("send none")
	}
	return err.WithHint("known are %s", strings.Join(names(fields), ", "))
}

// set reads the text of one field.
func set(to reflect.Value, f Field, text string) error {
	v := to.FieldByIndex(f.Index)
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || n > int64(f.Max) {
			return problem.New(api.Invalid, "%s is no number from 0 to %d", f.Name, f.Max)
		}
		v.SetInt(n)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return problem.New(api.Invalid, "%s is neither true nor false", f.Name)
		}
		v.SetBool(b)
	default:
		v.SetString(text)
		return checkText(f, text)
	}
	return nil
}

// checkText refuses what a database would, or what somebody wants to fill it with.
func checkText(f Field, text string) error {
	switch {
	case len(text) > f.Max:
		return problem.New(api.Invalid, "%s has more than %d bytes", f.Name, f.Max)
	case !utf8.ValidString(text) || strings.Contains(text, "\x00"):
		return problem.New(api.Invalid, "%s is no text", f.Name)
	}
	return nil
}

func decodeBody(body io.Reader, fields []Field, to any) error {
	data, err := io.ReadAll(io.LimitReader(body, bodyMax+1))
	switch {
	case err != nil:
		return problem.New(api.Invalid, "the request ended before its end")
	case len(data) > bodyMax:
		return problem.New(api.TooLarge, "the request has more than %d bytes", bodyMax)
	case len(fields) == 0 && len(data) > 0:
		return problem.New(api.Invalid, "this request has no body").WithHint("send none")
	case len(data) == 0 && !slices.ContainsFunc(fields, func(f Field) bool { return f.Required }):
		return nil
	}
	var given map[string]jsontext.Value
	if err := json.Unmarshal(data, &given); err != nil || given == nil {
		return problem.New(api.Invalid, "the body is no JSON object").WithHint("it has the fields %s", strings.Join(names(fields), ", "))
	}
	for name := range given {
		if err := known(name, "field", fields); err != nil {
			return err
		}
	}
	for _, f := range fields {
		if _, ok := given[f.Name]; f.Required && !ok {
			return problem.New(api.Invalid, "the field %s is missing", f.Name)
		}
	}
	if err := json.Unmarshal(data, to, json.RejectUnknownMembers(true)); err != nil {
		return wrongType(err)
	}
	return checkTexts(fields, reflect.ValueOf(to).Elem())
}

func checkTexts(fields []Field, in reflect.Value) error {
	for _, f := range fields {
		if v := in.FieldByIndex(f.Index); v.Kind() == reflect.String {
			if err := checkText(f, v.String()); err != nil {
				return err
			}
		}
	}
	return nil
}

// wrongType says which field it is, and nothing of what stands there.
func wrongType(cause error) error {
	var at *json.SemanticError
	where := ""
	if errors.As(cause, &at) {
		where = strict.Cut(strings.ReplaceAll(strings.TrimPrefix(string(at.JSONPointer), "/"), "/", "."))
	}
	return problem.New(api.Invalid, "the field %s has a value of another type", where).
		WithHint("docs/api.md says where the types of all fields stand")
}
