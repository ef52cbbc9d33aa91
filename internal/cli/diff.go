package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan/compare"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/report/contrast"
	"github.com/assize-iac/assize/internal/report/page"
)

const diffHelp = `Show how two plans of one stack differ in what they would do: changes that only
one of them has, other actions, other values, outputs and checks.

PLAN.json is what "tofu show -json plan.out" or "terraform show -json plan.out"
printed, or - for standard input. With --show, assize runs that for you; plans
without it come first. No sensitive value is shown.

  assize diff old.json new.json
  assize diff --show old.out --show new.out
  assize diff old.json --show new.out --format json --detailed-exitcode
`

func newDiffCmd(g *Globals) *cobra.Command {
	var planFiles []string
	var format string
	var detailed bool
	cmd := &cobra.Command{
		Use:   "diff [PLAN.json PLAN.json]",
		Short: "Show how two plans of one stack differ",
		Long:  diffHelp + exitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			equal, err := runDiff(cmd.Context(), g, format, args, planFiles)
			if err == nil && !equal && detailed {
				return &Exit{Code: ExitUnknown}
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&planFiles, "show", nil, "read the saved plan `PLANFILE` by running the tool's show -json")
	flags.StringVar(&format, "format", "text", "output format: text or json")
	flags.BoolVar(&detailed, "detailed-exitcode", false, "exit with 2 when the plans differ")
	return cmd
}

func runDiff(ctx context.Context, g *Globals, format string, paths, planFiles []string) (equal bool, err error) {
	write := contrast.Text
	switch format {
	case "text":
	case "json":
		write = func(w io.Writer, d api.PlanDifference, _ page.Options) error { return page.JSON(w, d) }
	default:
		return false, problem.New(api.Invalid, "--format %s is not known", format).WithHint("use text or json")
	}
	if n := len(paths) + len(planFiles); n != 2 {
		return false, problem.New(api.Invalid, "`assize diff` takes two plans, and %d were named", n).
			WithHint("assize diff old.json new.json, or --show old.out --show new.out for saved plans")
	}
	if len(paths) == 2 && paths[0] == "-" && paths[1] == "-" {
		return false, problem.New(api.Invalid, "standard input holds one plan").WithHint("name a file for the other one")
	}
	in, err := g.planInputs(ctx, paths, planFiles)
	if err != nil {
		return false, err
	}
	for _, p := range in {
		if p.err != nil {
			return false, p.err
		}
	}
	d := compare.Plans(in[0].plan, in[1].plan)
	if err := write(g.Out, d, g.pageOptions()); err != nil {
		return false, problem.New(api.Internal, "the result could not be written: %w", err)
	}
	return d.Equal, nil
}
