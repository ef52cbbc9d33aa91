// Package origin finds states that are kept elsewhere until now, and reads them: in
// a file, in a bucket of S3, or on a server that speaks the protocol of Terraform
// Cloud. It changes nothing there, and must not know what becomes of a state.
package origin

import (
	"context"
	"io"
	"net/url"
	"os"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/artifact/s3"
	"github.com/assize-iac/assize/internal/problem"
)

// A State is one that can be read.
type State struct {
	Name   string // what it is called there; "" where nothing has a name
	Source string // where it is, without secrets
	// Open begins to read it. That there is none is [api.NotFound].
	Open func(context.Context) (io.ReadCloser, error)
}

// Find is what there is at a place: a path, s3://bucket/key, tfe://host/organisation/workspace,
// or tfe://host/organisation for all workspaces of one (docs/api.md, rule 12).
// Tokens of other servers come from the environment, which getenv reads.
func Find(ctx context.Context, place string, getenv func(string) string) ([]State, error) {
	scheme, _, found := strings.Cut(place, "://")
	if !found {
		return []State{inFile(place)}, nil
	}
	u, err := url.Parse(place)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, unknown()
	}
	switch scheme {
	case "s3":
		return inBucket(u)
	case "tfe":
		return onServer(ctx, u, getenv)
	}
	return nil, unknown()
}

// unknown does not repeat a place: somebody may have written a secret into it.
func unknown() error {
	return problem.New(api.Invalid, "this is no place of a state").
		WithHint("a file, s3://bucket/key, tfe://app.terraform.io/organisation/workspace, or tfe://app.terraform.io/organisation for all of one")
}

func inFile(path string) State {
	return State{Source: path, Open: func(context.Context) (io.ReadCloser, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, problem.New(api.NotFound, "the state cannot be read: %w", err).WithHint("name a file that holds it")
		}
		return f, nil
	}}
}

// inBucket is an object of S3. Who asks is said the way that all clients of S3 know.
func inBucket(u *url.URL) ([]State, error) {
	key := strings.TrimPrefix(u.Path, "/")
	if key == "" {
		return nil, problem.New(api.Invalid, "no object of the bucket was named").WithHint("s3://%s/path/terraform.tfstate?region=eu-central-1", u.Host)
	}
	place := s3.Place{Bucket: u.Host, Region: u.Query().Get("region"), Endpoint: u.Query().Get("endpoint")}
	s := State{Source: "s3://" + u.Host + "/" + key, Open: func(ctx context.Context) (io.ReadCloser, error) {
		bucket, err := s3.Open(ctx, place)
		if err != nil {
			return nil, err
		}
		reader, err := bucket.NewReader(ctx, key, nil)
		if err != nil {
			return nil, unread(place.Bucket, key, err)
		}
		return object{reader, bucket}, nil
	}}
	return []State{s}, nil
}

// An object is one that closes its bucket, too.
type object struct {
	*blob.Reader
	bucket *blob.Bucket
}

func (o object) Close() error {
	err := o.Reader.Close()
	if closed := o.bucket.Close(); err == nil {
		err = closed
	}
	return err
}

func unread(bucket, key string, err error) error {
	if gcerrors.Code(err) == gcerrors.NotFound {
		return problem.New(api.NotFound, "there is no object %s in the bucket %s", key, bucket).WithHint("look at the key in the backend block of the configuration")
	}
	return problem.New(api.Unavailable, "the bucket %s cannot be read: %w", bucket, err).
		WithHint("the client wants what every client of S3 does: AWS_REGION and credentials, or AWS_PROFILE")
}
