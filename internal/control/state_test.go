package control_test

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/control"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/postgres/postgrestest"
	"github.com/assize-iac/assize/internal/state"
)

// A world is a server with one stack.
type world struct {
	*control.Control
	store *postgres.Store
	keys  *artifact.Ring
	dir   string    // of the artifacts
	url   string    // of the database
	conn  *pgx.Conn // around the store
	owner identity.Principal
	other identity.Principal // a maintainer, whose reading is not the owner's
	org   string
	home  identity.Scope
	stack string
}

func newWorld(t *testing.T) world {
	t.Helper()
	keys, err := artifact.ParseRing(artifact.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	artifacts, err := artifact.CreateTree(dir, keys)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = artifacts.Close() })
	url := postgrestest.URL(t)
	store, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	w := world{Control: control.New(store, artifacts, keys), store: store, keys: keys, dir: dir, url: url, conn: conn}
	w.owner = w.register(t, "ann")
	w.update(t, func(u *postgres.Update) error {
		if err := u.Appoint(t.Context(), postgres.Server(), w.owner.ID, true); err != nil {
			return err
		}
		o, err := u.CreateOrganisation(t.Context(), w.owner, "acme")
		if err != nil {
			return err
		}
		w.org = o.ID
		p, err := u.CreateProject(t.Context(), w.owner, o.ID, "infra")
		if err != nil {
			return err
		}
		s, err := u.CreateStack(t.Context(), w.owner, postgres.Stack{Project: p.ID, Name: "network"})
		w.stack, w.home = s.ID, identity.Scope{Organisation: o.ID, Project: p.ID, Stack: s.ID}
		return err
	})
	w.other = w.member(t, "other", identity.Maintainer)
	return w
}

func (w world) update(t *testing.T, fn func(*postgres.Update) error) {
	t.Helper()
	if err := w.Update(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func (w world) register(t *testing.T, name string) identity.Principal {
	t.Helper()
	who := postgres.NewUser(name)
	w.update(t, func(u *postgres.Update) error { return u.Register(t.Context(), who) })
	return who
}

// member is somebody with a role for the stack.
func (w world) member(t *testing.T, name string, role identity.Role) identity.Principal {
	t.Helper()
	who := w.register(t, name)
	w.update(t, func(u *postgres.Update) error {
		return u.Grant(t.Context(), w.owner, who.ID, identity.Grant{Role: role, Scope: w.home})
	})
	return who
}

func (w world) lock(t *testing.T, who identity.Principal) {
	t.Helper()
	w.update(t, func(u *postgres.Update) error {
		_, err := u.LockStack(t.Context(), who, w.stack, postgres.LockRequest{Reason: "a test"})
		return err
	})
}

func (w world) unlock(t *testing.T, who identity.Principal) {
	t.Helper()
	w.update(t, func(u *postgres.Update) error { return u.UnlockStack(t.Context(), who, w.stack, "") })
}

const lineage = "8094ef40-1dbd-95cd-1f60-bb25d84d883b"

// file is a state of version 4.
func file(serial int, text string) string {
	return fmt.Sprintf(`{"version":4,"terraform_version":"1.12.6","serial":%d,"lineage":%q,
		"outputs":{"text":{"value":%q,"type":"string"},"secret":{"value":"hunter2","type":"string","sensitive":true}},
		"resources":[{"mode":"managed","type":"terraform_data","name":"this","provider":"provider[\"terraform.io/builtin/terraform\"]",
			"instances":[{"schema_version":0,"attributes":{"id":"x"}}]}]}`, serial, lineage, text)
}

func sum(text string) string {
	digest := md5.Sum([]byte(text))
	return hex.EncodeToString(digest[:])
}

func request(serial int64, text string) control.StateRequest {
	return control.StateRequest{Write: state.Write{Serial: serial, Lineage: lineage, MD5: sum(text)}}
}

// push writes a state as the clients do: it is begun, then its bytes are sent.
func (w world) push(ctx context.Context, who identity.Principal, r control.StateRequest, text string) (postgres.StateVersion, error) {
	v, up, err := w.BeginState(ctx, who, w.stack, r)
	if err != nil {
		return v, err
	}
	if err := w.PutState(ctx, up.State, strings.NewReader(text)); err != nil {
		return v, err
	}
	err = w.View(ctx, func(view *postgres.View) (err error) {
		v, err = view.State(ctx, who, v.ID)
		return err
	})
	return v, err
}

// current is the text of the state that counts, "" when there is none, as somebody
// reads it who has no lock.
func (w world) current(t *testing.T) (postgres.StateVersion, string) {
	t.Helper()
	var v postgres.StateVersion
	err := w.View(t.Context(), func(view *postgres.View) (err error) {
		v, err = view.CurrentState(t.Context(), w.other, w.stack)
		return err
	})
	if err != nil {
		return v, ""
	}
	_, r, err := w.OpenState(t.Context(), w.other, v.ID)
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

func TestThinPath(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.lock(t, w.owner)
	text := file(1, "hello")
	v, err := w.push(t.Context(), w.owner, request(1, text), text)
	if err != nil {
		t.Fatal(err)
	}
	if v.Status != state.Finalized || v.Serial != 1 || v.Sequence != 1 || v.Outputs != 2 || v.Resources != 1 || v.Format != 4 || v.Size != int64(len(text)) {
		t.Errorf("%+v", v)
	}
	if got, back := w.current(t); got.ID != v.ID || back != text {
		t.Errorf("the current version is %s: %q", got.ID, back)
	}
	again, err := w.push(t.Context(), w.owner, request(1, text), text)
	if err != nil || again.ID != v.ID {
		t.Errorf("the same once more is %s, %v", again.ID, err)
	}
	w.unlock(t, w.owner)
}

// age makes all artifacts older.
func (w world) age(t *testing.T, by time.Duration) {
	t.Helper()
	err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chtimes(path, time.Time{}, time.Now().Add(-by))
	})
	if err != nil {
		t.Fatal(err)
	}
}
