package cli

import (
	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy/input"
	"github.com/assize-iac/assize/internal/problem"
)

const inputHelp = `Print what a policy of the decision contract sees of a plan: the policy input,
one line of JSON without any sensitive value (docs/policy-input.md).

PLAN.json is what "tofu show -json plan.out" or "terraform show -json plan.out"
printed, or - for standard input. With --show, assize runs that for you.

  assize policy input plan.json
  assize policy input plan.json --kind tracked --commit "$(git rev-parse HEAD)" --repository 123456789
  assize policy input plan.json --stack-id infra/prod --metadata environment=production
  assize policy input plan.json --secret-env DB_PASSWORD

With --secret-env, a value that must be in no input is looked for in every usual
encoding; when it is found, nothing is printed and the exit code is 3.
`

type inputOptions struct {
	from      provenanceFlags
	planFiles []string
	contract  string
}

func newPolicyInputCmd(g *Globals) *cobra.Command {
	var o inputOptions
	cmd := &cobra.Command{
		Use:   "input [PLAN.json]",
		Short: "Print what a decision policy sees of a plan",
		Long:  inputHelp + exitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := g.onePlan(cmd.Context(), cmd, args, o.planFiles)
			if err != nil {
				return err
			}
			return runInput(g, o, in.plan)
		},
	}
	o.register(cmd)
	return cmd
}

func (o *inputOptions) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&o.planFiles, "show", nil, "read the saved plan `PLANFILE` by running the tool's show -json")
	flags.StringVar(&o.contract, "contract", "assize", "the form of the input: assize or stackship")
	o.from.register(cmd)
}

// runInput writes nothing unless the whole input holds to every rule, so that a
// pipe never gets the first half of a document that was then refused.
func runInput(g *Globals, o inputOptions, p *plan.Plan) error {
	contract, err := input.ContractNamed(o.contract)
	if err != nil {
		return err
	}
	run, err := o.from.read(".")
	if err != nil {
		return err
	}
	in, err := input.Build(contract, p, run.Of(p), run.Bounds)
	if err != nil {
		return err
	}
	if _, err := g.Out.Write(append(in.Text, '\n')); err != nil {
		return problem.New(api.Internal, "the input could not be written: %w", err)
	}
	return nil
}
