package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
)

// A View reads: all of it sees the database at one moment.
type View struct {
	tx      *pipeline
	at      time.Time
	entries []identity.Entry // what is to be written down

	grants   map[[2]string][]identity.Grant // by kind and id of a principal: those that were asked for
	changing bool                           // a change is being made: what is read now may be old in a moment
}

// An Update reads and changes, all of it or nothing.
type Update struct {
	View
	jobs   *river.Client[pgx.Tx]
	likely []string                   // chains to which it will write, as far as that is known before it begins
	heads  map[string]*identity.Entry // of the audit chains whose lock it has
	wants  []string                   // chains whose lock it has or waits for
	sealed int                        // how many of the entries were sent
}

const (
	tries      = 10
	lonely     = 5 // from this try on no other change of this process runs beside it
	firstPause = 5 * time.Millisecond
	lastPause  = 500 * time.Millisecond
	// commitTime is how long an answer to a commit is waited for, even if nobody
	// waits for ours: to stop waiting is to not know.
	commitTime = 15 * time.Second
)

// View runs fn with a view of the database. Nothing can be changed in it
// (docs/database.md, rule 3).
func (s *Store) View(ctx context.Context, fn func(*View) error) error {
	v := &View{at: now()}
	err := s.read(ctx, v, fn)
	return errors.Join(translate(err), s.writeDown(ctx, v.forbidden()))
}

// Lists are asked for in so many ways that one plan does not suit all, and who only reads
// is in nobody's way.
const sqlPlanEach = `
	SELECT set_config('plan_cache_mode', 'auto', true), set_config('enable_seqscan', 'on', true)`

// read is View without what follows a refusal.
func (s *Store) read(ctx context.Context, v *View, fn func(*View) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return unreachable(err)
	}
	defer conn.Release()
	v.tx = &pipeline{conn: conn, options: pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, first: sqlPlanEach}
	defer v.tx.rollback(ctx) // there is nothing to commit
	return broken(ctx, conn, fn(v))
}

// Update runs fn in a serialisable transaction and commits it when fn returns
// nil. It may run fn several times: what came of an earlier time was not kept. An
// error means that nothing was changed, unless it is [ErrNotKnown] (docs/database.md,
// rules 4 and 5).
func (s *Store) Update(ctx context.Context, fn func(*Update) error) error {
	u, err := s.update(ctx, nil, fn)
	return s.ended(ctx, u, err)
}

// UpdateStack is Update for a change of one stack. It begins when it is its turn among
// those of the same organisation, where Update begins at once and is tried again.
func (s *Store) UpdateStack(ctx context.Context, stack string, fn func(*Update) error) error {
	u, err := s.update(ctx, s.turns.chainsOf(stack), fn)
	if err == nil {
		s.turns.learn(stack, u.wants)
	}
	return s.ended(ctx, u, err)
}

// ended is what a caller learns of an update, u being its last try if there was one.
func (s *Store) ended(ctx context.Context, u *Update, err error) error {
	if err != nil && u != nil {
		return errors.Join(translate(err), s.writeDown(ctx, u.forbidden()))
	}
	return translate(err)
}

// writeDown puts into the audit log what was forbidden in a transaction that
// changed nothing. The caller is refused whether or not this works; that it did
// not is an error of its own. It does not stop when the caller goes away: asking
// and hanging up must not be a way to ask unseen.
func (s *Store) writeDown(ctx context.Context, forbidden []identity.Entry) error {
	if len(forbidden) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTime)
	defer cancel()
	_, err := s.update(ctx, nil, func(u *Update) error {
		u.entries = slices.Clone(forbidden)
		return nil
	})
	return translate(err)
}

// update is Update without what follows a refusal. It returns the last try, if there
// was one; of the chains that it will want it waits for its turn in those that are given.
func (s *Store) update(ctx context.Context, chains []string, fn func(*Update) error) (last *Update, err error) {
	for try := 1; ; try++ {
		err := s.turns.inTurn(ctx, chains, func() error {
			return s.inside(try, func() (err error) {
				last, err = s.once(ctx, chains, try > 1, fn)
				return err
			})
		})
		if !again(err) || try == tries {
			return last, err
		}
		chains = slices.Compact(slices.Sorted(slices.Values(append(chains, last.wants...))))
		if errors.Is(err, errChainBusy) {
			continue // to wait for its turn and its lock is pause enough
		}
		if err := pause(ctx, try); err != nil {
			return last, err
		}
	}
}

// once does one try, which is nil if there was no connection for it.
func (s *Store) once(ctx context.Context, chains []string, locked bool, fn func(*Update) error) (*Update, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, unreachable(err)
	}
	defer conn.Release()
	u := &Update{View: View{at: now()}, jobs: s.jobs, likely: chains, heads: map[string]*identity.Entry{}}
	if locked {
		err = holding(ctx, conn, chains, func() error { return u.try(ctx, conn, fn) })
	} else {
		err = u.try(ctx, conn, fn)
	}
	return u, broken(ctx, conn, err)
}

// inside does a try when there is room for it. In a small table serialisable
// transactions get into each other's way that have nothing to do with each other,
// because what they have read is remembered by the page. One that has failed for that
// again and again goes alone (docs/database.md, rule 4). It comes before any lock of the database is taken, so
// that nobody who is inside waits for one outside.
func (s *Store) inside(try int, do func() error) error {
	if try < lonely {
		s.room.RLock()
		defer s.room.RUnlock()
	} else {
		s.room.Lock()
		defer s.room.Unlock()
	}
	return do()
}

// broken is err, or that the connection broke if that is why.
func broken(ctx context.Context, conn *pgxpool.Conn, err error) error {
	var known *problem.Error
	if err != nil && ctx.Err() == nil && conn.Conn().IsClosed() && !errors.As(err, &known) {
		return unreachable(err)
	}
	return err
}

// try runs fn once, in a transaction of its own.
func (u *Update) try(ctx context.Context, conn *pgxpool.Conn, fn func(*Update) error) error {
	u.tx = &pipeline{conn: conn, options: pgx.TxOptions{IsoLevel: pgx.Serializable}}
	defer u.tx.rollback(ctx)
	if err := fn(u); err != nil {
		return err
	}
	if err := u.seal(ctx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return commit(ctx, u.tx)
}

// commit tells what is known not to have been kept from what is not known.
func commit(ctx context.Context, tx *pipeline) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTime)
	defer cancel()
	err := tx.commit(ctx)
	var refused *pgconn.PgError
	var unsent pgx.ErrPreprocessingBatch
	switch {
	case err == nil || errors.As(err, &unsent):
		return err
	case errors.Is(err, pgx.ErrTxCommitRollback):
		return caused(problem.New(api.Internal, "the change was not kept: one of its statements had failed unseen"), err)
	case errors.As(err, &refused) && refused.Severity == "ERROR":
		return err // the server says that it has rolled back
	}
	return unknown(err)
}

// ErrNotKnown is the cause of an error after which a change may or may not be kept.
var ErrNotKnown = errors.New("the outcome of a commit is not known")

// unknown is a commit that was sent and not answered. It is never tried again:
// what was to happen once could happen twice (docs/database.md, rule 5).
func unknown(err error) error {
	return caused(problem.New(api.Unavailable, "it is not known whether the change was kept: the connection to the database broke while it was being committed").
		WithHint("look whether it is there before you do it again"), errors.Join(ErrNotKnown, err))
}

// again reports whether a transaction failed only because of others that ran at
// the same time, and certainly left nothing.
func again(err error) bool {
	var refused *pgconn.PgError
	return errors.Is(err, errChainBusy) || errors.As(err, &refused) && !errors.Is(err, ErrNotKnown) && (refused.Code == codeSerialization || refused.Code == codeDeadlock)
}

// pause waits before the next try, longer each time, and not as long as others do.
func pause(ctx context.Context, try int) error {
	most := min(firstPause<<try, lastPause)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(rand.N(most)):
		return nil
	}
}

const sqlLockChain = `
	SELECT pg_advisory_lock(hashtextextended('assize audit ' || @chain, 0))`

const sqlUnlock = `
	SELECT pg_advisory_unlock_all()`

// holding does one try while the session holds the locks of these chains of the
// audit log. In its first try a transaction takes a chain's lock when it learns
// which it needs, and fails if somebody has it, or has written to the chain since it
// began. Holding the lock from before it begins makes that impossible: under load
// each transaction is tried twice, and not without end. They are sorted, so that no two
// wait for each other.
func holding(ctx context.Context, conn *pgxpool.Conn, chains []string, try func() error) error {
	if len(chains) == 0 {
		return try()
	}
	defer unlock(ctx, conn)
	for _, chain := range chains {
		if _, err := conn.Exec(ctx, sqlLockChain, pgx.NamedArgs{"chain": chain}); err != nil {
			return err
		}
	}
	return try()
}

// unlock gives back the session's locks; where that fails, with the session.
func unlock(ctx context.Context, conn *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTime)
	defer cancel()
	if _, err := conn.Exec(ctx, sqlUnlock); err != nil {
		_ = conn.Conn().Close(ctx)
	}
}
