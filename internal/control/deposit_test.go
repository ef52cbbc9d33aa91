package control_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

// policy keeps one, without a text.
func (w world) policy(t *testing.T, name string) string {
	t.Helper()
	d := postgres.NewDeposit(postgres.Policy, w.org)
	d.Name = name
	w.update(t, func(u *postgres.Update) error { _, err := u.CreateDeposit(t.Context(), w.owner, d); return err })
	return d.ID
}

// text is that of a policy.
func (w world) text(t *testing.T, policy string) (string, error) {
	t.Helper()
	r, err := w.Download(t.Context(), w.owner, postgres.Policy, policy)
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(r)
	return string(data), errors.Join(err, r.Close())
}

// TestUploadsAreSwept: the last text of a policy stays, one before it does not, nor
// what was cut short, nor that of a policy which is gone.
func TestUploadsAreSwept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stays, goes := w.policy(t, "stays"), w.policy(t, "goes")
	for _, upload := range []struct{ policy, text string }{{stays, "first"}, {stays, "second"}, {goes, "third"}} {
		if _, err := w.Upload(t.Context(), w.owner, postgres.Policy, upload.policy, strings.NewReader(upload.text)); err != nil {
			t.Fatal(err)
		}
	}
	broken := io.MultiReader(strings.NewReader("half of it"), iotest.ErrReader(errors.New("the line broke")))
	if _, err := w.Upload(t.Context(), w.owner, postgres.Policy, stays, broken); problem.Code(err) != api.Invalid {
		t.Errorf("a line that broke: %v", err)
	}
	w.update(t, func(u *postgres.Update) error { return u.DeleteDeposit(t.Context(), w.owner, postgres.Policy, goes) })
	w.age(t, 2*time.Hour)
	swept, err := w.Sweep(t.Context(), artifact.Grace)
	if err != nil || swept.Artifacts != 2 {
		t.Errorf("%+v, %v, want two texts swept", swept, err)
	}
	if text, err := w.text(t, stays); text != "second" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := w.text(t, goes); problem.Code(err) != api.NotFound {
		t.Errorf("of what is gone: %v", err)
	}
}
