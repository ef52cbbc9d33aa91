package cli

import (
	"context"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/runner"
	"github.com/assize-iac/assize/internal/settings"
	"github.com/assize-iac/assize/internal/stack"
)

const driftHelp = `Say which stacks are no longer what their configuration says: something was changed
outside of it, or was never applied. Nothing is saved or changed, and no policy is
asked.

In the directory of a stack it is about that stack, elsewhere about all of them.

  assize drift
  assize drift infra/network:prod 'infra/dns*'

What to do about it: assize plan STACK, which is judged, and assize apply STACK.
`

func newDriftCmd(g *Globals) *cobra.Command {
	var c choice
	var json bool
	cmd := &cobra.Command{
		Use:   "drift [STACK...]",
		Short: "Say which stacks are not what their configuration says",
		Long:  driftHelp + exitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.args = args
			return drift(cmd.Context(), g, c, json)
		},
	}
	c.register(cmd)
	cmd.Flags().BoolVar(&c.all, "all", false, "every stack of the repository")
	cmd.Flags().BoolVar(&json, "json", false, "print events on standard output, and nothing else")
	return cmd
}

func drift(ctx context.Context, g *Globals, c choice, json bool) error {
	if err := c.valid(); err != nil {
		return err
	}
	ctx, sig, stop := listen(ctx)
	defer stop()
	f, err := g.begin(ctx, sig, c, json, false)
	if err != nil {
		return err
	}
	keys, err := f.standing(c)
	if len(keys) == 0 && err == nil || c.all {
		keys = f.e.keys()
	}
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return f.nothing("There is no stack here.")
	}
	d := &looker{}
	err = f.run(ctx, task{kind: api.RolloutDrift, keys: keys, parallel: c.parallel, mode: settings.Drift, work: d.one})
	if err == nil && d.found.Load() {
		return &Exit{Code: ExitUnknown}
	}
	return err
}

// standing are the stacks that a command is about that changes nothing by itself:
// those that are named, those of the directory one stands in, or all.
func (f *fleet) standing(c choice) ([]stack.Key, error) {
	if len(c.args) > 0 {
		return c.named(f.e)
	}
	place, err := f.e.cfg.Place(c.dir)
	if err != nil {
		return nil, err
	}
	return f.e.graph.In(place), nil
}

// A looker looks at the stacks of a fleet.
type looker struct{ found atomic.Bool }

func (d *looker) one(ctx context.Context, j *job) (api.StackResult, error) {
	r := api.StackResult{Status: api.StackUnchanged}
	if err := j.stack.Equip(ctx); err != nil {
		return r, err
	}
	if err := j.stack.Hook(ctx, "pre-plan", runner.HookRun{}); err != nil {
		return r, err
	}
	planned, err := j.stack.Plan(ctx, runner.Options{})
	if err != nil {
		return r, err
	}
	defer planned.Close()
	summary := planned.Plan.Summary()
	r.Summary, r.Drifted = &summary, len(planned.Plan.Drifted)
	if planned.Changes || r.Drifted > 0 {
		r.Status = api.StackDrifted
		d.found.Store(true)
	}
	return r, j.stack.Hook(ctx, "post-plan", runner.HookRun{RunID: planned.Run, PlanJSON: planned.Plan.Raw, PlanFile: planned.File()})
}
