// Package postgres keeps what a server knows: all SQL of Assize is here. Who may
// do what is decided by package identity; that it is asked, and that the answer is
// written down, happens in here, in the methods of [View] and [Update]: there is
// no way to the tables around them (docs/database.md, rule 7).
package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
)

// A Store is one database, which any number of processes may use at once.
type Store struct {
	pool  *pgxpool.Pool
	jobs  *river.Client[pgx.Tx] // inserts only
	turns turns
	room  sync.RWMutex // held for writing by who needs all of it: see update
}

// Open connects to a database whose schema is the one that this build knows:
// [Migrate] sees to that. The url is one of Postgres, or its keywords and values.
// It must lead to Postgres itself or to a pooler that gives a whole session,
// because locks and notifications belong to one.
func Open(ctx context.Context, url string) (*Store, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, badURL()
	}
	config.ConnConfig.RuntimeParams["application_name"] = "assize"
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"
	// A transaction of a process that hangs would keep its locks for ever.
	config.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = "60000"
	// These are for what changes something, which finds it by its key: to plan it anew each
	// time would take longer than to do it, and who reads a small table as a whole is in the
	// way of every change of it, also in other organisations (docs/database.md, rule 4).
	config.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	config.ConnConfig.RuntimeParams["enable_seqscan"] = "off"
	// A statement that must read a whole table nevertheless is not worth a compiler.
	config.ConnConfig.RuntimeParams["jit"] = "off"
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, translate(err)
	}
	if err := current(ctx, pool); err != nil {
		pool.Close()
		return nil, err
	}
	s := &Store{pool: pool}
	if s.jobs, err = s.client(nil); err != nil {
		pool.Close()
		return nil, err
	}
	return s, nil
}

// Close waits for running transactions and closes all connections.
func (s *Store) Close() { s.pool.Close() }

// badURL does not say what is wrong: a parser's error quotes the password.
func badURL() error {
	return problem.New(api.Invalid, "the address of the database cannot be read").
		WithHint("it looks like postgres://user:password@host:5432/database?sslmode=verify-full")
}

// translate is what a caller learns of an error of the database. What Postgres
// says may quote values, so it is the cause, which is not shown; a problem stays
// what it is, and so does an error that is none of the database's.
func translate(err error) error {
	var known *problem.Error
	var connect *pgconn.ConnectError
	var refused *pgconn.PgError
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.Is(err, pgx.ErrNoRows):
		return caused(notFound(), err)
	case errors.Is(err, errChainBusy):
		return crowded(err)
	case errors.As(err, &connect):
		return unreachable(err)
	case errors.As(err, &refused):
		return refusal(refused)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return caused(problem.New(api.Limited, "it took too long, or nobody waits any more; nothing was changed"), err)
	}
	return err
}

// refusal is what a caller learns of what Postgres said.
func refusal(said *pgconn.PgError) error {
	var p *problem.Error
	switch {
	case said.Severity != "ERROR":
		return unreachable(said)
	case again(said):
		return crowded(said)
	case said.Code == codeUnique:
		p = problem.New(api.Conflict, "there is already one with this name").
			WithHint("choose another name; names that differ only in case count as the same")
	case said.Code == codeForeignKey:
		p = problem.New(api.Conflict, "something else still refers to this, or what it refers to is gone").
			WithHint("look again, and remove what refers to it first")
	case said.Code == codeCheck || strings.HasPrefix(said.Code, classData):
		p = problem.New(api.Invalid, "a value is not one that can be kept (SQLSTATE %s); nothing was changed", said.Code)
	default:
		p = problem.New(api.Internal, "the database refused a statement (SQLSTATE %s); nothing was changed", said.Code)
	}
	return caused(p, said)
}

// crowded is no conflict: the clients do not try that again, and take it for a lock
// that somebody else holds where they have asked for one.
func crowded(err error) error {
	return caused(problem.New(api.Limited, "too many others change the same at this moment; nothing was changed").
		WithHint("try again a little later"), err)
}

// unreachable is a connection that cannot be made, or that broke before anything
// was committed.
func unreachable(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err // whoever waited stopped: that is not the database's doing
	}
	return caused(problem.New(api.Unavailable, "the database cannot be reached; nothing was changed").
		WithHint("try again; if it stays so, look at the log of Postgres"), err)
}

func caused(p *problem.Error, cause error) *problem.Error {
	p.Cause = cause
	return p
}

// The conditions of Postgres that mean something to us.
const (
	codeSerialization  = "40001"
	codeDeadlock       = "40P01"
	codeUnique         = "23505"
	codeForeignKey     = "23503"
	codeCheck          = "23514"
	codeUndefinedTable = "42P01"
	classData          = "22" // text that is none, numbers that are too large
)

// newID is a new id with this prefix.
func newID(prefix string) string {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	return identity.NewID(prefix, random)
}

// now is the moment of a change, as exact as the database keeps it.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
