package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// observe gives each request an id and a span, writes one line about it into the
// log, counts it, and makes an answer of a panic.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		id := requestID(r)
		w.Header().Set("X-Request-Id", id)
		seen := &answer{ResponseWriter: w}
		body := &counted{ReadCloser: r.Body}
		r.Body = body
		ctx, span := s.tracer.begin(r)
		r = r.WithContext(context.WithValue(ctx, idKey{}, id))
		s.metrics.running.Inc()
		defer func() {
			caught := recover()
			abort := caught == http.ErrAbortHandler || caught != nil && seen.begun
			if caught != nil {
				s.panicked(seen, r, caught)
			}
			took := time.Since(begin)
			s.written(seen, r, body.bytes, took)
			s.metrics.count(r, seen.code(), body.bytes, took)
			s.metrics.running.Dec()
			s.tracer.end(span, r, seen.code())
			if abort {
				panic(http.ErrAbortHandler) // half an answer must not look like a whole one
			}
		}()
		next.ServeHTTP(seen, r)
	})
}

// panicked answers a request whose handler broke, if nothing was sent yet. What a
// panic says may hold anything, and only the machine's own messages are written down.
func (s *Server) panicked(w *answer, r *http.Request, caught any) {
	if caught == http.ErrAbortHandler {
		w.cut = true
		return
	}
	said := fmt.Sprintf("%T", caught)
	var known runtime.Error
	if err, ok := caught.(error); ok && errors.As(err, &known) {
		said = known.Error()
	}
	s.log.LogAttrs(r.Context(), slog.LevelError, "panic", slog.String("id", id(r)), slog.String("panic", said), slog.String("stack", string(debug.Stack())))
	if w.begun {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusInternalServerError)
	fmt.Fprintf(w, `{"errors":[{"status":"500","title":%q,"detail":"something went wrong in the server; its log says what, at %s"}]}`+"\n", api.Internal, id(r))
}

// written is the line about a request. It has no query, no header and no body, and
// of the path nothing that could be a secret (docs/server.md, rule 9).
func (s *Server) written(w *answer, r *http.Request, received int64, took time.Duration) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	attrs := []slog.Attr{
		slog.String("id", id(r)), slog.String("method", method(r)), slog.String("path", shownPath(r)), slog.Int("status", w.code()),
		slog.Int64("received", received), slog.Int64("sent", w.sent), slog.Duration("took", took), slog.String("from", host),
	}
	if w.cut {
		attrs = append(attrs, slog.Bool("cut", true))
	}
	s.log.LogAttrs(r.Context(), slog.LevelInfo, "request", attrs...)
}

// route is the pattern that a request has matched, or "" if none.
func route(r *http.Request) string {
	_, path, ok := strings.Cut(r.Pattern, " ")
	if !ok {
		path = r.Pattern
	}
	return path
}

// method is the request's, if it is one that is known: it is the client's to choose.
func method(r *http.Request) string {
	switch r.Method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "LOCK", "UNLOCK":
		return r.Method
	}
	return "OTHER"
}

// secretName matches a name in a pattern whose value opens something by itself.
var secretName = regexp.MustCompile(`\{(secret|ticket)(\.\.\.)?\}`)

// shownPath is a path without secrets. Of a path that no route matched, nobody
// knows what is in it.
func shownPath(r *http.Request) string {
	pattern := route(r)
	switch {
	case pattern == "" || strings.HasSuffix(pattern, "/") && pattern != r.URL.Path:
		return pattern + "?"
	case secretName.MatchString(pattern):
		return pattern
	}
	return r.URL.Path
}

// failure is what is written down of an error: with its causes.
func failure(r *http.Request, err error) []slog.Attr {
	attrs := []slog.Attr{slog.String("id", id(r)), slog.String("code", string(problem.Code(err))), slog.String("error", err.Error())}
	var p *problem.Error
	if errors.As(err, &p) && p.Cause != nil && (p.Code == api.Internal || p.Code == api.Unavailable) {
		attrs = append(attrs, slog.String("cause", p.Cause.Error()))
	}
	return attrs
}

// level is how much an operator should care: what a client did wrong is no news.
func level(code api.Code) slog.Level {
	switch code {
	case api.Internal:
		return slog.LevelError
	case api.Unavailable, api.Limited:
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

type idKey struct{}

// id is that of a request.
func id(r *http.Request) string {
	text, _ := r.Context().Value(idKey{}).(string)
	return text
}

var goodID = regexp.MustCompile(`^[0-9A-Za-z_.-]{8,64}$`)

// requestID is the one that a proxy has given, or a new one.
func requestID(r *http.Request) string {
	if given := r.Header.Get("X-Request-Id"); goodID.MatchString(given) {
		return given
	}
	return rand.Text()
}

// An answer remembers what was sent.
type answer struct {
	http.ResponseWriter
	status int
	sent   int64
	begun  bool
	cut    bool
}

func (a *answer) WriteHeader(status int) {
	if !a.begun && status >= 200 {
		a.status, a.begun = status, true
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	if !a.begun {
		a.status, a.begun = http.StatusOK, true
	}
	n, err := a.ResponseWriter.Write(p)
	a.sent += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answer) code() int {
	if !a.begun {
		return http.StatusOK
	}
	return a.status
}

// counted counts what was read of a body.
type counted struct {
	io.ReadCloser
	bytes int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.bytes += int64(n)
	return n, err
}
