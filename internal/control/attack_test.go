package control_test

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/control"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/state"
)

// quarantined is what was refused of the stack, the newest first.
func (w world) quarantined(t *testing.T) []postgres.Quarantined {
	t.Helper()
	var all []postgres.Quarantined
	err := w.View(t.Context(), func(v *postgres.View) (err error) {
		all, err = v.QuarantinedOf(t.Context(), w.owner, w.stack)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// inline writes a state whose bytes are in the request.
func (w world) inline(t *testing.T, who identity.Principal, r control.StateRequest, text string) (postgres.StateVersion, error) {
	t.Helper()
	return w.WriteState(t.Context(), who, w.stack, r, strings.NewReader(text), control.InlineMax)
}

// TestRefused: what does not fit is refused with a code of its own, changes nothing,
// and its bytes are kept for somebody to look at (docs/state.md, rules 4 and 12).
func TestRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	second := w.member(t, "second", identity.Applier)
	w.lock(t, w.owner)
	text := file(5, "the one")
	first, err := w.inline(t, w.owner, request(5, text), text)
	if err != nil {
		t.Fatal(err)
	}
	other, third := file(5, "another"), file(5, "a third")
	foreign := request(6, other)
	foreign.Lineage = "somebody-elses"
	wrong := request(6, other)
	wrong.MD5 = sum("something else")
	for name, c := range map[string]struct {
		who    identity.Principal
		r      control.StateRequest
		text   string
		code   api.Code
		reason state.Reason
	}{
		"lower serial":    {w.owner, request(4, other), other, api.Stale, state.Serial},
		"equal serial":    {w.owner, request(5, third), third, api.Stale, state.Serial},
		"foreign lineage": {w.owner, foreign, other, api.Conflict, state.Lineage},
		"wrong md5":       {w.owner, wrong, other, api.Invalid, state.Hash},
		"no state":        {w.owner, request(6, "<html>502</html>"), "<html>502</html>", api.Invalid, state.Content},
		"nothing":         {w.owner, request(6, ""), "", api.Invalid, state.Content},
		"somebody's lock": {second, request(6, other), other, api.Locked, state.Unheld},
	} {
		before := len(w.quarantined(t))
		_, err := w.inline(t, c.who, c.r, c.text)
		if problem.Code(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
		kept := w.quarantined(t)
		if len(kept) != before+1 || kept[0].Reason != c.reason || kept[0].Writer.ID != c.who.ID || kept[0].Size != int64(len(c.text)) {
			t.Errorf("%s: %d were kept before; now %+v", name, before, kept)
		}
		if now, back := w.current(t); now.ID != first.ID || back != text {
			t.Errorf("%s: the current version is another", name)
		}
	}
	skipped := file(9, "skipped")
	if _, err := w.inline(t, w.owner, request(9, skipped), skipped); err != nil {
		t.Errorf("a serial that leaves some out: %v", err)
	}
}

// TestWithoutLock: nobody writes a stack that is not locked, and nobody's bytes are
// kept who may not write.
func TestWithoutLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := file(1, "x")
	if _, err := w.inline(t, w.owner, request(1, text), text); problem.Code(err) != api.Conflict {
		t.Errorf("without a lock: %v", err)
	}
	before := len(w.quarantined(t))
	for name, who := range map[string]identity.Principal{"a stranger": w.register(t, "stranger"), "a planner": w.member(t, "planner", identity.Planner)} {
		want := api.Forbidden
		if name == "a stranger" {
			want = api.NotFound
		}
		if _, err := w.inline(t, who, request(1, text), text); problem.Code(err) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(w.quarantined(t)) != before {
		t.Error("bytes were kept of somebody who may not write")
	}
}

// TestForcedPush: "state push -force" of the cloud backend cannot be told from any
// other write but by what was read before it (docs/state.md, rule 6).
func TestForcedPush(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	applier := w.member(t, "applier", identity.Applier)
	w.lock(t, w.owner)
	text := file(7, "new")
	if _, err := w.inline(t, w.owner, request(7, text), text); err != nil {
		t.Fatal(err)
	}
	w.unlock(t, w.owner)

	old := file(3, "old")
	w.lock(t, applier)
	if _, text := w.read(t, applier); text == "" {
		t.Fatal("nothing to read")
	}
	if _, _, err := w.BeginState(t.Context(), applier, w.stack, request(3, old)); problem.Code(err) != api.Forbidden {
		t.Errorf("who may not recover: %v", err)
	}
	w.update(t, func(u *postgres.Update) error { _, err := u.ForceUnlock(t.Context(), applier, w.stack, ""); return err })

	w.lock(t, w.owner)
	w.current(t) // that somebody else reads it is nothing to the holder
	if _, _, err := w.BeginState(t.Context(), w.owner, w.stack, request(3, old)); problem.Code(err) != api.Stale {
		t.Errorf("what the holder has not read under this lock: %v", err)
	}
	w.read(t, w.owner)
	v, err := w.push(t.Context(), w.owner, request(3, old), old)
	if err != nil || v.Serial != 3 || v.Forced != state.Serial {
		t.Errorf("%+v, %v", v, err)
	}
	if _, back := w.current(t); back != old {
		t.Errorf("the current state is %q", back)
	}
	w.unlock(t, w.owner)
}

// read is the current state, as this principal reads it.
func (w world) read(t *testing.T, who identity.Principal) (postgres.StateVersion, string) {
	t.Helper()
	current, _ := w.current(t)
	v, r, err := w.OpenState(t.Context(), who, current.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return v, string(text)
}

// TestUpload: an address is good for one version and its bytes; half of them change
// nothing, others are refused, and all of them may come twice.
func TestUpload(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.lock(t, w.owner)
	text := file(1, "whole")
	v, up, err := w.BeginState(t.Context(), w.owner, w.stack, request(1, text))
	if err != nil {
		t.Fatal(err)
	}
	broken := io.MultiReader(strings.NewReader(text[:50]), iotest.ErrReader(io.ErrUnexpectedEOF))
	if err := w.PutState(t.Context(), up.State, broken); problem.Code(err) != api.Invalid {
		t.Errorf("half an upload: %v", err)
	}
	if err := w.PutState(t.Context(), up.State, strings.NewReader(text[:50])); problem.Code(err) != api.Invalid {
		t.Errorf("half an upload that looks whole: %v", err)
	}
	if _, back := w.current(t); back != "" {
		t.Error("half an upload became a version")
	}
	if err := w.PutState(t.Context(), "guessed", strings.NewReader(text)); problem.Code(err) != api.NotFound {
		t.Errorf("an address that was guessed: %v", err)
	}
	err = w.Update(t.Context(), func(u *postgres.Update) error { return u.UnlockStack(t.Context(), w.owner, w.stack, "") })
	if problem.Code(err) != api.Unavailable || !strings.Contains(err.Error(), "latest state version is still pending") {
		t.Errorf("unlocked while bytes are on their way: %v", err)
	}
	for range 2 {
		if err := w.PutState(t.Context(), up.State, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	if now, back := w.current(t); now.ID != v.ID || back != text || now.Sequence != 1 {
		t.Errorf("%+v", now)
	}
	if err := w.PutState(t.Context(), up.State, strings.NewReader(file(1, "others"))); problem.Code(err) != api.Invalid {
		t.Errorf("other bytes to the address of a version that is whole: %v", err)
	}
	w.unlock(t, w.owner)
}

// TestLateUpload: what comes after the lock has gone, or after something else, is refused.
func TestLateUpload(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(*testing.T, world){
		"force-unlocked": func(t *testing.T, w world) {
			w.update(t, func(u *postgres.Update) error { _, err := u.ForceUnlock(t.Context(), w.owner, w.stack, ""); return err })
		},
		"overtaken": func(t *testing.T, w world) {
			text := file(2, "overtakes")
			if _, err := w.push(t.Context(), w.owner, request(2, text), text); err != nil {
				t.Fatal(err)
			}
		},
		"given up": func(t *testing.T, w world) {
			w.rewind(t, time.Minute)
			w.unlock(t, w.owner)
		},
		"expired": func(t *testing.T, w world) {
			if _, err := w.conn.Exec(t.Context(), "UPDATE state_uploads SET expires_at = now()"); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.lock(t, w.owner)
			text := file(1, "late")
			_, up, err := w.BeginState(t.Context(), w.owner, w.stack, request(1, text))
			if err != nil {
				t.Fatal(err)
			}
			between(t, w)
			if err := w.PutState(t.Context(), up.State, strings.NewReader(text)); problem.Code(err) != api.Conflict {
				t.Errorf("%v, want a conflict", err)
			}
			if kept := w.quarantined(t); len(kept) != 1 || kept[0].Reason != state.Late {
				t.Errorf("%+v was kept", kept)
			}
			if _, back := w.current(t); back == text {
				t.Error("it became a version")
			}
		})
	}
}

// TestExpiredWriter: an address does not outlive the token that has asked for it. What
// it brings then is refused as from anybody who may not write (docs/identity.md, rule 9).
func TestExpiredWriter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var token identity.Token
	w.update(t, func(u *postgres.Update) (err error) {
		token, _, err = u.CreateToken(t.Context(), w.owner, postgres.TokenRequest{Owner: w.org, Role: identity.Owner, Expires: time.Now().Add(2 * time.Second)})
		return err
	})
	who, err := w.Authenticate(t.Context(), token.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	w.lock(t, who)
	text := file(1, "late")
	_, up, err := w.BeginState(t.Context(), who, w.stack, request(1, text))
	if err != nil {
		t.Fatal(err)
	}
	ticket, err := w.Ticket(t.Context(), who, control.ToUpload, "mod_x")
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	if err := w.PutState(t.Context(), up.State, strings.NewReader(text)); problem.Code(err) != api.NotFound {
		t.Errorf("an expired token's upload: %v", err)
	}
	if who, err = w.Redeem(t.Context(), control.ToUpload, "mod_x", ticket); err == nil {
		err = w.View(t.Context(), func(v *postgres.View) error { return v.MayWriteState(t.Context(), who, w.stack) })
	}
	if problem.Code(err) != api.NotFound {
		t.Errorf("an expired token's ticket: %v", err)
	}
	if _, back := w.current(t); back != "" {
		t.Error("it became a version")
	}
}

// rewind makes versions that are pending older, which no method can.
func (w world) rewind(t *testing.T, by time.Duration) {
	t.Helper()
	for _, sql := range []string{"SET session_replication_role = replica",
		"UPDATE state_versions SET created_at = created_at - interval '" + by.String() + "' WHERE status = 'pending'", "SET session_replication_role = origin"} {
		if _, err := w.conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTwoUploads: of two who write at once, with the same lock, one wins and the
// other is told; what was acknowledged is the current version.
func TestTwoUploads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.lock(t, w.owner)
	var wait sync.WaitGroup
	errs := make([]error, 8)
	texts := make([]string, len(errs))
	for i := range errs {
		texts[i] = file(1, strings.Repeat("x", i))
		wait.Go(func() { _, errs[i] = w.push(t.Context(), w.owner, request(1, texts[i]), texts[i]) })
	}
	wait.Wait()
	won := -1
	for i, err := range errs {
		switch {
		case err == nil && won >= 0:
			t.Errorf("%d and %d were both told that theirs is kept", won, i)
		case err == nil:
			won = i
		case problem.Code(err) != api.Conflict && problem.Code(err) != api.Stale:
			t.Errorf("%d: %v", i, err)
		}
	}
	if _, back := w.current(t); won < 0 || back != texts[won] {
		t.Errorf("%d won, and the current state is %q", won, back)
	}
	w.unlock(t, w.owner)
}

// TestLocks: who holds it is named; only its holder gives it back; breaking it is
// written down with the name of who had it.
func TestLocks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	second := w.member(t, "second", identity.Applier)
	lock := func(who identity.Principal) error {
		return w.Update(t.Context(), func(u *postgres.Update) error {
			_, err := u.LockStack(t.Context(), who, w.stack, postgres.LockRequest{Reason: "theirs"})
			return err
		})
	}
	unlock := func(who identity.Principal, force bool) error {
		return w.Update(t.Context(), func(u *postgres.Update) error {
			if force {
				_, err := u.ForceUnlock(t.Context(), who, w.stack, "")
				return err
			}
			return u.UnlockStack(t.Context(), who, w.stack, "")
		})
	}
	if err := unlock(w.owner, false); problem.Code(err) != api.Conflict || !strings.Contains(err.Error(), "already unlocked") {
		t.Errorf("unlocked twice: %v", err)
	}
	w.lock(t, w.owner)
	for name, err := range map[string]error{"locked twice": lock(w.owner), "locked by two": lock(second), "another's": unlock(second, false)} {
		if problem.Code(err) != api.Locked || !strings.Contains(err.Error(), `is locked by User "ann"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := unlock(second, true); problem.Code(err) != api.Forbidden {
		t.Errorf("an applier breaks another's lock: %v", err)
	}
	w.unlock(t, w.owner)
	w.lock(t, second)
	if err := unlock(w.owner, true); err != nil {
		t.Fatal(err)
	}
	var log []identity.Entry
	err := w.View(t.Context(), func(v *postgres.View) error {
		for e, err := range v.Audit(t.Context(), w.owner, w.org) {
			if err != nil {
				return err
			}
			log = append(log, e)
		}
		return nil
	})
	if last := log[len(log)-1]; err != nil || last.Action != "state:force_unlock" || last.Detail["holder"] != second.ID || last.Principal != w.owner {
		t.Errorf("%v: the last entry is %+v", err, last)
	}
}

// TestRecovery: back to an earlier version, and to bytes that were refused; both by
// whoever may, with a lock, as new versions.
func TestRecovery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	applier := w.member(t, "applier", identity.Applier)
	w.lock(t, w.owner)
	texts := []string{file(1, "one"), file(2, "two")}
	var versions []postgres.StateVersion
	for i, text := range texts {
		v, err := w.push(t.Context(), w.owner, request(int64(i+1), text), text)
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, v)
	}
	refused := file(2, "refused")
	if _, err := w.inline(t, w.owner, request(2, refused), refused); err == nil {
		t.Fatal("it was taken")
	}
	kept := w.quarantined(t)[0]
	if _, err := w.RollbackState(t.Context(), applier, versions[0].ID, ""); problem.Code(err) != api.Forbidden {
		t.Errorf("an applier goes back: %v", err)
	}
	back, err := w.RollbackState(t.Context(), w.owner, versions[0].ID, "")
	if now, text := w.current(t); err != nil || now.ID != back.ID || text != texts[0] || now.CopyOf != versions[0].ID || now.Serial != 1 || now.Sequence != 3 {
		t.Errorf("%v: %+v", err, now)
	}
	taken, err := w.ImportQuarantined(t.Context(), w.owner, kept.ID, "")
	if now, text := w.current(t); err != nil || now.ID != taken.ID || text != refused || now.Serial != 2 || now.Outputs != 2 {
		t.Errorf("%v: %+v", err, now)
	}
	w.unlock(t, w.owner)
	if _, err := w.RollbackState(t.Context(), w.owner, versions[1].ID, ""); problem.Code(err) != api.Conflict {
		t.Errorf("without a lock: %v", err)
	}
}

// TestEncrypted: of a state that OpenTofu has encrypted, nothing is kept that would
// show what is in it, though its clients send that in clear (docs/state.md, rule 11).
func TestEncrypted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.lock(t, w.owner)
	text := `{"serial":1,"lineage":"` + lineage + `","meta":{"key_provider.pbkdf2.k":"e30="},"encrypted_data":"AAAA","encryption_version":"v0"}`
	r := request(1, text)
	r.Outputs = []byte(`{"s":{"sensitive":true,"type":"string","value":"hunter2"},"t":{"sensitive":false,"type":"string","value":"hunter3"}}`)
	v, up, err := w.BeginState(t.Context(), w.owner, w.stack, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, put := range []struct{ secret, text string }{{up.JSON, `{"values":"hunter2"}`}, {up.State, text}, {up.JSON, `{"values":"hunter3"}`}} {
		if err := w.PutState(t.Context(), put.secret, strings.NewReader(put.text)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := w.Outputs(t.Context(), w.owner, v.ID)
	if err != nil || len(got) != 2 || got[0].Name != "s" || got[0].Value != nil || got[1].Value != nil || got[1].Type != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if now, back := w.current(t); back != text || !now.Encrypted || now.JSON != "" {
		t.Errorf("%+v", now)
	}
}

// TestSensitive: who may only read outputs does not get the sensitive ones.
func TestSensitive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader := w.member(t, "reader", identity.Reader)
	w.lock(t, w.owner)
	text := file(1, "open")
	v, err := w.inline(t, w.owner, request(1, text), text)
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.Outputs(t.Context(), reader, v.ID)
	if err != nil || len(got) != 2 || got[0].Name != "secret" || got[0].Value != nil || string(got[1].Value) != `"open"` {
		t.Errorf("%+v, %v", got, err)
	}
	if o, err := w.Output(t.Context(), reader, v.ID, 0); problem.Code(err) != api.Forbidden {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err := w.Output(t.Context(), w.owner, v.ID, 0); err != nil || string(o.Value) != `"hunter2"` {
		t.Errorf("%+v, %v", o, err)
	}
	if _, _, err := w.OpenState(t.Context(), reader, v.ID); problem.Code(err) != api.Forbidden {
		t.Errorf("a reader reads the state: %v", err)
	}
}

// TestSweep: what is referred to stays, and so does what a deleted stack had, for the grace.
func TestSweep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.lock(t, w.owner)
	text := file(1, "kept")
	first, other := request(1, text), request(1, file(1, "x"))
	first.Outputs, other.Outputs = []byte(`{"a":{"type":"number","value":1}}`), []byte(`{"b":{"type":"number","value":1}}`)
	if _, err := w.inline(t, w.owner, first, text); err != nil {
		t.Fatal(err)
	}
	if _, err := w.inline(t, w.owner, other, file(1, "x")); err == nil {
		t.Fatal("it was taken")
	}
	if err := w.PutState(t.Context(), "nowhere", strings.NewReader("x")); err == nil {
		t.Fatal("it was taken")
	}
	w.age(t, 2*time.Hour)
	sweep := func(want int) {
		t.Helper()
		swept, err := w.Sweep(t.Context(), artifact.Grace)
		if err != nil || swept.Artifacts != want {
			t.Errorf("%+v, %v, want %d", swept, err, want)
		}
	}
	sweep(1) // the details of what was refused
	if _, back := w.current(t); back != text {
		t.Errorf("%q", back)
	}
	w.update(t, func(u *postgres.Update) error { return u.DeleteStack(t.Context(), w.owner, w.stack, true) })
	sweep(0)
	_, r, err := w.OpenGrave(t.Context(), w.owner, w.stack)
	if err != nil {
		t.Fatal(err)
	}
	back, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil || string(back) != text {
		t.Errorf("%q, %v", back, err)
	}
	if _, err := w.conn.Exec(t.Context(), "UPDATE state_graves SET deleted_at = deleted_at - interval '2 hours'"); err != nil {
		t.Fatal(err)
	}
	sweep(3) // two states and the details of one
}

// TestLargeState: 300 MB take less than 128 MB of memory (issue 5).
func TestLargeState(t *testing.T) {
	w := newWorld(t)
	w.lock(t, w.owner)
	const size = 300 << 20
	head := []byte(`{"version":4,"serial":1,"lineage":"` + lineage + `","outputs":{},"resources":[`)
	large := func() io.Reader { return io.LimitReader(newLarge(head), size) }
	sum := md5.New()
	if _, err := io.Copy(sum, large()); err != nil {
		t.Fatal(err)
	}
	r := control.StateRequest{Write: state.Write{Serial: 1, Lineage: lineage, MD5: hex.EncodeToString(sum.Sum(nil))}}
	_, up, err := w.BeginState(t.Context(), w.owner, w.stack, r)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	var before, most runtime.MemStats
	runtime.ReadMemStats(&before)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			var now runtime.MemStats
			if runtime.ReadMemStats(&now); now.HeapInuse > most.HeapInuse {
				most = now
			}
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	begun := time.Now()
	if err := w.PutState(t.Context(), up.State, large()); err != nil {
		t.Fatal(err)
	}
	close(stop)
	<-done
	more := int64(most.HeapInuse) - int64(before.HeapInuse)
	t.Logf("%d MB of heap more, %v", more>>20, time.Since(begun))
	if more > 128<<20 {
		t.Errorf("it took %d MB", more>>20)
	}
}

// A large state is made while it is read: resources without end, whose last byte is
// that of the state.
type large struct {
	rest   []byte
	record []byte
	left   int
}

func newLarge(head []byte) io.Reader {
	noise := make([]byte, 500)
	source := rand.NewChaCha8([32]byte{1})
	for i := range noise {
		noise[i] = "abcdefghijklmnop"[source.Uint64()%16]
	}
	record := []byte(`{"mode":"managed","type":"t","name":"n","provider":"p","instances":[{"attributes":{"x":"` + string(noise) + `"}}]},`)
	const size = 300 << 20
	tail := []byte(`{}]}`)
	n := (size - len(head) - len(tail)) / len(record)
	pad := size - len(head) - len(tail) - n*len(record)
	return io.MultiReader(bytes.NewReader(head), &large{record: record, left: n}, bytes.NewReader(bytes.Repeat([]byte(" "), pad)), bytes.NewReader(tail))
}

func (l *large) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		if l.left == 0 {
			return 0, io.EOF
		}
		l.left--
		l.rest = l.record
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// TestCanary: what is secret in a state is in no table and in no file in clear.
func TestCanary(t *testing.T) {
	t.Parallel()
	const canary = "hunter2" // every file here has it in a sensitive output
	w := newWorld(t)
	w.lock(t, w.owner)
	text := file(1, "open-"+canary)
	r := request(1, text)
	r.Outputs = []byte(`{"secret":{"value":"` + canary + `","type":"string","sensitive":true}}`)
	_, up, err := w.BeginState(t.Context(), w.owner, w.stack, r)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.PutState(t.Context(), up.State, strings.NewReader(text)), w.PutState(t.Context(), up.JSON, strings.NewReader(text))); err != nil {
		t.Fatal(err)
	}
	refused := file(1, "refused")
	if _, err := w.inline(t, w.owner, request(1, refused), refused); err == nil || strings.Contains(err.Error(), canary) {
		t.Errorf("%v", err)
	}
	rows, err := w.conn.Query(t.Context(), "SELECT format('%I', table_name) FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'")
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 10 {
		t.Fatal(tables, err)
	}
	for _, table := range tables {
		for _, secret := range []string{canary, up.State, up.JSON} {
			var n int
			err := w.conn.QueryRow(t.Context(), "SELECT count(*) FROM "+table+" AS x WHERE x::text LIKE '%' || $1 || '%'", secret).Scan(&n)
			if err != nil || n != 0 {
				t.Errorf("%s: %d rows hold a secret, %v", table, n, err)
			}
		}
	}
	files := 0
	err = filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(canary)) {
			t.Errorf("%s holds a secret", path)
		}
		return err
	})
	if err != nil || files < 3 {
		t.Errorf("%d files, %v", files, err)
	}
}
