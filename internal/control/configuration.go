package control

import (
	"bufio"
	"context"
	"errors"
	"io"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

// configurationKind is the kind of artifacts that archives of configurations are;
// they belong to the stack.
const configurationKind = "configuration"

// configurationMax is the size of the largest archive of a configuration, in bytes.
const configurationMax = 100 << 20

// UploadConfiguration keeps the archive of a configuration for whoever shows the
// secret of it (docs/secrets.md, rule 10). It goes from the network to where it is
// kept; nothing of it is unpacked, and nothing is kept unless all of it has come.
func (c *Control) UploadConfiguration(ctx context.Context, id, secret string, archive io.Reader) error {
	var who identity.Principal
	var version postgres.Configuration
	err := c.View(ctx, func(v *postgres.View) (err error) {
		who, version, err = v.Uploader(ctx, id, secret)
		return err
	})
	if err != nil {
		return err
	}
	body := bufio.NewReader(&limit{from: archive, left: configurationMax, over: archiveTooLarge()})
	if err := gzipped(body); err != nil {
		return err
	}
	name, size, err := c.artifacts.Add(ctx, configurationKind, version.Stack.ID, body)
	if err != nil {
		return err
	}
	kept := postgres.Archive{Digest: name.Digest, Size: size, Present: func(ctx context.Context) error { return c.still(ctx, name) }}
	return c.Update(ctx, func(u *postgres.Update) error {
		_, err := u.KeepConfiguration(ctx, who, id, kept)
		return err
	})
}

func archiveTooLarge() error {
	return problem.New(api.TooLarge, "the archive of the configuration has more than %d bytes", configurationMax).
		WithHint("leave out what is not needed with a file .terraformignore")
}

// gzipMagic begins every gzip file: its two letters and the one method there is.
const gzipMagic = "\x1f\x8b\x08"

// gzipped refuses what is certainly no archive, before it is kept. What is in one
// is for those who unpack it.
func gzipped(r *bufio.Reader) error {
	start, err := r.Peek(len(gzipMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if string(start) != gzipMagic {
		return problem.New(api.Invalid, "what was sent is no archive of a configuration").
			WithHint("send a tar archive, compressed with gzip")
	}
	return nil
}

// OpenConfiguration begins to read the archive of a configuration, the very bytes
// that were uploaded.
func (c *Control) OpenConfiguration(ctx context.Context, who identity.Principal, id string) (*artifact.Reader, error) {
	var version postgres.Configuration
	err := c.View(ctx, func(v *postgres.View) (err error) {
		version, err = v.ConfigurationToRead(ctx, who, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.open(ctx, artifact.Name{Kind: configurationKind, Owner: version.Stack.ID, Digest: version.Digest})
}
