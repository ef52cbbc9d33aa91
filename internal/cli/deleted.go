package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/binding"
)

func newStateDeletedCmd(g *Globals) *cobra.Command {
	return group("deleted", "Read the last states of stacks that were deleted", newDeletedListCmd(g), newDeletedPullCmd(g))
}

func newDeletedListCmd(g *Globals) *cobra.Command {
	r := &remote{g: g}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the stacks that were deleted with a state",
		Long: `List the stacks of an organisation that were deleted with a state. Their last states
are kept for 30 days, and an owner can read them.

  assize state deleted list
` + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.deletedList(cmd.Context(), r) },
	}
	r.flags(cmd)
	r.printing(cmd)
	return cmd
}

func (g *Globals) deletedList(ctx context.Context, r *remote) error {
	in, err := r.in(ctx)
	if err != nil {
		return err
	}
	deleted, err := gather[v1.DeletedStack](ctx, r, 0, func(p v1.Paging) binding.Request {
		return v1.ListDeleted{Organisation: in, Paging: p}
	})
	if err != nil {
		return err
	}
	return show(g, r, deleted, "NAME,ID,SERIAL,SIZE,DELETED", func(d v1.DeletedStack) []string {
		return []string{d.Name, d.Stack, fmt.Sprint(d.Serial), fmt.Sprint(d.Size), moment(d.Deleted)}
	})
}

func newDeletedPullCmd(g *Globals) *cobra.Command {
	r := &remote{g: g}
	var to string
	cmd := &cobra.Command{
		Use:   "pull ID",
		Short: "Read the last state of a stack that was deleted",
		Long: `Read the last state of a stack that was deleted, by the id that the stack had. To have
it back: make a stack, and import what was read.

  assize state deleted pull stk_2ENL... -o network.tfstate
  assize state import network network.tfstate
` + exitHelp,
		Args: exactlyOne("deleted stack", "assize state deleted pull stk_2ENL..."),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.pull(cmd.Context(), r, v1.DownloadDeleted{Stack: args[0]}, to)
		},
	}
	r.flags(cmd)
	cmd.Flags().StringVarP(&to, "output", "o", "", "`FILE` to write, instead of standard output")
	return cmd
}
