// Package servetest starts a whole server in a test: over TLS, with a database and
// a data directory of its own.
package servetest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/postgres/postgrestest"
	"github.com/assize-iac/assize/internal/serve"
)

// Options say how the server differs from one about which nothing was said.
type Options struct {
	Settings func(*serve.Settings) // changes them before the start; may be nil
	Log      *slog.Logger          // nil: nobody reads it
}

// A Server is one that runs until the test ends.
type Server struct {
	*serve.Server
	URL          string // such as https://localhost:41234
	Host         string // such as localhost:41234, as a cloud block names it
	CA           string // path of the certificate authority: SSL_CERT_FILE
	Token        string // of the administrator, who owns Organisation
	Organisation string
	Data         string // directory
	Database     string // URL
	ArtifactKey  string
}

// Start starts a server.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	data := t.TempDir()
	s := serve.Defaults(func(string) string { return "" })
	s.Data, s.Listen, s.Database = data, "localhost:0", postgrestest.URL(t)
	s.Artifacts, s.ArtifactKey = filepath.Join(data, "artifacts"), artifact.NewKey()
	s.Grace = 10 * time.Second
	if o.Settings != nil {
		o.Settings(&s)
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	running, err := serve.Start(t.Context(), s, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	token, err := os.ReadFile(filepath.Join(s.Data, "admin-token"))
	if err != nil {
		t.Fatal(err)
	}
	return &Server{Server: running, URL: running.URL(), Host: running.Address(), CA: filepath.Join(s.Data, "ca.pem"),
		Token: strings.TrimSpace(string(token)), Organisation: s.Organisation, Data: s.Data,
		Database: s.Database, ArtifactKey: s.ArtifactKey}
}

// Client trusts the server's authority, and follows no redirect.
func (s *Server) Client(t testing.TB) *http.Client {
	t.Helper()
	pem, err := os.ReadFile(s.CA)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	return &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
