package control

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/state"
)

// SweepGrace is for how long bytes are kept that nothing refers to any more, those
// of deleted stacks among them (docs/state.md, rule 16).
const SweepGrace = 30 * 24 * time.Hour

// RollbackState goes back to an earlier version. Its bytes are read to their end
// before: one that is damaged must not become the current one.
func (c *Control) RollbackState(ctx context.Context, who identity.Principal, id, key string) (postgres.StateVersion, error) {
	var v postgres.StateVersion
	err := c.View(ctx, func(view *postgres.View) (err error) {
		v, err = view.ReadState(ctx, who, id)
		return err
	})
	if err != nil {
		return v, err
	}
	if v.Status == state.Finalized {
		err = c.whole(ctx, artifact.Name{Kind: stateKind, Owner: v.Stack, Digest: v.Artifact})
	}
	if err != nil {
		return v, err
	}
	kept := v.Kept
	err = c.Update(ctx, func(u *postgres.Update) (err error) {
		v, err = u.RollbackState(ctx, who, id, key, func(ctx context.Context) error { return c.present(ctx, v.Stack, kept) })
		return err
	})
	return v, err
}

// whole reads an artifact to its end, where the proof is.
func (c *Control) whole(ctx context.Context, name artifact.Name) error {
	r, err := c.open(ctx, name)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(io.Discard, r)
	return err
}

// OpenQuarantined begins to read bytes that were refused.
func (c *Control) OpenQuarantined(ctx context.Context, who identity.Principal, id string) (postgres.Quarantined, *artifact.Reader, error) {
	var q postgres.Quarantined
	err := c.View(ctx, func(view *postgres.View) (err error) {
		q, err = view.Quarantined(ctx, who, id)
		return err
	})
	if err != nil {
		return q, nil, err
	}
	r, err := c.open(ctx, artifact.Name{Kind: stateKind, Owner: q.Stack, Digest: q.Artifact})
	return q, r, err
}

// ImportQuarantined makes bytes that were refused the current version, on purpose.
// They are kept once more on the way, which reads them to their end and makes them
// young for a sweep.
func (c *Control) ImportQuarantined(ctx context.Context, who identity.Principal, id, key string) (postgres.StateVersion, error) {
	q, r, err := c.OpenQuarantined(ctx, who, id)
	if err != nil {
		return postgres.StateVersion{}, err
	}
	defer r.Close()
	got, err := c.receive(ctx, q.Stack, r, StateMax)
	if err != nil {
		return postgres.StateVersion{}, err
	}
	if got.broken {
		return postgres.StateVersion{}, problem.New(api.Refused, "these bytes are no state, so they cannot become one").
			WithHint("read them, and push what is to be saved of them")
	}
	w := state.Write{Lineage: q.Lineage, MD5: got.md5}
	if q.Serial != nil {
		w.Serial = *q.Serial
	}
	kept, err := c.describe(ctx, q.Stack, got, nil)
	if err != nil {
		return postgres.StateVersion{}, err
	}
	var v postgres.StateVersion
	err = c.Update(ctx, func(u *postgres.Update) (err error) {
		v, err = u.ImportState(ctx, who, id, key, w, kept)
		return err
	})
	return v, err
}

// OpenGrave begins to read the last state of a stack that was deleted.
func (c *Control) OpenGrave(ctx context.Context, who identity.Principal, stack string) (postgres.Grave, *artifact.Reader, error) {
	var g postgres.Grave
	err := c.Update(ctx, func(u *postgres.Update) (err error) {
		g, err = u.Exhume(ctx, who, stack)
		return err
	})
	if err != nil {
		return g, nil, err
	}
	r, err := c.artifacts.Open(ctx, artifact.Name{Kind: stateKind, Owner: g.Stack, Digest: g.Artifact})
	return g, r, err
}

// Sweep removes artifacts to which nothing has referred for the grace. When another
// process does so at this moment it does nothing. Whoever runs the server calls it
// now and then.
func (c *Control) Sweep(ctx context.Context, grace time.Duration) (artifact.Swept, error) {
	var swept artifact.Swept
	now := time.Now()
	err := c.store.Sweeping(ctx, now.Add(-grace), func(referenced func(context.Context, string, string, string) (bool, error)) (err error) {
		swept, err = c.artifacts.Sweep(ctx, now, grace, func(ctx context.Context, n artifact.Name) (bool, error) {
			return referenced(ctx, n.Kind, n.Owner, n.Digest)
		})
		return err
	})
	if errors.Is(err, postgres.ErrSweeping) {
		return artifact.Swept{}, nil
	}
	return swept, err
}
