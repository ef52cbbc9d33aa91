package cli

import (
	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/report"
)

const showHelp = `Print a readable summary of a plan: what changes, why, and how much it touches.

PLAN is what "tofu show -json plan.out" or "terraform show -json plan.out" printed,
or - for standard input. Sensitive values are not shown.
`

func newShowCmd(g *Globals) *cobra.Command {
	var planFiles []string
	cmd := &cobra.Command{
		Use:   "show [PLAN.json]",
		Short: "Print a readable summary of a plan",
		Long:  showHelp + exitHelp,
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := g.planInputs(cmd.Context(), args, planFiles)
			if err != nil {
				return err
			}
			if len(in) > 1 {
				return problem.New(api.Invalid, "more than one plan was named").WithHint("show one plan at a time")
			}
			if in[0].err != nil {
				return in[0].err
			}
			return report.Show(g.Out, in[0].plan, g.reportOptions())
		},
	}
	cmd.Flags().StringArrayVar(&planFiles, "show", nil, "read the saved plan `PLANFILE` by running the tool's show -json")
	return cmd
}
