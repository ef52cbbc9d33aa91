package cli

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/repo"
	"github.com/assize-iac/assize/internal/report"
	drawing "github.com/assize-iac/assize/internal/report/board"
	"github.com/assize-iac/assize/internal/report/page"
	"github.com/assize-iac/assize/internal/runner"
	"github.com/assize-iac/assize/internal/stack"
)

const statusHelp = `Say what became of the stacks of the last plan over several of them: what is planned,
what was applied since, what was refused and why, and what can be typed next. Nothing
is run or changed; it is read from the record that plan and apply keep.

  assize status
  assize status --format json
`

func newStatusCmd(g *Globals) *cobra.Command {
	var dir, format string
	var detailed bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say what became of the last plan over several stacks",
		Long:  statusHelp + exitHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "text" && format != "json" {
				return problem.New(api.Invalid, "--format %s is not known", format).WithHint("use text or json")
			}
			r, err := g.status(dir, format == "json")
			if err == nil && detailed && slices.ContainsFunc(r.Stacks, unfinished) {
				return &Exit{Code: ExitUnknown}
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&dir, "chdir", "C", ".", "work in `DIR`; it decides which assize.yaml is read")
	flags.StringVar(&format, "format", "text", "output format: text or json")
	flags.BoolVar(&detailed, "detailed-exitcode", false, "exit with 2 when something is left to do")
	return cmd
}

// status prints the last rollout of what governs dir, in whatever state it is
// (docs/rollouts.md, rule 36).
func (g *Globals) status(dir string, json bool) (api.Rollout, error) {
	cfg, err := repo.Settings(dir)
	if err != nil {
		return api.Rollout{}, err
	}
	data, busy, err := runner.PeekRecord(cfg.Root)
	if err != nil {
		return api.Rollout{}, err
	}
	if data == nil {
		return api.Rollout{}, noRollout()
	}
	r, err := decodeRollout(data)
	if err != nil {
		return api.Rollout{}, err
	}
	if busy {
		report.Problem(g.Err, "warning", "another assize is at work on these stacks; this is what it has written down so far")
	}
	if json {
		err = page.JSON(g.Out, r)
	} else {
		err = g.printStatus(r, outside(dir, cfg.Root), busy)
	}
	if err != nil {
		return r, problem.New(api.Internal, "the result could not be written: %w", err)
	}
	return r, nil
}

// outside is a directory to work in from which a command is about several stacks:
// dir, or where that is a stack, the root.
func outside(dir, root string) string {
	if !holdsConfiguration(dir) {
		return dir
	}
	here, err := filepath.Abs(".")
	if err == nil {
		here, err = filepath.Rel(here, root)
	}
	if err != nil {
		return root
	}
	return here
}

func noRollout() error {
	return problem.New(api.NotFound, "no plan over several stacks was made here").WithHint("assize plan")
}

func (g *Globals) printStatus(r api.Rollout, dir string, busy bool) error {
	o := drawing.Options{Options: g.pageOptions()}
	if err := drawing.Record(g.Out, r, o); err != nil {
		return err
	}
	advised := r
	advised.Stacks = slices.Clone(r.Stacks)
	for i := range advised.Stacks {
		advise(&advised.Stacks[i], r.Kind, dir)
	}
	if err := drawing.Closing(g.Out, advised, o); err != nil || busy {
		return err
	}
	_, err := fmt.Fprintln(g.Out, proceed(r, dir))
	return err
}

// advise says what to do about a stack of which nothing else has said it.
func advise(r *api.StackResult, kind api.RolloutKind, dir string) {
	if _, err := stack.ParseKey(r.Stack); err != nil || r.Hint != "" || r.Status.Good() {
		return // a name that could not be one is not to be typed
	}
	plan := "assize plan"
	if kind == api.RolloutDestroy {
		plan += " --destroy"
	}
	r.Hint = plan + where{dir, r.Stack}.words()
	if r.Via != "" {
		r.Hint += ", when " + r.Via + " has its own plan"
	}
}

// proceed is what can be typed next about the rollout as a whole.
func proceed(r api.Rollout, dir string) string {
	ready := func(s api.StackResult) bool {
		return s.Status == api.StackPlanned || s.Status == api.StackConditional
	}
	switch {
	case !slices.ContainsFunc(r.Stacks, unfinished):
		return "There is nothing left to do."
	case slices.ContainsFunc(r.Stacks, ready):
		return "Next: assize apply" + inDir(dir)
	}
	return "Next: what the hints say, or from the beginning: assize plan" + inDir(dir)
}

// unfinished reports whether something is left to do for a stack of a record.
func unfinished(r api.StackResult) bool {
	return r.Status != api.StackApplied && r.Status != api.StackUnchanged
}
