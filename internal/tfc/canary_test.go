package tfc

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/control"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/postgres/postgrestest"
)

// A watched server remembers all that it says: to clients, and to its log with
// every cause.
type watched struct {
	server
	url, dir string // of the database and of the artifacts
	mu       sync.Mutex
	log      strings.Builder
	said     []string // each answer, after the request
}

func watch(t *testing.T) *watched {
	t.Helper()
	w := &watched{url: postgrestest.URL(t), dir: t.TempDir()}
	keys, err := artifact.ParseRing(artifact.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	artifacts, err := artifact.CreateTree(w.dir, keys)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = artifacts.Close() })
	store, err := postgres.Open(t.Context(), w.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	w.server = server{Server: httptest.NewServer(Handler(control.New(store, artifacts, keys), w.failed)), store: store}
	t.Cleanup(w.Close)
	return w
}

// failed writes down an error as a log may: with all of its causes.
func (w *watched) failed(r *http.Request, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(&w.log, "%s: %v", r.Method, err)
	for _, cause := range causes(err) {
		fmt.Fprintf(&w.log, ": %v %+v", cause, cause)
	}
	fmt.Fprintln(&w.log)
}

func causes(err error) []error {
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		var all []error
		for _, one := range e.Unwrap() {
			all = append(append(all, one), causes(one)...)
		}
		return all
	default:
		if cause := errors.Unwrap(err); cause != nil {
			return append([]error{cause}, causes(cause)...)
		}
	}
	return nil
}

// ask is do, remembered, with the status that must come of it.
func (w *watched) ask(t *testing.T, want int, token, method, path, body string) reply {
	t.Helper()
	got := w.do(t, token, method, path, body)
	if got.status != want {
		t.Errorf("%s %s: %d %s, want %d", method, path, got.status, got.body, want)
	}
	w.said = append(w.said, fmt.Sprintf("%s %s: %s", method, path, got.body))
	return got
}

// holds are the places where a secret is: in any form in which it could stand there.
func (w *watched) holds(t *testing.T, secret string) []string {
	t.Helper()
	forms := [][]byte{[]byte(secret), []byte(hex.EncodeToString([]byte(secret)))}
	for skip := range 3 { // base64, whatever comes before
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", skip) + secret))
		forms = append(forms, []byte(text[4:len(text)-4]))
	}
	within := func(text []byte) bool {
		for _, form := range forms {
			if bytes.Contains(text, form) {
				return true
			}
		}
		return false
	}
	var where []string
	for _, said := range w.said {
		if within([]byte(said)) {
			where = append(where, "an answer: "+said[:min(len(said), 60)])
		}
	}
	w.mu.Lock()
	if within([]byte(w.log.String())) {
		where = append(where, "the log: "+w.log.String())
	}
	w.mu.Unlock()
	for table, text := range w.dump(t) {
		if within([]byte(text)) {
			where = append(where, "the table "+table)
		}
	}
	err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if within(data) || within([]byte(path)) {
			where = append(where, "a file: "+path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return where
}

// dump is all that is in the database, as text, by table.
func (w *watched) dump(t *testing.T) map[string]string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'")
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 20 {
		t.Fatalf("%d tables, %v", len(tables), err)
	}
	all := map[string]string{}
	for _, table := range tables {
		var text string
		sql := "SELECT coalesce(string_agg(t::text, E'\n'), '') FROM " + pgx.Identifier{table}.Sanitize() + " t"
		if err := conn.QueryRow(t.Context(), sql).Scan(&text); err != nil {
			t.Fatal(err)
		}
		all[table] = text
	}
	return all
}

// acme makes an organisation with one workspace, whose id is returned.
func (s server) acme(t *testing.T, token string) string {
	t.Helper()
	s.do(t, token, "POST", "/api/v2/organizations", `{"data":{"type":"organizations","attributes":{"name":"acme","email":"a@example.com"}}}`)
	made := s.do(t, token, "POST", "/api/v2/organizations/acme/workspaces", `{"data":{"type":"workspaces","attributes":{"name":"network"}}}`)
	if made.status != http.StatusCreated {
		t.Fatalf("%d %s", made.status, made.body)
	}
	return made.id(t)
}

// id is that of the document in a reply.
func (r reply) id(t *testing.T) string {
	t.Helper()
	data, _ := r.doc(t)["data"].(map[string]any)
	id, _ := data["id"].(string)
	if id == "" {
		t.Fatalf("%d %s: no id", r.status, r.body)
	}
	return id
}

// attribute is one of the document in a reply.
func (r reply) attribute(t *testing.T, name string) any {
	t.Helper()
	data, _ := r.doc(t)["data"].(map[string]any)
	attributes, _ := data["attributes"].(map[string]any)
	return attributes[name]
}

// variable is a document of a variable, with a value that is JSON.
func variable(key, value string, sensitive bool) string {
	return fmt.Sprintf(`{"data":{"type":"vars","attributes":{"key":%q,"value":%s,"category":"terraform","sensitive":%v}}}`, key, value, sensitive)
}

// TestSecretsAreNowhere: a value that is sensitive, a key, a token and the secret of
// an upload are in no answer but the one that shows them once, and in no log, no
// column of the database, no file (docs/secrets.md, rules 1, 6 and 10).
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	w := watch(t)
	ann, bob := w.user(t, "ann"), w.user(t, "bob")
	ws := w.acme(t, ann)
	const canary = "canary-yellow-4f1e0c"
	vars, quoted := "/api/v2/workspaces/"+ws+"/vars", `"`+canary+`"`
	x := w.ask(t, 201, ann, "POST", vars, variable("password", quoted, true)).id(t)
	set := w.ask(t, 201, ann, "POST", "/api/v2/organizations/acme/varsets", `{"data":{"type":"varsets","attributes":{"name":"s","global":true}}}`).id(t)
	setVars := "/api/v2/varsets/" + set + "/relationships/vars"
	y := w.ask(t, 201, ann, "POST", setVars, variable("other", quoted, true)).id(t)
	key := w.ask(t, 201, ann, "POST", "/api/v2/organizations/acme/ssh-keys", `{"data":{"type":"ssh-keys","attributes":{"name":"k","value":`+quoted+`}}}`).id(t)

	// What changes, and what is refused.
	w.ask(t, 200, ann, "PATCH", vars+"/"+x, `{"data":{"type":"vars","attributes":{"key":"secret","value":`+quoted+`}}}`)
	w.ask(t, 422, ann, "PATCH", vars+"/"+x, `{"data":{"type":"vars","attributes":{"sensitive":false}}}`)
	w.ask(t, 422, ann, "PATCH", vars+"/"+x, `{"data":{"type":"vars","attributes":{"sensitive":false,"value":`+quoted+`}}}`)
	w.ask(t, 409, ann, "POST", vars, variable("secret", quoted, true))
	w.ask(t, 422, ann, "POST", vars, variable("", quoted, true))
	w.ask(t, 422, ann, "POST", vars, variable("zero", `"`+canary+`\u0000"`, true))
	for i, broken := range []string{`{"a":` + quoted + `}`, `[` + quoted + `]`, `[[{"x":` + quoted + `}]]`, quoted + `x`, quoted + `"`} {
		w.ask(t, 422, ann, "POST", vars, variable(fmt.Sprint("broken", i), broken, true))
		w.ask(t, 422, ann, "PATCH", setVars+"/"+y, variable("broken", broken, true))
	}
	w.ask(t, 422, ann, "POST", vars, `{"data":{"type":`+quoted+`,"attributes":{}}}`)
	w.ask(t, 422, ann, "POST", vars, `{"data":{"type":"vars","attributes":{"key":"k","category":`+quoted+`}}}`)
	w.ask(t, 422, ann, "POST", vars, `{"data":{"type":"vars","attributes":{"key":"k","value":`+quoted+`,"hcl":`+quoted+`,"category":"env"}}}`)
	w.ask(t, 413, ann, "POST", vars, variable("large", `"`+canary+strings.Repeat("x", 300<<10)+`"`, true))
	w.ask(t, 413, ann, "POST", vars, variable("huge", `"`+canary+strings.Repeat("x", 2<<20)+`"`, true))
	w.ask(t, 404, bob, "POST", vars, variable("theirs", quoted, true))
	w.ask(t, 404, bob, "GET", vars+"/"+x, "")

	// A variable that was readable and is not any more.
	z := w.ask(t, 201, ann, "POST", vars, variable("late", `"yellow-canary-77aa31"`, false)).id(t)
	w.said = w.said[:len(w.said)-1] // that one shows it
	w.ask(t, 200, ann, "PATCH", vars+"/"+z, `{"data":{"type":"vars","attributes":{"sensitive":true}}}`)

	// Everything that can be read.
	for _, path := range []string{vars, vars + "/" + x, setVars, setVars + "/" + y, "/api/v2/workspaces/" + ws + "/all-vars", "/api/v2/workspaces/" + ws,
		"/api/v2/workspaces/" + ws + "/varsets", "/api/v2/organizations/acme/varsets?include=vars", "/api/v2/varsets/" + set + "?include=vars,workspaces",
		"/api/v2/organizations/acme/ssh-keys", "/api/v2/ssh-keys/" + key, "/api/v2/organizations/acme/workspaces?include=vars"} {
		w.ask(t, 200, ann, "GET", path, "")
	}
	for _, secret := range []string{canary, "yellow-canary-77aa31"} {
		if where := w.holds(t, secret); where != nil {
			t.Errorf("%s is in %q", secret, where)
		}
	}
}

// TestShownOnce: the token of an agent and the address of an upload are in the one
// answer that makes them, and nowhere else.
func TestShownOnce(t *testing.T) {
	t.Parallel()
	w := watch(t)
	ann := w.user(t, "ann")
	ws := w.acme(t, ann)
	pool := w.ask(t, 201, ann, "POST", "/api/v2/organizations/acme/agent-pools", `{"data":{"type":"agent-pools","attributes":{"name":"p"}}}`).id(t)
	made := w.do(t, ann, "POST", "/api/v2/agent-pools/"+pool+"/authentication-tokens", `{"data":{"type":"agent-tokens","attributes":{"description":"d"}}}`)
	token, _ := made.attribute(t, "token").(string)
	version := w.do(t, ann, "POST", "/api/v2/workspaces/"+ws+"/configuration-versions", `{"data":{"type":"configuration-versions"}}`)
	address, _ := version.attribute(t, "upload-url").(string)
	path := strings.TrimPrefix(address, w.URL)
	secret := path[strings.LastIndex(path, "/")+1:]
	if !strings.HasPrefix(token, "assize_a_") || path == address || len(secret) != 43 {
		t.Fatalf("%s %s", made.body, version.body)
	}
	w.ask(t, 401, token, "GET", "/api/v2/organizations", "") // it opens nothing
	w.ask(t, 422, "", "PUT", path, "no archive, "+secret)
	w.ask(t, 200, "", "PUT", path, "\x1f\x8b\x08 an archive in which somebody left canary-blue-00aa77")
	for _, read := range []string{"/api/v2/agent-pools/" + pool + "/authentication-tokens", "/api/v2/authentication-tokens/" + made.id(t),
		"/api/v2/configuration-versions/" + version.id(t), "/api/v2/workspaces/" + ws + "/configuration-versions"} {
		w.ask(t, 200, ann, "GET", read, "")
	}
	w.said = deleteContaining(w.said, "PUT ") // the path of the request is in it
	for _, secret := range []string{token[9:], secret, "canary-blue-00aa77"} {
		if where := w.holds(t, secret); where != nil {
			t.Errorf("%s is in %q", secret, where)
		}
	}
}

func deleteContaining(all []string, prefix string) (rest []string) {
	for _, s := range all {
		if !strings.HasPrefix(s, prefix) {
			rest = append(rest, s)
		}
	}
	return rest
}
