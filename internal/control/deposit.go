package control

import (
	"context"
	"io"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/sealed"
)

// Seal puts a secret into a deposit, from where nobody reads it in the clear
// (docs/secrets.md). An empty one removes it.
func (c *Control) Seal(ctx context.Context, d *postgres.Deposit, name, secret string) error {
	if secret == "" {
		delete(d.Secrets, name)
		return nil
	}
	text, err := sealed.Seal(ctx, c.keys, sealed.Place{ID: d.SecretID(name), Field: postgres.DepositSecretValue}, []byte(secret))
	if err == nil {
		d.Secrets[name] = text
	}
	return err
}

// The most that is taken for a deposit, in bytes.
const (
	policyMax  = 4 << 20
	archiveMax = 100 << 20
)

// depositKind is the kind of artifacts that are uploaded for deposits; they belong
// to the deposit.
const depositKind = "deposit"

// artifactOf is the name of what was uploaded for a deposit.
func artifactOf(d postgres.Deposit) artifact.Name {
	return artifact.Name{Kind: depositKind, Owner: d.ID, Digest: d.Digest}
}

// Upload keeps the bytes of a deposit: the text of a policy as it is, or an
// archive (docs/protocol.md, rule 24). What is refused was not referred to by
// anything and is swept.
func (c *Control) Upload(ctx context.Context, who identity.Principal, kind postgres.DepositKind, id string, body io.Reader) (postgres.Deposit, error) {
	err := c.View(ctx, func(v *postgres.View) error {
		_, err := v.DepositToChange(ctx, who, kind, id)
		return err
	})
	if err != nil {
		return postgres.Deposit{}, err
	}
	most := int64(archiveMax)
	if kind == postgres.Policy {
		most = policyMax
	}
	tooLarge := problem.New(api.TooLarge, "what was sent has more than %d bytes", most)
	name, size, err := c.artifacts.Add(ctx, depositKind, id, &limit{from: body, left: most, over: tooLarge})
	if err != nil {
		return postgres.Deposit{}, err
	}
	if kind != postgres.Policy {
		if err := c.checkArchive(ctx, name); err != nil {
			return postgres.Deposit{}, err
		}
	}
	kept := postgres.Archive{Digest: name.Digest, Size: size, Present: func(ctx context.Context) error { return c.still(ctx, name) }}
	var changed postgres.Deposit
	err = c.Update(ctx, func(u *postgres.Update) (err error) {
		changed, err = u.KeepUpload(ctx, who, kind, id, kept)
		return err
	})
	return changed, err
}

// Download opens what was uploaded for a deposit. It is not_found before that.
func (c *Control) Download(ctx context.Context, who identity.Principal, kind postgres.DepositKind, id string) (*artifact.Reader, error) {
	var d postgres.Deposit
	err := c.View(ctx, func(v *postgres.View) (err error) {
		d, err = v.Deposit(ctx, who, kind, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	if d.Digest == "" {
		return nil, problem.New(api.NotFound, "nothing was uploaded for this yet")
	}
	return c.open(ctx, artifactOf(d))
}
