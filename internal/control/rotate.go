package control

import (
	"context"
	"errors"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/sealed"
)

// A Rotated is how much was wrapped anew.
type Rotated struct {
	Secrets   int // of the database
	Artifacts int
}

// Rotate wraps everything anew that is not wrapped with the current key: the secrets of
// the database and the artifacts. Once it returns no error, and every process has that key
// first, nothing needs the others (docs/secrets.md, rule 13). Broken off, it goes on when
// it is called again. While it runs nothing is swept and nobody else rotates, in whichever
// process: an artifact that is removed while its header is written would come back without
// a body. It is the operator's, so nobody's permission is asked.
func (c *Control) Rotate(ctx context.Context, progress func(looked, anew int)) (Rotated, error) {
	var done Rotated
	err := c.store.Sweeping(ctx, time.Now(), func(func(context.Context, string, string, string) (bool, error)) error {
		var errSecrets, errArtifacts error
		done.Secrets, errSecrets = c.RotateSecrets(ctx)
		done.Artifacts, errArtifacts = c.artifacts.Rotate(ctx, progress)
		return errors.Join(errSecrets, errArtifacts)
	})
	if errors.Is(err, postgres.ErrSweeping) {
		return done, problem.New(api.Conflict, "another process rotates, or sweeps artifacts, at this moment").WithHint("try again when it has ended")
	}
	return done, err
}

// RotateSecrets wraps the keys of all secrets of the database anew that are not
// wrapped with the current one, and returns how many that were, with the first
// error of one that could not be (docs/secrets.md, rule 5). It is the operator's.
func (c *Control) RotateSecrets(ctx context.Context) (int, error) {
	return c.store.RotateSecrets(ctx, func(id, field string, text []byte) ([]byte, bool, error) {
		return sealed.Rotate(ctx, c.keys, sealed.Place{ID: id, Field: field}, text)
	})
}
