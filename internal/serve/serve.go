// Package serve is the process of a server: what it makes for itself in its data
// directory, the database that it starts or is given, the listener, and how it
// ends. It joins the protocols, which decide what is answered, and decides nothing
// but who is let in by the transport (docs/server.md).
package serve

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/control"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/postgres/cluster"
	"github.com/assize-iac/assize/internal/problem"
)

// A Server takes requests until it is stopped.
type Server struct {
	settings  Settings
	log       *slog.Logger
	adminFile string // "" when another replica has the token

	cluster   *cluster.Cluster // nil with a database that was given
	store     *postgres.Store
	keys      *artifact.Ring
	artifacts *artifact.Store
	control   *control.Control
	health    *health
	metrics   *metrics
	tracer    *tracer

	listener net.Listener
	http     *http.Server
	ended    chan error // why the listener ended by itself
	stopWork func()     // no new jobs are begun
	working  sync.WaitGroup
}

// Start starts a server. Once it returns, requests are answered. When it returns an
// error, nothing that it began is left; what it made in the data directory stays.
func Start(ctx context.Context, settings Settings, log *slog.Logger) (_ *Server, err error) {
	if err := settings.Check(); err != nil {
		return nil, err
	}
	log.Info("starting", "settings", settings)
	s := &Server{settings: settings, log: log, ended: make(chan error, 1)}
	defer func() {
		if err != nil {
			s.release()
		}
	}()
	if err := makeData(settings.Data); err != nil {
		return nil, err
	}
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	if err := s.administer(ctx); err != nil {
		return nil, err
	}
	if err := s.listen(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// open opens what a server keeps things in: the database, with the schema of this
// build, and the artifacts.
func (s *Server) open(ctx context.Context) error {
	url, err := s.database(ctx)
	if err != nil {
		return err
	}
	if err := postgres.Migrate(ctx, url); err != nil {
		return err
	}
	return s.connect(ctx, url)
}

// database is where the database is. A private one is started.
func (s *Server) database(ctx context.Context) (url string, err error) {
	if s.settings.Database != "" {
		return s.settings.Database, nil
	}
	return s.private(ctx)
}

// connect opens a database that has the schema of this build, and the artifacts.
func (s *Server) connect(ctx context.Context, url string) (err error) {
	if s.store, err = postgres.Open(ctx, url); err != nil {
		return err
	}
	if s.keys, err = s.settings.keys(); err != nil {
		return err
	}
	if s.artifacts, err = s.settings.openArtifacts(ctx, s.keys); err != nil {
		return err
	}
	s.control = control.New(s.store, s.artifacts, s.keys)
	s.health = &health{store: s.store, artifacts: s.artifacts}
	s.metrics = newMetrics(s.store, s.health)
	return nil
}

// private starts a Postgres that is nobody else's. A program in a checkout finds the
// one that tools/build has linked beside it.
func (s *Server) private(ctx context.Context) (url string, err error) {
	var beside []string
	if program, err := os.Executable(); err == nil {
		beside = append(beside, filepath.Join(filepath.Dir(program), "postgres"))
	}
	programs, err := cluster.Find(beside...)
	if err != nil {
		return "", err
	}
	if s.cluster, err = cluster.Start(ctx, programs, filepath.Join(s.settings.Data, dirPostgres)); err != nil {
		return "", err
	}
	return s.cluster.URL("postgres"), nil
}

// listen begins to answer, and to do the jobs that changes leave behind.
func (s *Server) listen(ctx context.Context) error {
	tls, err := s.settings.transport(time.Now())
	if err != nil {
		return err
	}
	s.listener, err = net.Listen("tcp", s.settings.Listen)
	if err != nil {
		return problem.New(api.Unavailable, "no connections can be taken on %s: %w", s.settings.Listen, err).
			WithHint("is another server running? choose another address: --listen localhost:9443")
	}
	if s.tracer, err = newTracer(ctx, s.settings.Traces); err != nil {
		return err
	}
	patience := usual().patience
	s.http = &http.Server{
		Handler: s.handler(), TLSConfig: tls, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		// A client must not hold a connection by doing nothing. How long the rest of a
		// request may take depends on its size: see pace.
		ReadHeaderTimeout: patience, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		HTTP2: &http.HTTP2Config{WriteByteTimeout: patience, SendPingTimeout: patience, PingTimeout: patience / 2},
	}
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stopWork = stop
	s.work(working)
	go func() {
		if tls == nil {
			s.ended <- s.http.Serve(s.listener)
			return
		}
		s.ended <- s.http.ServeTLS(s.listener, "", "")
	}()
	return nil
}

// URL is where clients come to, without a slash at the end.
func (s *Server) URL() string {
	if s.settings.PublicURL != "" {
		return s.settings.PublicURL
	}
	scheme := "https://"
	if s.settings.InsecureHTTP {
		scheme = "http://"
	}
	return scheme + s.Address()
}

// Address is the host and port that the server listens on; the port is one that
// the machine chose when the settings say 0.
func (s *Server) Address() string {
	host, _, err := net.SplitHostPort(s.settings.Listen)
	_, port, errPort := net.SplitHostPort(s.listener.Addr().String())
	if err != nil || errPort != nil {
		return s.listener.Addr().String()
	}
	return net.JoinHostPort(host, port)
}

// Wait returns when ctx ends, with nil, or when the server cannot go on, with why.
func (s *Server) Wait(ctx context.Context) error {
	var ended <-chan struct{}
	if s.cluster != nil {
		ended = s.cluster.Ended()
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.ended:
		return problem.New(api.Unavailable, "no more connections can be taken: %w", err)
	case <-ended:
		return problem.New(api.Unavailable, "the private Postgres has ended").
			WithHint("its log is %s", filepath.Join(s.settings.Data, dirPostgres, "log"))
	}
}

// Stop ends a server in order (docs/server.md, rule 12): it says that it is not
// ready, lets requests that are running end, then the jobs, then the database. When
// ctx ends first, requests are cut off. A second call does nothing.
func (s *Server) Stop(ctx context.Context) error {
	if !s.health.stop() {
		return nil
	}
	select {
	case <-ctx.Done():
	case <-time.After(s.settings.Drain):
	}
	ending, cancel := context.WithTimeout(ctx, s.settings.Grace)
	defer cancel()
	err := s.http.Shutdown(ending)
	if err != nil {
		err = problem.New(api.Limited, "requests that were still running have been cut off: %w", errors.Join(err, s.http.Close()))
	}
	s.release()
	s.log.Info("stopped")
	return err
}

// release gives back what the server holds, as far as it got.
func (s *Server) release() {
	if s.stopWork != nil {
		s.stopWork()
		s.working.Wait()
	} else if s.listener != nil {
		_ = s.listener.Close()
	}
	if s.tracer != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = s.tracer.close(ctx) // who collects traces may be gone
	}
	if s.store != nil {
		s.store.Close()
	}
	if s.artifacts != nil {
		_ = s.artifacts.Close()
	}
	if s.cluster != nil {
		s.cluster.Stop()
	}
}
