package artifact

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

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
	for _, part := range []string{headerPrefix, bodyPrefix} { // who copies the tree finds both
		if err := os.MkdirAll(filepath.Join(dir, part), 0o700); err != nil {
			return nil, problem.New(api.Unavailable, "no artifacts can be kept in %s: %w", dir, err)
		}
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
	if s.root, err = os.Stat(dir); err != nil {
		return nil, problem.New(api.Unavailable, "the artifacts cannot be reached: %w", err)
	}
	return s, nil
}

// mounted refuses to write where the tree is not that was opened: a directory on which
// nothing is mounted any more would take what nobody finds again.
func (s *Store) mounted() error {
	if s.dir == "" {
		return nil
	}
	now, err := os.Stat(s.dir)
	if err == nil && os.SameFile(s.root, now) {
		return nil
	}
	return problem.New(api.Unavailable, "the directory of the artifacts is gone, or is another one than when it was opened").
		WithHint("look whether its disk is mounted; then start the server again")
}

// durable is a writer whose bytes are on the disk once it is closed. S3 promises
// that by itself; of a file tree, a crash of the machine could leave a name
// without its bytes, or lose it.
type durable struct {
	*blob.Writer
	cancel context.CancelFunc // makes Close drop what was written
	file   *os.File           // nil in a bucket
	dirs   *directories
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
	return d.dirs.sync(filepath.Dir(d.file.Name()))
}

// abort drops what was written; after Close it does nothing.
func (d *durable) abort() {
	d.cancel()
	d.Writer.Close()
}

// depth is how many directories are above an object, the tree's own included:
// tree/header/KIND/OWNER. Each may have been made for this object.
const depth = 4

// Directories are those of a tree whose names are known to be on the disk, up to the
// tree's own: nobody removes one. Those need not be made safe again for each object, which is
// half of what a small one costs.
type directories struct {
	mu   sync.Mutex
	firm map[string]bool
}

// firmMax is how many directories are known at most; then it begins anew.
const firmMax = 10_000

// sync makes what was changed in a directory safe, and the names of those above it.
func (d *directories) sync(dir string) error {
	var safe []string
	for range depth {
		f, err := os.Open(dir)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
		if d.known(dir) {
			break
		}
		safe = append(safe, dir)
		dir = filepath.Dir(dir)
	}
	d.learn(safe)
	return nil
}

func (d *directories) known(dir string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.firm[dir]
}

func (d *directories) learn(dirs []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.firm == nil || len(d.firm) > firmMax {
		d.firm = map[string]bool{}
	}
	for _, dir := range dirs {
		d.firm[dir] = true
	}
}
