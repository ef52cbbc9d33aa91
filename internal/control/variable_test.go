package control_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/control"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/sealed"
)

// over is a control over the same database with other keys, which only variables
// are asked of.
func (w world) over(t *testing.T, keys ...string) *control.Control {
	t.Helper()
	ring, err := artifact.ParseRing(strings.Join(keys, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return control.New(w.store, nil, ring)
}

// TestRotateSecrets: before a rotation the old key is needed, after it the old key
// can go; the secrets themselves it leaves as they are (docs/secrets.md, rule 5).
func TestRotateSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old, anew := artifact.NewKey(), artifact.NewKey()
	before, both, after := w.over(t, old), w.over(t, anew, old), w.over(t, anew)
	var ids []string
	for i := range 3 {
		x, err := before.CreateVariable(t.Context(), w.owner, w.stack, postgres.Variable{Category: "terraform", Key: fmt.Sprint("key", i)}, fmt.Sprint("value", i))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, x.ID)
	}
	if _, err := before.CreateSSHKey(t.Context(), w.owner, w.org, "k", "a key"); err != nil {
		t.Fatal(err)
	}
	if _, err := after.Variables(t.Context(), w.owner, w.stack); problem.Code(err) != api.Unavailable {
		t.Errorf("without the key: %v", err)
	}
	if done, err := after.RotateSecrets(t.Context()); done != 0 || problem.Code(err) != api.Unavailable {
		t.Errorf("rotated %d without the key: %v", done, err)
	}
	w.execute(t, "UPDATE variables SET value = value || '\\x00' WHERE id = $1", ids[0])
	if done, err := both.RotateSecrets(t.Context()); done != 4 || err != nil {
		t.Errorf("rotated %d, %v: what follows the wrapped key is not looked at", done, err)
	}
	if done, err := both.RotateSecrets(t.Context()); done != 0 || err != nil {
		t.Errorf("rotated %d once more, %v", done, err)
	}
	if _, err := after.Variable(t.Context(), w.owner, w.stack, ids[0]); !errors.Is(err, artifact.ErrDamaged) {
		t.Errorf("a secret that was changed: %v", err)
	}
	for i, id := range ids[1:] {
		x, err := after.Variable(t.Context(), w.owner, w.stack, id)
		if err != nil || x.Shown != fmt.Sprint("value", i+1) {
			t.Errorf("%q, %v", x.Shown, err)
		}
	}
}

// TestMovedSecret: a sealed value that is copied to another variable, to look at it
// there, does not open (docs/secrets.md, rule 2).
func TestMovedSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret, err1 := w.CreateVariable(t.Context(), w.owner, w.stack, postgres.Variable{Category: "env", Key: "PASSWORD", Sensitive: true}, "canary-4f1e")
	plain, err2 := w.CreateVariable(t.Context(), w.owner, w.stack, postgres.Variable{Category: "env", Key: "REGION"}, "north")
	if err := errors.Join(err1, err2); err != nil || secret.Shown != "" || plain.Shown != "north" {
		t.Fatalf("%q %q %v", secret.Shown, plain.Shown, err)
	}
	w.execute(t, "UPDATE variables SET value = (SELECT value FROM variables WHERE id = $2) WHERE id = $1", plain.ID, secret.ID)
	for name, ask := range map[string]func() error{
		"one":       func() error { _, err := w.Variable(t.Context(), w.owner, w.stack, plain.ID); return err },
		"all":       func() error { _, err := w.Variables(t.Context(), w.owner, w.stack); return err },
		"effective": func() error { _, err := w.EffectiveVariables(t.Context(), w.owner, w.stack); return err },
	} {
		if err := ask(); !errors.Is(err, artifact.ErrDamaged) || strings.Contains(fmt.Sprint(err), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
	value := "south"
	if x, err := w.ChangeVariable(t.Context(), w.owner, w.stack, plain.ID, postgres.VariableChange{}, &value); err != nil || x.Shown != value {
		t.Errorf("it cannot be set anew: %q, %v", x.Shown, err)
	}
}

// TestLargeValue: the largest value there is, and one that is larger.
func TestLargeValue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	large := strings.Repeat("x", sealed.Max)
	x, err := w.CreateVariable(t.Context(), w.owner, w.stack, postgres.Variable{Category: "terraform", Key: "large"}, large)
	if err != nil || x.Shown != large {
		t.Errorf("%d bytes, %v", len(x.Shown), err)
	}
	if _, err := w.CreateVariable(t.Context(), w.owner, w.stack, postgres.Variable{Category: "terraform", Key: "larger"}, large+"x"); problem.Code(err) != api.TooLarge {
		t.Error(err)
	}
}

func (w world) execute(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := w.conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}
