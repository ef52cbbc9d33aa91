// Package s3 opens a bucket of anything that speaks S3 for artifacts. It is a
// package of its own because the client makes a binary ten megabytes larger:
// only what serves links it.
package s3

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// A Place says where a bucket is. Who asks is said the way that all clients of
// S3 know: AWS_* variables, a profile, or the machine's own role.
type Place struct {
	Bucket   string
	Prefix   string // what every key begins with, such as "assize/"; may be empty
	Region   string // empty: as the client finds it
	Endpoint string // URL of a server that is not Amazon's; may be empty
}

// Open opens the bucket, for artifact.New. It does not ask the server anything.
// The server must know If-None-Match on writes, or two writers of the same bytes
// may both believe to be the first (docs/artifacts.md, rule 14).
func Open(ctx context.Context, p Place) (*blob.Bucket, error) {
	if p.Bucket == "" {
		return nil, problem.New(api.Invalid, "no bucket for artifacts was named")
	}
	var region []func(*config.LoadOptions) error
	if p.Region != "" {
		region = append(region, config.WithRegion(p.Region))
	}
	cfg, err := config.LoadDefaultConfig(ctx, region...)
	if err != nil {
		return nil, problem.New(api.Invalid, "the settings of the bucket cannot be used: %w", err)
	}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.DisableLogOutputChecksumValidationSkipped = true // artifact checks more than it would
		if p.Endpoint != "" {
			o.BaseEndpoint = aws.String(p.Endpoint)
			o.UsePathStyle = true // a server in one's own house has no name for each bucket
		}
	})
	bucket, err := s3blob.OpenBucket(ctx, client, p.Bucket, nil)
	if err != nil {
		return nil, problem.New(api.Invalid, "the bucket %s cannot be used: %w", p.Bucket, err)
	}
	if p.Prefix != "" {
		bucket = blob.PrefixedBucket(bucket, p.Prefix)
	}
	return bucket, nil
}
