package cli

import (
	"os"
	"strconv"
	"strings"

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

// inputOptions are mostly what a plan cannot say of itself; a server knows it,
// and here somebody has to type it.
type inputOptions struct {
	planFiles []string
	contract  string
	kind      string
	commit    string
	repo      string
	dir       string
	stack     string
	metadata  []string
	secretEnv []string
	bounds    []string
}

func newPolicyInputCmd(g *Globals) *cobra.Command {
	var o inputOptions
	cmd := &cobra.Command{
		Use:   "input [PLAN.json]",
		Short: "Print what a decision policy sees of a plan",
		Long:  inputHelp + exitHelp,
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := g.planInputs(cmd.Context(), args, o.planFiles)
			if err != nil {
				return err
			}
			if len(in) > 1 {
				return problem.New(api.Invalid, "more than one plan was named").WithHint("an input is of one plan")
			}
			if in[0].err != nil {
				return in[0].err
			}
			return runInput(g, o, in[0].plan)
		},
	}
	o.register(cmd)
	return cmd
}

func (o *inputOptions) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&o.planFiles, "show", nil, "read the saved plan `PLANFILE` by running the tool's show -json")
	flags.StringVar(&o.contract, "contract", "assize", "the form of the input: assize or stackship")
	flags.StringVar(&o.kind, "kind", string(api.ManualRun), "how the run came about: manual, tracked or speculative")
	flags.StringVar(&o.commit, "commit", "", "the exact commit `SHA` of a tracked or speculative run")
	flags.StringVar(&o.repo, "repository", "", "the provider's `ID` of the repository; for a manual run a cfg_ id, by default made from the plan's digest")
	flags.StringVar(&o.dir, "working-directory", ".", "the stack's directory in the repository")
	flags.StringVar(&o.stack, "stack-id", "", "the stack (workspace, for stackship), by default its directory")
	flags.StringArrayVar(&o.metadata, "metadata", nil, "what is known of the stack: `KEY=VALUE` (repeatable)")
	flags.StringArrayVar(&o.secretEnv, "secret-env", nil, "refuse an input that holds the value of the environment variable `NAME` (repeatable)")
	flags.StringArrayVar(&o.bounds, "bound", nil, "raise a bound: `NAME=N`, such as nodes=200000 (repeatable)")
}

// runInput writes nothing unless the whole input holds to every rule, so that a
// pipe never gets the first half of a document that was then refused.
func runInput(g *Globals, o inputOptions, p *plan.Plan) error {
	contract, err := input.ContractNamed(o.contract)
	if err != nil {
		return err
	}
	from, err := o.provenance(p)
	if err != nil {
		return err
	}
	bounds, err := o.readBounds()
	if err != nil {
		return err
	}
	in, err := input.Build(contract, p, from, bounds)
	if err != nil {
		return err
	}
	if _, err := g.Out.Write(append(in.Text, '\n')); err != nil {
		return problem.New(api.Internal, "the input could not be written: %w", err)
	}
	return nil
}

// provenance takes the caller at their word, except for secrets: a variable
// that is not set could not be looked for, and its absence would look like a
// clean plan.
func (o *inputOptions) provenance(p *plan.Plan) (input.Provenance, error) {
	from := input.Provenance{
		Kind:    api.RunKind(o.kind),
		Source:  api.InputSource{RepositoryID: o.repo, WorkingDirectory: o.dir},
		Subject: api.InputSubject{ID: o.stack, Metadata: map[string]string{}},
	}
	if o.commit != "" {
		from.Source.CommitSHA = &o.commit
	}
	// Somebody who writes a policy has no upload with an id. The plan's digest
	// stands in for it: it is as immutable, and no commit is made up.
	if o.repo == "" && from.Kind == api.ManualRun {
		from.Source.RepositoryID = "cfg_" + strings.TrimPrefix(p.Digest, "sha256:")[:32]
	}
	if o.stack == "" {
		from.Subject.ID = o.dir
	}
	for _, pair := range o.metadata {
		k, v, ok := strings.Cut(pair, "=")
		if _, twice := from.Subject.Metadata[k]; !ok || twice {
			return from, problem.New(api.Invalid, "--metadata %s is no KEY=VALUE, or says a key twice", k)
		}
		from.Subject.Metadata[k] = v
	}
	for _, name := range o.secretEnv {
		value, ok := os.LookupEnv(name)
		if !ok {
			return from, problem.New(api.Invalid, "--secret-env %s: there is no such environment variable, so its value cannot be looked for", name)
		}
		from.Secrets = append(from.Secrets, input.Canary{Name: name, Value: value})
	}
	return from, nil
}

// readBounds leaves zero, which is the contract's own bound, where nothing is
// said; whether a bound may be what was said is not decided here.
func (o *inputOptions) readBounds() (input.Bounds, error) {
	var b input.Bounds
	for _, pair := range o.bounds {
		name, text, _ := strings.Cut(pair, "=")
		n, err := strconv.Atoi(text)
		if err != nil || n <= 0 {
			return b, problem.New(api.Invalid, "--bound %s is no NAME=N", pair).WithHint("such as --bound nodes=200000")
		}
		if err := b.Set(name, n); err != nil {
			return b, err
		}
	}
	return b, nil
}
