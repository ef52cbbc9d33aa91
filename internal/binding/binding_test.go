package binding

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

type thing struct {
	Where   string            `path:"where" json:"-"`
	Deep    bool              `query:"deep" json:"-"`
	Search  string            `query:"search" json:"-"`
	Name    string            `json:"name" max:"10"`
	Count   int               `json:"count,omitzero"`
	Until   time.Time         `json:"until,omitzero"`
	Labels  map[string]string `json:"labels,omitempty"`
	Unbound string            `json:"-"`
	Paging
}

func (thing) Route() string { return "POST /v1/things/{where}/deep" }

type paged struct {
	Paging
}

// Paging is embedded the way that requests embed it.
type Paging struct {
	Limit int `query:"limit" json:"-" max:"100"`
}

func (paged) Route() string { return "GET /v1/paged" }

type upload struct {
	Name string    `query:"name" json:"-"`
	Body io.Reader `stream:"application/octet-stream" json:"-"`
}

func (upload) Route() string { return "POST /v1/upload" }

// carry sends a request over real HTTP and reads it on the other side.
func carry[T Request](t *testing.T, in T) (T, error) {
	t.Helper()
	sent, err := Encode(in)
	if err != nil {
		t.Fatal(err)
	}
	var out T
	mux := http.NewServeMux()
	err = io.ErrUnexpectedEOF // nobody came
	mux.HandleFunc(in.Route(), func(_ http.ResponseWriter, r *http.Request) {
		err = Decode(Source{Path: r.PathValue, Query: r.URL.RawQuery, Body: r.Body}, &out)
	})
	mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), sent.Method, sent.Target, sent.Body))
	return out, err
}

// TestCarried: what a client writes is what a server reads.
func TestCarried(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		in := thing{
			Where:  rapid.StringMatching(`[ -~]{1,20}`).Draw(rt, "where"),
			Deep:   rapid.Bool().Draw(rt, "deep"),
			Search: strings.ReplaceAll(rapid.StringN(0, 20, 80).Draw(rt, "search"), "\x00", ""),
			Name:   rapid.StringMatching(`[ -~]{0,10}`).Draw(rt, "name"),
			Count:  rapid.Int().Draw(rt, "count"),
			Until:  time.UnixMicro(rapid.Int64Range(0, 1<<50).Draw(rt, "until")).UTC(),
		}
		if in.Where == "." || in.Where == ".." || in.Where == "/" {
			return // no path element that a URL can hold
		}
		got, err := carry(t, in)
		if diff := cmp.Diff(in, got); err != nil || diff != "" {
			rt.Fatalf("%v\n%s", err, diff)
		}
	})
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	if got, err := carry(t, paged{Paging{Limit: 7}}); err != nil || got.Limit != 7 {
		t.Errorf("%+v %v", got, err)
	}
	got, err := carry(t, upload{Name: "a b", Body: strings.NewReader("bytes")})
	if err != nil || got.Name != "a b" {
		t.Fatalf("%+v %v", got, err)
	}
	if data, err := io.ReadAll(got.Body); err != nil || string(data) != "bytes" {
		t.Errorf("%q %v", data, err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		query, body string
		code        api.Code
	}{
		{"", `{"name":"n"}`, ""},
		{"", ``, api.Invalid},
		{"", `null`, api.Invalid},
		{"", `{}`, api.Invalid},
		{"", `{"name":"n"} {}`, api.Invalid},
		{"", `{"name":"n","name":"m"}`, api.Invalid},
		{"", `{"Name":"n"}`, api.Invalid},
		{"", `{"name":"n","unknown":1}`, api.Invalid},
		{"", `{"name":"n","where":"elsewhere"}`, api.Invalid},
		{"", `{"name":7}`, api.Invalid},
		{"", `{"name":"12345678901"}`, api.Invalid},
		{"", `{"name":"\u0000"}`, api.Invalid},
		{"", "{\"name\":\"\xff\"}", api.Invalid},
		{"", `{"name":"n","labels":[]}`, api.Invalid},
		{"", `{"name":"n","until":"yesterday"}`, api.Invalid},
		{"deep=perhaps", `{"name":"n"}`, api.Invalid},
		{"search=a&search=b", `{"name":"n"}`, api.Invalid},
		{"search=" + strings.Repeat("x", 256), `{"name":"n"}`, api.Invalid},
		{"search=%ff", `{"name":"n"}`, api.Invalid},
		{"elephant=1", `{"name":"n"}`, api.Invalid},
		{"a;b", `{"name":"n"}`, api.Invalid},
		{"", `{"name":"` + strings.Repeat("x", bodyMax) + `"}`, api.TooLarge},
	} {
		var to thing
		err := Decode(Source{Path: func(string) string { return "here" }, Query: test.query, Body: strings.NewReader(test.body)}, &to)
		if (err == nil) != (test.code == "") || err != nil && problem.Code(err) != test.code {
			t.Errorf("%s %.60s: %v", test.query, test.body, err)
		}
	}
}

// FuzzDecode: whatever is sent is read or refused, and what is read can be sent again.
func FuzzDecode(f *testing.F) {
	f.Add("deep=1&limit=3", []byte(`{"name":"n","count":3,"labels":{"a":"b"}}`))
	f.Add("%zz", []byte(`{"name":{"name":[`))
	f.Fuzz(func(t *testing.T, query string, body []byte) {
		var to thing
		err := Decode(Source{Path: func(string) string { return "here" }, Query: query, Body: bytes.NewReader(body)}, &to)
		if err != nil {
			if c := problem.Code(err); c != api.Invalid && c != api.TooLarge {
				t.Errorf("%v is a %s", err, c)
			}
			return
		}
		got, err := carry(t, to)
		if err != nil || !reflect.DeepEqual(got, to) && !cmp.Equal(got, to) {
			t.Errorf("%+v came as %+v, %v", to, got, err)
		}
	})
}

// TestHostileName: a name that is no text is refused like any other.
func TestHostileName(t *testing.T) {
	t.Parallel()
	var to thing
	err := Decode(Source{Path: func(string) string { return "here" }, Query: strings.Repeat("\x8f", 10000), Body: strings.NewReader("")}, &to)
	if problem.Code(err) != api.Invalid {
		t.Error(err)
	}
}
