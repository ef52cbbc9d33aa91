// Package postgrestest gives a test a database of its own on a real Postgres. One
// private cluster serves all tests of a process and ends with it; a database is a
// copy of one that was migrated once.
package postgrestest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/postgres/cluster"
)

// A shared cluster serves the tests of one process.
type shared struct {
	*cluster.Cluster
	count atomic.Int64 // of the databases that were made
}

// start runs once a process. What it starts needs no end: see package cluster.
var start = sync.OnceValues(func() (*shared, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	programs, err := cluster.Find(linked())
	if err != nil {
		return nil, err
	}
	c, err := cluster.Scratch(ctx, programs)
	if err != nil {
		return nil, err
	}
	s := &shared{Cluster: c}
	if err := s.execute(ctx, "CREATE DATABASE migrated"); err != nil {
		return nil, err
	}
	return s, postgres.Migrate(ctx, s.URL("migrated"))
})

// linked is where tools/build postgres has put a link: in the checkout that the
// test runs in.
func linked() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
	}
	return filepath.Join(dir, ".bin", "postgres")
}

func (s *shared) execute(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}

// URL leads to a new database with the schema of this build, and nothing in it.
func URL(t testing.TB) string {
	t.Helper()
	return database(t, "migrated")
}

// Empty leads to a new database without any schema.
func Empty(t testing.TB) string {
	t.Helper()
	return database(t, "template1")
}

// database is a copy of another one, and goes when the test ends.
func database(t testing.TB, template string) string {
	t.Helper()
	s, err := start()
	if err != nil {
		t.Fatalf("no Postgres for this test: %v", err)
	}
	name := fmt.Sprintf("test_%d", s.count.Add(1))
	if err := s.execute(t.Context(), "CREATE DATABASE "+name+" TEMPLATE "+template); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.execute(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return s.URL(name)
}

// Open is a store with a new database of its own.
func Open(t testing.TB) *postgres.Store {
	t.Helper()
	store, err := postgres.Open(t.Context(), URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store
}
