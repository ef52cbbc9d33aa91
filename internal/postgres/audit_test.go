package postgres_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/postgres/postgrestest"
)

// TestChainOfManyWriters: 32 at once make one chain without a gap, from two
// processes' pools, and none of them is refused for it (docs/database.md, rule 8).
func TestChainOfManyWriters(t *testing.T) {
	t.Parallel()
	const writers, each = 32, 2
	url := postgrestest.URL(t) + "&pool_max_conns=16" // so many really work at once in each
	var stores [2]*postgres.Store
	for i := range stores {
		var err error
		if stores[i], err = postgres.Open(t.Context(), url); err != nil {
			t.Fatal(err)
		}
		defer stores[i].Close()
	}
	store := stores[0]
	owner, org := found(t, store, "acme")
	_, neighbour := found(t, store, "neighbour")
	stranger := register(t, store, "stranger")
	var all sync.WaitGroup
	var runs atomic.Int64
	for w := range writers {
		all.Go(func() {
			from := stores[w%2]
			for n := range each {
				err := from.Update(t.Context(), func(u *postgres.Update) error {
					runs.Add(1)
					_, err := u.CreateProject(t.Context(), owner, org.Organisation, fmt.Sprintf("p-%d-%d", w, n))
					return err
				})
				if err != nil {
					t.Errorf("writer %d: %v", w, err)
				}
			}
			err := from.View(t.Context(), func(v *postgres.View) error {
				_, err := v.Teams(t.Context(), stranger, org.Organisation)
				return err
			})
			if err == nil {
				t.Errorf("writer %d: a stranger sees the teams", w)
			}
		})
	}
	all.Wait()
	// One try to learn which chain it is, one that holds its lock; a few more where
	// the indexes of the tables make two changes look as if they met.
	if n := runs.Load(); n > writers*each*9/4 {
		t.Errorf("%d updates took %d tries", writers*each, n)
	}
	log := entries(t, store, owner, org.Organisation)
	if want := 1 + writers*each + writers; len(log) != want {
		t.Errorf("%d entries, want %d", len(log), want)
	}
	if err := identity.Verify(slices.Values(log)); err != nil {
		t.Error(err)
	}
	for _, e := range log {
		if e.Scope.Organisation == neighbour.Organisation {
			t.Errorf("entry %d is about somebody else", e.Sequence)
		}
	}
}

// TestAppendOnly: the tables themselves refuse what would change the past.
func TestAppendOnly(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	_, org := found(t, store, "acme")
	chain := "'" + org.Organisation + "'"
	const columns = "at, principal_kind, principal_id, principal_name, principal_organisation, scope_organisation, scope_project, scope_stack, action, object, outcome, detail"
	for what, sql := range map[string]string{
		"change":   "UPDATE audit_entries SET outcome = 'forbidden'",
		"delete":   "DELETE FROM audit_entries",
		"truncate": "TRUNCATE audit_entries CASCADE",
		"gap": "INSERT INTO audit_entries (chain, sequence, previous, digest, " + columns + ") SELECT chain, 3, digest, 'sha256:' || repeat('0', 64), " +
			columns + " FROM audit_entries WHERE chain = " + chain,
		"wrong previous": "INSERT INTO audit_entries (chain, sequence, previous, digest, " + columns + ") SELECT chain, 2, 'sha256:' || repeat('1', 64), 'sha256:' || repeat('0', 64), " +
			columns + " FROM audit_entries WHERE chain = " + chain,
		"head of nothing": "UPDATE audit_heads SET sequence = 2 WHERE chain = " + chain,
		"head taken back": "UPDATE audit_heads SET sequence = NULL WHERE chain = " + chain,
	} {
		if _, err := conn.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s: it was done", what)
		}
	}
}
