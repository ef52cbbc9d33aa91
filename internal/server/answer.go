package server

import (
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/assize-iac/assize/api"
	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/problem"
)

// nothing is the answer of what leaves nothing to say.
type nothing struct{}

// A stream is an answer of bytes that is not held in memory.
type stream struct {
	size  int64 // -1: not known
	write func(io.Writer) error
}

// noSuchThing is the answer about a path that leads nowhere.
func noSuchThing() *problem.Error {
	return problem.New(api.NotFound, "there is nothing at this path").WithHint("/openapi.yaml lists what there is")
}

// writeDocument sends an answer. After an error nothing was sent yet.
func writeDocument(w http.ResponseWriter, status int, doc any) error {
	if _, ok := doc.(nothing); ok {
		w.WriteHeader(status)
		return nil
	}
	body, err := json.Marshal(doc, json.Deterministic(true))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // nobody is left to be told
	return nil
}

// writeError sends what went wrong. What is no problem is not shown: it may quote
// anything.
func writeError(w http.ResponseWriter, err error) {
	doc := v1.Error{Code: problem.Code(err), Message: "something went wrong in the server; its log says what"}
	var p *problem.Error
	if errors.As(err, &p) {
		doc.Message, doc.Hint = p.Message, p.Hint
	}
	if doc.Code == api.Unauthenticated {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	_ = writeDocument(w, doc.Code.Status(), doc) // an error has a form
}

// send sends a stream. What was sent before an error looks like the beginning of an
// answer: to break off is the one way to say that it is not.
func (h handler) send(w http.ResponseWriter, r *http.Request, s stream) {
	w.Header().Set("Content-Type", h.media)
	w.Header().Set("Cache-Control", "no-store")
	if s.size >= 0 {
		w.Header().Set("Content-Length", strconv.FormatInt(s.size, 10))
	}
	if err := s.write(w); err != nil {
		h.failed(r, err)
		panic(http.ErrAbortHandler)
	}
}
