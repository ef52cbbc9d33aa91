package control_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

const anArchive = "\x1f\x8b\x08 an archive of "

// version uploads a version of the stack's configuration.
func (w world) version(t *testing.T, archive string) string {
	t.Helper()
	var c postgres.Configuration
	var secret string
	w.update(t, func(u *postgres.Update) (err error) {
		c, secret, err = u.CreateConfiguration(t.Context(), w.owner, w.stack, postgres.Configuration{Source: "tfe-api"})
		return err
	})
	if err := w.UploadConfiguration(t.Context(), c.ID, secret, strings.NewReader(archive)); err != nil {
		t.Fatal(err)
	}
	return c.ID
}

func (w world) archive(t *testing.T, id string) (string, error) {
	t.Helper()
	r, err := w.OpenConfiguration(t.Context(), w.owner, id)
	if err != nil {
		return "", err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	return string(data), err
}

// TestSweepConfigurations: an archive stays while a version has it, if it is only
// one of two; a sweep removes it when that was archived.
func TestSweepConfigurations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, same, other := w.version(t, anArchive+"one"), w.version(t, anArchive+"one"), w.version(t, anArchive+"another")
	sweep := func() int {
		t.Helper()
		w.age(t, 2*time.Hour)
		swept, err := w.Sweep(t.Context(), artifact.Grace)
		if err != nil {
			t.Fatal(err)
		}
		return swept.Artifacts
	}
	archive := func(id string) {
		t.Helper()
		w.update(t, func(u *postgres.Update) error { return u.ArchiveConfiguration(t.Context(), w.owner, id) })
	}
	archive(one)
	if n := sweep(); n != 0 {
		t.Errorf("%d were removed while there is a version that has it", n)
	}
	if got, err := w.archive(t, same); got != anArchive+"one" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	archive(same)
	if n := sweep(); n != 1 {
		t.Errorf("%d were removed, and one has no version any more", n)
	}
	if _, err := w.archive(t, same); problem.Code(err) != api.NotFound {
		t.Error(err)
	}
	if got, err := w.archive(t, other); got != anArchive+"another" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
