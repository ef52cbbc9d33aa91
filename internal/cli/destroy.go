package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/stack"
)

const destroyHelp = `Destroy everything that stacks have made, in reverse order: what depends on a stack
goes before it. Every plan is made, judged by the policies and shown before anything
is destroyed, and then somebody has to say yes. When one plan is refused, nothing is
destroyed.

In the directory of a stack it is about that stack; elsewhere name the stacks. One
that others depend on is refused unless they are named as well.

  assize destroy 'infra/*:dev'
  assize destroy 'infra/*:dev' --yes

In two steps, with time to look in between:

  assize plan --destroy 'infra/*:dev'
  assize apply
`

type destroyOptions struct {
	plan planOptions
	yes  bool
}

func newDestroyCmd(g *Globals) *cobra.Command {
	var c choice
	var o destroyOptions
	cmd := &cobra.Command{
		Use:   "destroy [STACK...]",
		Short: "Destroy what stacks have made, in reverse order",
		Long:  destroyHelp + exitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.args, o.plan.policies.from = args, c.dir
			return destroy(cmd.Context(), g, c, o)
		},
	}
	c.register(cmd)
	o.plan.policies.register(cmd)
	o.plan.from.register(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&c.all, "all", false, "every stack of the repository")
	flags.BoolVar(&o.yes, "yes", false, "do not ask; needed where there is no terminal")
	flags.BoolVar(&o.plan.json, "json", false, "print events on standard output, and nothing else")
	return cmd
}

func destroy(ctx context.Context, g *Globals, c choice, o destroyOptions) error {
	if err := c.valid(); err != nil {
		return err
	}
	if c.quiet && !o.yes && !o.plan.json {
		return problem.New(api.Invalid, "--quiet would hide what somebody has to say yes to").WithHint("leave it out, or destroy without being asked: --yes")
	}
	ctx, sig, stop := listen(ctx)
	defer stop()
	f, err := g.begin(ctx, sig, c, o.plan.json, true)
	if err != nil {
		return err
	}
	defer f.end()
	keys, err := f.doomed(c)
	if err != nil {
		return err
	}
	if !o.yes && !g.asks() {
		return problem.New(api.Invalid, "nobody can be asked whether to destroy: standard input is no terminal").
			WithHint("--yes, or in two steps: assize plan --destroy, then assize apply")
	}
	o.plan.flags.Destroy, o.plan.asked = true, true
	if err := f.plan(ctx, keys, c.parallel, o.plan); err != nil {
		fmt.Fprintln(g.Err, "assize: nothing was destroyed, and the plans are gone")
		return errors.Join(err, f.forget(keys))
	}
	if !slices.ContainsFunc(f.kept.Stacks, changes) {
		return nil
	}
	if !o.yes && !g.confirmed(ctx, keys) {
		return errors.Join(f.forget(keys), problem.New(api.Refused, "nothing was destroyed, and the plans are gone"))
	}
	return f.apply(ctx, keys, c.parallel, applyOptions{policies: o.plan.policies, from: o.plan.from, json: o.plan.json})
}

// forget removes what was planned: nobody wants it.
func (f *fleet) forget(keys []stack.Key) error {
	f.void(keys)
	f.kept = f.header(api.RolloutDestroy)
	return f.keep(func(*api.Rollout) {})
}

// doomed are the stacks to destroy. None of them may be left without what it
// depends on.
func (f *fleet) doomed(c choice) ([]stack.Key, error) {
	if c.all {
		return f.e.keys(), nil
	}
	keys, err := f.standing(c)
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, problem.New(api.Invalid, "no stack was named").WithHint("assize stacks lists them; --all is every one")
	}
	return keys, f.spare(keys, "assize destroy")
}

// spare refuses to destroy stacks that others depend on, unless those are among
// them.
func (f *fleet) spare(keys []stack.Key, command string) error {
	left := names(f.e.graph.Dependents(keys...))
	if len(left) == 0 {
		return nil
	}
	return problem.New(api.Conflict, "%s would be left without what it depends on", strings.Join(left, ", ")).
		WithHint("name them too: %s%s", command, quoteAll(append(names(keys), left...)...))
}

func names(keys []stack.Key) []string {
	var out []string
	for _, k := range keys {
		out = append(out, k.String())
	}
	return out
}

// asks reports whether there is somebody to ask.
func (g *Globals) asks() bool {
	in, ok := g.In.(*os.File)
	return ok && isTerminal(in) && onTerminal(g.Err)
}

// confirmed asks, and takes nothing but yes for one. An interrupt is a no.
func (g *Globals) confirmed(ctx context.Context, keys []stack.Key) bool {
	fmt.Fprintf(g.Err, "\nDestroy what is planned in %s? Only yes will do: ", count(len(keys), "stack", "stacks"))
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(g.In).ReadString('\n')
		answer <- strings.TrimSpace(line)
	}()
	select {
	case said := <-answer:
		return said == "yes"
	case <-ctx.Done():
		return false
	}
}
