package artifact

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"gocloud.dev/blob"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// An Entry is one artifact of a list.
type Entry struct {
	Name     Name
	Modified time.Time // when it was last put or rotated, by the clock of the store
}

// List lists all artifacts, in the order of their names. An error, which comes
// with no Entry, says that an object is none of ours, or that there the list ends.
func (s *Store) List(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for o, err := range s.walk(ctx, headerPrefix) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			entry := Entry{Modified: o.written}
			name, ok := nameOf(o.key)
			if entry.Name = name; !ok {
				entry, err = Entry{}, problem.New(api.Internal, "%q is not the header of an artifact", o.key)
			}
			if !yield(entry, err) {
				return
			}
		}
	}
}

// unfinished matches what a writer to a file tree leaves when it is killed.
var unfinished = regexp.MustCompile(`\.[0-9a-f]+\.tmp$`)

// An object is a header, a body, or something that is neither.
type object struct {
	key     string
	written time.Time
}

// walk lists the finished objects below a prefix; an error ends it.
func (s *Store) walk(ctx context.Context, prefix string) iter.Seq2[object, error] {
	return func(yield func(object, error) bool) {
		for o, err := range s.objects(ctx, prefix) {
			if err == nil && s.dir != "" && unfinished.MatchString(o.key) {
				continue
			}
			if !yield(o, err) {
				return
			}
		}
	}
}

func (s *Store) objects(ctx context.Context, prefix string) iter.Seq2[object, error] {
	if s.dir != "" {
		return s.files(ctx, prefix)
	}
	return func(yield func(object, error) bool) {
		list := s.bucket.List(&blob.ListOptions{Prefix: prefix})
		for {
			o, err := list.Next(ctx)
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(object{}, unlisted(err))
				return
			}
			if !yield(object{o.Key, o.ModTime}, nil) {
				return
			}
		}
	}
}

// files lists a tree itself: fileblob goes in silence over a directory that it
// may not read, which would count as whole, and stumbles over a file that is
// renamed while it looks.
func (s *Store) files(ctx context.Context, prefix string) iter.Seq2[object, error] {
	return func(yield func(object, error) bool) {
		err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
			if err = errors.Join(err, ctx.Err()); err != nil {
				return err
			}
			key, err := filepath.Rel(s.dir, path)
			if err != nil || d.IsDir() {
				return err
			}
			key = filepath.ToSlash(key)
			info, err := d.Info()
			if errors.Is(err, fs.ErrNotExist) || err == nil && !strings.HasPrefix(key, prefix) {
				return nil
			}
			if err == nil && !yield(object{key, info.ModTime()}, nil) {
				return fs.SkipAll
			}
			return err
		})
		if err != nil {
			yield(object{}, unlisted(err))
		}
	}
}

func unlisted(err error) error {
	return problem.New(api.Unavailable, "not all artifacts can be listed: %w", err)
}
