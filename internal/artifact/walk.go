package artifact

import (
	"context"
	"io"
	"iter"
	"regexp"
	"time"

	"gocloud.dev/blob"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// An Entry is one artifact of a list.
type Entry struct {
	Name     Name
	Modified time.Time // when it was last put or wrapped, by the clock of the store
}

// List lists all artifacts, in the order of their names. An error, which comes
// with no Entry, says that an object is none of ours, or that there the list ends.
func (s *Store) List(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for object, err := range s.walk(ctx, headerPrefix) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			entry := Entry{Modified: object.ModTime}
			name, ok := nameOf(object.Key)
			if entry.Name = name; !ok {
				entry, err = Entry{}, problem.New(api.Internal, "%q is not the header of an artifact", object.Key)
			}
			if !yield(entry, err) {
				return
			}
		}
	}
}

// unfinished matches what a writer to a file tree leaves when it is killed.
var unfinished = regexp.MustCompile(`\.[0-9a-f]+\.tmp$`)

// walk lists the finished objects below a prefix; an error ends it.
func (s *Store) walk(ctx context.Context, prefix string) iter.Seq2[*blob.ListObject, error] {
	return func(yield func(*blob.ListObject, error) bool) {
		for object, err := range s.objects(ctx, prefix) {
			if err == nil && s.dir != "" && unfinished.MatchString(object.Key) {
				continue
			}
			if !yield(object, err) {
				return
			}
		}
	}
}

func (s *Store) objects(ctx context.Context, prefix string) iter.Seq2[*blob.ListObject, error] {
	return func(yield func(*blob.ListObject, error) bool) {
		if err := s.readable(); err != nil {
			yield(nil, err)
			return
		}
		list := s.bucket.List(&blob.ListOptions{Prefix: prefix})
		for {
			object, err := list.Next(ctx)
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(nil, problem.New(api.Unavailable, "the artifacts cannot be listed: %w", err))
				return
			}
			if !yield(object, nil) {
				return
			}
		}
	}
}
