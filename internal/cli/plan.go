package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/gate"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/runner"
	"github.com/assize-iac/assize/internal/tofu"
)

const planHelp = `Plan the stack in the current directory, have every named policy judge the plan,
and save it with a warrant, without which it cannot be applied.

A plan that violates a policy is not saved, and a new plan voids the one that was
saved before. One that violates only soft-mandatory policies of assize.yaml is kept
for an override, and the exit code is 5 all the same. Without a policy flag, the
policies of assize.yaml that bind the stack judge; without any, nothing does, and the
plan says so.

  assize plan --policy policy/rules.json
  assize plan -C infra/prod --var-file prod.tfvars --policy policy/no-delete.cue
  assize plan --json --out review.tfplan > document.json

With --json, standard output is the plan document, and everything else goes to
standard error. Where a value is sensitive, the document says {"$sensitive": true};
with --show-sensitive it is, secrets in clear, the document that CUE policies judge.
`

type planOptions struct {
	policies policyFlags
	from     provenanceFlags
	dir, out string
	flags    plan.Flags
	vars     []string // as the tool takes them, in their order
	json     bool
	detailed bool

	showSensitive bool
	unnamed       string // why no policy judges, if none does
	apply         string // the flags of an apply that judges the same, for the hint
}

func newPlanCmd(g *Globals) *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Plan a stack, have policies judge the plan, and save it with a warrant",
		Long:  planHelp + exitHelp,
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.apply = chosen(cmd, append(judgingNames(), forgottenNames()...))
			return retyped(again(cmd, o.out), runPlan(cmd.Context(), g, o))
		},
	}
	o.policies.register(cmd)
	o.from.register(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&o.dir, "chdir", "C", ".", "work in `DIR`, the stack's directory; paths are relative to it")
	flags.StringVar(&o.out, "out", "", "save the plan in `FILE` and its warrant in FILE.warrant.json (default "+runner.DefaultFile+")")
	flags.BoolVar(&o.flags.Destroy, "destroy", false, "plan to destroy everything")
	flags.BoolVar(&o.flags.RefreshOnly, "refresh-only", false, "plan to bring the state up to date, and nothing else")
	flags.StringArrayVar(&o.flags.Targets, "target", nil, "plan only `ADDRESS` and what it depends on (repeatable)")
	flags.StringArrayVar(&o.flags.Replace, "replace", nil, "plan to replace `ADDRESS` (repeatable)")
	flags.Var(toolFlag{&o.vars, "-var="}, "var", "set a variable, `NAME=VALUE` (repeatable)")
	flags.Var(toolFlag{&o.vars, "-var-file="}, "var-file", "read variables from `FILE` (repeatable)")
	flags.BoolVar(&o.json, "json", false, "print the plan document on standard output, and nothing else")
	flags.BoolVar(&o.showSensitive, "show-sensitive", false, "with --json: print sensitive values in clear")
	flags.BoolVar(&o.detailed, "detailed-exitcode", false, "exit 2 when there are changes")
	return cmd
}

// A toolFlag collects flags for the tool in the order of the command line: of
// two values for one variable the tool takes the last.
type toolFlag struct {
	args   *[]string
	prefix string
}

func (f toolFlag) Set(value string) error {
	if value == "" {
		return errors.New("it is empty")
	}
	*f.args = append(*f.args, f.prefix+value)
	return nil
}

func (f toolFlag) String() string { return "" }

func (f toolFlag) Type() string { return "string" }

// runPlan goes in an order that leaves nothing behind: the old plan goes
// first, policies are compiled before the tool does anything at all, and only a
// plan that was judged is put in place (docs/warrant.md, rules 4 and 6).
func runPlan(ctx context.Context, g *Globals, o planOptions) error {
	dir, err := stackDir(o.dir)
	if err != nil {
		return err
	}
	stack := &runner.Stack{Session: tofu.Session{Dir: dir}}
	voided, err := stack.Void(o.out)
	if err != nil {
		return err
	}
	made, err := makePlan(ctx, g, stack, o)
	if err != nil {
		if voided && !made.kept {
			fmt.Fprintln(g.Err, "assize: the plan that was saved before has been removed")
		}
		return err
	}
	if o.detailed && made.changes {
		return &Exit{Code: ExitUnknown}
	}
	return nil
}

// made is what became of a plan.
type made struct {
	changes bool // there is something to apply
	kept    bool // it is saved with a warrant
}

// makePlan plans, has the plan judged, and saves it.
func makePlan(ctx context.Context, g *Globals, stack *runner.Stack, o planOptions) (made, error) {
	var none made
	if err := o.from.applicable(); err != nil {
		return none, err
	}
	run, err := o.from.read(stack.Session.Dir)
	if err != nil {
		return none, err
	}
	jury, err := g.usable(stack.Session.Dir, o.policies)
	if err != nil {
		return none, err
	}
	ctx, w, err := g.workOn(ctx, stack, o.json)
	if err != nil {
		return none, err
	}
	defer w.stop()
	planned, err := stack.Plan(ctx, runner.Options{Flags: o.flags, Vars: o.vars, Provenance: vouched(run.From)})
	if err != nil {
		return none, nothingSaved(err)
	}
	defer planned.Close() // saved or not, the working copy goes
	verdicts := jury.during(run).judgeOne(w, planned.Plan)
	// Ctrl-C reaches a policy's child process as well; its end is no verdict.
	if ctx.Err() != nil {
		return none, problem.New(api.Unavailable, "interrupted; no plan file was written")
	}
	if o.json {
		if err := printDocument(g, planned.Plan, o); err != nil {
			return none, err
		}
	}
	o.unnamed = jury.unnamed
	return conclude(g, w, planned, jury.place, verdicts, o)
}

// conclude prints what the policies came to, and keeps the plan unless one of
// them blocks it for good. One that only soft-mandatory policies refuse is kept
// for an override (docs/warrant.md, rule 11); the exit code says no all the same.
func conclude(g *Globals, w *work, planned *runner.Planned, place string, verdicts []api.Verdict, o planOptions) (made, error) {
	if err := printVerdicts(w.out, g.Err, verdicts, nil, w.look); err != nil {
		return made{}, err
	}
	stands := api.StandsPassed
	if len(verdicts) > 0 {
		stands = policy.Strongest(verdicts)
	}
	if stands != api.StandsPassed && stands != api.StandsSoftFailed {
		fmt.Fprint(g.Err, "\nno plan file was written\n")
		return made{}, &Exit{Code: ExitPolicy}
	}
	warrant, err := save(w.stack, planned, place, verdicts, o.out, g.Now())
	if err != nil {
		return made{}, err
	}
	done := made{changes: planned.Changes, kept: true}
	if stands == api.StandsSoftFailed {
		if err := printSoft(g, warrant, o); err != nil {
			return done, err
		}
		return done, &Exit{Code: ExitPolicy}
	}
	fmt.Fprintf(w.out, "\n%s\n", conclusion(planned.Changes, verdicts, o))
	return done, nil
}

// printDocument comes before the verdict, so that a refused plan can be looked
// at, too; the exit code tells the two apart.
func printDocument(g *Globals, p *plan.Plan, o planOptions) error {
	document := p.MaskedJSON(plan.Labels{})
	if o.showSensitive {
		document = p.DocumentJSON(plan.Labels{})
	}
	if _, err := fmt.Fprintf(g.Out, "%s\n", document); err != nil {
		return problem.New(api.Unavailable, "the document could not be written: %w", err)
	}
	return nil
}

// save seals the plan. Sealing refuses what is blocked for good, so a mistake
// above cannot put a refused plan in place.
func save(stack *runner.Stack, planned *runner.Planned, place string, verdicts []api.Verdict, file string, now time.Time) (api.Warrant, error) {
	w, err := gate.Seal(planned.Run, planned.Binding, place, verdicts, planned.Plan.Summary(), now)
	if err != nil {
		return w, err
	}
	text, err := gate.Encode(w)
	if err != nil {
		return w, err
	}
	return w, stack.Save(planned, file, text)
}

// conclusion is the last line: what was saved, who judged it, what comes next.
func conclusion(changes bool, verdicts []api.Verdict, o planOptions) string {
	file := o.out
	if file == "" {
		file = runner.DefaultFile
	}
	said := o.unnamed + ": nothing was judged"
	if n := judges(verdicts); n > 0 {
		said = "judged by " + count(n, "policy, which lets it pass", "policies, all of which let it pass")
	}
	next := "There is nothing to apply."
	if changes {
		next = "Next: assize apply" + quoteAll(o.out) + o.apply
	}
	return fmt.Sprintf("The plan is saved in %s; %s.\n%s", fromHere(o.dir, file), said, next)
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// nothingSaved completes an error about a plan that did not come about.
func nothingSaved(err error) error {
	return &problem.Error{Code: problem.Code(err), Message: err.Error() + "; no plan file was written", Hint: problem.Hint(err), Cause: err}
}

// judgingNames are the flags that say which stack it is, and who judges.
func judgingNames() []string {
	return []string{"chdir", "policy", "rules", "rego", "cue", "namespace", "all-namespaces", "data", "input-shape", "exceptions"}
}

// everyName are these and what says where the plan comes from.
func everyName() []string { return slices.Concat(judgingNames(), vouchedNames(), forgottenNames()) }

// again are the flags of a plan that would take the place of the one in file.
func again(cmd *cobra.Command, file string) string {
	return chosen(cmd, everyName()) + flagged("--out", file)
}

// chosen repeats those of the named flags that were given, ready to be typed.
func chosen(cmd *cobra.Command, names []string) string {
	var b strings.Builder
	for _, name := range names {
		f := cmd.Flags().Lookup(name)
		if f == nil || !f.Changed {
			continue
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(interface{ GetSlice() []string }); ok {
			values = list.GetSlice()
		}
		flag := "--" + name
		if f.Shorthand != "" {
			flag = "-" + f.Shorthand
		}
		if f.Value.Type() == "bool" { // which takes its value only with =
			b.WriteString(" " + flag + "=" + f.Value.String())
			continue
		}
		for _, value := range values {
			b.WriteString(flagged(flag, value))
		}
	}
	return b.String()
}

// flagged is a flag with its value, or nothing without one.
func flagged(flag, value string) string {
	if value == "" {
		return ""
	}
	return " " + flag + quoteAll(value)
}

// plainWord are the characters that no shell gives a meaning.
const plainWord = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=-"

// quoteAll writes words for a shell, each after a space; empty ones are none.
func quoteAll(words ...string) string {
	var b strings.Builder
	for _, word := range words {
		if word == "" {
			continue
		}
		if strings.Trim(word, plainWord) != "" {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		b.WriteString(" " + word)
	}
	return b.String()
}
