package serve

import (
	"io"
	"net/http"
	"strings"

	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/server"
	"github.com/assize-iac/assize/internal/signin"
	"github.com/assize-iac/assize/internal/tfc"
)

// handler is everything that the server answers. Each protocol has its line here.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.health.alive)
	mux.HandleFunc("GET /readyz", s.health.ready)
	mux.Handle("GET /metrics", s.metrics.handler(s.settings.MetricsToken))

	protocol := s.public(tfc.Handler(s.control, s.failed))
	mux.Handle("/api/v2/", protocol)
	mux.Handle("/api/registry/", protocol)
	mux.Handle("/.well-known/terraform.json", protocol)
	native := server.Handler(s.control, s.failed)
	mux.Handle("/v1/", native)
	mux.Handle("/state/", native)
	mux.Handle("/openapi.yaml", native)
	mux.Handle("/oauth/", signin.Handler(s.control, s.signIn(), s.failed))

	mux.HandleFunc("/", nothing)

	return usual().limit(s.observe(s.secure(mux)))
}

// public has addresses in answers begin with the public URL, if there is one, and not with
// what a client or a proxy made of the request's: a state must not go elsewhere, or without
// TLS, because a proxy does not say for whom it asks (docs/server.md, rule 6).
func (s *Server) public(next http.Handler) http.Handler {
	scheme, host, ok := strings.Cut(s.settings.PublicURL, "://")
	if !ok {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = host // in this very request: what it is logged by stands in it afterwards
		r.Header.Set("X-Forwarded-Proto", scheme)
		next.ServeHTTP(w, r)
	})
}

// signIn is with what people sign in here.
func (s *Server) signIn() signin.Settings {
	return signin.Settings{URL: s.URL(), Issuer: s.settings.OIDCIssuer, Client: s.settings.OIDCClient, Secret: s.settings.OIDCSecret, Domains: s.settings.domains()}
}

// nothing answers what no protocol knows.
func nothing(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusNotFound)
	_, _ = io.WriteString(w, `{"errors":[{"status":"404","title":"not_found","detail":"there is nothing here"}]}`+"\n")
}

// failed writes down why a request was not answered as it wanted, with the causes
// that no client sees. What a client did wrong it is told, and nobody else.
func (s *Server) failed(r *http.Request, err error) {
	s.log.LogAttrs(r.Context(), level(problem.Code(err)), "failed", failure(r, err)...)
}

// secure sets the headers without which a browser would do more than is wanted. That a
// name means HTTPS for ever is said of no localhost: other programs speak HTTP there,
// the one that waits for a login among them.
func (s *Server) secure(next http.Handler) http.Handler {
	strict := s.settings.Certificate != "" && !loopback(s.settings.Listen)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Cache-Control", "no-store")
		if strict {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}
