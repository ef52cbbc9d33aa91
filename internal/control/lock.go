package control

import (
	"context"

	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
)

// UnlockKey gives back the lock that a tool calls by this key. For tools of the
// plain http backend a force-unlock looks like any other: what gives back the lock
// of somebody else is one (docs/state.md, rule 17).
func (c *Control) UnlockKey(ctx context.Context, who identity.Principal, stack, key string) error {
	return c.UpdateStack(ctx, stack, func(u *postgres.Update) error {
		l, err := u.StackLock(ctx, who, stack)
		if err != nil {
			return err
		}
		own := l != nil && l.Holder.Kind == who.Kind && l.Holder.ID == who.ID
		if l == nil || own && l.Key() == key || key != l.ShownKey() {
			return u.UnlockStack(ctx, who, stack, key)
		}
		_, err = u.ForceUnlock(ctx, who, stack, "")
		return err
	})
}
