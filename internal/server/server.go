// Package server speaks the native API of a server: /v1 in JSON, and the OpenAPI
// document of it, which is derived from the endpoints. It translates and decides
// nothing.
package server

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/assize-iac/assize/internal/binding"
	"github.com/assize-iac/assize/internal/control"
	"github.com/assize-iac/assize/internal/identity"
)

// A server answers with what a Control knows.
type server struct {
	control *control.Control
}

// endpoints are all that a client can ask for.
func (s *server) endpoints() []endpoint {
	return slices.Concat(
		s.organisations(),
		s.members(),
		s.grants(),
		s.stacks(),
		s.states(),
		s.locks(),
		s.quarantine(),
		s.deleted(),
		s.tokens(),
		s.audit(),
	)
}

// An endpoint is one thing that a client can ask for.
type endpoint struct {
	route   string // of http.ServeMux: a method and a path
	summary string // one sentence
	needs   identity.Permission
	in, out reflect.Type
	status  int    // of the answer when it went well
	media   string // of a stream
	do      func(ctx context.Context, who identity.Principal, from binding.Source) (any, error)
}

// answering is the endpoint of a request of type In. What do returns is the whole
// answer: a document, a [stream], or [nothing].
func answering[In binding.Request, Out any](summary string, needs identity.Permission, do func(context.Context, identity.Principal, In) (Out, error)) endpoint {
	var request In
	e := endpoint{route: request.Route(), summary: summary, needs: needs, status: http.StatusOK,
		in: reflect.TypeFor[In](), out: reflect.TypeFor[Out]()}
	switch e.out {
	case reflect.TypeFor[nothing]():
		e.status = http.StatusNoContent
	case reflect.TypeFor[stream]():
		e.media = "application/octet-stream"
	}
	e.do = func(ctx context.Context, who identity.Principal, from binding.Source) (any, error) {
		var in In
		if err := binding.Decode(from, &in); err != nil {
			return nil, err
		}
		return do(ctx, who, in)
	}
	return e
}

// making is the endpoint of something that makes a thing.
func making[In binding.Request, Out any](summary string, needs identity.Permission, do func(context.Context, identity.Principal, In) (Out, error)) endpoint {
	e := answering(summary, needs, do)
	e.status = http.StatusCreated
	return e
}

// sending is e with another media type of what it streams.
func (e endpoint) sending(media string) endpoint {
	e.media = media
	return e
}

// Handler answers everything below /v1/ and /state/, and /openapi.yaml. What goes wrong for a
// client it tells failed as well, with the causes that no client sees.
func Handler(c *control.Control, failed func(*http.Request, error)) http.Handler {
	s := &server{control: c}
	mux := http.NewServeMux()
	for _, e := range s.endpoints() {
		mux.Handle(e.route, handler{server: s, endpoint: e, failed: failed})
	}
	nowhere := endpoint{do: func(context.Context, identity.Principal, binding.Source) (any, error) { return nil, noSuchThing() }}
	mux.Handle("/v1/", handler{server: s, endpoint: nowhere, failed: failed})
	mux.HandleFunc("GET /openapi.yaml", serveOpenAPI)
	for method, do := range s.backend() {
		mux.Handle(method+" /state/{organisation}/{stack}", backend{server: s, do: do, failed: failed})
	}
	return mux
}

// A handler answers the requests of one endpoint.
type handler struct {
	*server
	endpoint
	failed func(*http.Request, error)
}

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out, err := h.answer(r)
	if s, ok := out.(stream); ok && err == nil {
		h.send(w, r, s)
		return
	}
	if err == nil {
		err = writeDocument(w, h.status, out)
	}
	if err != nil {
		h.failed(r, err)
		writeError(w, err)
	}
}

// answer asks who it is before anything else, so that a stranger learns from no
// message what there is.
func (h handler) answer(r *http.Request) (any, error) {
	who, err := h.control.Authenticate(r.Context(), bearer(r))
	if err != nil {
		return nil, err
	}
	return h.do(r.Context(), who, binding.Source{Path: r.PathValue, Query: r.URL.RawQuery, Body: r.Body})
}

// bearer is the token of a request, "" without one.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
