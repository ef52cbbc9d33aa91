package git

import (
	"context"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// A Base is what a change is compared with.
type Base struct {
	Name    string   // for people: origin/main, the pull request's base
	Commits []string // one; several where two branches were merged into each other
}

// Base decides what the checkout is compared with: the merge base with ref when
// that is not empty; else what the event in CI says; else the merge base with
// the default branch (seed 004, "CLI commands"; docs/scan.md, rules 23 to 26).
func (c *Checkout) Base(ctx context.Context, ref string, event Event) (Base, error) {
	head, err := c.Head(ctx)
	if err != nil {
		return Base{}, err
	}
	switch {
	case ref != "":
		return c.mergeBase(ctx, head, ref)
	case event.PullRequest != 0:
		return c.pullRequestBase(ctx, head, event)
	case event.Before != "":
		if !c.has(ctx, event.Before) {
			return Base{}, c.absent(ctx, event.Before, "the commit that was there before the push")
		}
		return Base{"the commit before the push", []string{event.Before}}, nil
	case event.First:
		return Base{}, problem.New(api.Invalid, "the push made the branch %s, and there was nothing before it to compare with", event.DefaultBranch).
			WithHint("name a base with --base, or name the stacks")
	}
	branch, err := c.defaultBranch(ctx, event)
	if err != nil {
		return Base{}, err
	}
	return c.mergeBase(ctx, head, branch)
}

// pullRequestBase knows two ways to check a pull request out. In the merge
// commit that GitHub makes, the first parent is exactly what the change would be
// merged into; it may be younger than the base in the event.
func (c *Checkout) pullRequestBase(ctx context.Context, head string, event Event) (Base, error) {
	const name = "the base of the pull request"
	parents, err := c.parents(ctx, head)
	if err != nil {
		return Base{}, err
	}
	if len(parents) == 2 && parents[1] == event.Head {
		if !c.has(ctx, parents[0]) {
			return Base{}, c.absent(ctx, parents[0], name)
		}
		return Base{name, parents[:1]}, nil
	}
	if head != event.Head {
		if _, err := c.git(ctx, "merge-base", "--is-ancestor", event.Head, head); err != nil {
			return Base{}, problem.New(api.Invalid, "the checkout (%s) does not hold the pull request's commit %s", short(head), short(event.Head)).
				WithHint("check out the pull request: the default of actions/checkout, or ref: ${{ github.event.pull_request.head.sha }}")
		}
	}
	b, err := c.mergeBase(ctx, head, event.Base)
	b.Name = name
	return b, err
}

// parents reads the commit itself: a shallow clone knows the names of parents
// that it does not have.
func (c *Checkout) parents(ctx context.Context, commit string) ([]string, error) {
	text, err := c.git(ctx, "cat-file", "commit", commit)
	if err != nil {
		return nil, err
	}
	var all []string
	for line := range strings.Lines(text) {
		if line == "\n" {
			break
		}
		if parent, ok := strings.CutPrefix(line, "parent "); ok {
			all = append(all, strings.TrimSpace(parent))
		}
	}
	return all, nil
}

// mergeBase is where the branch of head left ref.
func (c *Checkout) mergeBase(ctx context.Context, head, ref string) (Base, error) {
	commit, name, err := c.commit(ctx, ref)
	if err != nil {
		return Base{}, err
	}
	out, err := c.git(ctx, "merge-base", "--all", commit, head)
	if err == nil {
		return Base{name, strings.Fields(out)}, nil
	}
	if exitCode(err) != 1 { // 1 says that there is none
		return Base{}, err
	}
	if c.shallow(ctx) {
		return Base{}, problem.New(api.Invalid, "this clone is shallow, and its history ends before the commit where it left %s", name).
			WithHint("fetch more of it: git fetch --deepen=100, or git fetch --unshallow; with actions/checkout say fetch-depth: 0")
	}
	return Base{}, problem.New(api.Invalid, "the checkout and %s have no commit in common", name).WithHint("name another base with --base")
}

// commit resolves what a person or an event names: as git does, then as a
// branch of origin.
func (c *Checkout) commit(ctx context.Context, ref string) (commit, name string, err error) {
	for _, name := range []string{ref, "refs/remotes/origin/" + ref} {
		commit, err := c.line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
		if err == nil {
			return commit, branchName(name), nil
		}
		if exitCode(err) < 0 {
			return "", "", err
		}
	}
	ref = branchName(ref)
	return "", "", c.absent(ctx, ref, ref)
}

// branchName is how people write a full name of a branch.
func branchName(ref string) string {
	return strings.TrimPrefix(strings.TrimPrefix(ref, "refs/remotes/"), "refs/heads/")
}

// absent says how to get a commit or branch that is not here.
func (c *Checkout) absent(ctx context.Context, ref, name string) error {
	err := problem.New(api.NotFound, "%s is not in this clone", name)
	if name != ref {
		err = problem.New(api.NotFound, "%s (%s) is not in this clone", name, short(ref))
	}
	ref = strings.TrimPrefix(ref, "origin/")
	switch {
	case strings.HasPrefix(ref, "-") || strings.ContainsAny(ref, " '\"$`\\;&|<>\n\t"):
		return err.WithHint("name a branch, a tag or a commit")
	case strings.ContainsAny(ref, "~^") && c.shallow(ctx):
		return err.WithHint("fetch what came before: git fetch --unshallow; with actions/checkout say fetch-depth: 0")
	case strings.ContainsAny(ref, "~^@{:*?["): // no server knows it by this name
		return err.WithHint("name a branch, a tag or a commit")
	case isCommit(ref) && c.shallow(ctx):
		return err.WithHint("fetch it: git fetch --depth=1 origin %s, or git fetch --unshallow; with actions/checkout say fetch-depth: 0", ref)
	case isCommit(ref):
		return err.WithHint("fetch it: git fetch origin %s; if the branch was rewritten, name another base with --base", ref)
	}
	return err.WithHint("fetch it: git fetch origin %s:refs/remotes/origin/%s", ref, ref)
}

// defaultBranch is the one that changes are meant for, by its full name: for a
// short one, git takes a tag first.
func (c *Checkout) defaultBranch(ctx context.Context, event Event) (string, error) {
	if ref, err := c.line(ctx, "symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"); err == nil {
		return ref, nil
	}
	if event.DefaultBranch != "" {
		return "refs/remotes/origin/" + event.DefaultBranch, nil
	}
	for _, ref := range []string{"refs/remotes/origin/main", "refs/remotes/origin/master", "refs/heads/main", "refs/heads/master"} {
		if _, err := c.git(ctx, "rev-parse", "--verify", "--quiet", ref); err == nil {
			return ref, nil
		}
	}
	return "", problem.New(api.Invalid, "the default branch is not known").
		WithHint("name the base with --base, or run git remote set-head origin --auto")
}

func (c *Checkout) has(ctx context.Context, commit string) bool {
	_, err := c.git(ctx, "cat-file", "-e", commit+"^{commit}")
	return err == nil
}

func (c *Checkout) shallow(ctx context.Context) bool {
	answer, err := c.line(ctx, "rev-parse", "--is-shallow-repository")
	return err == nil && answer == "true"
}

func isCommit(ref string) bool {
	return (len(ref) == 40 || len(ref) == 64) && strings.Trim(ref, "0123456789abcdef") == ""
}

func short(commit string) string {
	if isCommit(commit) {
		return commit[:12]
	}
	return commit
}
