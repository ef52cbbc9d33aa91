package serve

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

const canary = "canary-4f1e"

// observed is a server with these routes below all that surrounds them, and its log.
func observed(t *testing.T, routes func(*http.ServeMux, *Server)) (*httptest.Server, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	tracer, err := newTracer(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), tracer: tracer, health: &health{}}
	s.metrics = newMetrics(nil, s.health)
	mux := http.NewServeMux()
	routes(mux, s)
	mux.HandleFunc("/", nothing)
	server := httptest.NewServer(usual().limit(s.observe(s.secure(mux))))
	t.Cleanup(server.Close)
	return server, &log
}

func ask(t *testing.T, url string, header http.Header) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(canary))
	if err != nil {
		t.Fatal(err)
	}
	for name := range header {
		req.Header[name] = header[name]
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err.Error()
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err.Error()
	}
	return res, string(body)
}

// TestNoSecretInTheLog puts a canary everywhere a client can put something, and into
// what goes wrong in the server.
func TestNoSecretInTheLog(t *testing.T) {
	t.Parallel()
	s, log := observed(t, func(mux *http.ServeMux, s *Server) {
		mux.HandleFunc("POST /api/v2/object/{secret}", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			s.failed(r, problem.New(api.Invalid, "no"))
			w.WriteHeader(422)
		})
		mux.HandleFunc("POST /broken", func(http.ResponseWriter, *http.Request) { panic(errors.New(canary)) })
		mux.HandleFunc("POST /bug", func(http.ResponseWriter, *http.Request) {
			var none []string
			none[len(canary)] = canary
		})
		mux.HandleFunc("POST /half", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half")
			panic(canary)
		})
		mux.HandleFunc("POST /known/{name}", func(http.ResponseWriter, *http.Request) {})
	})
	header := http.Header{"Authorization": {"Bearer " + canary}, "Cookie": {canary}, "User-Agent": {canary}, "Referer": {canary}, "X-Request-Id": {canary + "!"}}
	for path, want := range map[string]int{
		"/api/v2/object/" + canary:  422,
		"/api/v2/objects/" + canary: 404,
		"/" + canary:                404,
		"/broken?x=" + canary:       500,
		"/bug?x=" + canary:          500,
		"/known/one?x=" + canary:    200,
	} {
		res, body := ask(t, s.URL+path, header)
		if res == nil || res.StatusCode != want || strings.Contains(body, canary) {
			t.Errorf("%s: %+v %s", path, res, body)
			continue
		}
		if id := res.Header.Get("X-Request-Id"); id == "" || !strings.Contains(log.String(), "id="+id) {
			t.Errorf("%s: the id %q is not in the log", path, id)
		}
	}
	if res, body := ask(t, s.URL+"/half", nil); res != nil {
		t.Errorf("half an answer looks like a whole one: %s", body)
	}
	s.Close()
	if text := log.String(); strings.Contains(text, canary) || !strings.Contains(text, "path=/known/one") || !strings.Contains(text, "path=/api/v2/object/{secret}") ||
		!strings.Contains(text, "index out of range") || !strings.Contains(text, "observe_test.go") {
		t.Errorf("%s", text)
	}
}

// TestRequestID: a proxy's id is kept, and one that could do harm in a log is not.
func TestRequestID(t *testing.T) {
	t.Parallel()
	s, _ := observed(t, func(mux *http.ServeMux, _ *Server) {
		mux.HandleFunc("POST /", func(http.ResponseWriter, *http.Request) {})
	})
	for given, kept := range map[string]bool{"4f1e-4f1e-4f1e": true, "short": false, "a b c d e f g": false, strings.Repeat("x", 65): false, "level=ERROR\u00a0": false} {
		res, _ := ask(t, s.URL, http.Header{"X-Request-Id": {given}})
		if res == nil || (res.Header.Get("X-Request-Id") == given) != kept {
			t.Errorf("%q: %v", given, res)
		}
	}
}

// TestMayWatch: without a token, only this machine itself sees the figures.
func TestMayWatch(t *testing.T) {
	for name, c := range map[string]struct {
		from, host, token string
		header            http.Header
		want              bool
	}{
		"this machine":            {from: "127.0.0.1:1", host: "localhost:8443", want: true},
		"this machine, IPv6":      {from: "[::1]:1", host: "[::1]:8443", want: true},
		"no port":                 {from: "127.0.0.1:1", host: "localhost", want: true},
		"another machine":         {from: "10.0.0.1:1", host: "localhost"},
		"through a proxy":         {from: "127.0.0.1:1", host: "localhost", header: http.Header{"X-Forwarded-For": {"10.0.0.1"}}},
		"through a quiet proxy":   {from: "127.0.0.1:1", host: "assize.example.com"},
		"the token":               {from: "10.0.0.1:1", host: "x", token: "a", header: http.Header{"Authorization": {"Bearer a"}}, want: true},
		"another token":           {from: "127.0.0.1:1", host: "localhost", token: "a", header: http.Header{"Authorization": {"Bearer b"}}},
		"no token where one is":   {from: "127.0.0.1:1", host: "localhost", token: "a"},
		"no bearer where one is":  {from: "127.0.0.1:1", host: "localhost", token: "a", header: http.Header{"Authorization": {"a"}}},
		"a path instead of an IP": {from: "@", host: "localhost"},
	} {
		if got := mayWatch(&http.Request{RemoteAddr: c.from, Host: c.host, Header: c.header}, c.token); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
