package cli

import (
	"errors"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/spec"
)

// Exit codes, one table for every command (docs/exit-codes.md).
const (
	ExitDone    = 0
	ExitError   = 1 // for policy check: the policy said no
	ExitUnknown = 2 // for policy check: it could not be judged; with --detailed-exitcode: there are changes
	ExitRefused = 3
	ExitPolicy  = 5 // plan, apply: a policy is violated or cannot be used
	ExitSpec    = 6 // a specification does not evaluate
)

// exitHelp stands in every command's help.
const exitHelp = `
Exit codes:
  0  done; for a judgement: nothing blocks
  1  for "policy check", "test" and "replay": the policy said no. For others: an error
  2  for those three: it could not be judged. With --detailed-exitcode: there are changes.
     For "drift": a stack has drifted
  3  refused: the gate, a lock, a permission, a stale plan
  5  a plan violates a policy, or a named policy cannot be used
  6  a specification does not evaluate
`

// An Exit ends the command with a code. Err may be nil: everything has been
// said already.
type Exit struct {
	Code int
	Err  error
}

func (e *Exit) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

func (e *Exit) Unwrap() error { return e.Err }

// exitCodes says how an error that carries no code of its own ends a command.
var exitCodes = map[api.Code]int{
	api.Invalid:         ExitError,
	api.Unauthenticated: ExitRefused,
	api.Forbidden:       ExitRefused,
	api.NotFound:        ExitError,
	api.Conflict:        ExitRefused,
	api.Refused:         ExitRefused,
	api.Locked:          ExitRefused,
	api.Stale:           ExitRefused,
	api.TooLarge:        ExitError,
	api.Limited:         ExitError,
	api.Unavailable:     ExitError,
	api.Internal:        ExitError,
}

// exitCode is the code that err ends the process with; an unknown problem is
// an error, never a success.
func exitCode(err error) int {
	var exit *Exit
	var specification *spec.Error
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &exit):
		return exit.Code
	case errors.As(err, &specification):
		return ExitSpec
	}
	if code, ok := exitCodes[problem.Code(err)]; ok {
		return code
	}
	return ExitError
}
