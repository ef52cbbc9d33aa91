package server

import (
	"context"
	"encoding/json"

	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
)

func (s *server) locks() []endpoint {
	return []endpoint{
		answering("Whether a stack is locked, by whom, since when and why", identity.StackRead, s.showLock),
		making("Take the lock of a stack", identity.StateLock, s.takeLock),
		answering("Give back one's own lock", identity.StateLock, s.releaseLock),
		answering("Break the lock of a stack; one's own needs only state:lock", identity.StateForceUnlock, s.breakLock),
	}
}

func lock(l postgres.Lock) v1.Lock {
	return v1.Lock{ID: l.ID, Holder: principal(l.Holder), Reason: l.Reason, Since: l.Since}
}

func (s *server) showLock(ctx context.Context, who identity.Principal, in v1.ShowLock) (v1.Locking, error) {
	var held *postgres.Lock
	err := s.control.View(ctx, func(v *postgres.View) (err error) {
		held, err = v.StackLock(ctx, who, in.Stack)
		return err
	})
	if held == nil {
		return v1.Locking{}, err
	}
	doc := lock(*held)
	return v1.Locking{Lock: &doc}, err
}

func (s *server) takeLock(ctx context.Context, who identity.Principal, in v1.TakeLock) (v1.Lock, error) {
	wanted := postgres.LockRequest{Reason: in.Reason}
	if in.Key != "" {
		var err error
		if wanted.Document, err = json.Marshal(map[string]string{"ID": in.Key}); err != nil {
			return v1.Lock{}, err
		}
	}
	var made postgres.Lock
	err := s.control.UpdateStack(ctx, in.Stack, func(u *postgres.Update) (err error) {
		made, err = u.LockStack(ctx, who, in.Stack, wanted)
		return err
	})
	return lock(made), err
}

func (s *server) releaseLock(ctx context.Context, who identity.Principal, in v1.ReleaseLock) (nothing, error) {
	return nothing{}, s.control.UpdateStack(ctx, in.Stack, func(u *postgres.Update) error { return u.UnlockStack(ctx, who, in.Stack, in.Key) })
}

func (s *server) breakLock(ctx context.Context, who identity.Principal, in v1.BreakLock) (v1.Lock, error) {
	var broken postgres.Lock
	err := s.control.UpdateStack(ctx, in.Stack, func(u *postgres.Update) (err error) {
		broken, err = u.ForceUnlock(ctx, who, in.Stack, in.Reason)
		return err
	})
	return lock(broken), err
}
