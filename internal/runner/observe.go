package runner

import (
	"context"
	"os/exec"
	"strings"
	"time"

	"github.com/assize-iac/assize/api"
)

// Observe says what a plan made now would be made from: all of a binding but
// the digests of the plan itself. Of b it uses what the caller chose (salt,
// variable files, flags, provenance) and what identifies the plan.
func (s *Stack) Observe(ctx context.Context, b api.Binding) (api.Binding, error) {
	now, err := s.Still(b)
	if err != nil {
		return api.Binding{}, err
	}
	if now.Tool.Version, err = s.Session.Version(ctx); err != nil {
		return api.Binding{}, err
	}
	if now.State, err = s.Session.State(ctx); err != nil {
		return api.Binding{}, err
	}
	now.Commit = Commit(s.Dir())
	return now, nil
}

// Still is the part of [Stack.Observe] that does not run the tool.
func (s *Stack) Still(b api.Binding) (api.Binding, error) {
	now := api.Binding{
		Plan: b.Plan, Document: b.Document, Mode: b.Mode, Salt: b.Salt, VarFiles: b.VarFiles, Flags: b.Flags, Provenance: b.Provenance,
		Tool: api.Tool{Name: s.Session.Tool.Name},
	}
	var err error
	if now.Tool.Digest, err = s.Session.Tool.Digest(); err != nil {
		return api.Binding{}, err
	}
	if now.Configuration, now.Files, err = s.configuration(); err != nil {
		return api.Binding{}, err
	}
	if now.LockFile, err = s.lockFile(); err != nil {
		return api.Binding{}, err
	}
	if now.Variables, err = s.variables(b); err != nil {
		return api.Binding{}, err
	}
	if now.Backend, err = s.backend(b); err != nil {
		return api.Binding{}, err
	}
	if now.Settings, err = s.settingsDigest(b.Salt); err != nil {
		return api.Binding{}, err
	}
	if now.Workspace, err = s.Session.Workspace(); err != nil {
		return api.Binding{}, err
	}
	return now, nil
}

// Commit is that of the checkout that holds dir, or "" where there is none. It
// is shown and never compared, so a git that does not answer is no error.
func Commit(dir string) string {
	cmd := exec.Command("git", "rev-parse", "--verify", "HEAD")
	cmd.Dir = dir
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
