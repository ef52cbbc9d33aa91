package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/state"
)

// MayRecoverState asks whether somebody may import a state, before its bytes are read.
func (v *View) MayRecoverState(ctx context.Context, who identity.Principal, stack string) error {
	s, err := v.stack(ctx, stack)
	if err != nil {
		return err
	}
	return v.permit(ctx, stackCall(who, "state:import", identity.StateRecover, s))
}

// AdoptState makes a state that was kept elsewhere the current version, under a lock
// of its own: nobody else can write meanwhile, and none is left behind. Source says
// where it came from. A state that is the current one already is answered as it is.
func (u *Update) AdoptState(ctx context.Context, who identity.Principal, stack, source string, w state.Write, k Kept) (StateVersion, error) {
	d, err := u.desk(ctx, who, stack)
	if err != nil {
		return StateVersion{}, err
	}
	c := stackCall(who, "state:import", identity.StateRecover, d.stack)
	c.detail["source"] = clean(source)
	ruling, reason := state.Judge(d.head(), w, false)
	if ruling == state.Replay {
		c.detail["replay"], c.detail["version"] = "true", d.current.ID
		return *d.current, u.guard(ctx, c, func() error { return nil })
	}
	if ruling == state.Refuse {
		return StateVersion{}, u.guard(ctx, c, func() error { return reason.Refusal(d.head(), w) })
	}
	if _, err := u.LockStack(ctx, who, stack, LockRequest{Reason: "import of a state"}); err != nil {
		return StateVersion{}, err
	}
	v := StateVersion{Stack: stack, Serial: w.Serial, Lineage: w.Lineage, MD5: w.MD5, Kept: k}
	if v, err = u.guardRecovery(ctx, c, "", v, w.Check); err != nil {
		return StateVersion{}, err
	}
	return v, u.UnlockStack(ctx, who, stack, "")
}

const sqlStatesBefore = `
	SELECT * FROM state_history WHERE stack = @stack AND (created_at, id) < (@at, @id) ORDER BY created_at DESC, id DESC LIMIT @limit`

// StatesBefore are at most so many versions of a stack that were begun before a
// moment, and of that moment those whose id comes before; the newest first.
func (v *View) StatesBefore(ctx context.Context, who identity.Principal, stack string, at time.Time, id string, limit int) ([]StateVersion, error) {
	s, err := v.stack(ctx, stack)
	if err != nil {
		return nil, err
	}
	if err := v.permit(ctx, stackCall(who, "stack:read", identity.StackRead, s)); err != nil {
		return nil, err
	}
	rows, err := v.tx.Query(ctx, sqlStatesBefore, pgx.NamedArgs{"stack": stack, "at": at, "id": id, "limit": limit})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (StateVersion, error) { return scanState(row) })
}
