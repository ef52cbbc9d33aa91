package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/postgres/postgrestest"
)

// open is a store, and a connection to the same database around it.
func open(t *testing.T) (*postgres.Store, *pgx.Conn) {
	t.Helper()
	url := postgrestest.URL(t)
	store, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store, connect(t, url)
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// count is the one number that a query gives.
func count(t *testing.T, conn *pgx.Conn, sql string, args ...any) int {
	t.Helper()
	var n int
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func execute(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func update(t *testing.T, store *postgres.Store, fn func(*postgres.Update) error) {
	t.Helper()
	if err := store.Update(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func view(t *testing.T, store *postgres.Store, fn func(*postgres.View) error) {
	t.Helper()
	if err := store.View(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// register makes a user who may nothing.
func register(t *testing.T, store *postgres.Store, name string) identity.Principal {
	t.Helper()
	who := postgres.NewUser(name)
	update(t, store, func(u *postgres.Update) error { return u.Register(t.Context(), who) })
	return who
}

// found makes a site administrator and an organisation that is theirs.
func found(t *testing.T, store *postgres.Store, name string) (identity.Principal, identity.Scope) {
	t.Helper()
	owner := register(t, store, name+"-owner")
	var o postgres.Organisation
	update(t, store, func(u *postgres.Update) (err error) {
		if err = u.Appoint(t.Context(), postgres.Server(), owner.ID, true); err != nil {
			return err
		}
		o, err = u.CreateOrganisation(t.Context(), owner, name)
		return err
	})
	return owner, identity.Scope{Organisation: o.ID}
}

func project(t *testing.T, store *postgres.Store, who identity.Principal, organisation, name string) identity.Scope {
	t.Helper()
	var p postgres.Project
	update(t, store, func(u *postgres.Update) (err error) {
		p, err = u.CreateProject(t.Context(), who, organisation, name)
		return err
	})
	return identity.Scope{Organisation: organisation, Project: p.ID}
}

// entries is the audit log of an organisation, as its owner reads it.
func entries(t *testing.T, store *postgres.Store, who identity.Principal, organisation string) []identity.Entry {
	t.Helper()
	var all []identity.Entry
	view(t, store, func(v *postgres.View) error {
		for e, err := range v.Audit(t.Context(), who, organisation) {
			if err != nil {
				return err
			}
			all = append(all, e)
		}
		return nil
	})
	return all
}
