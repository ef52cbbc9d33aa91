package binding

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
)

// A Sent is a request as it goes over the wire.
type Sent struct {
	Method string
	Target string // path and query
	Type   string // of the body; "" without one
	Body   io.Reader
}

// Encode is the opposite of [Decode].
func Encode(r Request) (Sent, error) {
	v := reflect.ValueOf(r)
	fields := Fields(v.Type())
	method, path, _ := strings.Cut(r.Route(), " ")
	for _, f := range in(fields, Path) {
		text := fmt.Sprint(v.FieldByIndex(f.Index))
		path = strings.ReplaceAll(path, "{"+f.Name+"}", url.PathEscape(text))
	}
	query := url.Values{}
	for _, f := range in(fields, Query) {
		if value := v.FieldByIndex(f.Index); !value.IsZero() {
			query.Set(f.Name, fmt.Sprint(value))
		}
	}
	sent := Sent{Method: method, Target: path}
	if len(query) > 0 {
		sent.Target += "?" + query.Encode()
	}
	if streams := in(fields, Stream); len(streams) > 0 {
		sent.Type = streams[0].Name
		sent.Body, _ = v.FieldByIndex(streams[0].Index).Interface().(io.Reader)
		return sent, nil
	}
	if len(in(fields, Body)) == 0 {
		return sent, nil
	}
	data, err := json.Marshal(r)
	sent.Type, sent.Body = "application/json", bytes.NewReader(data)
	return sent, err
}
