package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/gate"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/report/page"
	"github.com/assize-iac/assize/internal/runner"
	"github.com/assize-iac/assize/internal/tofu"
)

const applyHelp = `Apply the plan that assize plan has saved, and no other.

The apply is refused (exit 3) when the plan file, the configuration, the lock file,
the variables, the tool, the workspace or the state are not those of the plan's
warrant. Then the policies that are named here judge the plan again (exit 5 when it
violates one); without a policy flag, those of assize.yaml that bind the stack. What
a soft-mandatory policy denies needs an override that still holds (assize override).

Where the plan came from is known from its warrant. --kind, --commit and the flags
like them need not be said again, and must not say otherwise.

A saved plan can be applied once. Ctrl-C asks the tool to stop in its own order; a
second Ctrl-C makes it stop at once, and what it did last may be lost.

  assize apply --policy policy/rules.json
  assize apply review.tfplan -C infra/prod
`

type applyOptions struct {
	policies  policyFlags
	from      provenanceFlags
	dir, file string
	override  []string
	json      bool
	again     string // the flags of a plan that would take the place of this one, for hints
	command   string // this command, for hints
}

func newApplyCmd(g *Globals) *cobra.Command {
	var o applyOptions
	cmd := &cobra.Command{
		Use:   "apply [FILE]",
		Short: "Apply exactly the plan that was judged",
		Long:  applyHelp + exitHelp,
		Args:  savedPlanArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.file = args[0]
			}
			o.again = again(cmd, o.file)
			o.command = applying(o.file, ".", o.override...) + chosen(cmd, everyName())
			return runApply(cmd.Context(), g, o)
		},
	}
	o.policies.register(cmd)
	o.from.register(cmd)
	cmd.Flags().StringVarP(&o.dir, "chdir", "C", ".", "work in `DIR`, the stack's directory; paths are relative to it")
	cmd.Flags().StringArrayVar(&o.override, "override", nil, "take the overrides of `FILE` (repeatable; default the file beside the warrant, if there is one)")
	cmd.Flags().BoolVar(&o.json, "json", false, "print what the apply came to on standard output, and nothing else")
	return cmd
}

// runApply prints the result as JSON whatever it is, so that a program need
// not read words.
func runApply(ctx context.Context, g *Globals, o applyOptions) error {
	result := api.Applied{Outcome: api.ApplyFailed, Refusals: []api.Refusal{}, Policies: []api.Verdict{}, Findings: []api.Finding{}, Overrides: []api.Override{}}
	err := retyped(o.again, apply(ctx, g, o, &result))
	if !o.json {
		return err
	}
	if err != nil {
		result.Error, result.Hint = err.Error(), problem.Hint(err)
	}
	if failed := page.JSON(g.Out, result); failed != nil && err == nil {
		return problem.New(api.Unavailable, "it was applied, but the result could not be written: %w", failed)
	}
	return err
}

// apply goes from what costs nothing to what changes the world: the warrant,
// what stands still, what the tool says, the policies, the gate, the apply
// (docs/warrant.md, rule 4). result is filled in on the way.
func apply(ctx context.Context, g *Globals, o applyOptions, result *api.Applied) error {
	dir, err := stackDir(o.dir)
	if err != nil {
		return err
	}
	if err := o.from.applicable(); err != nil {
		return err
	}
	stack := &runner.Stack{Session: tofu.Session{Dir: dir}}
	saved, err := stack.Take(o.file)
	if err != nil {
		return noSavedPlan(err, o)
	}
	defer saved.Close()
	warrant, err := gate.Open(saved.Warrant)
	if err != nil {
		return refused(result, []api.Refusal{{What: "warrant", Message: err.Error(), Hint: problem.Hint(err)}})
	}
	result.Warrant, result.Run, result.Summary = warrant.Seal, warrant.Run, warrant.Summary
	run, err := o.from.over(warrant.Binding.Provenance)
	if err != nil {
		return err
	}
	ctx, w, err := g.workOn(ctx, stack, o.json)
	if err != nil {
		return err
	}
	defer w.stop()
	now, err := observe(ctx, stack, saved, warrant.Binding, vouched(run.From), result)
	if err != nil {
		return err
	}
	if err := o.from.validate(run); err != nil {
		return err
	}
	// What is stale is refused before any policy is read (seed 003, "Where each
	// command judges").
	jury, err := g.usable(dir, o.policies)
	if err != nil {
		result.Outcome = api.ApplyViolated
		return err
	}
	jury = jury.during(run)
	overrides, err := o.overrides(stack, run.From.Secrets)
	if err != nil {
		result.Outcome = api.ApplyViolated
		return &Exit{ExitPolicy, err}
	}
	judged, err := stack.Read(ctx, saved, warrant.Binding)
	if err != nil {
		return err
	}
	now.Document = judged.Digest
	facts := gate.Facts{Sealed: warrant, Now: now, Policies: jury.verdicts(), Verdicts: jury.judgeOne(w, judged), Place: jury.place, Overrides: overrides, At: g.Now()}
	decision, err := decide(facts, judged, result)
	if err != nil {
		return err
	}
	if ctx.Err() != nil { // it reached a policy's child process, too, and its end is no verdict
		return problem.New(api.Unavailable, "interrupted; nothing was applied")
	}
	if !decision.Allowed() {
		return deny(g, w, decision, o, result)
	}
	if len(result.Policies) == 0 {
		fmt.Fprintf(w.out, "The plan was not judged again: %s.\n", jury.unnamed)
	}
	return typed("assize apply", o.command, carryOut(ctx, g, w, saved, warrant, result))
}

// observe refuses everything that has moved, in two steps: what can be seen
// without the tool comes first, for a tool or a lock file that is not the
// plan's must not even be run.
func observe(ctx context.Context, stack *runner.Stack, saved *runner.Saved, was api.Binding, from api.Provenance, result *api.Applied) (api.Binding, error) {
	now, err := stack.Still(api.Binding{Plan: saved.Digest, Salt: was.Salt, VarFiles: was.VarFiles, Flags: was.Flags, Provenance: from})
	if err != nil {
		return api.Binding{}, err
	}
	early := gate.Still(was, now)
	if gate.Unsafe(early) {
		return api.Binding{}, refused(result, early)
	}
	err = stack.Prepare(ctx)
	if err == nil {
		now, err = stack.Observe(ctx, now)
	}
	if err != nil {
		// A directory that is not the plan's may well be one that cannot be
		// prepared; then the reason is that it has moved.
		if early = append(early, gate.Configuration(was, now)...); len(early) > 0 && ctx.Err() == nil {
			return api.Binding{}, refused(result, early)
		}
		if problem.Code(err) == api.Conflict {
			result.Outcome = api.ApplyRefused
		}
		return api.Binding{}, err
	}
	if refusals := gate.Compare(was, now); len(refusals) > 0 {
		return api.Binding{}, refused(result, refusals)
	}
	return now, nil
}

// decide asks the gate, which sees everything at once: nothing that was
// compared above is taken for granted. What overrides say is shown without the
// secrets of the plan.
func decide(f gate.Facts, p *plan.Plan, result *api.Applied) (gate.Decision, error) {
	decision := gate.Decide(f)
	check := policy.Collect([]policy.Judged{{Verdicts: f.Verdicts}})
	result.Policies, result.Findings = check.Policies, check.Findings
	for _, o := range decision.Overrides() {
		o.Actor, o.Justification = p.Redact(o.Actor), p.Redact(o.Justification)
		result.Overrides = append(result.Overrides, o)
	}
	if len(f.Verdicts) == 0 {
		return decision, nil
	}
	composition, err := gate.Compose(f.Verdicts)
	result.Composition = &composition
	return decision, err
}

// deny says why the gate refuses: 5 when policies are the only reason, else 3.
func deny(g *Globals, w *work, decision gate.Decision, o applyOptions, result *api.Applied) error {
	if !decision.Violation() {
		return refused(result, decision.Refusals())
	}
	result.Outcome, result.Refusals = api.ApplyViolated, decision.Refusals()
	if err := printVerdicts(w.out, g.Err, result.Policies, result.Overrides, w.look); err != nil {
		return err
	}
	fmt.Fprint(g.Err, "\nnothing was applied\n")
	missing := missingOverrides(decision.Refusals(), o)
	if len(missing) == 0 {
		return &Exit{Code: ExitPolicy}
	}
	return &Exit{ExitPolicy, because(missing)}
}

// carryOut applies a plan that the gate has let pass.
func carryOut(ctx context.Context, g *Globals, w *work, saved *runner.Saved, warrant api.Warrant, result *api.Applied) error {
	if err := printVerdicts(w.out, g.Err, result.Policies, result.Overrides, w.look); err != nil {
		return err
	}
	// The tool gets the streams themselves where they outlive this process: a
	// progress line between them would not.
	w.progress.step("")
	stack := w.stack
	stack.Step = nil
	stack.Session.Out, stack.Session.Err = w.out, g.Err
	state, err := stack.Apply(ctx, saved, warrant.Binding.State)
	result.State = state
	if problem.Code(err) == api.Conflict { // somebody else got the plan, or made another: it was not begun
		result.Outcome = api.ApplyRefused
	}
	if err != nil {
		return err
	}
	result.Outcome = api.ApplyDone
	fmt.Fprintf(w.out, "\nApplied what was planned at %s%s.\n", warrant.Created, under(result.Policies, len(result.Overrides)))
	return nil
}

// under says who judged, and how many of them were overridden.
func under(verdicts []api.Verdict, overridden int) string {
	if len(verdicts) == 0 {
		return ""
	}
	by := ", judged by " + count(judges(verdicts), "policy", "policies")
	if overridden == 0 {
		return by
	}
	return by + ", and " + count(overridden, "policy was overridden", "policies were overridden")
}

// refused is the gate's no as an error that names every reason.
func refused(result *api.Applied, refusals []api.Refusal) error {
	result.Outcome, result.Refusals = api.ApplyRefused, refusals
	return because(refusals)
}

// because joins refusals and what to type next.
func because(refusals []api.Refusal) error {
	var messages, hints []string
	for _, r := range refusals {
		messages = append(messages, r.Message)
		if r.Hint != "" && !strings.Contains(strings.Join(hints, "\n"), r.Hint) {
			hints = append(hints, r.Hint)
		}
	}
	err := problem.New(api.Stale, "the apply is refused: %s", strings.Join(messages, "; "))
	if len(messages) > 1 {
		err = problem.New(api.Stale, "the apply is refused:\n  %s", strings.Join(messages, "\n  "))
	}
	return err.WithHint("%s", strings.Join(hints, "; or "))
}

// noSavedPlan says it in the words of seed 003 when a policy was named: then
// nobody may think that a plain apply would be judged.
func noSavedPlan(err error, o applyOptions) error {
	if problem.Code(err) != api.NotFound || !o.policies.named() {
		return err
	}
	return problem.New(api.NotFound, `a policy is judged against a saved plan: run "assize plan --out <file>", then "assize apply <file>"`)
}
