package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/gate"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/input"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/repo"
	"github.com/assize-iac/assize/internal/report"
	"github.com/assize-iac/assize/internal/runner"
	"github.com/assize-iac/assize/internal/settings"
	"github.com/assize-iac/assize/internal/stack"
)

const overrideHelp = `Let the saved plan be applied although it violates soft-mandatory policies, and say
why. The override is bound to that one plan, to the version of each policy and to
what it said; it ends after 24 hours at the latest. It overrides nothing that is
hard-mandatory or could not be judged.

  assize override --justification "Approved migration, INFRA-2214" --for 2h
  assize override -C infra/prod review.tfplan --justification "INFRA-2214" --expires 2026-12-01T18:00:00Z

  assize override 'infra/*:dev' --justification "INFRA-2214"

Of several stacks, each gets one of its own whose saved plan needs one.

Who overrides is taken from $USER. It is a label: on one machine nobody verifies it.
`

// lasts is for how long an override holds when nothing is said.
const lasts = "4h"

type overrideOptions struct {
	at             where
	file, out      string
	justification  string
	results        []string
	lasts, expires string
}

func newOverrideCmd(g *Globals) *cobra.Command {
	var o overrideOptions
	var dir string
	cmd := &cobra.Command{
		Use:   "override [FILE [STACK] | STACK...]",
		Short: "Let a saved plan pass that soft-mandatory policies refuse",
		Long:  overrideHelp + exitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !fileOf(dir, args) && (len(args) > 1 || len(args) == 1 && isPattern(args[0])) {
				return overrideMany(cmd, g, choice{dir: dir, args: args, parallel: 1}, o)
			}
			o.at, o.file = savedPlan(dir, args)
			return retyped(again(cmd, o.at, o.file), typed("assize apply", applying(o.file, o.at), runOverride(g, o)))
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&dir, "chdir", "C", ".", "work in `DIR`, the stack's directory; paths are relative to it")
	flags.StringVar(&o.justification, "justification", "", "why: `TEXT` of 1 to 2,000 characters")
	flags.StringArrayVar(&o.results, "policy-result", nil, "override only the result with this `DIGEST` (repeatable; default all that need it)")
	flags.StringVar(&o.lasts, "for", "", "`HOW LONG` it holds, such as 2h30m, at most 24h (default "+lasts+")")
	flags.StringVar(&o.expires, "expires", "", "until when it holds, at most 24 hours from now: `TIME` in RFC 3339")
	flags.StringVarP(&o.out, "output", "o", "", "write the override to `FILE` (default beside the plan's warrant)")
	return cmd
}

func runOverride(g *Globals, o overrideOptions) error {
	t, stack, err := o.at.place(g, settings.Plan)
	if err != nil {
		return err
	}
	warrant, err := savedWarrant(stack, o.file)
	if err != nil {
		return err
	}
	if err := o.override(g, t, stack, warrant); err != nil {
		return err
	}
	fmt.Fprintf(g.Out, "Next: %s\n", applying(o.file, o.at, o.out))
	o.advise(g, t, warrant)
	return nil
}

// overrideMany overrides the saved plans of several stacks that need it, each on
// its own.
func overrideMany(cmd *cobra.Command, g *Globals, c choice, o overrideOptions) error {
	if err := errors.Join(c.valid(), refuseFlags(cmd, "output", "policy-result")); err != nil {
		return err
	}
	e, err := readEstate(cmd.Context(), c.dir)
	if err != nil {
		return err
	}
	keys, err := c.named(e)
	if err != nil {
		return err
	}
	done := 0
	for _, k := range keys {
		o.at = where{c.dir, k.String()}
		needed, err := o.overrideNeeded(g, e.cfg, k)
		if err != nil {
			return typed("assize apply", "assize apply"+inDir(c.dir), retyped(o.at.words(), err))
		}
		if needed {
			done++
		}
	}
	if done == 0 {
		return problem.New(api.Refused, "none of these %s has a saved plan that needs an override", count(len(keys), "stack", "stacks"))
	}
	fmt.Fprintf(g.Out, "Next: assize apply%s\n", inDir(c.dir))
	return e.finish(g, nil)
}

// overrideNeeded overrides the saved plan of a stack, unless there is none or it
// needs no override.
func (o overrideOptions) overrideNeeded(g *Globals, cfg repo.Config, k stack.Key) (needed bool, err error) {
	t, _, err := targetOf(cfg, k)
	if err != nil {
		return false, err
	}
	s, err := t.open(settings.Plan)
	if err != nil {
		return false, err
	}
	warrant, err := savedWarrant(s, "")
	if problem.Code(err) == api.NotFound || err == nil && len(gate.Soft(warrant)) == 0 {
		return false, nil
	}
	if err == nil {
		err = o.override(g, t, s, warrant)
	}
	if err == nil {
		o.advise(g, t, warrant)
	}
	return true, err
}

// override writes the override of one saved plan.
func (o overrideOptions) override(g *Globals, t target, stack *runner.Stack, warrant api.Warrant) error {
	now := g.Now()
	grant, err := o.grant(now)
	if err != nil {
		return err
	}
	doc, err := gate.Override(warrant, grant, now)
	if err != nil {
		return err
	}
	place, run := o.out, "" // there may be one for any plan
	if place == "" {
		place, run = besideWarrant(stack, o.file), warrant.Run
	}
	if err := keepOverride(stack, place, o.at.fromHere(t, place), run, doc, now); err != nil {
		return err
	}
	if err := report.Overridden(g.Out, doc.Overrides); err != nil {
		return err
	}
	fmt.Fprintf(g.Out, "The override is saved in %s.\n", o.at.fromHere(t, place))
	return nil
}

// advise says what an apply has to be told so that the same policies judge.
func (o overrideOptions) advise(g *Globals, t target, warrant api.Warrant) {
	if !judgedAsConfigured(t.dir(), warrant) {
		fmt.Fprintln(g.Out, "Add the flags of assize plan that say how policies judge, such as --data: without them they are not those that were overridden.")
	}
}

// judgedAsConfigured reports whether assize.yaml alone names everybody who judged
// the plan, each as it did. A warrant does not keep the flags of a plan: what
// comes out of a file is not to be typed unseen.
func judgedAsConfigured(dir string, w api.Warrant) bool {
	var none policyFlags
	cfg, err := none.governing(dir)
	if err != nil || cfg == nil {
		return false
	}
	policies, exceptions, err := none.judges(dir, cfg)
	if err != nil {
		return false
	}
	configured := map[string]bool{}
	for _, p := range policies {
		configured[p.src.Path+" "+p.src.Digest()] = true
	}
	for _, f := range exceptions {
		configured[f.Path+" "+f.Digest] = true
	}
	return !slices.ContainsFunc(w.Verdicts, func(v api.Verdict) bool { return !configured[v.Path+" "+v.Digest] })
}

// savedWarrant opens the warrant of a saved plan, and makes sure that the plan
// beside it is the one it is about.
func savedWarrant(stack *runner.Stack, file string) (api.Warrant, error) {
	saved, err := stack.Take(file)
	if err != nil {
		return api.Warrant{}, err
	}
	defer saved.Close()
	warrant, err := gate.Open(saved.Warrant)
	if err == nil && warrant.Binding.Plan != saved.Digest {
		err = problem.New(api.Stale, "the plan file is not the one that was judged").WithHint("assize plan")
	}
	return warrant, err
}

func (o overrideOptions) grant(now time.Time) (gate.Grant, error) {
	end, err := o.end(now)
	return gate.Grant{Results: o.results, Actor: actor(), Justification: o.justification, Expires: end}, err
}

// end is the moment that --for or --expires names. Whether an override may last
// so long is for the gate.
func (o overrideOptions) end(now time.Time) (time.Time, error) {
	if o.lasts != "" && o.expires != "" {
		return time.Time{}, problem.New(api.Invalid, "--for and --expires both say when the override ends").WithHint("leave one of them out")
	}
	if o.expires != "" {
		end, err := time.Parse(time.RFC3339, o.expires)
		if err == nil && end.After(now) {
			return end, nil
		}
		why := "is over already"
		if err != nil {
			why = "is no time"
		}
		return end, problem.New(api.Invalid, "--expires %q %s", o.expires, why).WithHint("such as --expires %s", now.UTC().Add(4*time.Hour).Format(time.RFC3339))
	}
	long, err := time.ParseDuration(cmp.Or(o.lasts, lasts))
	if err != nil || long <= 0 {
		return time.Time{}, problem.New(api.Invalid, "--for %q is no length of time", o.lasts).WithHint("such as --for 2h30m; 24h is the most")
	}
	return now.Truncate(time.Second).Add(long), nil
}

// actor is a label and no more: whoever can write the plan can set $USER.
func actor() string {
	if user := os.Getenv("USER"); user != "" {
		return user
	}
	return "unknown"
}

// besideWarrant is where an override is when nothing is said, relative to the
// stack where it can be.
func besideWarrant(stack *runner.Stack, file string) string {
	path := stack.OverrideFile(file)
	if rel, err := filepath.Rel(stack.Dir(), path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// keepOverride writes a new document. An override is never edited, and nobody
// else's file is overwritten: what gives way is one that is of no use any more,
// to the run whose place it is, or to any. shown is the path as messages have it.
func keepOverride(stack *runner.Stack, path, shown, run string, doc api.Overrides, now time.Time) error {
	data, err := repo.ReadFile(stack.Dir(), path)
	if err != nil && problem.Code(err) != api.NotFound {
		return err
	}
	if err == nil && !spent(data, run, now) {
		return problem.New(api.Conflict, "%s exists already, and an override is not edited", shown).
			WithHint("write another with -o FILE, and name each to assize apply with --override; or remove it")
	}
	text, err := gate.EncodeOverrides(doc)
	if err != nil {
		return err
	}
	return stack.SaveOverride(path, text)
}

// spent reports whether a file holds overrides, none of which can be of use to
// a run, or to any when it is "".
func spent(data []byte, run string, now time.Time) bool {
	overrides, err := gate.OpenOverrides(data)
	return err == nil && !slices.ContainsFunc(overrides, func(o api.Override) bool {
		return (run == "" || o.Run == run) && !gate.Ended(o, now)
	})
}

// overrides reads those that the applier names, or those beside the warrant,
// where there may be none. What cannot be read closes the gate, and so does what
// holds a declared secret: it would be shown.
func (o applyOptions) overrides(stack *runner.Stack, secrets input.Canaries) ([]api.Override, error) {
	named := o.override
	if len(named) == 0 {
		if _, err := os.Lstat(stack.OverrideFile(o.file)); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		named = []string{besideWarrant(stack, o.file)}
	}
	var all []api.Override
	for _, path := range named {
		data, err := repo.ReadFile(stack.Dir(), path)
		if err != nil {
			return nil, unusable("override", path, err)
		}
		some, err := gate.OpenOverrides(data)
		if err != nil {
			return nil, o.overrideAgain(unusable("override", path, err))
		}
		if err := secrets.Refuse("it", data); err != nil {
			return nil, unusable("override", path, problem.New(problem.Code(err), "%w", err).WithHint("write another override, without it"))
		}
		all = append(all, some...)
	}
	return all, nil
}

// overridden finds the override that lets a verdict pass among those that the
// gate has found good for one.
func overridden(v api.Verdict, granted []api.Override) (api.Override, bool) {
	for _, o := range granted {
		if policy.Stand(v) == api.StandsSoftFailed && o.Policy == v.Path && o.PolicyDigest == v.Digest {
			return o, true
		}
	}
	return api.Override{}, false
}

// overriding completes a command that overrides the saved plan in file.
func overriding(file string, at where) string {
	return "assize override" + quoteAll(file) + at.words() + " --justification TEXT"
}

// applying completes a command that applies the saved plan in file, judged by the
// policies of assize.yaml.
func applying(file string, at where, overrides ...string) string {
	command := "assize apply" + quoteAll(file) + at.words()
	for _, path := range overrides {
		command += flagged("--override", path)
	}
	return command
}

// overrideAgain completes a hint to make another override.
func (o applyOptions) overrideAgain(err error) error {
	return &problem.Error{Code: problem.Code(err), Message: err.Error(), Hint: overriding(o.file, o.at), Cause: err}
}

// missingOverrides are the refusals that the policies' own findings do not
// explain, with hints that can be typed.
func missingOverrides(refusals []api.Refusal, o applyOptions) []api.Refusal {
	var missing []api.Refusal
	for _, r := range refusals {
		if r.What != "override" {
			continue
		}
		switch {
		case r.Hint == "assize override":
			r.Hint = overriding(o.file, o.at)
		case r.Hint == "assize apply" && o.policies.named():
			r.Hint = applying(o.file, o.at, o.override...)
		case r.Hint == "assize apply": // then those of assize.yaml have judged, and it is none of them by now
			r.Hint = "list it in " + repo.ConfigName + " again, or run assize plan"
		}
		missing = append(missing, r)
	}
	return missing
}

// printSoft says what a kept plan still needs, and how to give it.
func printSoft(g *Globals, w api.Warrant, file string, o planOptions) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "\nThe plan is kept in %s. An apply needs an override of what soft-mandatory policies said:\n", file)
	if err := report.Results(&b, gate.Soft(w)); err != nil {
		return err
	}
	fmt.Fprintf(&b, "Next: %s\nThen: %s%s\n", overriding(o.out, o.at), applying(o.out, o.at.named()), o.apply)
	_, err := g.Err.Write(b.Bytes())
	return err
}
