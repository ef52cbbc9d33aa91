package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/state"
)

// stateCalls are those about the state of the world's stack: it has one version,
// one that was refused, and a grave.
func (w world) stateCalls(ctx context.Context, who identity.Principal) map[string]func(*postgres.Update) error {
	return map[string]func(*postgres.Update) error{
		"StackLock":      func(u *postgres.Update) error { _, err := u.StackLock(ctx, who, w.stack.ID); return err },
		"Setting":        func(u *postgres.Update) error { _, err := u.Setting(ctx, who, w.stack.ID); return err },
		"State":          func(u *postgres.Update) error { _, err := u.State(ctx, who, w.version); return err },
		"CurrentState":   func(u *postgres.Update) error { _, err := u.CurrentState(ctx, who, w.stack.ID); return err },
		"CurrentOutputs": func(u *postgres.Update) error { _, err := u.CurrentOutputs(ctx, who, w.stack.ID); return err },
		"States":         func(u *postgres.Update) error { _, _, err := u.States(ctx, who, w.stack.ID, 0, 10); return err },
		"ReadState":      func(u *postgres.Update) error { _, err := u.ReadState(ctx, who, w.version); return err },
		"ReadOutputs":    func(u *postgres.Update) error { _, _, err := u.ReadOutputs(ctx, who, w.version); return err },
		"SeeState":       func(u *postgres.Update) error { _, err := u.SeeState(ctx, who, w.version); return err },
		"MayWriteState":  func(u *postgres.Update) error { return u.MayWriteState(ctx, who, w.stack.ID) },
		"QuarantinedOf":  func(u *postgres.Update) error { _, err := u.QuarantinedOf(ctx, who, w.stack.ID); return err },
		"Quarantined":    func(u *postgres.Update) error { _, err := u.Quarantined(ctx, who, w.refused); return err },
		"Graves":         func(u *postgres.Update) error { _, err := u.Graves(ctx, who, w.org.Organisation); return err },
		"LockStack": func(u *postgres.Update) error {
			_, err := u.LockStack(ctx, who, w.stack.ID, postgres.LockRequest{Reason: "mine"})
			return err
		},
		"WriteState": func(u *postgres.Update) error {
			_, err := u.WriteState(ctx, who, w.stack.ID, postgres.NewState{Write: state.Write{Serial: 9, MD5: strings.Repeat("9", 32)}})
			return err
		},
		"FinalizeState": func(u *postgres.Update) error {
			_, err := u.FinalizeState(ctx, who, w.stack.ID, w.version, kept)
			return err
		},
		"SetStateJSON": func(u *postgres.Update) error {
			return u.SetStateJSON(ctx, who, w.version, postgres.Kept{JSON: kept.Artifact})
		},
		"RollbackState": func(u *postgres.Update) error { _, err := u.RollbackState(ctx, who, w.version, "", nil); return err },
		"ImportState": func(u *postgres.Update) error {
			_, err := u.ImportState(ctx, who, w.refused, "", state.Write{MD5: strings.Repeat("7", 32)}, kept)
			return err
		},
		"Quarantine": func(u *postgres.Update) error {
			_, err := u.Quarantine(ctx, who, postgres.Quarantined{Stack: w.stack.ID, Artifact: kept.Artifact, Reason: state.Hash}, nil)
			return err
		},
		"UnlockStack": func(u *postgres.Update) error { return u.UnlockStack(ctx, who, w.stack.ID, "") },
		"ForceUnlock": func(u *postgres.Update) error { _, err := u.ForceUnlock(ctx, who, w.stack.ID, "a test"); return err },
		"Exhume":      func(u *postgres.Update) error { _, err := u.Exhume(ctx, who, w.grave); return err },
	}
}

// kept are bytes that are somewhere.
var kept = postgres.Kept{Artifact: "sha256:" + strings.Repeat("1", 64), Size: 7, Format: 4}

// written gives the world's stack a version, something that was refused, and the
// organisation a stack that is gone.
func (w *world) written(ctx context.Context, u *postgres.Update) error {
	gone, err := u.CreateStack(ctx, w.owner, postgres.Stack{Organisation: w.org.Organisation, Project: w.stack.Project, Name: "gone"})
	if err != nil {
		return err
	}
	w.grave = gone.ID
	for _, stack := range []string{gone.ID, w.stack.ID} {
		if _, err := u.LockStack(ctx, w.owner, stack, postgres.LockRequest{}); err != nil {
			return err
		}
		v, err := u.WriteState(ctx, w.owner, stack, postgres.NewState{Write: state.Write{Serial: 1, MD5: strings.Repeat("0", 32)}, Kept: &kept})
		if err != nil {
			return err
		}
		w.version = v.ID
		if err := u.UnlockStack(ctx, w.owner, stack, ""); err != nil {
			return err
		}
	}
	q, err := u.Quarantine(ctx, w.owner, postgres.Quarantined{Stack: w.stack.ID, Artifact: kept.Artifact, Reason: state.Hash}, nil)
	w.refused = q.ID
	if err != nil {
		return err
	}
	return u.DeleteStack(ctx, w.owner, gone.ID, true)
}

// TestStateIsAppendOnly: the tables refuse what the methods never do, whoever asks
// (docs/state.md, rule 10).
func TestStateIsAppendOnly(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	w := newWorld(t, store)
	var pending string
	update(t, store, func(u *postgres.Update) error {
		if _, err := u.LockStack(t.Context(), w.owner, w.stack.ID, postgres.LockRequest{}); err != nil {
			return err
		}
		v, err := u.WriteState(t.Context(), w.owner, w.stack.ID, postgres.NewState{Write: state.Write{Serial: 2, MD5: strings.Repeat("2", 32)}})
		pending = v.ID
		return err
	})
	const final = "status = 'finalized', finalized_at = now(), artifact = 'sha256:' || repeat('3', 64), size = 1, "
	for name, sql := range map[string]string{
		"changed":           "UPDATE state_versions SET artifact = 'sha256:' || repeat('2', 64) WHERE id = $1",
		"taken back":        "UPDATE state_versions SET status = 'discarded', sequence = NULL, artifact = NULL, size = NULL, finalized_at = NULL WHERE id = $1",
		"removed":           "DELETE FROM state_versions WHERE id = $1",
		"all removed":       "TRUNCATE state_versions CASCADE",
		"of another serial": "UPDATE state_versions SET serial = 9 WHERE id = $2",
		"without a place":   "UPDATE state_versions SET " + final + "sequence = NULL WHERE id = $2",
		"in the same place": "UPDATE state_versions SET " + final + "sequence = 1 WHERE id = $2",
		"leaving one out":   "UPDATE state_versions SET " + final + "sequence = 3, previous_serial = 1, previous_lineage = '' WHERE id = $2",
		"first, but second": "UPDATE state_versions SET " + final + "sequence = 2 WHERE id = $2",
		"after another one": "UPDATE state_versions SET " + final + "sequence = 2, previous_serial = 0, previous_lineage = '' WHERE id = $2",
		"a second pending": "INSERT INTO state_versions SELECT 'sv_' || repeat('0', 22), stack, status, serial, lineage, md5, forced, intermediate, copy_of, " +
			"lock, created_at, writer_kind, writer_id, writer_name, writer_organisation, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, '', false FROM state_versions WHERE id = $2",
	} {
		sql = strings.NewReplacer("$1", "'"+w.version+"'", "$2", "'"+pending+"'").Replace(sql)
		if tag, err := conn.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s: it was done to %d", name, tag.RowsAffected())
		}
	}
	execute(t, conn, "UPDATE state_versions SET "+final+"sequence = 2, previous_serial = 1, previous_lineage = '' WHERE id = '"+pending+"'")
}

// TestQuarantineIsBounded: of what is refused the newest stays; what goes is written
// down; and the same once more drives nothing out (docs/state.md, rule 12).
func TestQuarantineIsBounded(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	w := newWorld(t, store)
	refuse := func(i int, size int64) {
		t.Helper()
		update(t, store, func(u *postgres.Update) error {
			_, err := u.Quarantine(t.Context(), w.owner, postgres.Quarantined{Stack: w.stack.ID, Artifact: fmt.Sprintf("sha256:%064d", i), Size: size, Reason: state.Serial}, nil)
			return err
		})
	}
	for i := range 105 {
		refuse(i, 10)
		refuse(i, 10)
	}
	if n := count(t, conn, "SELECT count(*) FROM state_quarantine"); n != 100 {
		t.Errorf("%d are kept", n)
	}
	refuse(1000, 3<<30) // larger than all may be together, and the last one
	if n := count(t, conn, "SELECT count(*) FROM state_quarantine"); n != 1 {
		t.Errorf("%d are kept beside one that is too large", n-1)
	}
	if n := count(t, conn, "SELECT count(*) FROM audit_entries WHERE action = 'state:quarantine_drop'"); n != 106 { // and the one of the world
		t.Errorf("%d that went were written down", n)
	}
}

// TestSafeDelete: what may still exist is not lost by mistake; by force it is, and
// the last state is kept for an owner.
func TestSafeDelete(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	remove := func(force bool) error {
		return store.Update(t.Context(), func(u *postgres.Update) error { return u.DeleteStack(t.Context(), w.owner, w.stack.ID, force) })
	}
	update(t, store, func(u *postgres.Update) error {
		if _, err := u.LockStack(t.Context(), w.owner, w.stack.ID, postgres.LockRequest{}); err != nil {
			return err
		}
		k := kept
		k.Resources = 3
		_, err := u.WriteState(t.Context(), w.owner, w.stack.ID, postgres.NewState{Write: state.Write{Serial: 2, MD5: strings.Repeat("2", 32)}, Kept: &k})
		return err
	})
	if err := remove(false); problem.Code(err) != api.Locked {
		t.Errorf("a stack that is locked: %v", err)
	}
	update(t, store, func(u *postgres.Update) error { return u.UnlockStack(t.Context(), w.owner, w.stack.ID, "") })
	if err := remove(false); problem.Code(err) != api.Conflict || !strings.Contains(err.Error(), "3 resources") {
		t.Errorf("a stack with resources: %v", err)
	}
	if err := remove(true); err != nil {
		t.Fatal(err)
	}
	update(t, store, func(u *postgres.Update) error {
		g, err := u.Exhume(t.Context(), w.owner, w.stack.ID)
		if g.Serial != 2 || g.Artifact != kept.Artifact || time.Since(g.At) > time.Minute {
			t.Errorf("%+v", g)
		}
		return err
	})
}
