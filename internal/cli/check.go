package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/report"
	"github.com/assize-iac/assize/internal/runner"
	"github.com/assize-iac/assize/internal/spec"
	"github.com/assize-iac/assize/internal/tofu"
)

const checkHelp = `Judge plans by policies and say what is denied, and why.

PLAN.json is what "tofu show -json plan.out" or "terraform show -json plan.out"
printed, or - for standard input. With --show, assize runs that for you. Without
a policy flag, the policies of assize.yaml that bind the current directory judge.

  assize policy check plan.json --rules rules.json
  assize policy check --show plan.out --rego policy/ --cue limits.cue
  tofu show -json plan.out | assize policy check - --rules rules.json --format markdown

A Rego policy that gives a decision (docs/decision.md) sees where the plan came
from; --kind, --commit and the flags after them say it.

A plan holds secrets in clear: keep its JSON private. Sensitive values appear in
no output of this command.
`

type checkOptions struct {
	policies   policyFlags
	from       provenanceFlags
	dir        string
	show       []string
	format     string
	failOnWarn bool
}

func newPolicyCheckCmd(g *Globals) *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:   "check PLAN.json...",
		Short: "Judge plans by policies",
		Long:  checkHelp + exitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCheck(cmd.Context(), g, o, args)
		},
	}
	unknownFlags(cmd)
	o.policies.register(cmd)
	o.from.register(cmd)
	cmd.Flags().StringVarP(&o.dir, "chdir", "C", ".", "resolve policies and assize.yaml in `DIR`")
	cmd.Flags().StringArrayVar(&o.show, "show", nil, "judge the saved plan `PLANFILE`, by running the tool's show -json (repeatable)")
	cmd.Flags().StringVar(&o.format, "format", "text", "output format: "+formatNames())
	cmd.Flags().BoolVar(&o.failOnWarn, "fail-on-warn", false, "exit 1 when there are warnings")
	return cmd
}

func runCheck(ctx context.Context, g *Globals, o checkOptions, args []string) error {
	format, err := formatNamed(o.format)
	if err != nil {
		return &Exit{ExitUnknown, err}
	}
	jury, err := g.jury(o.dir, o.policies)
	if err != nil {
		return &Exit{ExitUnknown, err}
	}
	run, err := o.from.read(o.dir)
	if err != nil {
		return &Exit{ExitUnknown, err}
	}
	inputs, err := g.planInputs(ctx, args, o.show)
	if err != nil {
		return &Exit{ExitUnknown, err}
	}
	check := policy.Collect(jury.during(run).judge(inputs))
	if o.failOnWarn {
		check = policy.FailOnWarn(check)
	}
	// Where nothing judged, a text could only say so again.
	if len(jury.policies) > 0 || format.Name != "text" {
		if err := format.Write(g.Out, check, g.reportOptions()); err != nil {
			return &Exit{ExitUnknown, problem.New(api.Internal, "the result could not be written: %w", err)}
		}
	}
	if len(jury.policies) == 0 {
		return &Exit{ExitUnknown, problem.New(api.Invalid, "%s: nothing was judged", jury.unnamed).
			WithHint("name one with --rules, --rego or --cue, or list one in assize.yaml whose stacks match")}
	}
	return checkExit(check.Outcome)
}

func formatNamed(name string) (report.Format, error) {
	for _, f := range report.Formats() {
		if f.Name == name {
			return f, nil
		}
	}
	return report.Format{}, problem.New(api.Invalid, "--format %s is not known", name).WithHint("use one of %s", formatNames())
}

func formatNames() string {
	var names []string
	for _, f := range report.Formats() {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

func checkExit(outcome api.Outcome) error {
	switch outcome {
	case api.Passed:
		return nil
	case api.Failed:
		return &Exit{Code: ExitError}
	default:
		return &Exit{Code: ExitUnknown}
	}
}

// A planInput is one plan, or why it is none.
type planInput struct {
	path string
	plan *plan.Plan
	err  error
}

// planInputs reads every plan that the command line names. A plan that cannot
// be read is part of the result; only naming none is a mistake of the call.
func (g *Globals) planInputs(ctx context.Context, paths, planFiles []string) ([]planInput, error) {
	if len(paths)+len(planFiles) == 0 {
		return nil, problem.New(api.Invalid, "no plan was named").
			WithHint("tofu plan -out=plan.out && assize policy check --show plan.out")
	}
	var inputs []planInput
	for _, path := range paths {
		raw, err := g.readPlan(path)
		inputs = append(inputs, decode(path, raw, err))
	}
	for _, path := range planFiles {
		raw, err := g.showPlan(ctx, path)
		in := decode(path, raw, err)
		if in.err == nil {
			in.plan.Flags.Specification = spec.In(".")
		}
		inputs = append(inputs, in)
	}
	return inputs, nil
}

func decode(path string, raw []byte, err error) planInput {
	in := planInput{path: path, err: err}
	if err == nil {
		in.plan, in.err = plan.Decode(raw)
	}
	return in
}

func (g *Globals) readPlan(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(g.In)
	}
	// A pipe is read like a file: that is what the shell's <(...) hands over.
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, problem.New(api.NotFound, "%s does not exist", path).
			WithHint("tofu show -json plan.out > plan.json, or name the saved plan: --show plan.out")
	}
	if err == nil && info.IsDir() {
		return nil, problem.New(api.Invalid, "%s is a directory, not a plan", path).
			WithHint("name the file that `tofu show -json plan.out` printed, or the saved plan: --show%s", quoteAll(filepath.Join(path, "plan.out")))
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, problem.New(api.Invalid, "%s cannot be read: %w", path, errors.Unwrap(err)).WithHint("make it readable for whoever runs assize")
	}
	return raw, nil
}

func (g *Globals) showPlan(ctx context.Context, planFile string) ([]byte, error) {
	tool, err := tofu.Find(os.Getenv("ASSIZE_TOOL"), os.Getenv("ASSIZE_TOOL_VERSION"), os.Getenv)
	if err != nil {
		return nil, err
	}
	dir := runner.WorkingDir(".")
	if abs, err := filepath.Abs(planFile); err == nil && dir != "." {
		planFile = abs
	}
	return tool.Show(ctx, dir, planFile, g.Err, !colored(g.Err))
}

func planCheck(in planInput) api.PlanCheck {
	if in.err != nil {
		return api.PlanCheck{Path: in.path, Error: in.err.Error(), Hint: problem.Hint(in.err)}
	}
	return api.PlanCheck{Path: in.path, Digest: in.plan.Digest, Summary: in.plan.Summary()}
}
