package artifact

import (
	"context"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// Rewrap wraps the data key of an artifact with the current key. The body stays
// as it is, and whoever reads it meanwhile reads on (docs/artifacts.md, rule 9).
func (s *Store) Rewrap(ctx context.Context, name Name) error {
	if err := name.check(); err != nil {
		return err
	}
	h, dataKey, err := s.header(ctx, name)
	if err != nil {
		return err
	}
	if h, err = h.seal(ctx, s.keys, name, dataKey); err != nil {
		return err
	}
	return unwritten(s.replace(ctx, name, h, false))
}

// Rotate wraps anew what is not wrapped with the current key, and returns how
// many that were. Once it returns no error, and every process has the current
// key first, nothing needs the older keys. It goes on after an artifact that
// cannot be opened, and returns the first such error at the end.
func (s *Store) Rotate(ctx context.Context) (int, error) {
	done := 0
	var first error
	for entry, err := range s.List(ctx) {
		changed := false
		if err == nil {
			changed, err = s.rotate(ctx, entry.Name)
		}
		if changed {
			done++
		}
		if err != nil && first == nil {
			first = err
		}
	}
	return done, first
}

func (s *Store) rotate(ctx context.Context, name Name) (bool, error) {
	data, err := s.headerBytes(ctx, name)
	if problem.Code(err) == api.NotFound {
		return false, nil // deleted since it was listed
	}
	if err != nil {
		return false, err
	}
	h, err := decodeHeader(data)
	if err != nil {
		return false, damaged(name, "%w", err)
	}
	if h.keyID == s.keys.Current() {
		return false, nil
	}
	err = s.Rewrap(ctx, name)
	return err == nil, err
}
