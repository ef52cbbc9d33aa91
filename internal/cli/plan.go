package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
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
	"github.com/assize-iac/assize/internal/settings"
)

const planHelp = `Plan stacks, have every policy judge the plans, and save each with a warrant, without
which it cannot be applied.

In the directory of a stack, that stack is planned; elsewhere, every stack that is
affected by what differs from the default branch, wave by wave and several at a time.
What one command has planned, assize apply applies.

A stack that reads what another one will change is planned against that. Such a plan
is conditional: it is never applied itself, but made again after the other's apply.

A plan that violates a policy is not saved, and a new plan voids the one that was
saved before. One that violates only soft-mandatory policies of assize.yaml is kept
for an override, and the exit code is 5 all the same. Without a policy flag, the
policies of assize.yaml that bind the stack judge; without any, nothing does, and the
plan says so.

  assize plan
  assize plan --base main
  assize plan infra/network:prod 'infra/dns*'
  assize plan -C infra/prod --var-file prod.tfvars --policy policy/no-delete.cue
  assize plan -C infra/prod --json --out review.tfplan > document.json

STACK is path or path:instance, from the directory of assize.yaml, or a pattern of
them. With --json, standard output is the plan document of one stack, or of several,
events, one a line; everything else goes to standard error. Where a value is
sensitive, the document says {"$sensitive": true}; with --show-sensitive it is,
secrets in clear, the document that CUE policies judge.
`

type planOptions struct {
	policies policyFlags
	from     provenanceFlags
	at       where
	out      string
	flags    plan.Flags
	vars     []string // as the tool takes them, in their order
	json     bool
	detailed bool

	showSensitive bool
	document      bool   // print the plan document
	apply         string // the flags of an apply that judges the same, for the hint

	asked    bool                        // whether it is applied is asked for next
	still    func(*runner.Planned) error // the last word before a plan is kept; may be nil
	known    *api.Provenance             // where it is known to come from; nil is what the flags say
	upstream []string                    // against whose planned outputs it is planned; it is kept, and cannot be applied
	overlay  func(into string) (*runner.Overlay, error)
}

func newPlanCmd(g *Globals) *cobra.Command {
	var o planOptions
	var c choice
	cmd := &cobra.Command{
		Use:   "plan [STACK...]",
		Short: "Plan stacks, have policies judge the plans, and save them with a warrant",
		Long:  planHelp + exitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.apply = chosen(cmd, append(judgingNames(), forgottenNames()...))
			c.args, o.policies.from = args, c.dir
			if !c.one() {
				return planMany(cmd, g, c, o)
			}
			if err := c.loud(); err != nil {
				return err
			}
			o.at, o.document = c.where(), o.json
			return retyped(again(cmd, o.at, o.out), runPlan(cmd.Context(), g, o))
		},
	}
	c.register(cmd)
	c.affected(cmd)
	o.policies.register(cmd)
	o.from.register(cmd)
	registerLabels(cmd, &o.flags.Labels)
	flags := cmd.Flags()
	flags.StringVar(&o.out, "out", "", "save the plan in `FILE` and its warrant in FILE.warrant.json (default "+runner.DefaultFile+")")
	flags.BoolVar(&o.flags.Destroy, "destroy", false, "plan to destroy everything")
	flags.BoolVar(&o.flags.RefreshOnly, "refresh-only", false, "plan to bring the state up to date, and nothing else")
	flags.StringArrayVar(&o.flags.Targets, "target", nil, "plan only `ADDRESS` and what it depends on (repeatable)")
	flags.StringArrayVar(&o.flags.Replace, "replace", nil, "plan to replace `ADDRESS` (repeatable)")
	flags.Var(toolFlag{&o.vars, "-var="}, "var", "set a variable, `NAME=VALUE` (repeatable)")
	flags.Var(toolFlag{&o.vars, "-var-file="}, "var-file", "read variables from `FILE` (repeatable)")
	flags.BoolVar(&o.json, "json", false, "print the plan document, or events, on standard output, and nothing else")
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

// runPlan plans one stack, and says what comes next.
func runPlan(ctx context.Context, g *Globals, o planOptions) error {
	t, stack, err := o.at.place(g, settings.Plan)
	if err != nil {
		return err
	}
	ctx, sig, stop := listen(ctx)
	defer stop()
	w := g.alone(stack, sig, filepath.Base(t.dir()), o.json)
	defer w.progress.stop()
	m, err := makePlan(ctx, g, w, o)
	if err != nil && !m.kept {
		if m.voided {
			fmt.Fprintln(g.Err, "assize: the plan that was saved before has been removed")
		}
		return err
	}
	file := o.at.fromHere(t, cmp.Or(o.out, stack.DefaultFile()))
	if err != nil { // kept, and refused softly
		return errors.Join(printSoft(g, m.warrant, file, o), err)
	}
	fmt.Fprintf(w.out, "\n%s\n", conclusion(m, file, o))
	if o.detailed && m.changes {
		return &Exit{Code: ExitUnknown}
	}
	return nil
}

// made is what became of a plan.
type made struct {
	voided   bool      // there was one before, and it is gone
	began    time.Time // before anything was read
	plan     *plan.Plan
	changes  bool // the tool says that there is something to apply
	verdicts []api.Verdict
	unnamed  string // why no policy judges, if none does
	kept     bool   // it is saved with a warrant
	warrant  api.Warrant
	state    api.State // that it was made from
}

// makePlan plans, has the plan judged, and saves it. It goes in an order that
// leaves nothing behind: the old plan goes first, policies are compiled before
// the tool does anything at all, and only a plan that was judged is put in place
// (docs/warrant.md, rules 4 and 6).
func makePlan(ctx context.Context, g *Globals, w *work, o planOptions) (m made, err error) {
	if m.voided, err = w.stack.Void(o.out); err != nil {
		return m, err
	}
	if err := o.from.applicable(); err != nil {
		return m, err
	}
	run, err := o.run(w.stack.Dir())
	if err != nil {
		return m, err
	}
	jury, err := g.usable(w.stack.Dir(), o.policies)
	if err != nil {
		return m, err
	}
	if err := w.stack.Equip(ctx); err != nil {
		return m, err
	}
	if err := w.stack.Hook(ctx, "pre-plan", runner.HookRun{}); err != nil {
		return m, nothingSaved(err)
	}
	m.began = g.Now()
	planned, err := w.stack.Plan(ctx, runner.Options{Flags: o.flags, Vars: o.vars, Provenance: vouched(run.From), Overlay: o.overlay})
	if err != nil {
		return m, nothingSaved(err)
	}
	defer planned.Close() // saved or not, the working copy goes
	m.plan, m.changes, m.unnamed, m.state = planned.Plan, planned.Changes, jury.unnamed, planned.Binding.State
	m.verdicts = jury.during(run).judgeOne(w, planned.Plan)
	// Ctrl-C reaches a policy's child process as well; its end is no verdict.
	if ctx.Err() != nil {
		return m, problem.New(api.Unavailable, "interrupted; no plan file was written")
	}
	if err := w.stack.Hook(ctx, "post-plan", runner.HookRun{RunID: planned.Run, PlanJSON: planned.Plan.Raw, PlanFile: planned.File()}); err != nil {
		return m, nothingSaved(err)
	}
	if o.still != nil {
		if err := o.still(planned); err != nil {
			return m, nothingSaved(err)
		}
	}
	if o.document {
		if err := printDocument(g, planned.Plan, o); err != nil {
			return m, err
		}
	}
	return m, conclude(g, w, planned, jury.place, o, &m)
}

// run is where the plan of the stack in dir comes from.
func (o planOptions) run(dir string) (policy.Run, error) {
	if o.known == nil {
		return o.from.read(dir)
	}
	run, err := o.from.over(*o.known)
	if err != nil {
		return run, err
	}
	return run, o.from.validate(run)
}

// conclude prints what the policies came to, and keeps the plan unless one of
// them blocks it for good. One that only soft-mandatory policies refuse is kept
// for an override (docs/warrant.md, rule 11); the exit code says no all the same.
func conclude(g *Globals, w *work, planned *runner.Planned, place string, o planOptions, m *made) error {
	if err := printVerdicts(w.out, w.err, m.verdicts, nil, w.look); err != nil {
		return err
	}
	stands := api.StandsPassed
	if len(m.verdicts) > 0 {
		stands = policy.Strongest(m.verdicts)
	}
	if stands != api.StandsPassed && stands != api.StandsSoftFailed {
		fmt.Fprint(w.err, "\nno plan file was written\n")
		return &Exit{Code: ExitPolicy}
	}
	var err error
	if m.warrant, err = save(w.stack, planned, place, m.verdicts, o, m.began); err != nil {
		return err
	}
	m.kept = true
	if stands == api.StandsSoftFailed {
		return &Exit{Code: ExitPolicy}
	}
	return nil
}

// printDocument comes before the verdict, so that a refused plan can be looked
// at, too; the exit code tells the two apart.
func printDocument(g *Globals, p *plan.Plan, o planOptions) error {
	document := p.MaskedJSON(p.Flags.Labels)
	if o.showSensitive {
		document = p.DocumentJSON(p.Flags.Labels)
	}
	if _, err := fmt.Fprintf(g.Out, "%s\n", document); err != nil {
		return problem.New(api.Unavailable, "the document could not be written: %w", err)
	}
	return nil
}

// save seals the plan. Sealing refuses what is blocked for good, so a mistake
// above cannot put a refused plan in place.
func save(stack *runner.Stack, planned *runner.Planned, place string, verdicts []api.Verdict, o planOptions, now time.Time) (api.Warrant, error) {
	w, err := gate.Seal(planned.Run, planned.Binding, place, verdicts, planned.Plan.Summary(), now, o.upstream...)
	if err != nil {
		return w, err
	}
	text, err := gate.Encode(w)
	if err != nil {
		return w, err
	}
	if len(o.upstream) > 0 {
		return w, stack.Keep(planned, text)
	}
	return w, stack.Save(planned, o.out, text)
}

// conclusion is the last line: what was saved, who judged it, what comes next.
func conclusion(m made, file string, o planOptions) string {
	said := m.unnamed + ": nothing was judged"
	if n := judges(m.verdicts); n > 0 {
		said = "judged by " + count(n, "policy, which lets it pass", "policies, all of which let it pass")
	}
	next := "There is nothing to apply."
	if m.changes {
		next = "Next: " + applying(o.out, o.at.named()) + o.apply
	}
	return fmt.Sprintf("The plan is saved in %s; %s.\n%s", file, said, next)
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
func again(cmd *cobra.Command, at where, file string) string {
	return quoteAll(at.key) + chosen(cmd, everyName()) + flagged("--out", file)
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
