package cli

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/mcp"
	"github.com/assize-iac/assize/internal/problem"
)

const mcpHelp = `Serve an agent over the Model Context Protocol, on standard input and output. It can
check, plan, show plans, apply saved plans, ask what exists, see the graph, and judge and
test by policies: through this server, under the policies that are named here.

They are read once, when the server starts. No tool adds, removes or changes one, and
what becomes of the files meanwhile changes nothing. A path must be absolute.

  assize mcp --policy /etc/assize/no-delete.cue

The server binds the tools, not the process around it: an agent with a shell beside it
can run assize without a policy (docs/mcp.md).
`

func newMCPCmd(g *Globals) *cobra.Command {
	var dir string
	var policies []string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve an agent, under policies that it cannot change",
		Long:  mcpHelp + exitHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			program, err := os.Executable()
			if err != nil {
				return problem.New(api.Unavailable, "where assize is cannot be found out: %w", err)
			}
			at, err := filepath.Abs(dir)
			if err != nil {
				return problem.New(api.Invalid, "%w", err)
			}
			err = mcp.Serve(cmd.Context(), mcp.Options{Program: program, Dir: at, Policies: policies, Version: g.Version,
				Usable: func(paths []string) error { _, err := g.usable(at, policyFlags{any: paths}); return err }})
			if err != nil && cmd.Context().Err() == nil {
				return &Exit{ExitPolicy, err}
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&dir, "chdir", "C", ".", "work in `DIR`")
	cmd.Flags().StringArrayVar(&policies, "policy", nil, "judge every plan by `ABSOLUTE_PATH` (repeatable)")
	return cmd
}
