package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/binding"
	"github.com/assize-iac/assize/internal/problem"
)

func newStateQuarantineCmd(g *Globals) *cobra.Command {
	return group("quarantine", "Look at bytes that were refused as states, and import them on purpose",
		newQuarantineListCmd(g), newQuarantinePullCmd(g), newQuarantineImportCmd(g))
}

func newQuarantineListCmd(g *Globals) *cobra.Command {
	r := &remote{g: g}
	cmd := &cobra.Command{
		Use:   "list STACK",
		Short: "List what was refused of a stack",
		Long: `List the bytes that were refused as states of a stack, the newest first, with who sent
them and why they were refused.

  assize state quarantine list network-prod
` + exitHelp,
		Args: exactlyOne("stack", "assize state quarantine list network-prod"),
		RunE: func(cmd *cobra.Command, args []string) error { return g.quarantineList(cmd.Context(), r, args[0]) },
	}
	r.flags(cmd)
	r.printing(cmd)
	return cmd
}

func (g *Globals) quarantineList(ctx context.Context, r *remote, called string) error {
	s, err := r.stack(ctx, called)
	if err != nil {
		return err
	}
	refused, err := gather[v1.Quarantined](ctx, r, 0, func(p v1.Paging) binding.Request {
		return v1.ListQuarantine{Stack: s.ID, Paging: p}
	})
	if err != nil {
		return err
	}
	return show(g, r, refused, "ID,AT,BY,REASON,SERIAL,SIZE", func(q v1.Quarantined) []string {
		return []string{q.ID, moment(q.At), q.Writer.Name, q.Reason, fmt.Sprint(q.Serial), fmt.Sprint(q.Size)}
	})
}

func newQuarantinePullCmd(g *Globals) *cobra.Command {
	r := &remote{g: g}
	var to string
	cmd := &cobra.Command{
		Use:   "pull ID",
		Short: "Read bytes that were refused",
		Long: `Read bytes that were refused, to compare them with what is there.

  assize state quarantine pull qua_3fS0... -o refused.tfstate
` + exitHelp,
		Args: exactlyOne("id of what was refused", "assize state quarantine pull qua_3fS0..."),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.pull(cmd.Context(), r, v1.DownloadQuarantined{Quarantined: args[0]}, to)
		},
	}
	r.flags(cmd)
	cmd.Flags().StringVarP(&to, "output", "o", "", "`FILE` to write, instead of standard output")
	return cmd
}

// pull writes bytes that a server keeps to a file that nobody else reads, or to
// standard output.
func (g *Globals) pull(ctx context.Context, r *remote, in binding.Request, path string) error {
	if err := r.connect(); err != nil {
		return err
	}
	body, err := r.Open(ctx, in)
	if err != nil {
		return err
	}
	defer body.Close()
	write := func(out io.Writer) error {
		if _, err := io.Copy(out, body); err != nil {
			return problem.New(api.Unavailable, "the bytes broke off: %w", err).WithHint("pull them again")
		}
		return nil
	}
	if path == "" {
		return write(g.Out)
	}
	return writeWhole(path, 0o600, write)
}

func newQuarantineImportCmd(g *Globals) *cobra.Command {
	r := &remote{g: g}
	cmd := &cobra.Command{
		Use:   "import ID",
		Short: "Make bytes that were refused the current version",
		Long: `Make bytes that were refused the current version of their stack, on purpose. What is
there now stays an earlier version.

  assize state quarantine import qua_3fS0...
` + exitHelp,
		Args: exactlyOne("id of what was refused", "assize state quarantine import qua_3fS0..."),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, _, stop := interruptible(cmd.Context())
			defer stop()
			return g.quarantineImport(ctx, r, args[0])
		},
	}
	r.flags(cmd)
	return cmd
}

func (g *Globals) quarantineImport(ctx context.Context, r *remote, id string) error {
	if err := r.connect(); err != nil {
		return err
	}
	var q v1.Quarantined
	if err := r.Ask(ctx, v1.ShowQuarantined{Quarantined: id}, &q); err != nil {
		return err
	}
	s, err := r.stack(ctx, q.Stack)
	if err != nil {
		return err
	}
	var v v1.StateVersion
	err = r.holding(ctx, s, "state quarantine import", func(key string) error {
		return r.Ask(ctx, v1.ImportQuarantined{Quarantined: id, Key: key}, &v)
	})
	if err != nil {
		return lockedOut(err, s)
	}
	_, err = fmt.Fprintf(g.Out, "%s is at serial %d: %s\n", s.Name, v.Serial, v.ID)
	return err
}
