package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/gate"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/report"
	"github.com/assize-iac/assize/internal/report/page"
	"github.com/assize-iac/assize/internal/runner"
	"github.com/assize-iac/assize/internal/settings"
)

const applyHelp = `Apply the plans that assize plan has saved, and no others.

In the directory of a stack, its saved plan is applied; elsewhere, what the last
assize plan over several stacks has planned, wave by wave. Nobody is asked: the plans
were shown when they were made.

A stack that depends on one that was applied is planned again. If it would do what
was judged, it goes on; else it stops (exit 3) and shows the difference, and the next
assize apply goes on with the new plan. An apply that was cut short goes on where it
stood. What fails blocks what depends on it, and nothing else.

The apply is refused (exit 3) when the plan file, the configuration, the lock file,
the variables, the settings, the tool, the workspace or the state are not those of the
plan's warrant. Then the policies that are named here judge the plan again (exit 5
when it violates one); without a policy flag, those of assize.yaml that bind the stack.
What a soft-mandatory policy denies needs an override that still holds (assize override).

Where the plan came from is known from its warrant. --kind, --commit and the flags
like them need not be said again, and must not say otherwise.

A saved plan can be applied once. Ctrl-C asks the tool to stop in its own order; a
second Ctrl-C makes it stop at once, and what it did last may be lost.

  assize apply
  assize apply infra/network:prod
  assize apply review.tfplan -C infra/prod --policy policy/rules.json
  assize apply review.tfplan infra/network:prod     a file in the directory of the stack
`

type applyOptions struct {
	policies policyFlags
	from     provenanceFlags
	at       where
	file     string
	override []string
	labels   plan.Labels
	json     bool
	again    string        // the flags of a plan that would take the place of this one, for hints
	command  string        // this command, for hints
	said     []api.Verdict // which need not be said again
	seal     string        // of the only warrant that will do; "" is the one that is there
}

func newApplyCmd(g *Globals) *cobra.Command {
	var o applyOptions
	var c choice
	cmd := &cobra.Command{
		Use:   "apply [FILE [STACK] | STACK...]",
		Short: "Apply exactly the plans that were judged",
		Long:  applyHelp + exitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.args, o.policies.from = args, c.dir
			if fileOf(c.dir, args) {
				c.args = args[1:]
			}
			if !c.one() {
				return applyMany(cmd, g, c, o)
			}
			if err := c.loud(); err != nil {
				return err
			}
			o.at, o.file = savedPlan(c.dir, args)
			if key, ok := o.planAgain(g); ok {
				c.args = []string{key} // to be planned again and compared, as a stack of many is
				return applyMany(cmd, g, c, o)
			}
			o.again = again(cmd, o.at, o.file)
			o.command = applying(o.file, o.at.named(), o.override...) + chosen(cmd, everyName())
			return runApply(cmd.Context(), g, o)
		},
	}
	c.register(cmd)
	cmd.Flags().BoolVar(&c.all, "all", false, "all that the last plan over several stacks has planned, in the directory of a stack, too")
	o.policies.register(cmd)
	o.from.register(cmd)
	registerLabels(cmd, &o.labels)
	cmd.Flags().StringArrayVar(&o.override, "override", nil, "take the overrides of `FILE` (repeatable; default the file beside the warrant, if there is one)")
	cmd.Flags().BoolVar(&o.json, "json", false, "print what the apply came to, or events, on standard output, and nothing else")
	return cmd
}

// planAgain reports whether assize.yaml wants no saved plan to be applied as it is,
// and of which stack (docs/rollouts.md, rule 23).
func (o applyOptions) planAgain(g *Globals) (key string, ok bool) {
	quiet := *g
	quiet.Err = io.Discard // what is wrong is said when it is applied
	t, err := o.at.find(&quiet)
	return t.key.String(), err == nil && o.file == "" && !t.cfg.Settings.Apply.FromPlan.Value
}

// runApply applies the plan of one stack. It prints the result as JSON whatever
// it is, so that a program need not read words.
func runApply(ctx context.Context, g *Globals, o applyOptions) error {
	result := noResult()
	err := retyped(o.again, applyAlone(ctx, g, o, &result))
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

// noResult is that of an apply that has not got anywhere.
func noResult() api.Applied {
	return api.Applied{Outcome: api.ApplyFailed, Refusals: []api.Refusal{}, Policies: []api.Verdict{}, Findings: []api.Finding{}, Overrides: []api.Override{}}
}

func applyAlone(ctx context.Context, g *Globals, o applyOptions, result *api.Applied) error {
	t, stack, err := o.at.place(g, settings.Apply)
	if err != nil {
		return err
	}
	g.warnUnenforced(t.cfg)
	ctx, sig, stop := listen(ctx)
	defer stop()
	w := g.alone(stack, sig, filepath.Base(t.dir()), o.json)
	defer w.progress.stop()
	saved := func() bool {
		_, warrant := stack.Files(o.file)
		_, err := os.Lstat(warrant)
		return err == nil
	}
	return g.noteApplied(t, o.file, destroying(stack, o.file), saved, result, func() error { return apply(ctx, g, w, o, result) })
}

// apply goes from what costs nothing to what changes the world: the warrant,
// what stands still, what the tool says, the policies, the gate, the apply
// (docs/warrant.md, rule 4). result is filled in on the way.
func apply(ctx context.Context, g *Globals, w *work, o applyOptions, result *api.Applied) error {
	if err := o.from.applicable(); err != nil {
		return err
	}
	stack := w.stack
	saved, err := stack.Take(o.file)
	if err != nil {
		return noSavedPlan(stack, err, o)
	}
	defer saved.Close()
	warrant, err := gate.Open(saved.Warrant)
	if err != nil {
		return refused(result, []api.Refusal{{What: "warrant", Message: err.Error(), Hint: problem.Hint(err)}})
	}
	if o.seal != "" && warrant.Seal != o.seal {
		return problem.New(api.Conflict, "another plan was saved meanwhile").WithHint("assize apply")
	}
	result.Warrant, result.Run, result.Summary = warrant.Seal, warrant.Run, warrant.Summary
	if err := stack.Equip(ctx); err != nil {
		return err
	}
	run, err := o.from.over(warrant.Binding.Provenance)
	if err != nil {
		return err
	}
	now, err := observe(ctx, stack, saved.Digest, warrant.Binding, vouched(run.From), result)
	if err != nil {
		return err
	}
	if err := o.from.validate(run); err != nil {
		return err
	}
	// What is stale is refused before any policy is read (seed 003, "Where each
	// command judges").
	jury, err := g.usable(stack.Dir(), o.policies)
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
	judged.Flags.Labels = o.labelled(warrant)
	facts := gate.Facts{Sealed: warrant, Now: now, Policies: jury.verdicts(), Verdicts: jury.judgeOne(w, judged), Place: jury.place, Overrides: overrides, At: g.Now()}
	decision, err := decide(facts, judged, result)
	if err != nil {
		return err
	}
	if ctx.Err() != nil { // it reached a policy's child process, too, and its end is no verdict
		return problem.New(api.Unavailable, "interrupted; nothing was applied")
	}
	if !decision.Allowed() {
		return deny(w, decision, o, result)
	}
	if err := prepared(ctx, w, runner.HookRun{RunID: warrant.Run, PlanJSON: judged.Raw, PlanFile: saved.File()}, warrant, now, result); err != nil {
		return err
	}
	if len(result.Policies) == 0 {
		fmt.Fprintf(w.out, "The plan was not judged again: %s.\n", jury.unnamed)
	}
	return typed("assize apply", o.command, carryOut(ctx, w, saved, warrant, o, result))
}

// labelled are the caller's words, and the commit of the plan.
func (o applyOptions) labelled(w api.Warrant) plan.Labels {
	labels := o.labels
	labels.GitRevision = w.Binding.Commit
	return labels
}

// observe refuses everything that has moved, in two steps: what can be seen
// without the tool comes first, for a tool or a lock file that is not the
// plan's must not even be run. digest is that of the plan file.
func observe(ctx context.Context, stack *runner.Stack, digest string, was api.Binding, from api.Provenance, result *api.Applied) (api.Binding, error) {
	now, err := stack.Still(api.Binding{Plan: digest, Mode: was.Mode, Salt: was.Salt, VarFiles: was.VarFiles, Flags: was.Flags, Provenance: from})
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

// prepared runs the hook that goes before an apply, and looks once more at what
// it could have changed.
func prepared(ctx context.Context, w *work, hook runner.HookRun, warrant api.Warrant, now api.Binding, result *api.Applied) error {
	if err := w.stack.Hook(ctx, "pre-apply", hook); err != nil {
		return err
	}
	again, err := w.stack.Still(now)
	if err != nil {
		return err
	}
	again.Tool.Version, again.State = now.Tool.Version, now.State // the tool itself holds the plan against the state
	if refusals := gate.Compare(warrant.Binding, again); len(refusals) > 0 {
		return refused(result, refusals)
	}
	return nil
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
func deny(w *work, decision gate.Decision, o applyOptions, result *api.Applied) error {
	if !decision.Violation() {
		return refused(result, decision.Refusals())
	}
	result.Outcome, result.Refusals = api.ApplyViolated, decision.Refusals()
	if err := printVerdicts(w.out, w.err, result.Policies, result.Overrides, w.look); err != nil {
		return err
	}
	fmt.Fprint(w.err, "\nnothing was applied\n")
	missing := missingOverrides(decision.Refusals(), o)
	if len(missing) == 0 {
		return &Exit{Code: ExitPolicy}
	}
	return &Exit{ExitPolicy, because(missing)}
}

// carryOut applies a plan that the gate has let pass.
func carryOut(ctx context.Context, w *work, saved *runner.Saved, warrant api.Warrant, o applyOptions, result *api.Applied) error {
	if !reflect.DeepEqual(o.said, result.Policies) {
		if err := printVerdicts(w.out, w.err, result.Policies, result.Overrides, w.look); err != nil {
			return err
		}
	}
	entry := transaction(warrant, o.labels, result.Policies)
	if err := w.stack.Log(entry.begun()); err != nil {
		return err
	}
	w.handOver()
	state, err := w.stack.Apply(ctx, saved, warrant.Binding.State)
	result.State = state
	if failed := w.stack.Log(entry.ended(err)); failed != nil {
		report.Problem(w.err, "warning", failed.Error())
	}
	if problem.Code(err) == api.Conflict { // somebody else got the plan, or made another: it was not begun
		result.Outcome = api.ApplyRefused
	}
	if err != nil {
		return err
	}
	result.Outcome = api.ApplyDone
	fmt.Fprintf(w.out, "\nApplied what was planned at %s%s. [txn %s]\n", warrant.Created, under(result.Policies, len(result.Overrides)), warrant.Run)
	return w.stack.Hook(ctx, "post-apply", runner.HookRun{RunID: warrant.Run})
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
func noSavedPlan(stack *runner.Stack, err error, o applyOptions) error {
	if _, warrant, kept := conditionalPlan(stack); kept == nil && o.file == "" {
		return problem.New(api.Stale, "the plan is conditional: it was made against what %s will be", strings.Join(warrant.Upstream, " and ")).
			WithHint("assize apply at the root, which plans it again when that has been applied")
	}
	if problem.Code(err) != api.NotFound || !o.policies.named() {
		return err
	}
	return problem.New(api.NotFound, `a policy is judged against a saved plan: run "assize plan --out <file>", then "assize apply <file>"`)
}
