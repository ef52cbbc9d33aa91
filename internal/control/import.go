package control

import (
	"context"
	"io"

	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/state"
)

// An Import is what is said of a state that was kept elsewhere until now.
type Import struct {
	Source string // where, for the audit log
	MD5    string // of the bytes; "" for not said
	Force  bool   // even over a version that it does not follow
}

// ImportState makes a state that was kept elsewhere the current version, with its
// own serial and lineage. What is there already is answered as it is, so that an
// import can be repeated from its beginning. It needs no lock of the caller: all of
// it happens in one transaction, under a lock of its own (docs/state.md, rule 19).
func (c *Control) ImportState(ctx context.Context, who identity.Principal, stack string, im Import, body io.Reader) (postgres.StateVersion, error) {
	var v postgres.StateVersion
	if err := c.View(ctx, func(view *postgres.View) error { return view.MayRecoverState(ctx, who, stack) }); err != nil {
		return v, err
	}
	got, err := c.receive(ctx, stack, body, StateMax)
	if err != nil {
		return v, err
	}
	w := got.claim(state.Write{MD5: im.MD5, Force: im.Force})
	if reason := got.check(w.MD5); reason != state.Fits {
		return v, reason.Refusal(nil, w)
	}
	kept, err := c.describe(ctx, stack, got, nil)
	if err != nil {
		return v, err
	}
	err = c.Update(ctx, func(u *postgres.Update) (err error) {
		v, err = u.AdoptState(ctx, who, stack, im.Source, w, kept)
		return err
	})
	return v, err
}
