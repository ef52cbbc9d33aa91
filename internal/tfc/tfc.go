// Package tfc speaks the protocol of Terraform Cloud, as far as the clients of
// OpenTofu and Terraform and go-tfe need it: /api/v2 in JSON:API, and how a client
// finds it. It translates and decides nothing; here, and only here, a stack is
// called a workspace.
package tfc

import (
	"net/http"
	"strings"

	"github.com/assize-iac/assize/internal/control"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
)

// A route is one thing that a client can ask for.
type route struct {
	pattern string // of http.ServeMux: a method and a path
	do      func(*request) (answer, error)
	open    bool // needs no token: the path itself is secret, or there is nothing to hide
}

// Handler answers everything of the protocol. What goes wrong for a client it tells
// failed as well, with the causes that no client sees.
func Handler(c *control.Control, failed func(*http.Request, error)) http.Handler {
	mux := http.NewServeMux()
	for _, r := range routes() {
		mux.Handle(r.pattern, handler{control: c, route: r, failed: failed})
	}
	nothing := route{do: func(*request) (answer, error) { return answer{}, noSuchThing() }}
	mux.Handle("/api/v2/", handler{control: c, route: nothing, failed: failed})
	return mux
}

// A handler answers the requests of one route.
type handler struct {
	control *control.Control
	route   route
	failed  func(*http.Request, error)
}

func (h handler) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	w.Header().Set("TFP-API-Version", apiVersion)
	w.Header().Set("X-TFE-Version", tfeVersion)
	w.Header().Set("X-Terraform-Snapshot-Interval", snapshotSeconds)
	r := &request{Request: hr, control: h.control}
	a, err := h.answer(r)
	if err == nil && a.stream != nil {
		h.send(w, r, a.stream)
		return
	}
	if err == nil {
		err = a.write(w, r)
	}
	if err != nil {
		h.failed(hr, err)
		writeError(w, err)
	}
}

// send sends an answer that is no document. What was sent before an error looks
// like the beginning of an answer: to break off is the one way to say that it is not.
func (h handler) send(w http.ResponseWriter, r *request, stream func(http.ResponseWriter) error) {
	if err := stream(w); err != nil {
		h.failed(r.Request, err)
		panic(http.ErrAbortHandler)
	}
}

// answer asks who it is before anything else, so that a stranger learns from no
// message what there is.
func (h handler) answer(r *request) (answer, error) {
	if !h.route.open {
		who, err := h.control.Authenticate(r.Context(), bearer(r.Request))
		if err != nil {
			return answer{}, err
		}
		r.who = who
	}
	return h.route.do(r)
}

// bearer is the token of a request, "" without one.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// A request is one that a client has sent, and who sent it.
type request struct {
	*http.Request
	control *control.Control
	who     identity.Principal
}

// view reads, all of it at one moment.
func (r *request) view(fn func(*postgres.View) error) error {
	return r.control.View(r.Context(), fn)
}

// update changes all or nothing; fn may run several times.
func (r *request) update(fn func(*postgres.Update) error) error {
	return r.control.Update(r.Context(), fn)
}

// organisation is the one that the path names.
func (r *request) organisation(v *postgres.View) (postgres.Organisation, error) {
	return v.Organisation(r.Context(), r.who, r.PathValue("organisation"))
}

// home is the organisation that the path names, for whoever has any role in it.
func (r *request) home(v *postgres.View) (postgres.Organisation, error) {
	return v.Home(r.Context(), r.who, r.PathValue("organisation"))
}
