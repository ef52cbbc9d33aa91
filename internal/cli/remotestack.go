package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/binding"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/report/page"
)

// group is a command that only holds others.
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   name,
		Short: short,
		Long:  short + ".\n" + exitHelp,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownCommand(cmd, args[0])
		},
	}
	cmd.AddCommand(commands...)
	return cmd
}

func newStackCmd(g *Globals) *cobra.Command {
	return group("stack", "Look at the stacks of a server, and lock them",
		newStackListCmd(g), newStackShowCmd(g), newStackCreateCmd(g), newStackDeleteCmd(g),
		newStackLockCmd(g), newStackUnlockCmd(g))
}

func newStackListCmd(g *Globals) *cobra.Command {
	r := &remote{g: g}
	var search string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the stacks of an organisation",
		Long: `List the stacks of an organisation that you may see, by name. The stacks of the
checkout that you are in lists "assize stacks".

  assize stack list --search prod
` + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.stackList(cmd.Context(), r, search) },
	}
	r.flags(cmd)
	r.printing(cmd)
	cmd.Flags().StringVar(&search, "search", "", "only those with `TEXT` in their name")
	return cmd
}

func (g *Globals) stackList(ctx context.Context, r *remote, search string) error {
	in, err := r.in(ctx)
	if err != nil {
		return err
	}
	stacks, err := gather[v1.Stack](ctx, r, 0, func(p v1.Paging) binding.Request {
		return v1.ListStacks{Organisation: in, Search: search, Paging: p}
	})
	if err != nil {
		return err
	}
	return show(g, r, stacks, "NAME,ID,PROJECT,UPDATED", func(s v1.Stack) []string {
		return []string{s.Name, s.ID, s.Project, moment(s.Updated)}
	})
}

func newStackShowCmd(g *Globals) *cobra.Command {
	r := &remote{g: g}
	cmd := &cobra.Command{
		Use:   "show STACK",
		Short: "Show one stack",
		Long: `Show one stack. STACK is its name, organisation/name, or its id.

  assize stack show network-prod
` + exitHelp,
		Args: exactlyOne("stack", "assize stack show network-prod"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := r.stack(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return g.stackShow(cmd.Context(), r, s)
		},
	}
	r.flags(cmd)
	r.printing(cmd)
	return cmd
}

// A shown is a stack with what one wants to know of it.
type shown struct {
	v1.Stack
	Lock  *v1.Lock         `json:"lock,omitempty"`
	State *v1.StateVersion `json:"state,omitempty"` // the version that counts
}

func (g *Globals) stackShow(ctx context.Context, r *remote, s v1.Stack) error {
	doc := shown{Stack: s}
	var held v1.Locking
	if err := r.Ask(ctx, v1.ShowLock{Stack: s.ID}, &held); err != nil {
		return err
	}
	doc.Lock = held.Lock
	var current v1.StateVersion
	switch err := r.Ask(ctx, v1.CurrentState{Stack: s.ID}, &current); {
	case err == nil:
		doc.State = &current
	case problem.Code(err) != api.NotFound:
		return err
	}
	if r.json {
		return page.JSON(g.Out, doc)
	}
	return doc.text(g)
}

// text shows a stack to people.
func (s shown) text(g *Globals) error {
	p := page.New(g.pageOptions())
	p.Line(0, s.Name)
	p.Line(2, "id       "+s.ID)
	p.Line(2, "project  "+s.Project)
	switch v := s.State; {
	case v == nil:
		p.Line(2, "state    none yet")
	default:
		p.Line(2, fmt.Sprintf("state    serial %d, %s, %s, since %s by %s: %s", v.Serial, page.Plural(v.Resources, "resource"),
			page.Plural(int(v.Size), "byte"), moment(v.Created), page.Visible(v.Writer.Name), v.ID))
	}
	switch l := s.Lock; {
	case l == nil:
		p.Line(2, "lock     not locked")
	default:
		why := ""
		if l.Reason != "" {
			why = ": " + page.Visible(l.Reason)
		}
		p.Line(2, fmt.Sprintf("lock     %s, since %s%s", page.Visible(l.Holder.Name), moment(l.Since), why))
	}
	_, err := p.WriteTo(g.Out)
	return err
}

func newStackCreateCmd(g *Globals) *cobra.Command {
	r := &remote{g: g}
	var project string
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a stack",
		Long: `Make a stack, for a state to come. tofu and terraform make what they need by
themselves, with a cloud block.

  assize stack create network-prod
  assize stack create network-prod --project networks
` + exitHelp,
		Args: exactlyOne("stack", "assize stack create network-prod"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := r.in(cmd.Context())
			if err != nil {
				return err
			}
			wanted := v1.CreateStack{Organisation: in, Name: args[0]}
			if project != "" {
				p, err := r.project(cmd.Context(), in, project)
				if err != nil {
					return err
				}
				wanted.Project = p.ID
			}
			var s v1.Stack
			if err := r.Ask(cmd.Context(), wanted, &s); err != nil {
				return err
			}
			return say(g, r, s, "%s is made: %s", s.Name, s.ID)
		},
	}
	r.flags(cmd)
	r.printing(cmd)
	cmd.Flags().StringVar(&project, "project", "", "`PROJECT` that it is in, if not the one that the organisation begins with")
	return cmd
}

func newStackDeleteCmd(g *Globals) *cobra.Command {
	r := &remote{g: g}
	var force bool
	cmd := &cobra.Command{
		Use:   "delete STACK",
		Short: "Delete a stack and all versions of its state",
		Long: `Delete a stack and all versions of its state. What its state names stays as it is,
and nothing knows of it any more: with resources in the state, only --force does it.

  assize stack delete network-old
` + exitHelp,
		Args: exactlyOne("stack", "assize stack delete network-old"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := r.stack(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := r.Ask(cmd.Context(), v1.DeleteStack{Stack: s.ID, Force: force}, nil); err != nil {
				return lockedOut(err, s)
			}
			return say(g, r, s, "%s is deleted.", s.Name)
		},
	}
	r.flags(cmd)
	r.printing(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "even if its state still has resources")
	return cmd
}
