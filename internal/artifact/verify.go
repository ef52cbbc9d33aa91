package artifact

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// Verified is what Verify has found.
type Verified struct {
	Artifacts int   // that are whole
	Bytes     int64 // of them, plain
	Damaged   int
	Unread    int // whole or not: there is no key for it, or the store does not answer
	Strangers int // objects that are none of ours
	Litter    int // bodies that no artifact has: of writes in progress, or for Sweep
}

// Whole reports whether every artifact was read to its end and is what was kept.
func (v Verified) Whole() bool { return v.Damaged == 0 && v.Unread == 0 && v.Strangers == 0 }

// bodies matches the key of a body.
var bodies = regexp.MustCompile(`^body/[a-z][a-z0-9_]{0,31}/[A-Za-z0-9_-]{1,64}/[0-9a-f]{32}$`)

// Verify reads every artifact to its end and calls found with what is wrong
// with each that is not whole. It cannot know of artifacts that are gone
// altogether: who refers to them does (docs/artifacts.md, rule 13). Its own
// error means that not all was seen.
func (s *Store) Verify(ctx context.Context, found func(error)) (Verified, error) {
	var v Verified
	litter := map[string]bool{}
	for o, err := range s.walk(ctx, "") {
		if err != nil {
			return v, err
		}
		name, ok := nameOf(o.key)
		switch {
		case ok && strings.HasPrefix(o.key, headerPrefix):
			s.verify(ctx, name, &v, litter, found)
		case bodies.MatchString(o.key):
			litter[o.key] = true
		default:
			v.Strangers++
			found(problem.New(api.Internal, "%q is no part of an artifact", o.key))
		}
	}
	v.Litter = len(litter)
	return v, ctx.Err()
}

// verify adds one artifact to v. Its body is listed before its header, because
// that is the order of their prefixes, so it is in litter already.
func (s *Store) verify(ctx context.Context, name Name, v *Verified, litter map[string]bool, found func(error)) {
	size, err := s.readAll(ctx, name, litter)
	switch {
	case err == nil:
		v.Artifacts++
		v.Bytes += size
		return
	case problem.Code(err) == api.NotFound || s.gone(ctx, name):
		return // deleted since it was listed
	case errors.Is(err, ErrDamaged):
		v.Damaged++
	default:
		v.Unread++
	}
	found(err)
}

func (s *Store) readAll(ctx context.Context, name Name, litter map[string]bool) (int64, error) {
	if err := s.claim(ctx, name, litter); err != nil {
		return 0, err
	}
	r, err := s.Open(ctx, name)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	return io.Copy(io.Discard, r)
}

func (s *Store) gone(ctx context.Context, name Name) bool {
	_, err := s.headerBytes(ctx, name)
	return problem.Code(err) == api.NotFound
}
