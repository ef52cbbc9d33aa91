package client

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/assize-iac/assize/api"
	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/binding"
	"github.com/assize-iac/assize/internal/problem"
)

func TestAddress(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"assize.example.com":          "https://assize.example.com",
		"https://Assize.Example.com/": "https://assize.example.com",
		"https://a.example:443":       "https://a.example",
		"https://localhost:8443":      "https://localhost:8443",
		"http://127.0.0.1:8080":       "http://127.0.0.1:8080",
		"http://[::1]:8080":           "http://[::1]:8080",
		"http://assize.example.com":   "",
		"http://localhost.evil.com":   "",
		"ftp://a.example":             "",
		"https://user:pass@a.example": "",
		"https://a.example/api":       "",
		"https://a.example?x=1":       "",
		"":                            "",
		"https://":                    "",
		"https://a example":           "",
	} {
		got, err := Address(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q %v, want %q", in, got, err, want)
		}
	}
}

// TestFailure: what goes wrong has the code that the server says; what something in
// between says is not repeated, and the token goes nowhere else.
func TestFailure(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s came with %q", r.URL, r.Header.Get("Authorization"))
	}))
	t.Cleanup(elsewhere.Close)
	answers := map[string]func(http.ResponseWriter){
		"locked": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"code":"locked","message":"ann has it","hint":"wait"}`)
		},
		"proxy": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, `<html>canary-4f1e</html>`)
		},
		"page": func(w http.ResponseWriter) { _, _ = io.WriteString(w, `<html>canary-4f1e</html>`) },
		"redirect": func(w http.ResponseWriter) {
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(http.StatusFound)
		},
		"half": func(w http.ResponseWriter) { w.Header().Set("Content-Length", "100"); _, _ = io.WriteString(w, `{`) },
	}
	want := map[string]api.Code{"locked": api.Locked, "proxy": api.Unavailable, "page": api.Unavailable, "redirect": api.Invalid, "half": api.Unavailable}
	for name, answer := range answers {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w) }))
		c, err := New(Server{URL: server.URL, Token: "secret"})
		if err != nil {
			t.Fatal(err)
		}
		var out v1.Stack
		err = c.Ask(t.Context(), v1.ShowStack{Stack: "stk"}, &out)
		if problem.Code(err) != want[name] || problem.Hint(err) == "" || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %s: %v", name, problem.Code(err), err)
		}
		server.Close()
	}
	if text := fmt.Sprintf("%+v %#v", Client{}, &Client{token: func() string { return "secret" }}); strings.Contains(text, "secret") {
		t.Errorf("a client shows its token: %s", text)
	}
}

func TestAll(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next := map[string]string{"": `"1"`, "1": `"2"`, "2": `""`}[r.URL.Query().Get("cursor")]
		_, _ = io.WriteString(w, `{"items":[{"id":"`+r.URL.Query().Get("cursor")+`","name":"x"}],"next":`+next+`}`)
	}))
	t.Cleanup(server.Close)
	c, err := New(Server{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for o, err := range All[v1.Organisation](t.Context(), c, func(p v1.Paging) binding.Request { return v1.ListOrganisations{Paging: p} }) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, o.ID)
	}
	if fmt.Sprint(ids) != "[ 1 2]" {
		t.Errorf("%q", ids)
	}
}
