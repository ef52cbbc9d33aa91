package serve

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/control"
	"github.com/assize-iac/assize/internal/problem"
)

// A Rotation is what became of a change of keys.
type Rotation struct {
	Key       string   `json:"key"`      // id of the key that everything is wrapped with now
	Unneeded  []string `json:"unneeded"` // ids of those that nothing needs any more
	Secrets   int      `json:"secrets"`  // wrapped anew
	Artifacts int      `json:"artifacts"`
}

// Rotate wraps everything anew that a server with these settings keeps, with the first of
// its keys (docs/secrets.md, rule 13). The server may run, but for one with a private
// Postgres, which one process uses at a time. It makes and migrates nothing, and refuses a
// place that is not the server's: to find nothing there would prove nothing.
func Rotate(ctx context.Context, settings Settings, progress func(looked, anew int)) (Rotation, error) {
	if err := settings.Check(); err != nil {
		return Rotation{}, err
	}
	if _, err := os.Stat(filepath.Join(settings.Data, dirPostgres)); settings.Database == "" && errors.Is(err, fs.ErrNotExist) {
		return Rotation{}, problem.New(api.NotFound, "no server has kept anything in %s", settings.Data).
			WithHint("give what the server is given: --data DIR, or DATABASE_URL with --artifacts and --artifact-key-file")
	}
	s := &Server{settings: settings, log: slog.New(slog.DiscardHandler)}
	defer s.release()
	url, err := s.database(ctx)
	if err != nil {
		return Rotation{}, err
	}
	if err := s.connect(ctx, url); err != nil {
		return Rotation{}, err
	}
	if err := s.mine(ctx); err != nil {
		return Rotation{}, err
	}
	done, err := s.control.Rotate(ctx, progress)
	return s.rotation(done, err), unrotated(err)
}

// mine refuses artifacts that are not those of the database.
func (s *Server) mine(ctx context.Context) error {
	administrator, err := s.store.Installed(ctx)
	if err != nil {
		return err
	}
	if err = bound(ctx, s.artifacts, administrator); problem.Code(err) == api.NotFound {
		return problem.New(api.Refused, "these are not the artifacts of the database").
			WithHint("look whether DATABASE_URL and ASSIZE_ARTIFACTS are those of the server")
	}
	return withCause(err)
}

func (s *Server) rotation(done control.Rotated, err error) Rotation {
	ids := s.keys.IDs()
	r := Rotation{Key: ids[0], Unneeded: []string{}, Secrets: done.Secrets, Artifacts: done.Artifacts}
	if err == nil {
		r.Unneeded = ids[1:]
	}
	return r
}

// unrotated is err as an operator reads it, who must keep the old key then.
func unrotated(err error) error {
	if err == nil || problem.Code(err) == api.Conflict {
		return err
	}
	return problem.New(problem.Code(err), "not everything was wrapped anew: %w", withCause(err)).
		WithHint("keep all keys; the same command once more goes on where it ended")
}
