package runner

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/tofu"
)

// initialise makes the directory ready, and selects the workspace of the
// settings. locked is for an apply: it may neither change the lock file nor make
// a workspace, for both have been there since the plan.
func (s *Stack) initialise(ctx context.Context, locked bool) error {
	s.step("initialising")
	flags, err := s.initFlags()
	if err != nil {
		return err
	}
	unlock, err := s.alone(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	session, workspace := s.Session, s.selects()
	session.Terse = session.Terse || s.asked()
	if workspace != "" {
		// What is selected here is selected for good; init must find one that is
		// there, and the tools do not select while the variable is set.
		session.Tool.Env = append(slices.Clone(session.Tool.Env), workspaceVariable+"=")
		if err := s.unselect(); err != nil {
			return err
		}
	}
	if err := s.lendLock(session.Dir); err != nil {
		return err
	}
	note := s.heed(&session)
	if locked {
		err = session.InitLocked(ctx, flags...)
	} else {
		err = errors.Join(session.Init(ctx, flags...), s.returnLock())
	}
	if err == nil {
		err = s.lasting()
	}
	if err != nil || workspace == "" || workspace == "default" {
		return note(err)
	}
	return session.Select(ctx, workspace, !locked)
}

// initFlags are those that the settings ask for (seed 004, "CLI"). Two
// instances may share a data directory of the user's, so the backend is taken as
// it is configured now, and no state is moved.
func (s *Stack) initFlags() ([]string, error) {
	var flags []string
	for _, entry := range slices.Concat(s.settings.BackendConfig, s.settings.ExtraBackendConfig) {
		if !strings.Contains(entry, "=") {
			file := entry
			if !filepath.IsAbs(file) {
				file = filepath.Join(s.root, filepath.FromSlash(file))
			}
			if _, err := os.Stat(file); err != nil {
				return nil, problem.New(api.NotFound, "%s: the file %s of backend_config does not exist", s.key(), entry).
					WithHint("files in backend_config are relative to %s", s.root)
			}
			entry = file
		}
		flags = append(flags, "-backend-config="+entry)
	}
	if len(s.settings.BackendConfig) > 0 {
		flags = append(flags, "-reconfigure")
	}
	return flags, nil
}

// alone waits until no other init is at work in the directory: instances have
// a lock file of providers in common. Where a file system knows no locks,
// nobody can wait.
func (s *Stack) alone(ctx context.Context) (unlock func(), err error) {
	home, err := Private(s.Dir())
	if err != nil {
		return nil, err
	}
	unlock, err = tofu.Lock(ctx, home)
	if err != nil && !errors.Is(err, tofu.ErrInterrupted) {
		return func() {}, nil
	}
	return unlock, err
}

// unselect goes back to the workspace that is always there: one that was
// selected before may be gone, and then init asks a question that nobody
// answers. HCP Terraform has no such workspace.
func (s *Stack) unselect() error {
	if kind, _, err := s.recordedBackend(); err == nil && (kind == "cloud" || kind == "remote") {
		return nil
	}
	path := filepath.Join(s.Session.DataDir(), "environment")
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unwritable(path, err)
	}
	return nil
}
