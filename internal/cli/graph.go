package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/report/graph"
	"github.com/assize-iac/assize/internal/stack"
)

const graphHelp = `Show what depends on what: the stacks of the repository, the modules that they
call, and whose state they read.

  assize graph
  assize graph --format html > graph.html
  assize graph --format dot | dot -Tsvg > graph.svg
  assize graph --base main

With --base, or with --affected for the default branch, what a change affects is
marked, and why.
`

func newGraphCmd(g *Globals) *cobra.Command {
	var dir, format, base string
	var mark bool
	names := drawings()
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "Show what depends on what",
		Long:  graphHelp + exitHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			i := slices.Index(names, format)
			if i < 0 {
				return problem.New(api.Invalid, "--format %s is not known", format).WithHint("use %s", strings.Join(names, ", "))
			}
			e, err := readEstate(cmd.Context(), dir)
			if err != nil {
				return err
			}
			picture := graph.Picture{Graph: e.graph.Shape(), Waves: stack.AllWaves(e.graph)}
			if mark || base != "" {
				a, err := e.affected(cmd.Context(), base)
				if err != nil {
					return err
				}
				picture.Affected = &a
			}
			return e.finish(g, graph.Formats()[i].Write(g.Out, picture, g.pageOptions()))
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&dir, "chdir", "C", ".", "work in `DIR`; it decides which assize.yaml is read")
	flags.StringVar(&format, "format", "text", "output format: "+strings.Join(names, ", "))
	flags.StringVar(&base, "base", "", "mark what is affected by the changes since the checkout left `REF`")
	flags.BoolVar(&mark, "affected", false, "mark what is affected by the changes since the default branch")
	return cmd
}

// drawings are the formats of a graph by name.
func drawings() []string {
	var names []string
	for _, f := range graph.Formats() {
		names = append(names, f.Name)
	}
	return names
}
