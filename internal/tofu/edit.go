package tofu

import (
	"context"
	"slices"
)

// ShowState prints the current state as JSON, in which secrets stand in clear: it
// goes to the caller alone.
func (s *Session) ShowState(ctx context.Context) ([]byte, error) {
	return s.capture(ctx, s.color([]string{"show", "-json"})...)
}

// MoveState makes the state call an object by another address.
func (s *Session) MoveState(ctx context.Context, from, to string) error {
	return s.edit(ctx, []string{"state", "mv"}, from, to)
}

// ForgetState takes what has an address out of the state. The object stays.
func (s *Session) ForgetState(ctx context.Context, address string) error {
	return s.edit(ctx, []string{"state", "rm"}, address)
}

// Import adopts an object under an address. flags set variables.
func (s *Session) Import(ctx context.Context, address, id string, flags []string) error {
	return s.edit(ctx, append([]string{"import", "-input=false"}, flags...), address, id)
}

// edit runs what writes the state, under its lock. The double dash keeps what a
// person calls something from being a flag. The tool masks nothing of what it was
// told, so the secrets of the session are kept out wherever it prints.
func (s *Session) edit(ctx context.Context, args []string, operands ...string) error {
	out, errs, finish := s.clean()
	defer finish()
	_, err := s.run(ctx, call{args: slices.Concat(s.color(args), []string{"--"}, operands), out: out, err: errs})
	return err
}
