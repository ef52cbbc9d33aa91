package server

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/control"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

// A backend answers the plain "http" backend of the tools: one path for the state of
// a stack, and methods. What it reads and answers is not ours to choose
// (docs/state.md, rules 17 and 18).
type backend struct {
	*server
	do     func(w http.ResponseWriter, r *http.Request, who identity.Principal, stack string) error
	failed func(*http.Request, error)
}

// backend is what each method does.
func (s *server) backend() map[string]func(http.ResponseWriter, *http.Request, identity.Principal, string) error {
	return map[string]func(http.ResponseWriter, *http.Request, identity.Principal, string) error{
		"GET": s.getState, "POST": s.postState, "PUT": s.postState, "DELETE": s.deleteState, "LOCK": s.lockState, "UNLOCK": s.unlockState,
	}
}

func (b backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := b.answer(w, r)
	if err == nil {
		return
	}
	b.failed(r, err)
	var cut *cutError
	var held *postgres.Held
	switch {
	case errors.As(err, &cut):
		panic(http.ErrAbortHandler)
	case errors.As(err, &held) && r.Method != http.MethodGet:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusLocked)
		_, _ = w.Write(lockDocument(held.Lock))
		return
	case problem.Code(err) == api.Unauthenticated:
		w.Header().Set("WWW-Authenticate", `Basic realm="assize"`)
	}
	writeError(w, err)
}

// answer asks who it is first: their token is the password, whatever the name.
func (b backend) answer(w http.ResponseWriter, r *http.Request) error {
	token := bearer(r)
	if _, password, ok := r.BasicAuth(); ok {
		token = password
	}
	who, err := b.control.Authenticate(r.Context(), token)
	if err != nil {
		return err
	}
	var stack string
	err = b.control.View(r.Context(), func(v *postgres.View) error {
		o, err := v.Home(r.Context(), who, r.PathValue("organisation"))
		if err != nil {
			return err
		}
		s, err := v.StackByName(r.Context(), who, o.ID, r.PathValue("stack"))
		stack = s.ID
		return err
	})
	if err != nil {
		return err
	}
	return b.do(w, r, who, stack)
}

// A cutError is what went wrong after an answer was begun.
type cutError struct{ error }

func (e *cutError) Unwrap() error { return e.error }

func (s *server) getState(w http.ResponseWriter, r *http.Request, who identity.Principal, stack string) error {
	var current postgres.StateVersion
	err := s.control.View(r.Context(), func(v *postgres.View) (err error) {
		current, err = v.CurrentState(r.Context(), who, stack)
		return err
	})
	if problem.Code(err) == api.NotFound {
		w.WriteHeader(http.StatusNoContent) // of a stack that is there
		return nil
	}
	if err != nil {
		return err
	}
	v, body, err := s.control.OpenState(r.Context(), who, current.ID)
	if err != nil {
		return err
	}
	defer body.Close()
	if sum, err := hex.DecodeString(v.MD5); err == nil {
		w.Header().Set("Content-MD5", base64.StdEncoding.EncodeToString(sum))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.FormatInt(v.Size, 10))
	if _, err := io.Copy(w, body); err != nil {
		return &cutError{err}
	}
	return nil
}

// postState writes a version. What it is stands in the bytes alone.
func (s *server) postState(w http.ResponseWriter, r *http.Request, who identity.Principal, stack string) error {
	if r.ContentLength > control.StateMax {
		return control.TooLarge()
	}
	q := control.StateRequest{Key: r.URL.Query().Get("ID"), FromContents: true}
	if said := r.Header.Get("Content-MD5"); said != "" {
		sum, err := base64.StdEncoding.DecodeString(said)
		if err != nil {
			return problem.New(api.Invalid, "the header Content-MD5 is no base64")
		}
		q.MD5 = hex.EncodeToString(sum)
	}
	_, err := s.control.WriteState(r.Context(), who, stack, q, r.Body, control.StateMax)
	if err == nil {
		w.WriteHeader(http.StatusOK)
	}
	return err
}

// deleteState deletes none: versions are for ever, and a stack goes with its own name.
func (s *server) deleteState(w http.ResponseWriter, r *http.Request, who identity.Principal, stack string) error {
	err := s.control.View(r.Context(), func(v *postgres.View) error {
		_, err := v.CurrentState(r.Context(), who, stack)
		return err
	})
	switch {
	case problem.Code(err) == api.NotFound:
		w.WriteHeader(http.StatusOK) // there is none
		return nil
	case err != nil:
		return err
	}
	return problem.New(api.Refused, "a state is not deleted: its versions are kept").
		WithHint("destroy what is in it, or delete the stack")
}

// lockMax is the size of the document of a lock, in bytes.
const lockMax = 64 << 10

// lockOf reads the document of a lock and the id in it.
func lockOf(r *http.Request) (document []byte, id string, err error) {
	document, err = io.ReadAll(http.MaxBytesReader(nil, r.Body, lockMax))
	var lock struct{ ID, Operation, Info string }
	if err == nil {
		err = json.Unmarshal(document, &lock)
	}
	// What is no text would be kept without its id, and be nobody's to write with.
	if err != nil || lock.ID == "" || !utf8.Valid(document) {
		return nil, "", problem.New(api.Invalid, "the body is no lock: it is a JSON object with an ID, of at most %d bytes", lockMax)
	}
	return document, lock.ID, nil
}

func (s *server) lockState(w http.ResponseWriter, r *http.Request, who identity.Principal, stack string) error {
	document, _, err := lockOf(r)
	if err != nil {
		return err
	}
	var lock struct{ Operation, Info string }
	_ = json.Unmarshal(document, &lock) // it was read a moment ago
	err = s.control.UpdateStack(r.Context(), stack, func(u *postgres.Update) error {
		_, err := u.LockStack(r.Context(), who, stack, postgres.LockRequest{Reason: lock.Operation, Document: document})
		return err
	})
	if err == nil {
		w.WriteHeader(http.StatusOK)
	}
	return err
}

func (s *server) unlockState(w http.ResponseWriter, r *http.Request, who identity.Principal, stack string) error {
	_, id, err := lockOf(r)
	if err != nil {
		return err
	}
	if err := s.control.UnlockKey(r.Context(), who, stack, id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// lockDocument is a lock as the tools write it and show it: as the one wrote it that
// made it, or in its form.
func lockDocument(l postgres.Lock) []byte {
	if len(l.Document) > 0 {
		return l.Document
	}
	document, _ := json.Marshal(map[string]string{"ID": l.ShownKey(), "Operation": l.Reason, "Info": "", "Who": l.Holder.Name,
		"Version": "", "Created": l.Since.Format(time.RFC3339), "Path": ""})
	return document
}
