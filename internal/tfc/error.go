package tfc

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// noSuchThing is the answer about whatever is not there, or not for this client to see.
func noSuchThing() *problem.Error { return problem.New(api.NotFound, "not found") }

// said is a problem in the very words that clients look for.
type said struct {
	title   string
	status  int // 0: that of the problem's code
	problem *problem.Error
}

func (s said) Error() string { return s.problem.Error() }
func (s said) Unwrap() error { return s.problem }

// writeError sends what went wrong. What is no problem is not shown: it may quote
// anything.
func writeError(w http.ResponseWriter, err error) {
	code := problem.Code(err)
	detail := "something went wrong in the server; its log says what"
	var p *problem.Error
	if errors.As(err, &p) {
		detail = p.Message
		if p.Hint != "" {
			detail += "; " + p.Hint
		}
	}
	number, title := code.Status(), string(code)
	if s, ok := errors.AsType[said](err); ok {
		title = s.title
		if s.status != 0 {
			number = s.status
		}
	}
	var body struct {
		Errors []map[string]string `json:"errors"`
	}
	body.Errors = append(body.Errors, map[string]string{"status": strconv.Itoa(number), "title": title, "detail": detail})
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(number)
	_ = json.NewEncoder(w).Encode(body) // nobody is left to be told
}
