package postgres

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/state"
)

// RollbackState makes an earlier version the current one again: a new version with
// the same bytes, serial and lineage, for tools compare with those in the bytes
// (docs/state.md, rule 14). Present asks whether the bytes are there.
func (u *Update) RollbackState(ctx context.Context, who identity.Principal, id, key string, present func(context.Context) error) (StateVersion, error) {
	old, s, err := u.state(ctx, id)
	if err != nil {
		return StateVersion{}, err
	}
	v := old
	v.CopyOf, v.Present = old.ID, present
	c := stateCall(who, "state:rollback", identity.StateRecover, s, id)
	return u.guardRecovery(ctx, c, key, v, func() error {
		if old.Status != state.Finalized {
			return problem.New(api.Conflict, "this version never became one: nothing was ever written")
		}
		return nil
	})
}

// ImportState makes bytes that were refused the current version. What they are was
// read out of them just now; they have been kept once more for it.
func (u *Update) ImportState(ctx context.Context, who identity.Principal, quarantined, key string, w state.Write, k Kept) (StateVersion, error) {
	q, s, err := u.quarantined(ctx, quarantined)
	if err != nil {
		return StateVersion{}, err
	}
	v := StateVersion{Stack: s.ID, Serial: w.Serial, Lineage: w.Lineage, MD5: w.MD5, Kept: k}
	c := stackCall(who, "state:import", identity.StateRecover, s)
	c.detail["quarantine"] = q.ID
	return u.guardRecovery(ctx, c, key, v, func() error {
		if k.Artifact != q.Artifact {
			return problem.New(api.Conflict, "these are not the bytes that were refused")
		}
		return w.Check()
	})
}

// guardRecovery makes v the current version, whether or not it fits: that is what c is
// permitted for. It needs one's own lock, like every write, with the key of it.
func (u *Update) guardRecovery(ctx context.Context, c call, key string, v StateVersion, check func() error) (StateVersion, error) {
	u.hold(v.Stack, v.Kept)
	d, err := u.desk(ctx, c.who, v.Stack)
	if err != nil {
		return StateVersion{}, err
	}
	v.ID, v.Created, v.Writer, v.Intermediate = newID(state.VersionID), u.at, c.who, false
	c.detail["became"], c.detail["artifact"] = v.ID, v.Artifact
	c.detail["serial"], c.detail["lineage"] = strconv.FormatInt(v.Serial, 10), v.Lineage
	err = u.guard(ctx, c, func() error {
		if err := check(); err != nil {
			return err
		}
		if !d.lock.held(c.who, key) {
			return unheld(d.lock, c.who)
		}
		w := state.Write{Serial: v.Serial, Lineage: v.Lineage, MD5: v.MD5}
		v.Lineage = w.Next(d.head())
		v.Lock, v.Forced = d.lock.ID, w.Over(d.head())
		return u.insertState(ctx, d, &v, nil)
	})
	return v, err
}

// A Grave is what is left of a stack that was deleted with a state: its last one.
type Grave struct {
	Stack, Organisation string // ids
	Name                string
	Serial              int64
	Lineage             string
	Artifact            string // digest
	Size                int64
	At                  time.Time
}

const sqlGraves = `
	SELECT stack, organisation, name, serial, lineage, artifact, size, deleted_at FROM state_graves
	WHERE organisation = @organisation ORDER BY deleted_at DESC, stack`

// Graves are the stacks of an organisation that were deleted with a state.
func (v *View) Graves(ctx context.Context, who identity.Principal, organisation string) ([]Grave, error) {
	err := v.permit(ctx, call{who: who, action: "state:exhume", needs: identity.OrganisationAdmin,
		at: identity.Scope{Organisation: organisation}, object: organisation})
	if err != nil {
		return nil, err
	}
	rows, err := v.tx.Query(ctx, sqlGraves, pgx.NamedArgs{"organisation": organisation})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanGrave)
}

func scanGrave(row pgx.CollectableRow) (Grave, error) {
	g, err := pgx.RowToStructByPos[Grave](row)
	g.At = g.At.UTC()
	return g, err
}

const sqlGrave = `
	SELECT stack, organisation, name, serial, lineage, artifact, size, deleted_at FROM state_graves WHERE stack = @stack`

// Exhume is one of the Graves, whose bytes the principal may read. That they were
// read stands in the audit log: nothing else is left of the stack.
func (u *Update) Exhume(ctx context.Context, who identity.Principal, stack string) (Grave, error) {
	rows, err := u.tx.Query(ctx, sqlGrave, pgx.NamedArgs{"stack": stack})
	if err != nil {
		return Grave{}, err
	}
	g, err := pgx.CollectExactlyOneRow(rows, scanGrave)
	if err != nil {
		return Grave{}, err
	}
	c := call{who: who, action: "state:exhume", needs: identity.OrganisationAdmin, at: identity.Scope{Organisation: g.Organisation},
		object: stack, detail: map[string]string{"name": g.Name, "artifact": g.Artifact}}
	return g, u.guard(ctx, c, func() error { return nil })
}

const sqlTrySweep = `
	SELECT pg_try_advisory_lock(hashtextextended('assize sweep', 0))`

const sqlLockArtifact = `
	SELECT pg_advisory_lock(hashtextextended('assize artifact ' || @name, 0))`

const sqlUnlockArtifact = `
	SELECT pg_advisory_unlock(hashtextextended('assize artifact ' || @name, 0))`

// ErrSweeping says that another process sweeps already.
var ErrSweeping = errors.New("another process sweeps at this moment")

// Sweeping runs fn, which removes artifacts, with a function that says whether one
// is referred to. From a no until the next question nobody can begin to refer to
// that one (docs/artifacts.md, rule 11). What stacks had that were deleted since
// the moment counts as referred to. Its error is [ErrSweeping] when somebody else
// does this.
func (s *Store) Sweeping(ctx context.Context, since time.Time, fn func(referenced func(ctx context.Context, kind, owner, digest string) (bool, error)) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return unreachable(err)
	}
	defer conn.Release()
	var mine bool
	if err := conn.QueryRow(ctx, sqlTrySweep).Scan(&mine); err != nil {
		return translate(err)
	}
	if !mine {
		return ErrSweeping
	}
	defer unlock(ctx, conn)
	last := ""
	return translate(fn(func(ctx context.Context, kind, owner, digest string) (bool, error) {
		query, known := references()[kind]
		if !known {
			return true, nil // somebody else's, of a kind that nobody has told us of
		}
		if last != "" {
			if _, err := conn.Exec(ctx, sqlUnlockArtifact, pgx.NamedArgs{"name": last}); err != nil {
				return true, translate(err)
			}
		}
		last = kind + "/" + owner + "/" + digest
		if _, err := conn.Exec(ctx, sqlLockArtifact, pgx.NamedArgs{"name": last}); err != nil {
			return true, translate(err)
		}
		var yes bool
		err := conn.QueryRow(ctx, query, pgx.NamedArgs{"owner": owner, "digest": digest, "since": since}).Scan(&yes)
		return yes || err != nil, translate(err)
	}))
}

// references are the questions whether something refers to an artifact, by kind.
// Artifacts of other kinds are never removed.
func references() map[string]string {
	return map[string]string{"state": sqlRefersToState, "details": sqlRefersToDetails, "json": sqlRefersToJSON, "configuration": sqlRefersToConfiguration,
		"deposit": sqlRefersToDeposit}
}

const sqlRefersToState = `
	SELECT EXISTS (SELECT FROM state_versions WHERE stack = @owner AND artifact = @digest)
		OR EXISTS (SELECT FROM state_quarantine WHERE stack = @owner AND artifact = @digest)
		OR EXISTS (SELECT FROM state_graves WHERE stack = @owner AND deleted_at > @since)`

const sqlRefersToDetails = `
	SELECT EXISTS (SELECT FROM state_versions WHERE stack = @owner AND details = @digest AND status <> 'discarded')
		OR EXISTS (SELECT FROM state_graves WHERE stack = @owner AND deleted_at > @since)`

const sqlRefersToJSON = `
	SELECT EXISTS (SELECT FROM state_versions WHERE stack = @owner AND json = @digest AND status <> 'discarded')
		OR EXISTS (SELECT FROM state_graves WHERE stack = @owner AND deleted_at > @since)`
