package git

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// Changes are the paths that differ between a base and the work tree, committed
// or not, with untracked files that are not ignored: slash-separated, relative
// to the checkout, sorted. A changed submodule is its directory.
type Changes struct {
	Paths   []string // all of them, both sides of a rename too
	Deleted []string // those of Paths that are gone
	Renamed []Rename
	Absent  []string // files that a sparse checkout leaves out; they may be in Paths or not
	Empty   []string // submodules in Paths that are not checked out
}

// A Rename is a file that is found under another path, changed or not.
type Rename struct{ From, To string }

// Changes compares the work tree with a base. Where there are several merge
// bases, what differs from any of them counts; so does what git was told not to
// look at (docs/scan.md, rules 27, 28 and 33).
func (c *Checkout) Changes(ctx context.Context, base Base) (Changes, error) {
	index, err := c.index(ctx)
	if err != nil {
		return Changes{}, err
	}
	env, err := c.unfiltered(ctx, index.submodules)
	if err != nil {
		return Changes{}, err
	}
	unfiltered := &Checkout{c.dir, env}
	paths, deleted, renamed := map[string]bool{}, map[string]bool{}, map[Rename]bool{}
	for _, commit := range base.Commits {
		if !isCommit(commit) {
			return Changes{}, problem.New(api.Invalid, "%q is no commit", commit)
		}
		// What .gitmodules and the configuration say of submodules is overruled:
		// a change must not be able to hide one.
		out, err := unfiltered.git(ctx, "diff", "--raw", "-z", "--no-abbrev", "--find-renames", "--no-ext-diff", "--no-textconv",
			"--ignore-submodules=none", "--relative", commit, "--")
		if err != nil {
			return Changes{}, err
		}
		if err := readRaw(out, paths, deleted, renamed); err != nil {
			return Changes{}, err
		}
	}
	out, err := c.git(ctx, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return Changes{}, err
	}
	for name := range strings.SplitSeq(out, "\x00") {
		if name = strings.TrimSuffix(name, "/"); name != "" {
			paths[name] = true
			delete(deleted, name) // removed from the index only
		}
	}
	for _, name := range index.hidden {
		paths[name] = true
	}
	changes := Changes{Paths: slices.Sorted(maps.Keys(paths)), Deleted: slices.Sorted(maps.Keys(deleted)), Absent: index.absent}
	for _, name := range index.submodules {
		if paths[name] && !c.populated(name) {
			changes.Empty = append(changes.Empty, name)
		}
	}
	changes.Renamed = slices.SortedFunc(maps.Keys(renamed), func(a, b Rename) int {
		return strings.Compare(a.From+"\x00"+a.To, b.From+"\x00"+b.To)
	})
	return changes, nil
}

// readRaw reads the output of git diff --raw -z: for each change a field with
// modes, objects and a letter, then one path, or two for a rename.
func readRaw(out string, paths, deleted map[string]bool, renamed map[Rename]bool) error {
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for i := 0; i < len(fields) && fields[i] != ""; i++ {
		words := strings.Fields(fields[i])
		if len(words) != 5 || !strings.HasPrefix(words[0], ":") || i+1 >= len(fields) {
			return problem.New(api.Internal, "git diff printed what is no change: %q", fields[i])
		}
		i++
		from := fields[i]
		paths[from] = true
		switch words[4][0] {
		case 'D':
			deleted[from] = true
		case 'R', 'C':
			if i++; i >= len(fields) {
				return problem.New(api.Internal, "git diff printed a rename of %q to nothing", from)
			}
			paths[fields[i]] = true
			if words[4][0] == 'R' {
				deleted[from], renamed[Rename{from, fields[i]}] = true, true
			}
		}
	}
	return nil
}
