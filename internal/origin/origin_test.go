package origin

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

func nothing(string) string { return "" }

// read is the one state at a place.
func read(t *testing.T, place string) (string, error) {
	t.Helper()
	states, err := Find(t.Context(), place, nothing)
	if err != nil {
		return "", err
	}
	body, err := states[0].Open(t.Context())
	if err != nil {
		return "", err
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	return string(data), err
}

func TestFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a state")
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := read(t, path); got != "{}" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	if _, err := read(t, path+"x"); problem.Code(err) != api.NotFound {
		t.Error(err)
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"ftp://a/b", "s3://", "s3://bucket", "s3://canary-4f1e:secret@bucket/key", "tfe://host", "tfe://host/o/w/x", "http://[::1/x", "tfe:///o/w"} {
		if _, err := Find(t.Context(), place, nothing); problem.Code(err) != api.Invalid || problem.Hint(err) == "" || strings.Contains(err.Error()+problem.Hint(err), "canary") {
			t.Errorf("%s: %v", place, err)
		}
	}
}

func TestBucket(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	memory := s3mem.New()
	if err := memory.CreateBucket("states"); err != nil {
		t.Fatal(err)
	}
	if _, err := memory.PutObject("states", "prod/a.tfstate", nil, strings.NewReader("{}"), 2, nil); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(memory).Server())
	t.Cleanup(server.Close)
	query := "?region=nowhere&endpoint=" + server.URL
	if got, err := read(t, "s3://states/prod/a.tfstate"+query); got != "{}" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	if _, err := read(t, "s3://states/prod/b.tfstate"+query); problem.Code(err) != api.NotFound {
		t.Error(err)
	}
}

// foreign is a server of the protocol, as far as it is asked here, and a client of
// it with the token "secret".
func foreign(t *testing.T, elsewhere string) *server {
	t.Helper()
	var busy atomic.Int64
	mux := http.NewServeMux()
	host := httptest.NewTLSServer(mux)
	t.Cleanup(host.Close)
	answer := func(pattern, body string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if busy.Add(1)%3 == 0 {
				w.Header().Set("Retry-After", "0")
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			if r.Header.Get("Authorization") != "Bearer secret" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			_, _ = io.WriteString(w, body)
		})
	}
	mux.HandleFunc("GET /api/v2/organizations/acme/workspaces", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("page[number]") == "1" {
			_, _ = io.WriteString(w, `{"data":[{"id":"ws-1","attributes":{"name":"one"}},{"id":"ws-2","attributes":{"name":"two"}}],"meta":{"pagination":{"next-page":2}}}`)
			return
		}
		_, _ = io.WriteString(w, `{"data":[{"id":"ws-3","attributes":{"name":"three"}}],"meta":{"pagination":{"next-page":null}}}`)
	})
	answer("GET /api/v2/workspaces/ws-1/current-state-version", fmt.Sprintf(`{"data":{"attributes":{"hosted-state-download-url":"%s/api/v2/state"}}}`, host.URL))
	answer("GET /api/v2/workspaces/ws-2/current-state-version", fmt.Sprintf(`{"data":{"attributes":{"hosted-state-download-url":"%s/signed"}}}`, elsewhere))
	answer("GET /api/v2/state", "one")
	s := &server{host: strings.TrimPrefix(host.URL, "https://"), token: func() string { return "secret" }, http: patient()}
	s.http.RetryWaitMin, s.http.RetryWaitMax = time.Millisecond, time.Millisecond
	s.http.HTTPClient.Transport.(*http.Transport).TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // both ends are this test
	return s
}

// TestServer: all workspaces are found, page by page; a server that is busy is asked
// again; and the token goes to no other host.
func TestServer(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header["Authorization"]) > 0 {
			t.Errorf("the token went to another host")
		}
		_, _ = io.WriteString(w, "two")
	}))
	t.Cleanup(elsewhere.Close)
	s := foreign(t, elsewhere.URL)
	states, err := s.workspaces(t.Context(), "acme")
	if err != nil || len(states) != 3 {
		t.Fatalf("%v %v", states, err)
	}
	for i, name := range []string{"one", "two"} {
		body, err := states[i].Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if data, err := io.ReadAll(body); string(data) != name || err != nil || states[i].Name != name || states[i].Source != "tfe://"+s.host+"/acme/"+name {
			t.Errorf("%+v: %q %v", states[i], data, err)
		}
		body.Close()
	}
	if _, err := states[2].Open(t.Context()); problem.Code(err) != api.NotFound {
		t.Errorf("%v, want that it has no state", err)
	}
	s.token = func() string { return "wrong" }
	if _, err := states[0].Open(t.Context()); problem.Code(err) != api.Unauthenticated || strings.Contains(err.Error(), "wrong") {
		t.Error(err)
	}
}

// TestHostile: addresses that lead back to where nobody should go, documents that
// are none, and a body that breaks off.
func TestHostile(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "http://127.0.0.1/state", "file:///etc/passwd", "https://", "//host/x", "%zz"} {
		s := foreign(t, "https://elsewhere")
		if _, err := s.open(t.Context(), address); problem.Code(err) != api.Unavailable {
			t.Errorf("%q: %v", address, err)
		}
	}
	s := foreign(t, "https://elsewhere")
	var doc struct{}
	if err := s.get(t.Context(), "/api/v2/state", &doc); problem.Code(err) != api.Unavailable {
		t.Error(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	s.host, s.http.RetryMax = listener.Addr().String(), 0
	if err := s.get(t.Context(), "/api/v2/state", &doc); problem.Code(err) != api.Unavailable || strings.Contains(err.Error(), "/api/v2") {
		t.Error(err)
	}
}
