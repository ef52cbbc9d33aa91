package tofu

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// lockTick is how often a lock that somebody else holds is tried again.
const lockTick = 20 * time.Millisecond

// Lock waits until no other process, and nobody else in this one, holds the
// lock at path: a directory, or a file, which it makes. It waits no longer than ctx lasts, and
// then the error has [ErrInterrupted]. The lock ends with the process, however
// that ends.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o600)
	}
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, err
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, &problem.Error{Code: api.Unavailable, Message: "interrupted while another process was at work here", Cause: ErrInterrupted}
		case <-time.After(lockTick):
		}
	}
}
