package serve

import (
	"context"
	"time"

	"github.com/assize-iac/assize/internal/control"
)

// The first sweep waits until a server that is tried out, and stopped at once, has
// been: what it removes is gone.
const (
	firstSweep = time.Hour
	sweepEvery = 24 * time.Hour
)

// work does what nobody asks for, until ctx ends: the jobs that changes have left,
// and once a day the removal of bytes that nothing refers to. Every replica does
// both; the database sees to it that none does what another is doing.
func (s *Server) work(ctx context.Context) {
	s.working.Go(func() {
		for wait(ctx, 0); ctx.Err() == nil; wait(ctx, time.Second) {
			if err := s.store.Work(ctx); err != nil {
				s.log.Error("jobs are not done", "error", err)
			}
		}
	})
	s.working.Go(func() {
		for wait(ctx, firstSweep); ctx.Err() == nil; wait(ctx, sweepEvery) {
			swept, err := s.control.Sweep(ctx, control.SweepGrace)
			if err != nil {
				s.log.Error("artifacts are not swept", "error", err)
				continue
			}
			s.log.Info("swept", "artifacts", swept.Artifacts, "bodies", swept.Bodies)
		}
	})
}

// wait returns after a time, or when ctx ends.
func wait(ctx context.Context, most time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(most):
	}
}
