package cli

import (
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/repo"
	"github.com/assize-iac/assize/internal/repo/git"
	"github.com/assize-iac/assize/internal/repo/scan"
	"github.com/assize-iac/assize/internal/report/graph"
	"github.com/assize-iac/assize/internal/report/page"
	"github.com/assize-iac/assize/internal/stack"
)

const affectedHelp = `Say which stacks a change affects, why, and in which waves they go. The change is
everything that differs from the base, committed or not.

  assize affected
  assize affected --base main
  assize affected --base v1.2.0 --format json

Without --base it is what the event in GitHub Actions says, and elsewhere where
the branch left the default branch of origin.

In GitHub Actions the outputs matrix, waves, affected and count of the step are
set, all of them JSON, and what is affected is in its summary.
`

func newAffectedCmd(g *Globals) *cobra.Command {
	var dir, format, base string
	var detailed bool
	cmd := &cobra.Command{
		Use:   "affected",
		Short: "Say which stacks a change affects, and why",
		Long:  affectedHelp + exitHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			write := graph.Affected
			switch format {
			case "text":
			case "json":
				write = func(w io.Writer, a api.Affected, _ page.Options) error { return page.JSON(w, a) }
			default:
				return problem.New(api.Invalid, "--format %s is not known", format).WithHint("use text or json")
			}
			e, err := readEstate(cmd.Context(), dir)
			if err != nil {
				return err
			}
			a, err := e.affected(cmd.Context(), base)
			if err != nil {
				return err
			}
			err = write(g.Out, a, g.pageOptions())
			if err == nil {
				err = e.handOn(g, a)
			}
			if err := e.finish(g, err); err != nil {
				return err
			}
			if detailed && len(a.Stacks)+len(a.Removed) > 0 {
				return &Exit{Code: ExitUnknown}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&dir, "chdir", "C", ".", "work in `DIR`; it decides which assize.yaml is read")
	flags.StringVar(&format, "format", "text", "output format: text or json")
	flags.StringVar(&base, "base", "", "compare with where the checkout left `REF`")
	flags.BoolVar(&detailed, "detailed-exitcode", false, "exit with 2 when a stack is affected")
	return cmd
}

// affected compares the checkout with a base.
func (e *estate) affected(ctx context.Context, ref string) (api.Affected, error) {
	if e.gitErr != nil {
		return api.Affected{}, problem.New(api.Invalid, "there is nothing to compare with: %w", e.gitErr).
			WithHint("name the stacks, or take all of them with --all; assize stacks lists them")
	}
	base, err := e.checkout.Base(ctx, ref, e.event)
	if err != nil {
		return api.Affected{}, err
	}
	e.base = base.Name
	changes, err := e.checkout.Changes(ctx, base)
	if err != nil {
		return api.Affected{}, err
	}
	e.missing(changes)
	c := stack.Changes{Paths: changes.Paths, Ignore: e.cfg.Ignores, Only: !e.cfg.Settings.Propagate.Dependents.Value}
	for _, r := range changes.Renamed {
		c.Renamed = append(c.Renamed, stack.Rename(r))
	}
	deleted, unknown, err := e.deleted(ctx, base, changes)
	if err != nil {
		return api.Affected{}, err
	}
	c.Deleted = deleted
	a, err := stack.Affected(e.graph, c)
	a.Warnings = append(a.Warnings, unknown...)
	if err == nil && slices.Contains(changes.Paths, repo.ConfigName) { // docs/scan.md, rule 32
		a.Warnings = append(a.Warnings, repo.ConfigName+" has changed, and may mean another thing for any stack: look at all of them once")
	}
	return a, err
}

// missing notes what the checkout leaves out: it may be affected, and cannot be
// looked at. It is not gone (docs/scan.md, rules 28 and 33).
func (e *estate) missing(changes git.Changes) {
	absent := slices.DeleteFunc(changes.Absent, func(name string) bool { return !scan.Matters(name) || e.cfg.Ignores(name) })
	if len(absent) > 0 {
		e.scanned.Problems = append(e.scanned.Problems, problem.New(api.Invalid, "the checkout is sparse and leaves out configuration (%s), which may be affected",
			strconv.Quote(absent[0])).WithHint("git sparse-checkout disable"))
	}
	for _, name := range absent {
		e.scanned.Broken = append(e.scanned.Broken, path.Dir(name))
	}
	for _, name := range changes.Empty {
		if !e.cfg.Ignores(name) {
			e.scanned.Problems = append(e.scanned.Problems, problem.New(api.Invalid, "the submodule %s has changed and is not checked out; stacks in it may be affected",
				strconv.Quote(name)).WithHint("git submodule update --init, or with actions/checkout submodules: true; or name it in stacks.ignore"))
		}
	}
}

// deleted are the stacks of the base that are gone. The base is read only where
// something has changed outside of the stacks that are here, where a stack may
// have become a module because another one calls it now, or where a directory may
// have other instances.
func (e *estate) deleted(ctx context.Context, base git.Base, changes git.Changes) (keys []stack.Key, warnings []string, err error) {
	called := len(e.scanned.Called) > 0 && len(changes.Paths) > 0
	redefined := e.cfg.Redefined(e.scanned.Stacks, changes.Paths)
	outside := func(name string) bool { return len(e.graph.In(path.Dir(name))) == 0 }
	if !called && len(redefined) == 0 && !slices.ContainsFunc(changes.Paths, outside) {
		return nil, nil, nil
	}
	for _, commit := range base.Commits {
		tree, err := e.checkout.Tree(ctx, commit)
		if err != nil {
			return nil, nil, err
		}
		gone, unknown, err := e.cfg.Gone(tree, e.scanned, changes.Paths)
		if err := errors.Join(err, tree.Close()); err != nil {
			return nil, nil, err
		}
		keys, warnings = append(keys, gone...), append(warnings, unknown...)
	}
	slices.Sort(warnings)
	return keys, slices.Compact(warnings), nil
}
