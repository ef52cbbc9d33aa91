package cli

import (
	"cmp"
	"context"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/repo"
	"github.com/assize-iac/assize/internal/repo/scan"
	"github.com/assize-iac/assize/internal/spec"
	"github.com/assize-iac/assize/internal/stack"
)

// A choice is which stacks a command is about, as the command line says it.
type choice struct {
	dir      string   // -C
	args     []string // keys of stacks, and patterns of keys
	all      bool
	base     string
	parallel int
	quiet    bool // of what the tool and the policies say, only that of stacks that have failed or were refused
}

func (c *choice) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&c.dir, "chdir", "C", ".", "work in `DIR`: a stack's directory, or one that decides which assize.yaml is read; paths are relative to it")
	flags.IntVar(&c.parallel, "parallel", runtime.GOMAXPROCS(0), "work on `N` stacks at a time")
	flags.BoolVar(&c.quiet, "quiet", false, "of several stacks: what the tool and the policies say only where a stack has failed or was refused")
}

// affected are the flags that choose stacks without naming them.
func (c *choice) affected(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.all, "all", false, "every stack of the repository")
	cmd.Flags().StringVar(&c.base, "base", "", "the stacks that are affected by what differs from where the checkout left `REF`")
}

// one reports whether it is about the one stack that is named, or that one stands
// in. Then nothing else of the repository is looked at.
func (c choice) one() bool {
	switch {
	case c.all || c.base != "" || len(c.args) > 1:
		return false
	case len(c.args) == 1:
		return c.args[0] != "" && !isPattern(c.args[0])
	}
	return holdsConfiguration(c.dir)
}

// holdsConfiguration reports whether dir holds configuration of a tool, or a
// specification; what cannot be read may have some.
func holdsConfiguration(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err != nil || spec.In(dir) || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !e.IsDir() && scan.Configures(e.Name()) })
}

// loud refuses --quiet for one stack, whose output is the tool's own.
func (c choice) loud() error {
	if c.quiet {
		return problem.New(api.Invalid, "--quiet is for several stacks; of one, the output is the tool's own").WithHint("leave it out")
	}
	return nil
}

// where is the one stack.
func (c choice) where() where {
	if len(c.args) == 0 {
		return where{dir: c.dir}
	}
	return where{dir: c.dir, key: c.args[0]}
}

// valid refuses what cannot be meant together.
func (c choice) valid() error {
	if slices.Contains(c.args, "") { // a variable of a script that is not set, which must not mean the stack here
		return problem.New(api.Invalid, "a stack is named by nothing").WithHint("leave the argument out, or name a stack: assize stacks lists them")
	}
	named := 0
	for _, is := range []bool{len(c.args) > 0, c.all, c.base != ""} {
		if is {
			named++
		}
	}
	if named > 1 {
		return problem.New(api.Invalid, "stacks are named in more than one way").WithHint("give their keys, or --all, or --base REF")
	}
	if c.parallel < 1 {
		return problem.New(api.Invalid, "--parallel %d: there must be one at work at least", c.parallel)
	}
	return nil
}

// named are the stacks that the arguments name, each once, sorted.
func (c choice) named(e *estate) ([]stack.Key, error) {
	var keys []stack.Key
	for _, arg := range c.args {
		found, err := e.find(arg)
		if err != nil {
			return nil, err
		}
		keys = append(keys, found...)
	}
	return distinct(keys), nil
}

func distinct(keys []stack.Key) []stack.Key {
	slices.SortFunc(keys, func(a, b stack.Key) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(keys)
}

func isPattern(arg string) bool { return strings.ContainsAny(arg, "*?[{") }

// find is the stack that an argument names, or all that it matches.
func (e *estate) find(arg string) ([]stack.Key, error) {
	if !isPattern(arg) {
		s, err := e.graph.Find(arg)
		return []stack.Key{s.Key}, err
	}
	var keys []stack.Key
	for _, k := range e.keys() {
		ok, err := repo.KeyMatches(arg, k.String())
		if err != nil {
			return nil, err
		}
		if ok {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil, problem.New(api.NotFound, "no stack is called like %q", arg).WithHint("assize stacks lists them all; ** crosses directories: '**:prod' is every instance prod")
	}
	return keys, nil
}

// keys are those of all stacks of this repository.
func (e *estate) keys() []stack.Key {
	var keys []stack.Key
	for _, s := range e.own() {
		keys = append(keys, stack.Key{Path: s.Path, Instance: s.Instance})
	}
	return keys
}

// differing are the stacks that are affected by what differs from a base, "" for
// the default branch.
func (e *estate) differing(ctx context.Context, base string) ([]stack.Key, error) {
	a, err := e.affected(ctx, base)
	if err != nil {
		return nil, err
	}
	known := e.graph.Shape().Warnings // which are said anyway
	e.warnings = slices.DeleteFunc(a.Warnings, func(w string) bool { return slices.Contains(known, w) })
	var keys []stack.Key
	for _, s := range a.Stacks {
		k, err := stack.ParseKey(s.Key)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	return distinct(keys), nil
}
