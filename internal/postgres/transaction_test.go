package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/postgres/postgrestest"
	"github.com/assize-iac/assize/internal/problem"
)

// TestViewCannotWrite: not even by mistake of a method (docs/database.md, rule 3).
func TestViewCannotWrite(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	err := store.View(t.Context(), func(v *postgres.View) error {
		_, err := v.Tx().Exec(t.Context(), "DELETE FROM users")
		return err
	})
	if err == nil || problem.Code(err) != api.Internal {
		t.Errorf("%v, want an error", err)
	}
}

// TestViewIsOneMoment: what others commit meanwhile is not seen.
func TestViewIsOneMoment(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	owner, org := found(t, store, "acme")
	view(t, store, func(v *postgres.View) error {
		for range 2 {
			projects, err := v.Projects(t.Context(), owner, org.Organisation)
			if err != nil || len(projects) != 1 {
				t.Errorf("the view sees %v (%v), want the default one", projects, err)
			}
			project(t, store, owner, org.Organisation, "later"+fmt.Sprint(time.Now().UnixNano()))
		}
		return nil
	})
}

// TestRolledBack: of a change that fails neither it, nor its entry, nor its job is
// left (docs/database.md, rules 4 and 9).
func TestRolledBack(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	owner, org := found(t, store, "acme")
	before := len(entries(t, store, owner, org.Organisation))
	changed := errors.New("changed my mind")
	err := store.Update(t.Context(), func(u *postgres.Update) error {
		if _, err := u.CreateProject(t.Context(), owner, org.Organisation, "p"); err != nil {
			return err
		}
		_, _, err := u.CreateToken(t.Context(), owner, postgres.TokenRequest{Owner: owner.ID, Expires: time.Now().Add(time.Hour)})
		if err != nil {
			return err
		}
		return changed
	})
	if !errors.Is(err, changed) || err.Error() != changed.Error() {
		t.Errorf("%v, want the error of the function as it is", err)
	}
	for _, table := range []string{"projects WHERE name = 'p'", "tokens", "river_job"} {
		if n := count(t, conn, "SELECT count(*) FROM "+table); n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
	if after := len(entries(t, store, owner, org.Organisation)); after != before {
		t.Errorf("%d entries are left in the audit log", after-before)
	}
}

// TestRetried: two transactions that each read what the other writes cannot both
// be kept as they are; one is tried again, and the caller sees neither.
func TestRetried(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	execute(t, conn, "CREATE TABLE doctors (name text PRIMARY KEY, on_call bool); INSERT INTO doctors VALUES ('a', true), ('b', true)")
	var both, all sync.WaitGroup
	both.Add(2)
	var mu sync.Mutex
	runs := 0
	for _, name := range []string{"a", "b"} {
		first := true
		all.Go(func() {
			update(t, store, func(u *postgres.Update) error {
				mu.Lock()
				runs++
				mu.Unlock()
				var others int
				if err := u.Tx().QueryRow(t.Context(), "SELECT count(*) FROM doctors WHERE on_call AND name <> $1", name).Scan(&others); err != nil {
					return err
				}
				if first { // both have read before either writes
					first = false
					both.Done()
					both.Wait()
				}
				if others == 0 {
					return nil
				}
				_, err := u.Tx().Exec(t.Context(), "UPDATE doctors SET on_call = false WHERE name = $1", name)
				return err
			})
		})
	}
	all.Wait()
	if runs != 3 {
		t.Errorf("the functions ran %d times, want one of them twice", runs)
	}
	if n := count(t, conn, "SELECT count(*) FROM doctors WHERE on_call"); n != 1 {
		t.Errorf("%d are on call, want 1", n)
	}
}

// TestRetriesEnd: a transaction that always fails is not tried for ever.
func TestRetriesEnd(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	runs := 0
	err := store.Update(t.Context(), func(u *postgres.Update) error {
		runs++
		_, err := u.Tx().Exec(t.Context(), "DO $$ BEGIN RAISE SQLSTATE '40001'; END $$")
		return err
	})
	if runs != 10 || problem.Code(err) != api.Limited || problem.Hint(err) == "" {
		t.Errorf("%d runs and %v, want 10, and that there is a limit", runs, err)
	}
}

// TestKilledInTheMiddle: the connection goes before the commit. Nothing is kept,
// that is certain, and the store works on (docs/database.md, rule 4).
func TestKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	owner, org := found(t, store, "acme")
	runs := 0
	err := store.Update(t.Context(), func(u *postgres.Update) error {
		runs++
		if _, err := u.CreateProject(t.Context(), owner, org.Organisation, "lost"); err != nil {
			return err
		}
		kill(t, conn, int(u.Tx().Conn().PgConn().PID()))
		_, err := u.CreateProject(t.Context(), owner, org.Organisation, "lost-too")
		return err
	})
	if runs != 1 || problem.Code(err) != api.Unavailable || errors.Is(err, postgres.ErrNotKnown) {
		t.Errorf("%d runs and %v, want one and unavailable", runs, err)
	}
	project(t, store, owner, org.Organisation, "kept")
	if n := count(t, conn, "SELECT count(*) FROM projects"); n != 2 {
		t.Errorf("there are %d projects, want the default one and the last one", n)
	}
	if err := identity.Verify(slices.Values(entries(t, store, owner, org.Organisation))); err != nil {
		t.Error(err)
	}
}

// TestKilledInCommit: the connection goes while the commit is on its way. Whether
// it is kept is not known, so it is not tried again (docs/database.md, rule 5).
func TestKilledInCommit(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	owner, org := found(t, store, "acme")
	execute(t, conn, `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NULL; END $$`)
	execute(t, conn, `CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON projects DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()`)
	pid := make(chan int, 1)
	var killer sync.WaitGroup
	defer killer.Wait()
	killer.Go(func() {
		victim := <-pid
		for t.Context().Err() == nil {
			var committing bool
			err := conn.QueryRow(t.Context(), "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = $1 AND wait_event IS NOT NULL", victim).Scan(&committing)
			if err == nil && committing {
				kill(t, conn, victim)
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	runs := 0
	err := store.Update(t.Context(), func(u *postgres.Update) error {
		runs++
		pid <- int(u.Tx().Conn().PgConn().PID())
		_, err := u.CreateProject(t.Context(), owner, org.Organisation, "who-knows")
		return err
	})
	if runs != 1 || !errors.Is(err, postgres.ErrNotKnown) || problem.Code(err) != api.Unavailable || !strings.Contains(err.Error(), "not known") {
		t.Errorf("%d runs and %v, want one and an error that says that the outcome is not known", runs, err)
	}
}

// TestAnswerLost: the server has committed, and its answer never comes. The change
// is there, once, and the caller is told that nobody knows.
func TestAnswerLost(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	owner, org := found(t, store, "acme")
	behind, err := postgres.Open(t.Context(), postgrestest.Between(t, conn.Config().ConnString(), deafAtCommit))
	if err != nil {
		t.Fatal(err)
	}
	defer behind.Close()
	runs := 0
	err = behind.Update(t.Context(), func(u *postgres.Update) error {
		runs++
		_, err := u.CreateProject(t.Context(), owner, org.Organisation, fmt.Sprint("run-", runs))
		return err
	})
	if !errors.Is(err, postgres.ErrNotKnown) || problem.Hint(err) == "" {
		t.Errorf("%v, want an error that says that the outcome is not known", err)
	}
	if n := count(t, conn, "SELECT count(*) FROM projects WHERE name LIKE 'run-%'"); n != 1 || runs != 1 {
		t.Errorf("%d projects after %d runs, want one and one", n, runs)
	}
}

// deafAtCommit passes on what both say until the server says that it has committed, and
// hangs up instead of passing that on.
func deafAtCommit(client, server net.Conn) {
	go func() {
		defer server.Close()
		_, _ = io.Copy(server, client)
	}()
	buffer := make([]byte, 1<<16)
	for {
		n, err := server.Read(buffer)
		if err != nil || bytes.Contains(buffer[:n], []byte("COMMIT\x00")) {
			return
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func kill(t *testing.T, conn *pgx.Conn, pid int) {
	if _, err := conn.Exec(t.Context(), "SELECT pg_terminate_backend($1, 5000)", pid); err != nil {
		t.Error(err)
	}
}

// TestGoneCaller: who stops waiting keeps nobody's locks, and leaves nothing.
func TestGoneCaller(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	owner, org := found(t, store, "acme")
	ctx, cancel := context.WithCancel(t.Context())
	err := store.Update(ctx, func(u *postgres.Update) error {
		if _, err := u.CreateProject(ctx, owner, org.Organisation, "p"); err != nil {
			return err
		}
		cancel()
		return ctx.Err()
	})
	if problem.Code(err) != api.Limited {
		t.Errorf("%v, want limited", err)
	}
	project(t, store, owner, org.Organisation, "p")
	if n := count(t, conn, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"); n != 0 {
		t.Errorf("%d locks are left", n)
	}
}

// TestUnreachable: the address, with its password, is in no message.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"postgres://user:hunter2@127.0.0.1:1/db?connect_timeout=2", "postgres://user:hunter2@%zz/"} {
		_, errOpen := postgres.Open(t.Context(), address)
		for _, err := range []error{errOpen, postgres.Migrate(t.Context(), address)} {
			if err == nil || problem.Code(err) == api.Internal || strings.Contains(err.Error()+problem.Hint(err), "hunter2") {
				t.Errorf("%s: %s: %v", address, problem.Code(err), err)
			}
		}
	}
}

// TestPanicGivesTurnBack: an update that breaks, or whose caller goes while it waits, keeps
// nobody else from the same stack.
func TestPanicGivesTurnBack(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	lock := func(ctx context.Context) error {
		return store.UpdateStack(ctx, w.stack.ID, func(u *postgres.Update) error {
			_, err := u.LockStack(ctx, w.owner, w.stack.ID, postgres.LockRequest{Reason: "a test"})
			return err
		})
	}
	if err := lock(t.Context()); err != nil { // from now on it is known in which chain the stack is
		t.Fatal(err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = store.UpdateStack(t.Context(), w.stack.ID, func(*postgres.Update) error {
			waits, cancel := context.WithCancel(t.Context())
			cancel()
			if err := lock(waits); problem.Code(err) != api.Limited {
				t.Errorf("who waits no more: %v", err)
			}
			panic("a test")
		})
	}()
	if err := lock(t.Context()); problem.Code(err) != api.Locked {
		t.Errorf("%v, want that it is locked", err)
	}
}
