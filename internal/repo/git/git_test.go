package git_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/repo/git"
)

// A repository is a real one in a directory of the test.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) repository {
	t.Helper()
	home := t.TempDir()
	for name, value := range map[string]string{
		"HOME": home, "GIT_CONFIG_GLOBAL": filepath.Join(home, "config"), "GIT_CONFIG_SYSTEM": os.DevNull,
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com",
	} {
		t.Setenv(name, value)
	}
	r := repository{t, t.TempDir()}
	r.git("config", "--global", "protocol.file.allow", "always")
	r.git("init", "-q", "-b", "main")
	return r
}

func (r repository) at(dir string) repository { return repository{r.t, dir} }

func (r repository) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r repository) write(name, text string) {
	r.t.Helper()
	name = filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// commit writes name: text pairs and commits everything.
func (r repository) commit(pairs ...string) string {
	r.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		r.write(pairs[i], pairs[i+1])
	}
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", "change")
	return r.git("rev-parse", "HEAD")
}

func (r repository) open() *git.Checkout {
	r.t.Helper()
	c, err := git.Open(r.t.Context(), r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// since is what has changed, one path a line: - for what is gone, > for where a
// rename went.
func (r repository) since(ref string, event git.Event) (string, error) {
	c := r.open()
	base, err := c.Base(r.t.Context(), ref, event)
	if err != nil {
		return "", err
	}
	changes, err := c.Changes(r.t.Context(), base)
	gone := map[string]bool{}
	for _, name := range changes.Deleted {
		gone[name] = true
	}
	var b strings.Builder
	for _, name := range changes.Paths {
		mark := ""
		if gone[name] {
			mark = "-"
		}
		fmt.Fprintf(&b, "%s%s\n", mark, name)
	}
	for _, m := range changes.Renamed {
		fmt.Fprintf(&b, "%s > %s\n", m.From, m.To)
	}
	return b.String(), err
}

func (r repository) want(ref string, event git.Event, lines ...string) {
	r.t.Helper()
	got, err := r.since(ref, event)
	if err != nil {
		r.t.Fatal(err, problem.Hint(err))
	}
	want := strings.Join(lines, "\n")
	if want != "" {
		want += "\n"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Errorf("(-want +got)\n%s", diff)
	}
}

func (r repository) fails(ref string, event git.Event, message, hint string) {
	r.t.Helper()
	got, err := r.since(ref, event)
	if err == nil || !strings.Contains(err.Error(), message) || !strings.Contains(problem.Hint(err), hint) {
		r.t.Errorf("got %q %v (%s)\nwant %q (%s)", got, err, problem.Hint(err), message, hint)
	}
}

const long = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"

func TestChanges(t *testing.T) {
	r := newRepository(t)
	r.commit("a/main.tf", long, "b/main.tf", "b", "gone/x/main.tf", "x", "old/main.tf", long+"old", ".gitignore", "ignored\n")
	r.git("checkout", "-q", "-b", "change")
	r.commit("a/main.tf", long+"more", "a/ü b.tf", "", "-x", "", "new\nline", "", "a/\"q\".tf", "", "tab\there", "")
	r.git("rm", "-rq", "gone")
	r.git("mv", "old", "renamed")
	r.commit()
	r.write("staged.tf", "")
	r.git("add", "staged.tf")
	r.write("untracked/main.tf", "")
	r.write("ignored", "")
	r.write("b/main.tf", "changed and not staged")
	r.git("checkout", "-q", "main", "--", ".gitignore")
	r.want("main", git.Event{},
		"-x", "a/\"q\".tf", "a/main.tf", "a/ü b.tf", "b/main.tf", "-gone/x/main.tf", "new\nline", "-old/main.tf",
		"renamed/main.tf", "staged.tf", "tab\there", "untracked/main.tf", "old/main.tf > renamed/main.tf")
}

// TestMergeBase: what main got since is not part of the change.
func TestMergeBase(t *testing.T) {
	r := newRepository(t)
	r.commit("a", "")
	r.git("checkout", "-q", "-b", "change")
	r.commit("b", "")
	r.git("checkout", "-q", "main")
	r.commit("c", "")
	r.git("checkout", "-q", "change")
	r.want("main", git.Event{}, "b")
	r.want("", git.Event{}, "b")
	r.git("merge", "-q", "main")
	r.want("main", git.Event{}, "b")
	r.git("checkout", "-q", "main")
	r.want("", git.Event{})
	r.fails("none", git.Event{}, "none is not in this clone", "git fetch origin none:refs/remotes/origin/none")
	r.fails("--output=x", git.Event{}, "is not in this clone", "name a branch")
	r.fails("HEAD~99", git.Event{}, "HEAD~99 is not in this clone", "name a branch")
	r.git("checkout", "-q", "--orphan", "other")
	r.commit("d", "")
	r.fails("main", git.Event{}, "have no commit in common", "--base")
}

// TestCrissCross: of several merge bases, what differs from any counts.
func TestCrissCross(t *testing.T) {
	r := newRepository(t)
	r.commit("x", "")
	r.git("checkout", "-q", "-b", "change")
	one := r.commit("a", "")
	r.git("checkout", "-q", "main")
	two := r.commit("b", "")
	r.git("merge", "-q", "-m", "m", one)
	r.git("checkout", "-q", "change")
	r.git("merge", "-q", "-m", "m", two)
	r.commit("c", "")
	r.want("main", git.Event{}, "a", "b", "c")
}

func TestDefaultBranch(t *testing.T) {
	up := newRepository(t)
	up.commit("a", "")
	up.git("branch", "-m", "trunk")
	r := up.at(filepath.Join(t.TempDir(), "clone"))
	up.git("clone", "-q", up.dir, r.dir)
	r.git("checkout", "-q", "-b", "change")
	r.commit("b", "")
	r.want("", git.Event{}, "b")
	r.want("trunk", git.Event{}, "b")
	r.git("branch", "-D", "trunk")
	r.want("trunk", git.Event{}, "b") // origin's
	r.git("remote", "set-head", "origin", "--delete")
	r.want("", git.Event{DefaultBranch: "trunk"}, "b")
	r.fails("", git.Event{}, "the default branch is not known", "git remote set-head origin --auto")
}

// TestShadowed: nobody's tag or branch stands for the default branch of origin,
// and no replacement for a commit.
func TestShadowed(t *testing.T) {
	up := newRepository(t)
	base := up.commit("a", "")
	r := up.at(filepath.Join(t.TempDir(), "clone"))
	up.git("clone", "-q", up.dir, r.dir)
	r.git("checkout", "-q", "-b", "change")
	head := r.commit("b", "")
	for _, name := range []string{"refs/tags/origin/main", "refs/heads/origin/main", "refs/tags/main"} {
		r.git("update-ref", name, head)
	}
	r.want("", git.Event{}, "b")
	r.git("remote", "set-head", "origin", "--delete")
	r.want("", git.Event{}, "b")
	r.want("", git.Event{DefaultBranch: "main"}, "b")
	r.git("update-ref", "-d", "refs/remotes/origin/main")
	r.want("", git.Event{}, "b") // the branch main
	r.fails("", git.Event{DefaultBranch: "main"}, "origin/main is not in this clone", "git fetch origin main:refs/remotes/origin/main")

	r.git("replace", base, r.git("commit-tree", "-m", "replaced", head+"^{tree}"))
	r.want(base, git.Event{}, "b")
}

// TestUnwatched: what git is told not to look at has changed all the same, and
// what is not checked out is told of.
func TestUnwatched(t *testing.T) {
	r := newRepository(t)
	base := r.commit("a/main.tf", "", "b/main.tf", "", "c/main.tf", "", "d/main.tf", "")
	r.git("config", "core.ignoreCase", "true")
	r.write("d/Main.tf", "")
	r.git("update-index", "--assume-unchanged", "a/main.tf")
	r.git("update-index", "--skip-worktree", "b/main.tf", "c/main.tf")
	r.write("a/main.tf", "changed")
	r.write("b/main.tf", "changed")
	if err := os.Remove(filepath.Join(r.dir, "c/main.tf")); err != nil {
		t.Fatal(err)
	}
	r.want(base, git.Event{}, "a/main.tf", "b/main.tf", "d/Main.tf")
	c := r.open()
	changes, err := c.Changes(t.Context(), git.Base{Name: "base", Commits: []string{base}})
	if diff := cmp.Diff([]string{"c/main.tf"}, changes.Absent); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func TestShallow(t *testing.T) {
	up := newRepository(t)
	for i := range 5 {
		up.commit("a", fmt.Sprint(i))
	}
	up.git("checkout", "-q", "-b", "change", "HEAD~3")
	up.commit("b", "")
	up.commit("c", "")
	r := up.at(filepath.Join(t.TempDir(), "clone"))
	up.git("clone", "-q", "--depth=1", "--no-single-branch", "-b", "change", "file://"+up.dir, r.dir)
	r.fails("main", git.Event{}, "shallow", "git fetch --deepen")
	r.git("fetch", "-q", "--deepen=10")
	r.want("main", git.Event{}, "b", "c")

	single := up.at(filepath.Join(t.TempDir(), "single"))
	up.git("clone", "-q", "--depth=1", "-b", "change", "file://"+up.dir, single.dir)
	single.fails("main", git.Event{}, "main is not in this clone", "git fetch origin main:refs/remotes/origin/main")
}

// TestPullRequest is "default: PR base SHA, then the push's before, then the merge
// base with origin/<default branch>" (seed 004, "CLI commands"), with TestPush and
// TestDefaultBranch. The merge commit's first parent is the base, and not the one
// of the payload, which may be older; a checkout of the head works as well.
func TestPullRequest(t *testing.T) {
	up := newRepository(t)
	old := up.commit("a", "")
	up.git("checkout", "-q", "-b", "change")
	head := up.commit("b", "")
	up.git("checkout", "-q", "main")
	young := up.commit("c", "")
	up.git("checkout", "-q", "--detach")
	up.git("merge", "-q", "--no-ff", "-m", "Merge", head)
	merge := up.git("rev-parse", "HEAD")
	up.git("update-ref", "refs/pull/7/merge", merge)
	event := git.Event{Name: "pull_request", PullRequest: 7, Base: old, Head: head}
	up.want("", event, "b")

	up.git("checkout", "-q", "change")
	up.want("", event, "b")
	up.commit("d", "") // a step of the workflow
	up.want("", event, "b", "d")
	up.git("checkout", "-q", "main")
	up.fails("", event, "does not hold the pull request's commit", "actions/checkout")

	shallow := up.at(t.TempDir())
	shallow.git("init", "-q")
	shallow.git("fetch", "-q", "--depth=1", "file://"+up.dir, "refs/pull/7/merge")
	shallow.git("checkout", "-q", "FETCH_HEAD")
	shallow.fails("", event, "the base of the pull request ("+young[:12]+") is not in this clone", "git fetch --depth=1 origin "+young)
	shallow.fails("HEAD~1", event, "HEAD~1 is not in this clone", "git fetch --unshallow")
	shallow.git("fetch", "-q", "--depth=2", "file://"+up.dir, "refs/pull/7/merge")
	shallow.want("", event, "b")
}

// TestPush: what is compared is what was there before, rewritten or not.
func TestPush(t *testing.T) {
	r := newRepository(t)
	r.commit("a", "")
	before := r.commit("b", "")
	r.git("reset", "-q", "--hard", "HEAD~1")
	r.commit("c", "")
	r.want("", git.Event{Name: "push", Before: before}, "-b", "c", "b > c")
	r.fails("", git.Event{Name: "push", Before: strings.Repeat("1", 40)}, "the commit that was there before the push", "git fetch origin 1111")
	r.want("", git.Event{Name: "push"}) // a new branch
	r.fails("", git.Event{Name: "push", DefaultBranch: "main", First: true}, "the push made the branch main", "--base")
}

func TestSubmodule(t *testing.T) {
	sub := newRepository(t)
	sub.commit("main.tf", "")
	r := newRepository(t)
	r.commit("a", "")
	r.git("submodule", "-q", "add", sub.dir, "modules/sub")
	r.git("config", "-f", ".gitmodules", "submodule.modules/sub.ignore", "all") // must hide nothing
	r.commit()
	r.git("checkout", "-q", "-b", "change")
	in := r.at(filepath.Join(r.dir, "modules/sub"))
	in.write("main.tf", "changed")
	r.want("main", git.Event{}, "modules/sub")
	in.commit()
	r.want("main", git.Event{}, "modules/sub")
	r.git("update-index", "--cacheinfo", "160000,"+in.git("rev-parse", "HEAD")+",modules/sub")
	r.git("commit", "-qm", "bump")
	r.want("main", git.Event{}, "modules/sub")
}

func TestWorktree(t *testing.T) {
	r := newRepository(t)
	r.commit("a", "", "sub/b", "")
	linked := r.at(filepath.Join(t.TempDir(), "linked"))
	r.git("worktree", "add", "-q", "-b", "change", linked.dir)
	linked.commit("sub/c", "", "d", "")
	linked.write("sub/e", "")
	linked.want("main", git.Event{}, "d", "sub/c", "sub/e")
	linked.at(filepath.Join(linked.dir, "sub")).want("main", git.Event{}, "c", "e")
	if root, err := linked.at(filepath.Join(linked.dir, "sub")).open().Root(t.Context()); err != nil || filepath.Base(root) != "linked" {
		t.Error(root, err)
	}
}

// TestNothingRuns: no program that configuration or attributes name runs.
func TestNothingRuns(t *testing.T) {
	r := newRepository(t)
	sub := newRepository(t)
	sub.commit("b.tf", "b", ".gitattributes", "*.tf filter=sub=evil\n")
	r.git("config", "--global", "protocol.file.allow", "always")
	r.git("submodule", "-q", "add", sub.dir, "sub")
	base := r.commit("a.tf", "a", "c.tf", "c", ".gitattributes", "*.tf diff=evil filter=evil\nc.tf filter=evil.process\n")
	mark := filepath.Join(t.TempDir(), "ran")
	evil := filepath.Join(t.TempDir(), "evil")
	if err := os.WriteFile(evil, []byte("#!/bin/sh\ntouch "+mark+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"core.fsmonitor", "core.pager", "diff.external", "diff.evil.command", "diff.evil.textconv", "pager.diff"} {
		r.git("config", key, evil)
	}
	r.git("config", "filter.evil.clean", evil)
	r.git("config", "filter.evil.required", "true")
	r.git("config", "filter.evil.process.process", evil)
	in := r.at(filepath.Join(r.dir, "sub"))
	in.git("config", "filter.sub=evil.clean", evil)
	t.Setenv("GIT_EXTERNAL_DIFF", evil)
	t.Setenv("GIT_PAGER", evil)
	r.write("a.tf", "b")
	r.write("c.tf", "d")
	in.write("b.tf", "c")
	r.want(base, git.Event{}, "a.tf", "c.tf", "sub")
	c := r.open()
	c.Repo(t.Context())
	tree, err := c.Tree(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program of the configuration ran")
	}
}

// TestInAHook: the variables that a hook has do not lead to another repository.
func TestInAHook(t *testing.T) {
	r := newRepository(t)
	base := r.commit("sub/a", "")
	other := newRepository(t)
	other.commit("b", "")
	r.write("sub/c", "")
	for name, value := range map[string]string{
		"GIT_DIR": filepath.Join(other.dir, ".git"), "GIT_WORK_TREE": other.dir, "GIT_INDEX_FILE": ".git/index", "GIT_PREFIX": "x/",
	} {
		t.Setenv(name, value)
	}
	r.at(filepath.Join(r.dir, "sub")).want(base, git.Event{}, "c")
}

// TestBareInside: a repository that lies among the files is not taken for the
// one they are in.
func TestBareInside(t *testing.T) {
	r := newRepository(t)
	r.commit("a", "")
	bare := filepath.Join(r.dir, "bare")
	r.git("init", "-q", "--bare", bare)
	if _, err := git.Open(t.Context(), bare); err == nil {
		t.Error("it was opened")
	}
}

func TestTree(t *testing.T) {
	r := newRepository(t)
	r.write("a/b/main.tf", "one")
	r.write("empty.tf", "")
	if err := os.Symlink("a/b", filepath.Join(r.dir, "link")); err != nil {
		t.Fatal(err)
	}
	base := r.commit()
	r.git("rm", "-rq", "a")
	r.commit()
	tree, err := r.open().Tree(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if target, err := tree.ReadLink("link"); err != nil || target != "a/b" {
		t.Error(target, err)
	}
	data, err := readFile(tree, "a/b/main.tf")
	if err != nil || data != "one" {
		t.Error(data, err)
	}
	r.git("rm", "-q", "link")
	tree2, err := r.open().Tree(t.Context(), r.commit("x/y", "z"))
	if err != nil {
		t.Fatal(err)
	}
	defer tree2.Close()
	if err := fstest.TestFS(tree2, "x/y", "empty.tf"); err != nil {
		t.Error(err)
	}
}

func TestRepo(t *testing.T) {
	r := newRepository(t)
	if got := r.open().Repo(t.Context()); got != "" {
		t.Error(got)
	}
	r.git("remote", "add", "origin", "x")
	for url, want := range map[string]string{
		"https://github.com/acme/infra.git": "acme/infra", "https://user:pass@github.com/acme/infra": "acme/infra",
		"git@github.com:acme/infra.git": "acme/infra", "ssh://git@github.com:22/acme/infra": "acme/infra",
		"/srv/infra.git": "", "https://gitlab.com/acme/deep/infra": "",
	} {
		r.git("remote", "set-url", "origin", url)
		if got := r.open().Repo(t.Context()); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}

func TestOpenNowhere(t *testing.T) {
	newRepository(t)
	if _, err := git.Open(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a git repository") {
		t.Error(err)
	}
	r := newRepository(t)
	r.fails("main", git.Event{}, "no commit yet", "commit")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := git.Open(ctx, r.dir); err == nil {
		t.Error("it went on")
	}
}

// TestGitHubEvent is "for pull_request events the run SHA is the PR head SHA from
// the payload, not GITHUB_SHA" (seed 004, "CLI commands").
func TestGitHubEvent(t *testing.T) {
	sha := func(c string) string { return strings.Repeat(c, 40) }
	for name, c := range map[string]struct {
		event, payload string
		want           git.Event
		err            string
	}{
		"pull request": {"pull_request", `{"pull_request": {"number": 7, "base": {"sha": "` + sha("a") + `"}, "head": {"sha": "` + sha("b") + `"}}, "repository": {"default_branch": "trunk"}}`,
			git.Event{Name: "pull_request", Repo: "acme/infra", DefaultBranch: "trunk", PullRequest: 7, Base: sha("a"), Head: sha("b")}, ""},
		"push":       {"push", `{"before": "` + sha("a") + `"}`, git.Event{Name: "push", Repo: "acme/infra", Before: sha("a")}, ""},
		"new branch": {"push", `{"before": "` + sha("0") + `"}`, git.Event{Name: "push", Repo: "acme/infra"}, ""},
		"first": {"push", `{"before": "` + sha("0") + `", "ref": "refs/heads/trunk", "repository": {"default_branch": "trunk"}}`,
			git.Event{Name: "push", Repo: "acme/infra", DefaultBranch: "trunk", First: true}, ""},
		"merge queue": {"merge_group", `{"merge_group": {"base_sha": "` + sha("c") + `"}}`, git.Event{Name: "merge_group", Repo: "acme/infra", Before: sha("c")}, ""},
		"schedule":    {"schedule", `{}`, git.Event{Name: "schedule", Repo: "acme/infra"}, ""},
		"no commits":  {"pull_request", `{"pull_request": {"number": 7, "base": {"sha": "--upload-pack=x"}}}`, git.Event{}, "names no pull request"},
		"odd before":  {"push", `{"before": "-x"}`, git.Event{}, "names no commit"},
		"no JSON":     {"push", `{`, git.Event{}, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "event.json")
			if err := os.WriteFile(file, []byte(c.payload), 0o644); err != nil {
				t.Fatal(err)
			}
			env := map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": c.event, "GITHUB_EVENT_PATH": file, "GITHUB_REPOSITORY": "acme/infra", "GITHUB_SHA": sha("f")}
			got, err := git.GitHubEvent(func(name string) string { return env[name] })
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if e, err := git.GitHubEvent(func(string) string { return "" }); err != nil || e != (git.Event{}) {
		t.Error(e, err)
	}
}

func readFile(files fs.FS, name string) (string, error) {
	data, err := fs.ReadFile(files, name)
	return string(data), err
}
