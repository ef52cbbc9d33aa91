package control_test

import (
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/control"
	"github.com/assize-iac/assize/internal/problem"
)

// TestRotateAlone: while one process rotates, no other does, and none sweeps: what is
// removed while its header is written would come back without a body
// (docs/secrets.md, rule 13).
func TestRotateAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	another := w.replica(t)
	w.lock(t, w.owner)
	if _, err := w.push(t.Context(), w.owner, request(1, file(1, "hello")), file(1, "hello")); err != nil {
		t.Fatal(err)
	}
	looked := 0
	_, err := w.Rotate(t.Context(), func(int, int) {
		looked++
		if _, err := another.Rotate(t.Context(), func(int, int) {}); problem.Code(err) != api.Conflict {
			t.Errorf("a second rotation: %v", err)
		}
		if swept, err := another.Sweep(t.Context(), control.SweepGrace); err != nil || swept.Artifacts+swept.Bodies != 0 {
			t.Errorf("a sweep: %+v, %v", swept, err)
		}
	})
	if err != nil || looked == 0 {
		t.Errorf("%d were looked at: %v", looked, err)
	}
	if _, err := another.Rotate(t.Context(), func(int, int) {}); err != nil {
		t.Errorf("after the first one: %v", err)
	}
}
