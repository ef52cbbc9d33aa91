package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/state"
)

func (w world) adoptCalls(ctx context.Context, who identity.Principal) map[string]func(*postgres.Update) error {
	return map[string]func(*postgres.Update) error{
		"MayRecoverState": func(u *postgres.Update) error { return u.MayRecoverState(ctx, who, w.stack.ID) },
		"AdoptState": func(u *postgres.Update) error {
			_, err := u.AdoptState(ctx, who, w.stack.ID, "a file", state.Write{Serial: 9, MD5: strings.Repeat("9", 32)}, kept)
			return err
		},
		"StatesBefore": func(u *postgres.Update) error {
			_, err := u.StatesBefore(ctx, who, w.stack.ID, time.Now(), "", 1)
			return err
		},
	}
}

// TestAdopt: an import keeps serial and lineage, can be repeated, goes over nothing
// that it does not follow but by force, waits for nobody's lock and leaves none.
func TestAdopt(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	adopt := func(who identity.Principal, n state.Write) (v postgres.StateVersion, err error) {
		n.MD5 = strings.Repeat(n.MD5, 32)
		err = store.Update(t.Context(), func(u *postgres.Update) (err error) {
			v, err = u.AdoptState(t.Context(), who, w.stack.ID, "a file", n, kept)
			return err
		})
		return v, err
	}
	const lineage, other = "8094ef40-1dbd-95cd-1f60-bb25d84d883b", "11111111-1dbd-95cd-1f60-bb25d84d883b"
	first, err := adopt(w.owner, state.Write{Serial: 41, Lineage: lineage, MD5: "1", Force: true})
	if err != nil || first.Serial != 41 || first.Lineage != lineage {
		t.Fatalf("%+v %v", first, err)
	}
	if again, err := adopt(w.owner, state.Write{Serial: 41, Lineage: lineage, MD5: "1"}); err != nil || again.ID != first.ID {
		t.Errorf("once more: %+v %v, want %s", again, err, first.ID)
	}
	for _, bad := range []state.Write{{Serial: 41, Lineage: lineage, MD5: "2"}, {Serial: 40, Lineage: lineage, MD5: "2"}} {
		if _, err := adopt(w.owner, bad); problem.Code(err) != api.Stale {
			t.Errorf("%+v: %v, want that it is stale", bad, err)
		}
	}
	if _, err := adopt(w.owner, state.Write{Serial: 99, Lineage: other, MD5: "2"}); problem.Code(err) != api.Conflict {
		t.Errorf("another lineage: %v", err)
	}
	forced, err := adopt(w.owner, state.Write{Serial: 1, Lineage: other, MD5: "2", Force: true})
	if err != nil || forced.Serial != 1 || forced.Forced != state.Lineage {
		t.Errorf("by force: %+v %v", forced, err)
	}
	grant(t, store, w.owner, w.member.ID, identity.Applier, w.org)
	if _, err := adopt(w.member, state.Write{Serial: 2, Lineage: other, MD5: "3"}); problem.Code(err) != api.Forbidden {
		t.Errorf("without the permission: %v", err)
	}
	update(t, store, func(u *postgres.Update) error {
		if l, err := u.StackLock(t.Context(), w.owner, w.stack.ID); err != nil || l != nil {
			t.Errorf("a lock was left behind: %+v %v", l, err)
		}
		_, err := u.LockStack(t.Context(), w.member, w.stack.ID, postgres.LockRequest{})
		return err
	})
	if _, err := adopt(w.owner, state.Write{Serial: 2, Lineage: other, MD5: "3"}); problem.Code(err) != api.Locked {
		t.Errorf("while somebody has the lock: %v", err)
	}
}
