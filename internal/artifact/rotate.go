package artifact

import (
	"context"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// Rotate wraps anew what is not wrapped with the current key, and returns how
// many that were. Bodies stay as they are, and whoever reads one meanwhile reads
// on (docs/artifacts.md, rule 9). Once it returns no error, and every process has
// the current key first, nothing needs the older keys. It goes on after an
// artifact that cannot be opened, and returns the first such error at the end; begun
// again after it was broken off, it does the rest. It says after each artifact how
// many it has looked at, and how many it has wrapped anew. No other process may
// Sweep meanwhile.
func (s *Store) Rotate(ctx context.Context, progress func(looked, anew int)) (int, error) {
	s.keeping.Lock()
	defer s.keeping.Unlock()
	done, looked := 0, 0
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
		looked++
		progress(looked, done)
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
	dataKey, err := h.open(ctx, s.keys, name)
	if err != nil {
		return false, err
	}
	if h, err = h.seal(ctx, s.keys, name, dataKey); err != nil {
		return false, err
	}
	err = s.replace(ctx, name, h, false)
	return err == nil, unwritten(err)
}
