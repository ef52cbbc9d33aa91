package tfc

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/control"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/postgres/postgrestest"
	"github.com/assize-iac/assize/internal/problem"
)

// A server answers the protocol over a database of its own.
type server struct {
	*httptest.Server
	store *postgres.Store
}

func start(t *testing.T) server {
	t.Helper()
	return startOn(t, postgrestest.Open(t))
}

func startOn(t *testing.T, store *postgres.Store) server {
	t.Helper()
	keys, err := artifact.ParseRing(artifact.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	artifacts, err := artifact.CreateTree(t.TempDir(), keys)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = artifacts.Close() })
	failed := func(r *http.Request, err error) {
		if problem.Code(err).Status() >= 500 {
			t.Logf("%s %s: %v", r.Method, r.URL.Path, err)
		}
	}
	s := server{Server: httptest.NewServer(Handler(control.New(store, artifacts, keys), failed)), store: store}
	t.Cleanup(s.Close)
	return s
}

// user is the token of a new user who may make organisations.
func (s server) user(t *testing.T, name string) string {
	t.Helper()
	who, token := s.person(t, name)
	err := s.store.Update(t.Context(), func(u *postgres.Update) error {
		return u.Appoint(t.Context(), postgres.Server(), who.ID, true)
	})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// person is a new user, and a token of theirs.
func (s server) person(t *testing.T, name string) (identity.Principal, string) {
	t.Helper()
	who := postgres.NewUser(name)
	var token identity.Token
	err := s.store.Update(t.Context(), func(u *postgres.Update) (err error) {
		if err = u.Register(t.Context(), who); err != nil {
			return err
		}
		token, _, err = u.CreateToken(t.Context(), who, postgres.TokenRequest{Owner: who.ID, Description: "a test"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return who, token.Reveal()
}

// A reply is what a client got.
type reply struct {
	status int
	body   []byte
}

// doc is the reply as JSON.
func (r reply) doc(t *testing.T) map[string]any {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(r.body, &doc); err != nil {
		t.Fatalf("%d: %s: %v", r.status, r.body, err)
	}
	return doc
}

// do sends a request; body is JSON text, "" for none.
func (s server) do(t *testing.T, token, method, path, body string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", mediaType)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultTransport.RoundTrip(req) // follows no redirect
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{status: res.StatusCode, body: bytes.TrimSpace(data)}
}

// path is the pattern of a route with a word in place of each of its names.
func (r route) path(word string) (method, path string) {
	method, pattern, _ := strings.Cut(r.pattern, " ")
	return method, regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(pattern, word)
}

// TestEveryRoute asks for everything that there is without a token, with one that
// is none, with names that lead elsewhere, and with documents that are none: each
// is refused, none is an error of the server.
func TestEveryRoute(t *testing.T) {
	t.Parallel()
	s := start(t)
	token := s.user(t, "ann")
	for _, r := range routes() {
		method, path := r.path("nonexisting")
		if r.open {
			continue
		}
		for _, bad := range []string{"", "nonsense", "assize_u_" + strings.Repeat("0", 49)} {
			if got := s.do(t, bad, method, path, ""); got.status != http.StatusUnauthorized {
				t.Errorf("%s %s with the token %q: %d %s", method, path, bad, got.status, got.body)
			}
		}
		for _, word := range []string{"nonexisting", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "%00", "%ff%fe", "stk_0000000000000000000000", strings.Repeat("x", 5000)} {
			for _, body := range []string{"", "null", "[]", "{", `{"data":null}`, `{"data":[]}`, `{"data":{"type":"elephants"}}`,
				`{"data":{"type":"elephants","attributes":7,"relationships":[]}}`} {
				method, path := r.path(word)
				if got := s.do(t, token, method, path, body); got.status >= 500 {
					t.Errorf("%s %s %s: %d %s", method, path, body, got.status, got.body)
				}
			}
		}
	}
}

func TestOrganisation(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann, bob := s.user(t, "ann"), s.user(t, "bob")
	made := s.do(t, ann, "POST", "/api/v2/organizations", `{"data":{"type":"organizations","attributes":{"name":"acme"}}}`)
	if made.status != http.StatusCreated {
		t.Fatalf("%d %s", made.status, made.body)
	}
	read := s.do(t, ann, "GET", "/api/v2/organizations/acme", "")
	if read.status != http.StatusOK || !bytes.Equal(read.body, made.body) {
		t.Errorf("%d %s, want what was created: %s", read.status, read.body, made.body)
	}
	if got := s.do(t, bob, "GET", "/api/v2/organizations/acme", ""); got.status != http.StatusNotFound {
		t.Errorf("somebody else's: %d %s", got.status, got.body)
	}
}
