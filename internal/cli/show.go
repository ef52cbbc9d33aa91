package cli

import (
	"github.com/spf13/cobra"

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
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := g.onePlan(cmd.Context(), cmd, args, planFiles)
			if err != nil {
				return err
			}
			return report.Show(g.Out, in.plan, g.reportOptions())
		},
	}
	cmd.Flags().StringArrayVar(&planFiles, "show", nil, "read the saved plan `PLANFILE` by running the tool's show -json")
	return cmd
}
