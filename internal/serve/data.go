package serve

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/artifact/s3"
	"github.com/assize-iac/assize/internal/control"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

// The files of a data directory.
const (
	fileAuthority    = "ca.pem"
	fileAuthorityKey = "ca-key.pem"
	fileArtifactKey  = "artifact-key"
	fileAdminToken   = "admin-token"
	dirPostgres      = "postgres"
	dirArtifacts     = "artifacts"
)

// makeData makes the data directory. Others may pass it, because the user as whom
// Postgres runs must; they cannot list it, and each secret in it is closed.
func makeData(dir string) error {
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return problem.New(api.Invalid, "the data directory cannot be made: %w", err).
			WithHint("choose another one: --data DIR")
	}
	return nil
}

// writeNew writes a file that nobody else can read, whole or not at all. An
// existing one is replaced.
func writeNew(path string, data []byte) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	_, errWrite := file.Write(data)
	if err := errors.Join(errWrite, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// keys are those of the artifacts. The file of a server that has everything to
// itself is made once.
func (s *Settings) keys() (*artifact.Ring, error) {
	if s.ArtifactKey != "" {
		return artifact.ParseRing(s.ArtifactKey)
	}
	if s.ArtifactKeyFile != "" {
		return artifact.ReadRing(s.ArtifactKeyFile)
	}
	path := filepath.Join(s.Data, fileArtifactKey)
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = s.newKey(path)
	}
	if err != nil {
		return nil, err
	}
	return artifact.ReadRing(path)
}

// newKey makes a key file, unless there is something that it could not open: whoever
// lost the key wants to be told, and not to go on with another one.
func (s *Settings) newKey(path string) error {
	if kept, err := os.ReadDir(filepath.Join(s.Data, dirArtifacts)); err == nil && len(kept) > 0 {
		return problem.New(api.Invalid, "there are artifacts in %s, and their key is gone: %s", filepath.Join(s.Data, dirArtifacts), path).
			WithHint("put the key file back from your copy; without it nothing can be read")
	}
	return writeNew(path, []byte("# Whoever loses this key loses every state. Keep a copy elsewhere (docs/artifacts.md, rule 8).\n"+artifact.NewKey()+"\n"))
}

// openArtifacts opens the place where bytes are kept. A directory is made.
func (s *Settings) openArtifacts(ctx context.Context, keys artifact.Keys) (*artifact.Store, error) {
	place := s.Artifacts
	if place == "" {
		place = filepath.Join(s.Data, dirArtifacts)
	}
	if !inBucket(place) {
		return artifact.CreateTree(place, keys)
	}
	return OpenArtifacts(ctx, place, keys)
}

func inBucket(place string) bool { return strings.HasPrefix(place, "s3://") }

// OpenArtifacts opens a place of artifacts as the setting Artifacts names it: a directory
// that is there, or a bucket.
func OpenArtifacts(ctx context.Context, place string, keys artifact.Keys) (*artifact.Store, error) {
	if !inBucket(place) {
		return artifact.OpenTree(place, keys)
	}
	u, err := url.Parse(place)
	if err != nil {
		return nil, problem.New(api.Invalid, "the place of the artifacts cannot be read").WithHint("ASSIZE_ARTIFACTS=s3://bucket/prefix?region=eu-central-1")
	}
	prefix := strings.Trim(u.Path, "/")
	if prefix != "" {
		prefix += "/"
	}
	bucket, err := s3.Open(ctx, s3.Place{Bucket: u.Host, Prefix: prefix, Region: u.Query().Get("region"), Endpoint: u.Query().Get("endpoint")})
	if err != nil {
		return nil, err
	}
	return artifact.New(bucket, keys), nil
}

// adminToken is what the administrator's token in the data directory is called.
const adminToken = "the administrator's, in the file admin-token"

// administer sees to it that there is an administrator, with an organisation to
// begin with; that the artifacts are those of this database; and that the data
// directory holds a token of the administrator's (docs/server.md, rules 4 and 17).
func (s *Server) administer(ctx context.Context) error {
	who, made, err := s.store.Administrator(ctx, s.settings.Organisation)
	if err != nil {
		return err
	}
	if err := bind(ctx, s.artifacts, who.ID); err != nil {
		return withCause(err)
	}
	path := filepath.Join(s.settings.Data, fileAdminToken)
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return problem.New(api.Invalid, "the administrator's token cannot be read: %w", err)
	}
	if err == nil && !made && !s.settings.NewAdminToken {
		known, err := s.control.Authenticate(ctx, strings.TrimSpace(string(text)))
		if err == nil && known == who {
			s.adminFile = path
			return nil
		}
		if err != nil && problem.Code(err) != api.Unauthenticated {
			return err
		}
	}
	if s.settings.Database != "" && !made && !s.settings.NewAdminToken {
		return nil // another replica has it
	}
	token, err := replaceToken(ctx, s.control, who)
	if err != nil {
		return err
	}
	s.adminFile = path
	return writeNew(path, []byte(token.Reveal()+"\n"))
}

// withCause is an error with what the machine says, which is for whoever starts a server
// and not for its clients.
func withCause(err error) error {
	var p *problem.Error
	if errors.As(err, &p) && p.Code == api.Unavailable && p.Cause != nil {
		return problem.New(p.Code, "%s: %w", p.Message, p.Cause).WithHint("%s", p.Hint)
	}
	return err
}

// bind marks artifacts as those of the database with this administrator, and refuses
// those of another one: what that refers to this one would sweep away.
func bind(ctx context.Context, artifacts *artifact.Store, administrator string) error {
	err := bound(ctx, artifacts, administrator)
	if problem.Code(err) != api.NotFound {
		return err
	}
	for _, err := range artifacts.List(ctx) {
		if err != nil {
			return err
		}
		return problem.New(api.Refused, "the artifacts are those of another database").
			WithHint("look whether DATABASE_URL and ASSIZE_ARTIFACTS name what belongs together; a new database begins with an empty place for artifacts")
	}
	name, text := mark(administrator)
	_, err = artifacts.Put(ctx, name, bytes.NewReader(text))
	return err
}

// mark is what says of artifacts that they are those of the database with this
// administrator.
func mark(administrator string) (artifact.Name, []byte) {
	text := []byte("the artifacts of the database whose administrator is " + administrator + "\n")
	return artifact.Name{Kind: "installation", Owner: "database", Digest: artifact.Digest(text)}, text
}

// bound is not found where artifacts do not have the mark.
func bound(ctx context.Context, artifacts *artifact.Store, administrator string) error {
	name, _ := mark(administrator)
	r, err := artifacts.Open(ctx, name)
	if err != nil {
		return err
	}
	return r.Close()
}

// replaceToken makes the administrator's token and revokes those that were in the
// file before.
func replaceToken(ctx context.Context, c *control.Control, who identity.Principal) (token identity.Token, err error) {
	err = c.Update(ctx, func(u *postgres.Update) error {
		all, err := u.Tokens(ctx, who, who.ID)
		if err != nil {
			return err
		}
		for _, t := range all {
			if t.Description != adminToken {
				continue
			}
			if err := u.RevokeToken(ctx, who, t.ID); err != nil {
				return err
			}
		}
		token, _, err = u.CreateToken(ctx, who, postgres.TokenRequest{Owner: who.ID, Description: adminToken})
		return err
	})
	return token, err
}
