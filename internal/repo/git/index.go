package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// An index is what matters of Git's: the files that git was told not to look
// at, and the directories of submodules.
type index struct {
	hidden     []string // git takes them for unchanged, whatever they hold
	absent     []string // not checked out
	submodules []string
}

// index reads the index below the checkout's directory.
func (c *Checkout) index(ctx context.Context) (index, error) {
	var all index
	out, err := c.git(ctx, "ls-files", "-z", "-v", "--stage")
	if err != nil {
		return all, err
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if line == "" {
			continue
		}
		about, name, ok := strings.Cut(line, "\t")
		words := strings.Fields(about)
		if !ok || len(words) != 4 {
			return all, problem.New(api.Internal, "git ls-files printed what is no file: %q", line)
		}
		tag, mode := words[0], words[1]
		if mode == "160000" {
			all.submodules = append(all.submodules, name)
		}
		skipped := strings.EqualFold(tag, "S")
		switch _, err := os.Lstat(filepath.Join(c.dir, filepath.FromSlash(name))); {
		case skipped && err != nil:
			all.absent = append(all.absent, name)
		case skipped, tag != strings.ToUpper(tag):
			all.hidden = append(all.hidden, name)
		}
	}
	return all, nil
}

// unfiltered turns off the filters that the configuration names, here and in
// submodules: they are programs, and git runs them to compare a file. A file
// that one would change back counts as changed when git looks into it
// (docs/scan.md, rule 31). The result is for the environment of git.
func (c *Checkout) unfiltered(ctx context.Context, submodules []string) ([]string, error) {
	drivers := map[string]bool{}
	if err := c.filters(ctx, submodules, drivers, map[string]bool{}); err != nil {
		return nil, err
	}
	var env []string
	n, _ := strconv.Atoi(os.Getenv("GIT_CONFIG_COUNT")) // git refuses what is no number
	for driver := range drivers {
		for _, setting := range [][2]string{{"clean", ""}, {"process", ""}, {"required", "false"}} {
			env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=filter.%s.%s", n, driver, setting[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, setting[1]))
			n++
		}
	}
	if env != nil {
		env = append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", n))
	}
	return env, nil
}

// filters collects the names of filters. seen are the directories that were
// asked: links may lead back.
func (c *Checkout) filters(ctx context.Context, submodules []string, drivers, seen map[string]bool) error {
	out, err := c.git(ctx, "config", "-z", "--name-only", "--get-regexp", `^filter\..*\.(clean|process)$`)
	if err != nil && exitCode(err) != 1 { // 1 says that there is none
		return err
	}
	for key := range strings.SplitSeq(out, "\x00") {
		if driver, ok := strings.CutPrefix(key, "filter."); ok {
			drivers[driver[:strings.LastIndexByte(driver, '.')]] = true
		}
	}
	for _, name := range submodules {
		dir, err := filepath.EvalSymlinks(filepath.Join(c.dir, filepath.FromSlash(name)))
		if err != nil || seen[dir] {
			continue
		}
		seen[dir] = true
		if !c.populated(name) {
			continue
		}
		sub := &Checkout{dir: dir}
		in, err := sub.index(ctx)
		if err != nil {
			return err
		}
		if err := sub.filters(ctx, in.submodules, drivers, seen); err != nil {
			return err
		}
	}
	return nil
}

// populated reports whether a submodule is checked out.
func (c *Checkout) populated(submodule string) bool {
	_, err := os.Lstat(filepath.Join(c.dir, filepath.FromSlash(submodule), ".git"))
	return err == nil
}
