package serve_test

import (
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/postgres/postgrestest"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/serve"
	"github.com/assize-iac/assize/internal/serve/servetest"
)

// TestMain has servers find the Postgres that tools/build has linked.
func TestMain(m *testing.M) {
	linked, err := filepath.Abs(filepath.Join("..", "..", ".bin", "postgres"))
	if err == nil && os.Getenv("ASSIZE_POSTGRES_BIN") == "" {
		if _, err := os.Stat(linked); err == nil {
			os.Setenv("ASSIZE_POSTGRES_BIN", linked)
		}
	}
	os.Exit(m.Run())
}

// get is what the server answers to a GET.
func get(t *testing.T, s *servetest.Server, path, token string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := s.Client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// TestServer: a server answers over TLS, knows the administrator, and closes what
// is secret.
func TestServer(t *testing.T) {
	t.Parallel()
	s := servetest.Start(t, servetest.Options{})
	for _, c := range []struct {
		path, token string
		status      int
		want        string
	}{
		{"/healthz", "", 200, "ok"},
		{"/readyz", "", 200, `"database":"ok"`},
		{"/.well-known/terraform.json", "", 200, `"tfe.v2"`},
		{"/api/v2/organizations", "", 401, "unauthenticated"},
		{"/api/registry/v1/modules/default/network/aws/versions", "", 401, "unauthenticated"},
		{"/api/registry/v1/modules/default/network/aws/versions", s.Token, 404, "not_found"},
		{"/api/v2/organizations/default", s.Token, 200, `"id":"default"`},
		{"/nothing", s.Token, 404, "not_found"},
	} {
		if status, body := get(t, s, c.path, c.token); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s, want %d and %s", c.path, status, body, c.status, c.want)
		}
	}
	for file, mode := range map[string]os.FileMode{"ca.pem": 0o644, "ca-key.pem": 0o600, "admin-token": 0o600} {
		if info, err := os.Stat(filepath.Join(s.Data, file)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v %v, want %v", file, info, err, mode)
		}
	}
}

// TestTwoReplicas: two servers on one database answer the same, and the second
// makes no token: the first one has it.
func TestTwoReplicas(t *testing.T) {
	t.Parallel()
	one := servetest.Start(t, servetest.Options{})
	data := t.TempDir()
	two := servetest.Start(t, servetest.Options{Settings: func(s *serve.Settings) {
		s.Database, s.Artifacts, s.ArtifactKey = one.Database, filepath.Join(one.Data, "artifacts"), one.ArtifactKey
		s.Data = data
		if err := os.WriteFile(filepath.Join(data, "admin-token"), []byte("assize_u_something_else\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}})
	if two.Token != "assize_u_something_else" {
		t.Error("the second replica made a token of its own")
	}
	if status, body := get(t, two, "/api/v2/organizations/default", one.Token); status != 200 {
		t.Errorf("%d %s", status, body)
	}
}

// TestOtherDatabase: a server never starts on artifacts of another database, which it
// would sweep away.
func TestOtherDatabase(t *testing.T) {
	t.Parallel()
	one := servetest.Start(t, servetest.Options{})
	s := serve.Defaults(func(string) string { return "" })
	s.Data, s.Listen, s.Database = t.TempDir(), "localhost:0", postgrestest.URL(t)
	s.Artifacts, s.ArtifactKey = filepath.Join(one.Data, "artifacts"), one.ArtifactKey
	if _, err := serve.Start(t.Context(), s, slog.New(slog.DiscardHandler)); problem.Code(err) != api.Refused || !strings.Contains(err.Error(), "another database") {
		t.Errorf("%v", err)
	}
	s.Artifacts, s.Database = filepath.Join(s.Data, "empty"), one.Database
	for range 2 { // an empty place can be the one of this database, be it one that was lost
		again, err := serve.Start(t.Context(), s, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
