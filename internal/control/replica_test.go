package control_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/control"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/state"
)

// replica is another server on the same database and the same artifacts.
func (w world) replica(t *testing.T) world {
	t.Helper()
	artifacts, err := artifact.OpenTree(w.dir, w.keys)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = artifacts.Close() })
	store, err := postgres.Open(t.Context(), w.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	w.Control, w.store = control.New(store, artifacts, w.keys), store
	return w
}

// An acknowledged version is one that a client was told is kept.
type acknowledged struct{ id, text string }

// TestManyClients has clients at two servers write one stack, break each other's
// locks and go away in the middle. All that they were told is true: what was
// acknowledged is there, once, in a row without a gap, and nothing else is.
func TestManyClients(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	servers := []world{w, w.replica(t)}
	var mutex sync.Mutex
	var kept []acknowledged
	var wait sync.WaitGroup
	for i := range 6 {
		who := w.member(t, fmt.Sprint("client-", i), identity.Maintainer)
		wait.Go(func() {
			chance := rand.New(rand.NewPCG(uint64(i), 1))
			for round := range 12 {
				done, err := servers[chance.IntN(2)].apply(t, servers[chance.IntN(2)], who, chance, fmt.Sprintf("%d-%d", i, round))
				if errors.Is(err, postgres.ErrNotKnown) || problem.Code(err) == api.Internal && err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("client %d: %v", i, err)
				}
				mutex.Lock()
				if err == nil && done.id != "" {
					kept = append(kept, done)
				}
				mutex.Unlock()
			}
		})
	}
	wait.Wait()
	w.compare(t, kept)
}

// apply is what a client does for an apply: half of it at this server, and the
// upload at another one.
func (w world) apply(t *testing.T, other world, who identity.Principal, chance *rand.Rand, name string) (acknowledged, error) {
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	locked := errors.New("not yet")
	for try := 0; locked != nil; try++ {
		locked = w.Update(ctx, func(u *postgres.Update) error {
			_, err := u.LockStack(ctx, who, w.stack, postgres.LockRequest{Reason: name})
			return err
		})
		if code := problem.Code(locked); locked != nil && code != api.Locked && code != api.Conflict {
			return acknowledged{}, locked
		}
		if locked != nil && chance.IntN(150) == 0 {
			_ = w.Update(ctx, func(u *postgres.Update) error { _, err := u.ForceUnlock(ctx, who, w.stack, "impatient"); return err })
		}
		if locked != nil {
			time.Sleep(time.Duration(chance.IntN(20)) * time.Millisecond)
		}
	}
	defer func() {
		_ = w.Update(t.Context(), func(u *postgres.Update) error { return u.UnlockStack(t.Context(), who, w.stack, "") })
	}()
	var serial int64
	err := w.View(ctx, func(v *postgres.View) error {
		now, err := v.CurrentState(ctx, who, w.stack)
		serial = now.Serial
		if problem.Code(err) == api.NotFound {
			return nil
		}
		return err
	})
	if err != nil {
		return acknowledged{}, err
	}
	text := file(int(serial+1), name)
	v, up, err := w.BeginState(ctx, who, w.stack, request(serial+1, text))
	if err != nil {
		return acknowledged{}, err
	}
	if chance.IntN(5) == 0 {
		time.AfterFunc(time.Duration(chance.IntN(30))*time.Millisecond, leave)
	}
	err = other.PutState(ctx, up.State, strings.NewReader(text))
	return acknowledged{v.ID, text}, err
}

// compare holds what is there to what clients were told.
func (w world) compare(t *testing.T, kept []acknowledged) {
	t.Helper()
	var all []postgres.StateVersion
	var log []identity.Entry
	err := w.View(t.Context(), func(v *postgres.View) (err error) {
		if all, _, err = v.States(t.Context(), w.other, w.stack, 0, 1000); err != nil {
			return err
		}
		for e, err := range v.Audit(t.Context(), w.owner, w.org) {
			if err != nil {
				return err
			}
			log = append(log, e)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	whole := slices.DeleteFunc(all, func(v postgres.StateVersion) bool { return v.Status != state.Finalized })
	slices.SortFunc(whole, func(a, b postgres.StateVersion) int { return int(a.Sequence - b.Sequence) })
	for i, v := range whole {
		at := slices.IndexFunc(kept, func(a acknowledged) bool { return a.id == v.ID })
		if v.Sequence != int64(i+1) || v.Serial != int64(i+1) || at < 0 {
			t.Errorf("version %d is %+v, and was acknowledged: %v", i+1, v, at >= 0)
			continue
		}
		m := model{world: w}
		m.readBack(t, w.other, made{id: v.ID, text: kept[at].text, serial: v.Serial, lineage: lineage})
	}
	if len(whole) != len(kept) || len(kept) < 10 {
		t.Errorf("%d versions are there, and %d were acknowledged", len(whole), len(kept))
	}
	if err := identity.Verify(slices.Values(log)); err != nil {
		t.Error(err)
	}
	t.Logf("%d versions, %d entries", len(whole), len(log))
}
