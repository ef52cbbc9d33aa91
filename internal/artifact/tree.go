package artifact

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// OpenTree opens a file tree that is there.
func OpenTree(dir string, keys Keys) (*Store, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New("it is a file")
	}
	if err != nil {
		return nil, problem.New(api.NotFound, "there are no artifacts in %s: %w", dir, err)
	}
	return openTree(dir, keys)
}

// CreateTree opens a file tree and makes it when it is not there.
func CreateTree(dir string, keys Keys) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, problem.New(api.Unavailable, "no artifacts can be kept in %s: %w", dir, err)
	}
	return openTree(dir, keys)
}

func openTree(dir string, keys Keys) (*Store, error) {
	// What a link leads to, because a walk does not follow one: a tree behind it
	// would look empty.
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, problem.New(api.Unavailable, "the artifacts cannot be reached: %w", err)
	}
	bucket, err := fileblob.OpenBucket(dir, &fileblob.Options{
		NoTempDir:   true, // a rename is atomic within one file system only
		Metadata:    fileblob.MetadataDontWrite,
		DirFileMode: 0o700,
	})
	if err != nil {
		return nil, problem.New(api.Unavailable, "no artifacts can be kept in %s: %w", dir, err)
	}
	s := New(bucket, keys)
	s.dir = dir
	return s, nil
}

// durable is a writer whose bytes are on the disk once it is closed. S3 promises
// that by itself; of a file tree, a crash of the machine could leave a name
// without its bytes, or lose it.
type durable struct {
	*blob.Writer
	cancel context.CancelFunc // makes Close drop what was written
	file   *os.File           // nil in a bucket
}

// Close makes the object appear, or returns an error.
func (d *durable) Close() error {
	defer d.cancel()
	if d.file == nil {
		return d.Writer.Close()
	}
	if err := d.file.Sync(); err != nil {
		d.abort()
		return err
	}
	if err := d.Writer.Close(); err != nil {
		return err
	}
	return syncParents(filepath.Dir(d.file.Name()))
}

// abort drops what was written; after Close it does nothing.
func (d *durable) abort() {
	d.cancel()
	d.Writer.Close()
}

// depth is how many directories are above an object, the tree's own included:
// tree/header/KIND/OWNER. Each may have been made for this object.
const depth = 4

func syncParents(dir string) error {
	for range depth {
		f, err := os.Open(dir)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
		dir = filepath.Dir(dir)
	}
	return nil
}
