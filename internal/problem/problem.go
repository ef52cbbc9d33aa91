// Package problem is the vocabulary of things that go wrong: a code that tables
// can translate, a message that is safe to show, and the next thing to type.
//
// A finding (a policy's statement) and a refusal (the gate's decision) are
// values with types of their own; only what did not work is an error.
package problem

import (
	"errors"
	"fmt"

	"github.com/assize-iac/assize/api"
)

// An Error is one problem. Its message is shown to people and must hold no
// secret; the cause is for operators.
type Error struct {
	Code    api.Code
	Message string
	Hint    string // what to do or type next; may be empty
	Cause   error  // what errors.Is and errors.As look through; not shown
}

// New returns an Error with a formatted message.
func New(code api.Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...) // so that %w works as it does everywhere
	return &Error{Code: code, Message: err.Error(), Cause: errors.Unwrap(err)}
}

// WithHint returns e with the next thing to do or type.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Cause }

// Code returns the code of the first Error in err's tree; an error that holds
// none is internal, for what is unknown closes the gate.
func Code(err error) api.Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return api.Internal
}

// Hint returns the hint of the first Error in err's tree.
func Hint(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}
