package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/repo"
	"github.com/assize-iac/assize/internal/settings"
	"github.com/assize-iac/assize/internal/stack"
)

// planMany plans several stacks, and keeps a record of them for the apply.
func planMany(cmd *cobra.Command, g *Globals, c choice, o planOptions) error {
	if err := c.valid(); err != nil {
		return err
	}
	if err := refuseFlags(cmd, "out", "target", "replace", "var", "var-file", "show-sensitive"); err != nil {
		return err
	}
	ctx, sig, stop := listen(cmd.Context())
	defer stop()
	f, err := g.begin(ctx, sig, c, o.json, true)
	if err != nil {
		return err
	}
	defer f.end()
	keys, err := f.planned(ctx, c)
	if err == nil && o.flags.Destroy {
		err = f.spare(keys, "assize plan --destroy")
	}
	if err != nil {
		return err
	}
	return f.plan(ctx, keys, c.parallel, o)
}

// planned are the stacks that a plan is about: those that are named, or those
// that are affected.
func (f *fleet) planned(ctx context.Context, c choice) ([]stack.Key, error) {
	switch {
	case c.all:
		for _, root := range f.e.scanned.Foreign {
			f.e.warnings = append(f.e.warnings, "another "+repo.ConfigName+" governs "+root+": its stacks are not among these")
		}
		return f.e.keys(), nil
	case len(c.args) > 0:
		return c.named(f.e)
	}
	return f.e.differing(ctx, c.base)
}

// plan plans stacks. The record of the last rollout goes first: what it says is
// not to be applied any more, whatever becomes of this one.
func (f *fleet) plan(ctx context.Context, keys []stack.Key, parallel int, o planOptions) error {
	kind := api.RolloutPlan
	if o.flags.Destroy {
		kind = api.RolloutDestroy
	}
	f.kept = f.header(kind)
	if err := f.keep(func(r *api.Rollout) { r.Stacks = f.waiting(kind, keys) }); err != nil {
		return err
	}
	f.void(keys)
	if len(keys) == 0 {
		if len(f.e.keys()) == 0 {
			return f.nothing("There is no stack here.")
		}
		return f.nothing("No stack is affected; there is nothing to plan.")
	}
	p := &planner{fleet: f, o: o}
	var err error
	if p.ordering, err = newOrdering(f.e.cfg.Root, f.e.graph, keys); err != nil {
		return err
	}
	if kind == api.RolloutPlan {
		if p.outlook, err = newOutlook(p.ordering); err != nil {
			return err
		}
		defer p.outlook.close()
	}
	err = f.run(ctx, task{kind: kind, keys: keys, parallel: parallel, mode: settings.Plan, work: p.one})
	if err == nil && !o.json && !o.asked {
		f.next(o)
	}
	if err == nil && o.detailed && slices.ContainsFunc(f.kept.Stacks, changes) {
		return &Exit{Code: ExitUnknown}
	}
	return err
}

// next says what can be done with the plans, and what the conditional ones are.
func (f *fleet) next(o planOptions) {
	n := f.kept.Counts
	if n.Conditional > 0 {
		fmt.Fprintf(f.g.Out, "%s planned against what the stacks before will be, and planned again after them.\n",
			count(n.Conditional, "conditional stack is", "conditional stacks are"))
	}
	if n.Planned+n.Conditional > 0 {
		all := ""
		if holdsConfiguration(f.dir) {
			all = " --all"
		}
		fmt.Fprintf(f.g.Out, "Next: assize apply%s%s\n", all, o.apply)
	}
}

// void removes what was planned before, of those too whose turn may not come. A
// stack of which it cannot be removed fails in its turn, and the record knows that
// nothing was planned of it.
func (f *fleet) void(keys []stack.Key) {
	for _, k := range keys {
		t, _, err := targetOf(f.e.cfg, k)
		if err != nil {
			continue
		}
		if s, err := t.open(settings.Plan); err == nil {
			_, _ = s.Void("")
		}
	}
}

// waiting are the stacks of a plan before any of them had its turn. If this process
// is killed, that is what is known of them, and an apply must not pass for whole
// without them (docs/rollouts.md, rule 25).
func (f *fleet) waiting(kind api.RolloutKind, keys []stack.Key) []api.StackResult {
	results := []api.StackResult{}
	waves, _ := f.order(task{kind: kind, keys: keys})
	for i, wave := range waves {
		for _, k := range wave {
			results = append(results, api.StackResult{Stack: k.String(), Wave: i, Status: api.StackSkipped})
		}
	}
	return results
}

func changes(r api.StackResult) bool { return r.Status != api.StackUnchanged }

// A planner plans the stacks of a fleet.
type planner struct {
	*fleet
	o        planOptions
	ordering *ordering
	outlook  *outlook // nil where nobody reads what will be: what is destroyed goes last
}

// one plans a stack, against what those that it reads from will be.
func (p *planner) one(ctx context.Context, j *job) (api.StackResult, error) {
	if p.outlook == nil && !j.stack.Specified() || j.stack.Equip(ctx) != nil { // why not is said there
		return p.plan(ctx, j, p.o)
	}
	at, reading, err := p.ordering.reading(j)
	if err == nil {
		err = p.ordering.refuseUnordered(j, reading)
	}
	if err != nil {
		return api.StackResult{}, err
	}
	if p.outlook == nil {
		return p.plan(ctx, j, p.o)
	}
	ahead := p.outlook.ahead(at, reading)
	if ahead == nil {
		r, err := p.plan(ctx, j, p.o)
		r.Warnings = append(r.Warnings, p.outlook.unseen(j.key, nil)...)
		return r, err
	}
	warnings := p.outlook.unseen(j.key, ahead.keys)
	o := p.o
	o.upstream = ahead.keys
	o.overlay = p.outlook.overlay(p.e.cfg.Root, j, ahead, func(warning string) { warnings = append(warnings, warning) })
	r, err := p.plan(ctx, j, o)
	r.Warnings = append(r.Warnings, warnings...)
	return r, ahead.explained(err, j.said.String())
}

func (p *planner) plan(ctx context.Context, j *job, o planOptions) (api.StackResult, error) {
	m, err := makePlan(ctx, j.g, j.work, o)
	r := resultOf(m)
	switch {
	case err != nil && m.kept:
		r.Hint = softly(j.at, o.upstream)
	case err == nil && p.outlook != nil:
		s, _ := p.e.graph.Stack(j.key)
		p.outlook.note(s, m)
	}
	return r, err
}

// softly says what to do about a plan that was refused softly. A conditional one
// cannot be overridden (docs/rollouts.md, rule 18).
func softly(at where, upstream []string) string {
	if len(upstream) > 0 {
		return "assize apply plans it again after " + strings.Join(upstream, " and ") + ", and keeps that plan for an override"
	}
	return overriding("", at) + "; then assize apply"
}

// resultOf is what became of a plan, as the record has it.
func resultOf(m made) api.StackResult {
	r := api.StackResult{Status: api.StackUnchanged, Warrant: m.warrant.Seal, Run: m.warrant.Run, Upstream: m.warrant.Upstream}
	if m.plan == nil {
		return r
	}
	summary := m.plan.Summary()
	r.Summary, r.Drifted = &summary, len(m.plan.Drifted)
	judgement(&r, m.verdicts)
	switch {
	case len(r.Upstream) > 0:
		r.Status = api.StackConditional
	case m.changes:
		r.Status = api.StackPlanned
	}
	return r
}
