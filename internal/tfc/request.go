package tfc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/hashicorp/jsonapi"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// bodyMax is the size of a request that holds a document, in bytes. What holds a
// state or an archive is not read into memory and has limits of its own.
const bodyMax = 1 << 20

// body is a whole request of at most so many bytes.
func (r *request) body(most int64) ([]byte, error) {
	data, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, most))
	var large *http.MaxBytesError
	var known said
	switch {
	case errors.As(err, &known):
		return nil, known
	case errors.As(err, &large):
		return nil, problem.New(api.TooLarge, "the request has more than %d bytes", most)
	case err != nil:
		return nil, problem.New(api.Invalid, "the request ended before its end")
	case wide(data):
		return nil, problem.New(api.TooLarge, "the request has more than %d values", valuesMax)
	}
	return data, nil
}

// valuesMax is how many values a document may have. Each takes some hundred bytes when
// it is read, and two in the document.
const valuesMax = 100_000

// wide reports whether JSON has more values than may be. Text that is no JSON may have
// them too.
func wide(data []byte) bool {
	values, text := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			text = !text
		case text && c == '\\':
			i++ // what it escapes
		case !text && (c == ',' || c == '[' || c == '{'):
			values++
		}
	}
	return values > valuesMax
}

// decode reads one JSON:API document into doc, whose type is the only one that is
// accepted.
func (r *request) decode(doc any) error {
	data, err := r.body(bodyMax)
	if err != nil {
		return err
	}
	return decode(data, doc)
}

// decode refuses what is no document of doc's type. What the library makes of
// hostile input is its affair: whatever happens there, the input was invalid.
func decode(data []byte, doc any) (err error) {
	defer func() {
		if recover() != nil {
			err = notOfType(errors.New("the document cannot be read"), typeOf(reflect.TypeOf(doc)))
		}
	}()
	if err := jsonapi.UnmarshalPayload(bytes.NewReader(data), doc); err != nil {
		return notOfType(err, typeOf(reflect.TypeOf(doc)))
	}
	return nil
}

// typeOf is what JSON:API calls documents of a Go type, a pointer to a struct.
func typeOf(doc reflect.Type) string {
	for i := range doc.Elem().NumField() {
		if name, ok := strings.CutPrefix(doc.Elem().Field(i).Tag.Get("jsonapi"), "primary,"); ok {
			return name
		}
	}
	return ""
}

// A change is a document whose attributes are, among others, settings of a thing:
// those that are in it replace those that the thing has.
type change struct {
	attributes json.RawMessage
	relations  map[string]json.RawMessage // nil for none
}

// decodeChange reads one JSON:API document into doc, like decode, and keeps its
// attributes for the settings that they change.
func (r *request) decodeChange(doc any) (change, error) {
	data, err := r.body(bodyMax)
	if err != nil {
		return change{}, err
	}
	if err := decode(data, doc); err != nil {
		return change{}, err
	}
	var body struct {
		Data struct {
			Attributes    json.RawMessage
			Relationships map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal(data, &body); err != nil {
		return change{}, notJSONAPI(err)
	}
	return change{attributes: body.Data.Attributes, relations: body.Data.Relationships}, nil
}

// onto changes settings, a pointer to a struct with names in JSON.
func (c change) onto(settings any) error {
	if len(c.attributes) == 0 {
		return nil
	}
	if err := json.Unmarshal(c.attributes, settings); err != nil {
		return notJSONAPI(err)
	}
	return nil
}

// notJSONAPI does not repeat what was sent: it may hold a secret. Decoders do, in
// what they say, and causes are written into logs: so of the cause its type is kept.
func notJSONAPI(cause error) *problem.Error {
	p := problem.New(api.Invalid, "the request is no JSON:API document of the type that is wanted here")
	p.Cause = fmt.Errorf("of a decoder: %T", cause)
	return p
}

// notOfType says which type is wanted: whoever writes a request by hand cannot guess it.
func notOfType(cause error, kind string) error {
	return notJSONAPI(cause).WithHint("data.type is %s, and each attribute is of the type that the protocol says", kind)
}

// decodeAll reads a list of documents of the type of T.
func decodeAll[T any](r *request) (docs []*T, err error) {
	data, err := r.body(bodyMax)
	if err != nil {
		return nil, err
	}
	wanted := func(cause error) error {
		return notJSONAPI(cause).WithHint("data is a list of documents whose type is %s", typeOf(reflect.TypeFor[*T]()))
	}
	defer func() {
		if recover() != nil {
			err = wanted(errors.New("the documents cannot be read"))
		}
	}()
	all, err := jsonapi.UnmarshalManyPayload(bytes.NewReader(data), reflect.TypeFor[*T]())
	if err != nil {
		return nil, wanted(err)
	}
	for _, doc := range all {
		docs = append(docs, doc.(*T))
	}
	return docs, nil
}

// references reads a list of identifiers, which JSON:API uses to change a
// relation: {"data": [{"type": ..., "id": ...}]}.
func (r *request) references(kind string) ([]string, error) {
	data, err := r.body(bodyMax)
	if err != nil {
		return nil, err
	}
	var body struct {
		Data []struct{ Type, ID string } `json:"data"`
	}
	wanted := func(cause error) error {
		return notJSONAPI(cause).WithHint("data is a list, each with an id and the type %s", kind)
	}
	if err := json.Unmarshal(data, &body); err != nil {
		return nil, wanted(err)
	}
	var ids []string
	for _, d := range body.Data {
		if d.Type != kind {
			return nil, wanted(errors.New("another type"))
		}
		ids = append(ids, d.ID)
	}
	return ids, nil
}

// A page is which part of a list a client wants, and how much there is.
type page struct {
	number, size int // the first page is 1
	total        int // of items; set by whoever answers
}

const (
	pageSize    = 20
	pageSizeMax = 100
)

// paging reads which page a client wants. Nonsense means the first.
func (r *request) paging() page {
	return page{number: r.count("page[number]", 1, 1<<20), size: r.count("page[size]", pageSize, pageSizeMax)}
}

// count is a number of the query between 1 and most.
func (r *request) count(name string, otherwise, most int) int {
	n, err := strconv.Atoi(r.URL.Query().Get(name))
	if err != nil || n < 1 {
		return otherwise
	}
	return min(n, most)
}

// offset is how many items come before the page.
func (p page) offset() int { return (p.number - 1) * p.size }

// meta is what JSON:API says of a page.
func (p page) meta() map[string]any {
	last := max(1, (p.total+p.size-1)/p.size)
	meta := map[string]any{"current-page": p.number, "page-size": p.size, "prev-page": nil, "next-page": nil,
		"total-pages": last, "total-count": p.total}
	if p.number > 1 {
		meta["prev-page"] = p.number - 1
	}
	if p.number < last {
		meta["next-page"] = p.number + 1
	}
	return meta
}

// each is the documents of things.
func each[T, D any](things []T, doc func(T) (*D, error)) ([]*D, error) {
	var docs []*D
	for _, t := range things {
		d, err := doc(t)
		if err != nil {
			return nil, err
		}
		docs = append(docs, d)
	}
	return docs, nil
}

// part is the page of a list that is all there. It says how much that is.
func part[T any](all []T, p *page) []T {
	p.total = len(all)
	from := min(p.offset(), len(all))
	return all[from:min(from+p.size, len(all))]
}
