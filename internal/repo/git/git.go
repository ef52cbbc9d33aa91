// Package git asks a Git checkout what has changed since when. It runs the real
// git, reads only, and runs nothing that a repository's files could name; which
// stacks a change affects is for package stack (docs/scan.md, "What has changed").
package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// A Checkout is a directory in the work tree of a repository. Paths that its
// methods return are relative to it; what is outside of it does not count.
type Checkout struct {
	dir string
	env []string // added to git's environment
}

// Open finds the checkout that dir is in.
func Open(ctx context.Context, dir string) (*Checkout, error) {
	c := &Checkout{dir: dir}
	inside, err := c.git(ctx, "rev-parse", "--is-inside-work-tree")
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(inside) != "true" {
		return nil, problem.New(api.Invalid, "%s is in no work tree of Git", dir)
	}
	return c, nil
}

// Root is the directory of the whole work tree, a linked one too.
func (c *Checkout) Root(ctx context.Context) (string, error) {
	return c.line(ctx, "rev-parse", "--show-toplevel")
}

// Head is the commit that is checked out.
func (c *Checkout) Head(ctx context.Context) (string, error) {
	head, err := c.line(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil {
		return "", problem.New(api.Invalid, "there is no commit yet").WithHint("commit something, or name the stacks")
	}
	return head, nil
}

// Repo is owner/repo of the remote origin, "" when there is none or it has
// another form.
func (c *Checkout) Repo(ctx context.Context) string {
	url, err := c.line(ctx, "remote", "get-url", "origin")
	if err != nil {
		return ""
	}
	url = strings.TrimSuffix(strings.TrimRight(url, "/"), ".git")
	if _, rest, ok := strings.Cut(url, "://"); ok {
		_, url, _ = strings.Cut(rest, "/")
	} else if _, rest, ok := strings.Cut(url, ":"); ok {
		url = rest
	} else {
		return "" // a path
	}
	owner, name, ok := strings.Cut(url, "/")
	if !ok || owner == "" || name == "" || strings.Contains(name, "/") {
		return ""
	}
	return url
}

// safe are the settings that every command gets: no program that configuration
// could name runs, no repository that lies among the files is taken for the one
// they are in (docs/scan.md, rule 31), and no file for another of nearly its name.
var safe = []string{
	"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.pager=cat",
	"-c", "diff.orderFile=" + os.DevNull, "-c", "core.ignoreCase=false",
	"-c", "safe.bareRepository=explicit", "-c", "core.quotePath=false",
	"-c", "log.showSignature=false", "--no-pager", "--literal-pathspecs",
}

// git runs one command that only reads, and returns what it prints.
func (c *Checkout) git(ctx context.Context, args ...string) (string, error) {
	cmd := c.command(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return out.String(), nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return "", problem.New(api.Unavailable, "git is not installed: %w", err).WithHint("install git, or name the stacks")
	case errors.As(err, &exit):
		text := strings.Join(strings.Fields(errs.String()), " ")
		return "", problem.New(api.Invalid, "git %s: %s%w", args[0], strings.TrimPrefix(text, "fatal: "), silent{err})
	}
	return "", problem.New(api.Unavailable, "git cannot be run: %w", err)
}

func (c *Checkout) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", append(append([]string{}, safe...), args...)...)
	cmd.Dir = c.dir
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); !slices.Contains(dropped, name) {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat", "LC_ALL=C")
	cmd.Env = append(cmd.Env, c.env...)
	return cmd
}

// dropped are the variables that git must not see: those that run a program,
// and those that name another repository than the one that dir is in, as a hook
// has them.
var dropped = []string{
	"GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS", "GIT_TRACE",
	"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX",
	"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
}

// line is the output of a command that prints one.
func (c *Checkout) line(ctx context.Context, args ...string) (string, error) {
	out, err := c.git(ctx, args...)
	return strings.TrimSuffix(out, "\n"), err
}

// silent is a cause that a message does not repeat.
type silent struct{ error }

func (silent) Error() string { return "" }

func (s silent) Unwrap() error { return s.error }

// exitCode is that of a git that ran and failed, -1 for any other error.
func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}
