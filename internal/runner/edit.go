package runner

import (
	"context"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/redact"
	"github.com/assize-iac/assize/internal/state/document"
)

// State reads the current state, in a directory that is ready for the tool.
func (s *Stack) State(ctx context.Context) (*document.State, error) {
	if err := s.initialise(ctx, false); err != nil {
		return nil, err
	}
	return s.readState(ctx)
}

// readState asks the tool. It shows a state without its serial, so that is asked for
// before and after: they must be of the same state.
func (s *Stack) readState(ctx context.Context) (*document.State, error) {
	s.step("reading the state")
	before, err := s.Session.State(ctx)
	if err != nil {
		return nil, err
	}
	from := document.Source{At: before, Specification: s.Specified(), Secrets: s.secrets(nil)}
	if before == (api.State{}) {
		return document.Read(nil, from)
	}
	raw, err := s.Session.ShowState(ctx)
	if err != nil {
		return nil, err
	}
	after, err := s.Session.State(ctx)
	if err != nil {
		return nil, err
	}
	if before != after {
		return nil, problem.New(api.Conflict, "the state was written while it was read").WithHint("try again, once nothing else is at work")
	}
	return document.Read(raw, from)
}

// An Edit is one change of the state alone, yet to be carried out by [Stack.Edit].
type Edit func(ctx context.Context) error

// Move is that the state calls an object by another address of the tool.
func (s *Stack) Move(from, to string) Edit {
	return func(ctx context.Context) error { return s.Session.MoveState(ctx, from, to) }
}

// Forget is that the state does not know what has this address of the tool.
func (s *Stack) Forget(address string) Edit {
	return func(ctx context.Context) error { return s.Session.ForgetState(ctx, address) }
}

// Import is that the state adopts an object under an address of the tool. vars are
// flags, in the order of the command line. The id may be a secret itself, so it is
// kept out of what the tool prints.
func (s *Stack) Import(address, id string, vars []string) Edit {
	return func(ctx context.Context) error {
		files, err := s.varFiles()
		if err != nil {
			return err
		}
		vars := append(files, vars...) // what is typed wins
		session := s.Session
		session.Secrets = redact.New(append(s.secrets(vars), id))
		note := s.heed(&session)
		return note(session.Import(ctx, address, id, vars))
	}
}

// Edit changes the state, unless an earlier change could not be written into it, and
// returns what it is then; nil if that is not known.
func (s *Stack) Edit(ctx context.Context, edit Edit) (*api.State, error) {
	if err := s.refuseErrored(); err != nil {
		return nil, err
	}
	s.step("changing the state")
	if err := edit(ctx); err != nil {
		return nil, s.unwritten(err)
	}
	state, err := s.stateAfter(ctx)
	if err != nil {
		return nil, nil // it was changed; that the new serial is not known changes nothing
	}
	return state, nil
}
