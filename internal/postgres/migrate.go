package postgres

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	migratepgx "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

//go:embed migrations/*.sql
var migrations embed.FS

const sqlLockSchema = `
	SELECT pg_advisory_lock(hashtextextended('assize schema', 0))`

// Migrate brings a database to the schema of this build, step by step and only
// forward. Of several processes that do it at once one does, and the others wait
// and find it done. A schema that is newer than this build is refused
// (docs/database.md, rule 6).
func Migrate(ctx context.Context, url string) error { return migrateWith(ctx, url, migrations) }

// migrateWith is Migrate with these migrations.
func migrateWith(ctx context.Context, url string, files fs.FS) error {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return badURL()
	}
	config.MaxConns = 4 // the lock needs one besides those that work, whatever the url says
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return translate(err)
	}
	defer pool.Close()
	// The lock of golang-migrate is that of one step. Ours is that of all: nobody
	// else may mend what was left half done while it is being done.
	lock, err := pool.Acquire(ctx)
	if err != nil {
		return translate(err)
	}
	defer func() { _ = lock.Hijack().Close(context.WithoutCancel(ctx)) }() // gives back the lock
	if _, err := lock.Exec(ctx, sqlLockSchema); err != nil {
		return translate(err)
	}
	if err := steps(config.ConnConfig, files); err != nil {
		return err
	}
	river, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		return translate(err)
	}
	if _, err := river.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return failed("that of the job queue", err)
	}
	return nil
}

// steps runs the migrations that are not in the database.
func steps(config *pgx.ConnConfig, files fs.FS) error {
	source, err := iofs.New(files, "migrations")
	if err != nil {
		return err
	}
	driver, err := migratepgx.WithInstance(stdlib.OpenDB(*config), &migratepgx.Config{})
	if err != nil {
		return translate(err)
	}
	m, err := migrate.NewWithInstance("iofs", source, "pgx5", whole{driver})
	if err != nil {
		return err
	}
	defer m.Close()
	all, err := numbers(files)
	if err != nil {
		return err
	}
	latest := all[len(all)-1]
	have, dirty, err := m.Version()
	switch {
	case errors.Is(err, migrate.ErrNilVersion):
	case err != nil:
		return translate(err)
	case have > latest:
		return newer(have, latest)
	case dirty:
		// Nothing of it was kept, see [whole]: as if it had not been begun.
		if err := m.Force(before(have, all)); err != nil {
			return translate(err)
		}
	}
	if err := m.Up(); err != nil && !errors.Is(err, migrate.ErrNoChange) {
		have, _, _ := m.Version() // of the migration that failed
		return failed(fmt.Sprint(have), err)
	}
	return nil
}

// before is the migration that comes before this one.
func before(have uint, all []uint) int {
	i := slices.Index(all, have)
	if i < 1 {
		return database.NilVersion
	}
	return int(all[i-1])
}

// whole runs a migration and says that it is done in one transaction, in which
// Postgres takes all statements that come at once. What golang-migrate does by
// itself says so afterwards: a process that is killed in between leaves a schema
// of which nobody knows whether it is the old one or the new one. So a migration
// cannot hold what Postgres does outside of a transaction only.
type whole struct{ database.Driver }

const markDone = "\n;\nUPDATE schema_migrations SET dirty = false;\n"

func (w whole) Run(migration io.Reader) error {
	text, err := io.ReadAll(migration)
	if err != nil {
		return err
	}
	return w.Driver.Run(io.MultiReader(bytes.NewReader(text), strings.NewReader(markDone)))
}

// failed says what to do about a migration that did not run.
func failed(which string, err error) error {
	why := "the database could not be reached"
	var refused *pgconn.PgError
	var wrapped database.Error
	if errors.As(err, &wrapped) {
		err = wrapped.OrigErr
	}
	if errors.As(err, &refused) {
		why = fmt.Sprintf("%s (SQLSTATE %s)", refused.Message, refused.Code)
	}
	return caused(problem.New(api.Unavailable, "migration %s of the database failed: %s; nothing of it was kept, and the database is as it was before it", which, why).
		WithHint("mend what the message names and start again; the version of Assize that ran before still works with this database"), err)
}

func newer(have, latest uint) error {
	return problem.New(api.Refused, "the database has schema %d, and this version of Assize knows none after %d", have, latest).
		WithHint("start the version of Assize that was used last, or a later one; a schema never goes back")
}

// latest is the number of the last migration.
func latest(files fs.FS) (uint, error) {
	all, err := numbers(files)
	if err != nil {
		return 0, err
	}
	return all[len(all)-1], nil
}

// numbers are those of all migrations, the first one first.
func numbers(files fs.FS) ([]uint, error) {
	entries, err := fs.ReadDir(files, "migrations")
	if err != nil {
		return nil, err
	}
	var all []uint
	for _, entry := range entries {
		var n uint
		if _, err := fmt.Sscanf(entry.Name(), "%06d_", &n); err != nil || len(all) > 0 && n <= all[len(all)-1] {
			return nil, fmt.Errorf("the migration %s has no number, or that of another", entry.Name())
		}
		all = append(all, n)
	}
	return all, nil
}

const sqlSchemaVersion = `
	SELECT version, dirty FROM schema_migrations`

// current refuses a database whose schema is not the one of this build.
func current(ctx context.Context, pool *pgxpool.Pool) error {
	latest, err := latest(migrations)
	if err != nil {
		return err
	}
	var have uint
	var dirty bool
	err = pool.QueryRow(ctx, sqlSchemaVersion).Scan(&have, &dirty)
	var refused *pgconn.PgError
	switch {
	case errors.Is(err, pgx.ErrNoRows), errors.As(err, &refused) && refused.Code == codeUndefinedTable:
		have = 0
	case err != nil:
		return translate(err)
	}
	if have > latest {
		return newer(have, latest)
	}
	if have < latest || dirty {
		return problem.New(api.Conflict, "the database has schema %d, and this version of Assize needs %d", have, latest).
			WithHint("migrate the database first")
	}
	return nil
}
