package postgres

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
)

const configurationID = "cfg_"

// The status of a configuration.
const (
	ConfigurationPending  = "pending"
	ConfigurationUploaded = "uploaded"
	ConfigurationArchived = "archived"
)

// A Configuration is one version of the files with which a stack is to be planned.
// The archive of them is an artifact that belongs to the stack.
type Configuration struct {
	ID            string
	Stack         Stack
	Speculative   bool // for a plan that is never applied
	Provisional   bool // not the stack's current one
	AutoQueueRuns bool
	Source        string // "tfe-api", or "terraform" for a command line
	Status        string
	Digest        string // of the archive; "" unless it is uploaded
	Size          int64  // of the archive in bytes
	Created       time.Time
	Uploaded      time.Time // zero: not yet
	Archived      time.Time // zero: not yet
}

func configurationCall(who identity.Principal, action string, needs identity.Permission, c Configuration) call {
	return call{who: who, action: action, needs: needs, at: c.Stack.scope(), object: c.ID, detail: map[string]string{"digest": c.Digest}}
}

const sqlInsertConfiguration = `
	INSERT INTO configurations (id, organisation, stack, speculative, provisional, auto_queue_runs, source,
		creator_kind, creator_id, creator_name, creator_organisation, upload_digest, status, created_at)
	VALUES (@id, @organisation, @stack, @speculative, @provisional, @auto_queue_runs, @source,
		@kind, @who, @name, @of, @upload, 'pending', @at)`

// CreateConfiguration makes a version without an archive, and the secret with which
// that can be uploaded. The secret is shown once: its digest is kept. Of c it takes
// the flags and the source.
func (u *Update) CreateConfiguration(ctx context.Context, who identity.Principal, stack string, c Configuration) (Configuration, string, error) {
	k, err := u.stack(ctx, stack)
	if err != nil {
		return Configuration{}, "", err
	}
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails
	secret := base64.RawURLEncoding.EncodeToString(random)
	c.ID, c.Stack, c.Status, c.Created = newID(configurationID), k, ConfigurationPending, u.at
	err = u.guard(ctx, configurationCall(who, "configuration:create", identity.ConfigurationWrite, c), func() error {
		_, err := u.tx.Exec(ctx, sqlInsertConfiguration, pgx.NamedArgs{"id": c.ID, "organisation": k.Organisation, "stack": k.ID,
			"speculative": c.Speculative, "provisional": c.Provisional, "auto_queue_runs": c.AutoQueueRuns, "source": c.Source,
			"kind": string(who.Kind), "who": who.ID, "name": who.Name, "of": who.Organisation, "upload": secretDigest(secret), "at": u.at})
		return err
	})
	return c, secret, err
}

// secretDigest is what is kept of the secret of an upload.
func secretDigest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// uploadTime is for how long a configuration can be uploaded.
const uploadTime = 24 * time.Hour

const sqlUploader = `
	SELECT creator_kind, creator_id, creator_name, creator_organisation, upload_digest FROM configurations WHERE id = @id`

// Uploader is who may upload the archive of a configuration: whoever shows its
// secret acts as the one who made it, with what that one may do now. Like
// Authenticate it takes no principal, because it is where one comes from.
func (v *View) Uploader(ctx context.Context, id, secret string) (identity.Principal, Configuration, error) {
	var who identity.Principal
	var digest string
	row := v.tx.QueryRow(ctx, sqlUploader, pgx.NamedArgs{"id": id})
	if err := row.Scan(&who.Kind, &who.ID, &who.Name, &who.Organisation, &digest); err != nil {
		return identity.Principal{}, Configuration{}, err
	}
	if subtle.ConstantTimeCompare([]byte(secretDigest(secret)), []byte(digest)) != 1 {
		return identity.Principal{}, Configuration{}, notFound()
	}
	c, err := v.configuration(ctx, id)
	if err != nil {
		return identity.Principal{}, Configuration{}, err
	}
	if err := v.permit(ctx, configurationCall(who, "configuration:upload", identity.ConfigurationWrite, c)); err != nil {
		return identity.Principal{}, Configuration{}, err
	}
	return who, c, c.uploadable(v.at)
}

// uploadable says why an archive cannot be uploaded any more. It may be uploaded
// anew, because clients do: which one counts is fixed when somebody uses it.
func (c Configuration) uploadable(at time.Time) error {
	switch {
	case c.Status == ConfigurationArchived:
		return problem.New(api.Conflict, "the configuration is archived")
	case at.After(c.Created.Add(uploadTime)):
		return problem.New(api.Conflict, "the configuration was not uploaded in time").WithHint("make another version")
	}
	return nil
}

const sqlKeepConfiguration = `
	UPDATE configurations SET status = 'uploaded', digest = @digest, size = @size, uploaded_at = @at WHERE id = @id`

const sqlRefersToConfiguration = `
	SELECT EXISTS (SELECT FROM configurations WHERE stack = @owner AND digest = @digest)`

// An Archive is an artifact with the files of a configuration.
type Archive struct {
	Digest string
	Size   int64 // bytes
	// Present asks whether the artifact is there. It is called when nobody may
	// remove it any more.
	Present func(context.Context) error
}

// KeepConfiguration says which archive was uploaded.
func (u *Update) KeepConfiguration(ctx context.Context, who identity.Principal, id string, a Archive) (Configuration, error) {
	c, err := u.configuration(ctx, id)
	if err != nil {
		return Configuration{}, err
	}
	before := c
	c.Status, c.Digest, c.Size, c.Uploaded = ConfigurationUploaded, a.Digest, a.Size, u.at
	err = u.guard(ctx, configurationCall(who, "configuration:upload", identity.ConfigurationWrite, c), func() error {
		if err := before.uploadable(u.at); err != nil {
			return err
		}
		if _, err := u.tx.Exec(ctx, sqlHoldArtifact, pgx.NamedArgs{"name": "configuration/" + c.Stack.ID + "/" + a.Digest}); err != nil {
			return err
		}
		if err := a.Present(ctx); err != nil {
			return err
		}
		_, err := u.tx.Exec(ctx, sqlKeepConfiguration, pgx.NamedArgs{"id": id, "digest": a.Digest, "size": a.Size, "at": u.at})
		return err
	})
	return c, err
}

const sqlArchiveConfiguration = `
	UPDATE configurations SET status = 'archived', digest = NULL, size = NULL, archived_at = @at WHERE id = @id`

// ArchiveConfiguration gives up the archive of a version that is not the newest of
// its stack. A sweep of the artifacts removes it.
func (u *Update) ArchiveConfiguration(ctx context.Context, who identity.Principal, id string) error {
	c, err := u.configuration(ctx, id)
	if err != nil {
		return err
	}
	return u.guard(ctx, configurationCall(who, "configuration:archive", identity.StackAdmin, c), func() error {
		var newest string
		err := u.tx.QueryRow(ctx, sqlNewestConfiguration, pgx.NamedArgs{"stack": c.Stack.ID, "uploaded": true}).Scan(&newest)
		switch {
		case err != nil || c.Status != ConfigurationUploaded:
			return problem.New(api.Invalid, "transition not allowed: the configuration is %s, and only one that is uploaded can be archived", c.Status)
		case newest == id:
			return problem.New(api.Invalid, "transition not allowed: configuration could not be archived because it is current")
		}
		_, err = u.tx.Exec(ctx, sqlArchiveConfiguration, pgx.NamedArgs{"id": id, "at": u.at})
		return err
	})
}

// sqlNewestConfiguration leaves out what is only for a speculative plan.
const sqlNewestConfiguration = `
	SELECT id FROM configurations
	WHERE stack = @stack AND NOT speculative AND NOT provisional AND status IN ('uploaded', CASE WHEN @uploaded THEN 'uploaded' ELSE 'pending' END)
	ORDER BY created_at DESC, id DESC LIMIT 1`

// CurrentConfiguration is the id of the version of a stack that was made last; "" if
// there is none.
func (v *View) CurrentConfiguration(ctx context.Context, who identity.Principal, stack string) (string, error) {
	k, err := v.stack(ctx, stack)
	if err != nil {
		return "", err
	}
	if err := v.permit(ctx, configurationCall(who, "configuration:list", identity.StackRead, Configuration{Stack: k})); err != nil {
		return "", err
	}
	rows, err := v.tx.Query(ctx, sqlNewestConfiguration, pgx.NamedArgs{"stack": stack, "uploaded": false})
	if err != nil {
		return "", err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[0], nil
}

const sqlConfiguration = `
	SELECT c.id, c.speculative, c.provisional, c.auto_queue_runs, c.source, c.status, coalesce(c.digest, ''), coalesce(c.size, 0),
		c.created_at, c.uploaded_at, c.archived_at,
		k.id, k.organisation, k.project, k.name
	FROM configurations c JOIN stacks k ON k.id = c.stack WHERE c.id = @id`

// configuration is the one with this id, for the guard to ask about.
func (v *View) configuration(ctx context.Context, id string) (Configuration, error) {
	rows, err := v.tx.Query(ctx, sqlConfiguration, pgx.NamedArgs{"id": id})
	if err != nil {
		return Configuration{}, err
	}
	return pgx.CollectExactlyOneRow(rows, scanConfiguration)
}

func scanConfiguration(row pgx.CollectableRow) (Configuration, error) {
	var c Configuration
	var uploaded, archived *time.Time
	err := row.Scan(&c.ID, &c.Speculative, &c.Provisional, &c.AutoQueueRuns, &c.Source, &c.Status, &c.Digest, &c.Size,
		&c.Created, &uploaded, &archived, &c.Stack.ID, &c.Stack.Organisation, &c.Stack.Project, &c.Stack.Name)
	change(&c.Uploaded, uploaded)
	change(&c.Archived, archived)
	return c, err
}

// Configuration is the one with this id.
func (v *View) Configuration(ctx context.Context, who identity.Principal, id string) (Configuration, error) {
	c, err := v.configuration(ctx, id)
	if err != nil {
		return Configuration{}, err
	}
	if err := v.permit(ctx, configurationCall(who, "configuration:list", identity.StackRead, c)); err != nil {
		return Configuration{}, err
	}
	return c, nil
}

// ConfigurationToRead is the one with this id, for those who may read its files.
func (v *View) ConfigurationToRead(ctx context.Context, who identity.Principal, id string) (Configuration, error) {
	c, err := v.configuration(ctx, id)
	if err != nil {
		return Configuration{}, err
	}
	if err := v.permit(ctx, configurationCall(who, "configuration:read", identity.ConfigurationRead, c)); err != nil {
		return Configuration{}, err
	}
	if c.Status != ConfigurationUploaded {
		return Configuration{}, problem.New(api.NotFound, "the configuration is %s: there is no archive of it", c.Status)
	}
	return c, nil
}

const sqlConfigurations = `
	SELECT c.id, c.speculative, c.provisional, c.auto_queue_runs, c.source, c.status, coalesce(c.digest, ''), coalesce(c.size, 0),
		c.created_at, c.uploaded_at, c.archived_at,
		k.id, k.organisation, k.project, k.name
	FROM configurations c JOIN stacks k ON k.id = c.stack WHERE c.stack = @stack
	ORDER BY c.created_at DESC, c.id DESC OFFSET @offset LIMIT @limit`

const sqlCountConfigurations = `
	SELECT count(*) FROM configurations WHERE stack = @stack`

// Configurations are so many versions of a stack, the newest first, and how many
// there are.
func (v *View) Configurations(ctx context.Context, who identity.Principal, stack string, offset, limit int) ([]Configuration, int, error) {
	k, err := v.stack(ctx, stack)
	if err != nil {
		return nil, 0, err
	}
	if err := v.permit(ctx, configurationCall(who, "configuration:list", identity.StackRead, Configuration{Stack: k})); err != nil {
		return nil, 0, err
	}
	var total int
	if err := v.tx.QueryRow(ctx, sqlCountConfigurations, pgx.NamedArgs{"stack": stack}).Scan(&total); err != nil {
		return nil, 0, err
	}
	rows, err := v.tx.Query(ctx, sqlConfigurations, pgx.NamedArgs{"stack": stack, "offset": offset, "limit": limit})
	if err != nil {
		return nil, 0, err
	}
	all, err := pgx.CollectRows(rows, scanConfiguration)
	return all, total, err
}
