package cli

import (
	"context"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/repo"
	"github.com/assize-iac/assize/internal/repo/git"
	"github.com/assize-iac/assize/internal/repo/scan"
	"github.com/assize-iac/assize/internal/report"
	"github.com/assize-iac/assize/internal/report/graph"
	"github.com/assize-iac/assize/internal/report/page"
	"github.com/assize-iac/assize/internal/stack"
)

const stacksHelp = `List the stacks of the repository: directories of configuration with a state of
their own, one for each instance. Without assize.yaml, those are the directories
with a backend or cloud block, or a lock file, that no other stack calls as a module.
Directories with resources and neither of them are told of in the last line.

  assize stacks
  assize stacks --format json

A file that does not parse is an error with its position. The other stacks are
listed all the same, and the exit code is 1.
`

func newStacksCmd(g *Globals) *cobra.Command {
	var dir, format string
	cmd := &cobra.Command{
		Use:   "stacks",
		Short: "List the stacks of the repository",
		Long:  stacksHelp + exitHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "text" && format != "json" {
				return problem.New(api.Invalid, "--format %s is not known", format).WithHint("use text or json")
			}
			e, err := readEstate(cmd.Context(), dir)
			if err != nil {
				return err
			}
			e.warn(g)
			if format == "json" {
				return e.finish(g, page.JSON(g.Out, e.own()))
			}
			return e.finish(g, graph.Stacks(g.Out, e.own(), e.scanned.Stateless, g.pageOptions()))
		},
	}
	cmd.Flags().StringVarP(&dir, "chdir", "C", ".", "work in `DIR`; it decides which assize.yaml is read")
	cmd.Flags().StringVar(&format, "format", "text", "output format: text or json")
	return cmd
}

// An estate is everything that one assize.yaml governs, or one repository, and
// what depends on what in it.
type estate struct {
	cfg      repo.Config
	checkout *git.Checkout // nil where Git knows none
	gitErr   error         // why not
	event    git.Event
	scanned  scan.Result
	graph    stack.Graph
	base     string   // what [estate.affected] has compared with, for people
	warnings []string // of that comparison
}

// readEstate scans what governs dir. Outside of Git there is nothing to compare
// with, but everything else works.
func readEstate(ctx context.Context, dir string) (*estate, error) {
	cfg, err := repo.Settings(dir)
	if err != nil {
		return nil, err
	}
	return survey(ctx, cfg)
}

func survey(ctx context.Context, cfg repo.Config) (*estate, error) {
	e := &estate{cfg: cfg}
	var err error
	if e.event, err = git.GitHubEvent(os.Getenv); err != nil {
		return nil, err
	}
	name := e.event.Repo
	if e.checkout, e.gitErr = git.Open(ctx, e.cfg.Root); e.gitErr == nil && name == "" {
		name = e.checkout.Repo(ctx)
	}
	if e.scanned, err = e.cfg.Stacks(name); err != nil {
		return nil, err
	}
	e.graph, err = stack.Build(e.scanned.Scanned)
	return e, err
}

// own are the stacks of this repository.
func (e *estate) own() []api.Stack {
	own := []api.Stack{}
	for _, s := range e.graph.Shape().Stacks {
		if !s.External && !s.Unknown {
			own = append(own, s)
		}
	}
	return own
}

// warn says the warnings where the result itself does not.
func (e *estate) warn(g *Globals) {
	for _, warning := range slices.Concat(e.graph.Shape().Warnings, e.warnings) {
		report.Problem(g.Err, "warning", warning)
	}
}

// finish ends a command whose result has been written: with what could not be
// read the result is not complete, and that is an error (docs/scan.md, rule 9).
func (e *estate) finish(g *Globals, err error) error {
	if err != nil {
		return problem.New(api.Internal, "the result could not be written: %w", err)
	}
	for _, p := range e.scanned.Problems {
		report.Problem(g.Err, "error", p.Message)
		if p.Hint != "" {
			report.Problem(g.Err, "hint", p.Hint)
		}
	}
	if len(e.scanned.Problems) > 0 {
		return &Exit{Code: ExitError}
	}
	return nil
}
