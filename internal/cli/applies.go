package cli

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/runner"
	"github.com/assize-iac/assize/internal/settings"
	"github.com/assize-iac/assize/internal/stack"
)

// applyMany applies what the last plan over several stacks has planned, or those
// of its stacks that are named.
func applyMany(cmd *cobra.Command, g *Globals, c choice, o applyOptions) error {
	if err := c.valid(); err != nil {
		return err
	}
	if err := refuseFlags(cmd, "override"); err != nil {
		return err
	}
	ctx, sig, stop := listen(cmd.Context())
	defer stop()
	f, err := g.begin(ctx, sig, c, o.json, true)
	if err != nil {
		return err
	}
	defer f.end()
	keys, err := f.resume(c)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return f.nothing("The last plan was of no stack; there is nothing to apply.")
	}
	if !slices.ContainsFunc(keys, f.open) {
		return f.nothing("What was planned has been applied; there is nothing left to do.")
	}
	return f.apply(ctx, keys, c.parallel, o)
}

// open reports whether something is left to do for a stack of the record. One that
// was planned by itself since has a plan of another run (docs/rollouts.md, rule 22).
func (f *fleet) open(k stack.Key) bool {
	was, _ := f.was(k)
	if unfinished(was) {
		return true
	}
	t, _, err := targetOf(f.e.cfg, k)
	if err != nil {
		return true
	}
	s, err := t.open(settings.Apply)
	if err != nil {
		return true
	}
	warrant, err := savedWarrant(s, "")
	return problem.Code(err) != api.NotFound && warrant.Run != was.Run
}

// resume takes up the last rollout, and says which of its stacks are meant.
func (f *fleet) resume(c choice) ([]stack.Key, error) {
	last, err := f.recorded()
	if err != nil {
		return nil, err
	}
	if last == nil {
		if len(c.args) == 0 {
			return nil, noRollout()
		}
		f.kept = f.header(api.RolloutApply)
		return c.named(f.e)
	}
	f.kept = *last
	if len(c.args) > 0 {
		return c.named(f.e)
	}
	var keys []stack.Key
	for _, r := range last.Stacks {
		k, err := stack.ParseKey(r.Stack)
		if err != nil {
			return nil, err
		}
		if _, ok := f.e.graph.Stack(k); !ok {
			return nil, problem.New(api.Stale, "%s was planned, and is no stack any more", r.Stack).WithHint("assize plan")
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// apply applies stacks in the direction in which they were planned.
func (f *fleet) apply(ctx context.Context, keys []stack.Key, parallel int, o applyOptions) error {
	kind := api.RolloutApply
	if f.destroys() {
		kind = api.RolloutDestroy
	}
	f.g.warnUnenforced(f.e.cfg)
	a := &applier{fleet: f, o: o, juries: f.juries(keys, o.policies)}
	return f.run(ctx, task{kind: kind, keys: keys, parallel: parallel, mode: settings.Apply, work: a.one})
}

// An applier applies the stacks of a fleet.
type applier struct {
	*fleet
	o      applyOptions
	juries map[stack.Key]*reading
}

// juries reads what judges each stack before anything is applied: what an apply
// runs could edit it for those that come later (docs/rollouts.md, rule 31).
func (f *fleet) juries(keys []stack.Key, flags policyFlags) map[stack.Key]*reading {
	out := map[stack.Key]*reading{}
	quiet := *f.g
	quiet.Err = io.Discard // the plan has said it
	for _, k := range keys {
		dir := target{root: f.e.cfg.Root, key: k}.dir()
		b, err := quiet.jury(dir, flags)
		out[k] = &reading{b, err}
	}
	return out
}

// policies are those that judge a stack.
func (a *applier) policies(k stack.Key) policyFlags {
	flags := a.o.policies
	flags.read = a.juries[k]
	return flags
}

// one applies what was planned of one stack. When something that it depends on
// was applied after its plan was made, it is planned again first (docs/rollouts.md,
// rule 23).
func (a *applier) one(ctx context.Context, j *job) (api.StackResult, error) {
	was, _ := a.was(j.key)
	warrant, err := savedWarrant(j.stack, "")
	missing := problem.Code(err) == api.NotFound
	newer := err == nil && warrant.Run != was.Run  // somebody has planned it by itself since
	if was.Status == api.StackApplied && missing { // before: nothing is done to it now
		was.Summary = nil
		return was, nil
	}
	if err := a.waits(j.key); err != nil {
		return was, err
	}
	since := a.applied(j.key)
	if was.Status == api.StackUnchanged && since == "" && !newer {
		return was, nil
	}
	if err == nil {
		err = a.sameWay(warrant)
	}
	switch {
	case err != nil && !missing:
		return was, err
	case missing && (len(was.Upstream) == 0 || since == ""), !missing && a.older(warrant, was):
		return unplanned(was)
	case !missing && warrant.Binding.Mode == string(settings.Apply) && warrant.Run != was.Run:
		return was, problem.New(api.Stale, "it was planned again, and that was cut short before the plan was compared with the one that was judged").
			WithHint("assize plan")
	case missing || since != "" && !after(warrant, since, was) || !a.e.cfg.Settings.Apply.FromPlan.Value:
		return a.again(ctx, j, was, missing)
	}
	return a.apply(ctx, j, was, warrant.Seal, nil)
}

// older reports whether a saved plan is from before the rollout, in which nothing
// came of the stack (docs/rollouts.md, rule 29).
func (a *applier) older(warrant api.Warrant, was api.StackResult) bool {
	return was.Status != "" && was.Run == "" && warrant.Created < a.kept.Created
}

// after reports whether a plan was made after something that the stack depends on
// was applied. The plan of the rollout was not, whatever the clocks of two machines
// say.
func after(warrant api.Warrant, since string, was api.StackResult) bool {
	if warrant.Run == was.Run {
		return warrant.Binding.Mode == string(settings.Apply) && was.At >= since
	}
	return warrant.Created > since
}

// waits is why a stack is not applied: one that has to go first has not ended
// well, in this run or in one before (docs/rollouts.md, rule 28).
func (a *applier) waits(k stack.Key) error {
	first, what := a.e.graph.Dependencies(k), "it depends on %s, which is %s"
	if a.kept.Kind == api.RolloutDestroy {
		first, what = a.e.graph.Dependents(k), "%s depends on it, which is %s"
	}
	for _, up := range first {
		if was, ok := a.was(up); ok && !was.Status.Good() {
			return problem.New(api.Conflict, what, up, was.Status).WithHint("%s goes first", up)
		}
	}
	return nil
}

// sameWay refuses a plan that would make what the rollout destroys, or the other
// way around: it was made by itself since, and its place in the order is the wrong
// one (docs/rollouts.md, rule 22).
func (a *applier) sameWay(w api.Warrant) error {
	flags, err := runner.FlagsOf(w.Binding)
	switch {
	case err != nil:
		return err
	case flags.Destroy && !a.destroys():
		return problem.New(api.Stale, "its saved plan destroys it, and the others are not to be destroyed").WithHint("assize plan")
	case !flags.Destroy && a.destroys():
		return problem.New(api.Stale, "its saved plan does not destroy it, as those of the others do").WithHint("assize plan")
	}
	return nil
}

// applied is when the last of all stacks was applied that one depends on, "" when
// none was since the rollout was planned.
func (a *applier) applied(k stack.Key) (last string) {
	if a.destroys() {
		return "" // what it depends on goes after it
	}
	for _, up := range a.e.graph.Dependencies(k) {
		if was, _ := a.was(up); was.Status == api.StackApplied {
			last = max(last, was.At)
		}
	}
	return last
}

// unplanned is a stack without a plan that could be applied. What is known of it
// stays what it is.
func unplanned(was api.StackResult) (api.StackResult, error) {
	switch {
	case was.Status == api.StackApplying:
		return was, problem.New(api.Unavailable, "an apply of it was begun (%s), and how it ended is not known; it may still be going on", was.Run).
			WithHint("assize plan")
	case len(was.Upstream) > 0:
		return was, problem.New(api.Stale, "it was planned against what other stacks will be, and they have not been applied").
			WithHint("assize apply, without naming stacks")
	case was.Status != "" && !was.Status.Good():
		const none = "it has no plan: "
		why := cmp.Or(strings.TrimPrefix(was.Error, none), "its planning was cut short")
		if was.Via != "" {
			why = was.Via + " was in the way"
		}
		return was, problem.New(api.Conflict, none+"%s", why).WithHint("assize plan")
	}
	return was, problem.New(api.NotFound, "it has no saved plan").WithHint("assize plan")
}

// apply applies the saved plan that has the seal, and no other. That it has begun is written down before it can
// do anything (docs/rollouts.md, rule 25). said are verdicts that were just printed.
func (a *applier) apply(ctx context.Context, j *job, was api.StackResult, seal string, said []api.Verdict) (api.StackResult, error) {
	result, o := noResult(), a.o
	o.seal, o.said, o.at, o.policies = seal, said, j.at, a.policies(j.key) // at is for what is to be typed next
	was.Stack, was.Status, was.At, was.Error, was.Hint, was.Exit = j.key.String(), api.StackApplying, a.now(), "", "", 0
	if err := a.keep(func(all *api.Rollout) { merge(all, []api.StackResult{was}) }); err != nil {
		return was, err
	}
	err := apply(ctx, j.g, j.work, o, &result)
	r := api.StackResult{Status: api.StackApplied, Summary: &result.Summary, Warrant: result.Warrant, Run: result.Run}
	judgement(&r, result.Policies)
	return r, err
}
