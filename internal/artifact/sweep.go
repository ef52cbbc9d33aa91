package artifact

import (
	"context"
	"strings"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// Grace is the shortest time for which Sweep leaves alone what nobody refers
// to: whoever puts an artifact has that long to finish, and to refer to it.
const Grace = time.Hour

// Swept says what Sweep has removed.
type Swept struct {
	Artifacts int
	Bodies    int // that no artifact has: their writer was killed, or somebody was faster
}

// Sweep removes artifacts that nobody refers to and that are older than grace,
// and what writers have left behind (docs/artifacts.md, rules 11 and 12). It
// asks referenced about each artifact before it removes it; an error there, or
// a grace shorter than Grace, removes nothing further.
//
// Between a no of referenced and the removal, nobody may begin to refer to the
// artifact: keep that out with the lock under which the references are counted.
// Nor may another process Rotate meanwhile.
func (s *Store) Sweep(ctx context.Context, now time.Time, grace time.Duration, referenced func(context.Context, Name) (bool, error)) (Swept, error) {
	var swept Swept
	if grace < Grace {
		return swept, problem.New(api.Invalid, "artifacts may be swept after %v at the soonest, not after %v", Grace, grace)
	}
	s.keeping.Lock()
	defer s.keeping.Unlock()
	before := now.Add(-grace)
	litter, err := s.oldBodies(ctx, before)
	if err != nil {
		return swept, err
	}
	var unclear error
	for entry, err := range s.List(ctx) {
		if err != nil {
			return swept, err
		}
		if err := s.claim(ctx, entry.Name, litter); err != nil {
			unclear = err
		}
		removed, err := s.sweep(ctx, entry, before, referenced)
		if err != nil {
			return swept, err
		}
		if removed {
			swept.Artifacts++
		}
	}
	if unclear != nil {
		return swept, unclear // that header might name any body
	}
	for key := range litter {
		if err := s.remove(ctx, key); err != nil {
			return swept, err
		}
		swept.Bodies++
	}
	return swept, nil
}

// sweep looks at the age again after the answer: somebody may have put the same
// bytes since the list was made.
func (s *Store) sweep(ctx context.Context, entry Entry, before time.Time, referenced func(context.Context, Name) (bool, error)) (bool, error) {
	name := entry.Name
	if !entry.Modified.Before(before) {
		return false, nil
	}
	if yes, err := referenced(ctx, name); yes || err != nil {
		return false, err
	}
	switch since, err := s.modified(ctx, name); {
	case problem.Code(err) == api.NotFound:
		return false, nil
	case err != nil:
		return false, err
	case !since.Before(before):
		return false, nil
	}
	return true, s.Delete(ctx, name)
}

// oldBodies lists the bodies that are older than a write may take, unfinished
// ones of a file tree among them.
func (s *Store) oldBodies(ctx context.Context, before time.Time) (map[string]bool, error) {
	old := map[string]bool{}
	for o, err := range s.objects(ctx, "") {
		if err != nil {
			return nil, err
		}
		half := s.dir != "" && unfinished.MatchString(o.key)
		if o.written.Before(before) && (half || strings.HasPrefix(o.key, bodyPrefix)) {
			old[o.key] = true
		}
	}
	return old, nil
}

// claim takes the body of an artifact off the list of litter.
func (s *Store) claim(ctx context.Context, name Name, litter map[string]bool) error {
	data, err := s.headerBytes(ctx, name)
	if problem.Code(err) == api.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	h, err := decodeHeader(data)
	if err != nil {
		return damaged(name, "%w", err)
	}
	if h.inside != nil {
		return nil
	}
	delete(litter, bodyKey(name.Kind, name.Owner, h.body))
	return nil
}
