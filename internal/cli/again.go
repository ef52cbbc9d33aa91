package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/gate"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/plan/compare"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/report/contrast"
	"github.com/assize-iac/assize/internal/report/page"
	"github.com/assize-iac/assize/internal/runner"
)

// This file is about plans that are made again, once what they depend on was
// applied.

// again plans a stack once more, and applies the new plan if it would do what was
// judged (DESIGN 5.5; docs/rollouts.md, rule 24). Else the new plan stays, for
// somebody who has looked at the difference.
func (a *applier) again(ctx context.Context, j *job, was api.StackResult, conditional bool) (api.StackResult, error) {
	judged, warrant, err := judgedBefore(ctx, j, conditional)
	if err != nil {
		return was, err
	}
	o := planOptions{policies: a.policies(j.key), from: a.o.from, known: &warrant.Binding.Provenance}
	o.still = func(p *runner.Planned) error { return sameOrigin(j, judged, warrant.Binding, p) }
	if o.flags, err = runner.FlagsOf(warrant.Binding); err != nil {
		return was, err
	}
	m, err := makePlan(ctx, j.g, j.work, o)
	r := resultOf(m)
	switch {
	case err != nil && !m.kept:
		return r, err
	case err != nil:
		r.Hint = softly(j.at, nil)
	}
	d := compare.Again(judged, m.plan)
	if !d.Equal {
		fmt.Fprint(j.out, "\nThe first plan is the one that was judged, the second is what the stack would do now.\n")
		err = errors.Join(err, contrast.Text(j.out, d, page.Options{}))
	}
	if err != nil { // kept for an override, by somebody who has looked at the difference
		return r, err
	}
	if !d.Equal {
		return r, problem.New(api.Stale, "what it would do now is not what was judged").
			WithHint("look at the difference; assize apply goes on with the new plan")
	}
	if !m.changes {
		return r, nil
	}
	fmt.Fprint(j.out, "\nPlanned again: it would do what was judged.\n")
	return a.apply(ctx, j, r, r.Warrant, m.verdicts)
}

// sameOrigin refuses a plan that was made again from something else than the one
// that was judged: what that one did not know yet would hide it. Of what it was
// made from, only what it depends on may have moved (docs/rollouts.md, rule 26).
func sameOrigin(j *job, judged *plan.Plan, was api.Binding, p *runner.Planned) error {
	now, err := j.stack.Still(was)
	if err != nil {
		return err
	}
	now.Tool.Version, now.State = p.Binding.Tool.Version, p.Binding.State
	if refusals := gate.Compare(was, now); len(refusals) > 0 {
		return because(refusals)
	}
	for _, name := range slices.Sorted(maps.Keys(judged.Variables)) {
		_, perMode := j.settings.Env["TF_VAR_"+name]
		if !perMode && !reflect.DeepEqual(judged.Variables[name], p.Plan.Variables[name]) {
			return problem.New(api.Stale, "the variable %s has another value than in the plan that was judged", name).WithHint("assize plan")
		}
	}
	return nil
}

// judgedBefore is the plan of a stack that was judged, and its warrant.
func judgedBefore(ctx context.Context, j *job, conditional bool) (*plan.Plan, api.Warrant, error) {
	if conditional {
		p, warrant, err := conditionalPlan(j.stack)
		if err == nil {
			err = unmoved(ctx, j, warrant.Binding)
		}
		return p, warrant, err
	}
	saved, err := j.stack.Take("")
	if err != nil {
		return nil, api.Warrant{}, err
	}
	defer saved.Close()
	warrant, err := gate.Open(saved.Warrant)
	if err != nil {
		return nil, warrant, err
	}
	if warrant.Binding.Plan != saved.Digest {
		return nil, warrant, problem.New(api.Stale, "the plan file is not the one that was judged").WithHint("assize plan")
	}
	if err := unmoved(ctx, j, warrant.Binding); err != nil {
		return nil, warrant, err
	}
	p, err := j.stack.Read(ctx, saved, warrant.Binding)
	if err == nil && p.Digest != warrant.Binding.Document {
		err = problem.New(api.Stale, "the plan does not say what was judged").WithHint("assize plan")
	}
	return p, warrant, err
}

// unmoved refuses to plan again where anything is not as it was when the plan was
// made. It costs less than a plan does, and starts no tool that is another one.
func unmoved(ctx context.Context, j *job, was api.Binding) error {
	if err := j.stack.Equip(ctx); err != nil {
		return err
	}
	result := noResult()
	_, err := observe(ctx, j.stack, was.Plan, was, was.Provenance, &result)
	return err
}

// conditionalPlan is one that was kept, and that nobody has changed since.
func conditionalPlan(s *runner.Stack) (*plan.Plan, api.Warrant, error) {
	raw, text, err := s.Kept()
	if err != nil {
		return nil, api.Warrant{}, err
	}
	warrant, err := gate.Open(text)
	if err != nil {
		return nil, warrant, err
	}
	p, err := plan.Decode(raw)
	if err != nil || p.Digest != warrant.Binding.Document { // what it is instead does not matter
		err = problem.New(api.Stale, "the conditional plan is not the one that was judged").WithHint("assize plan")
	}
	return p, warrant, err
}
