package cli

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/internal/report"
	"github.com/assize-iac/assize/internal/runner"
	"github.com/assize-iac/assize/internal/settings"
)

const specImportHelp = `Write the specification that a stack in the tool's own language comes to, into a new
directory, and list what it does not say. The stack is planned for it; nothing of it
is changed.

  assize spec import
  assize spec import infra/network --out infra/network-in-cue

Values are those of the state. What refers to another resource still does, where that
has the very value. What is sensitive is never written, but listed.
`

func newSpecImport(g *Globals) *cobra.Command {
	var at where
	var out string
	cmd := &cobra.Command{
		Use:   "import [STACK]",
		Short: "Write the specification that an existing stack comes to",
		Long:  specImportHelp + exitHelp,
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, stack, err := at.of(args).place(g, settings.Plan)
			if err != nil {
				return err
			}
			stack.Session.Out, stack.Session.Err = io.Discard, g.Err // of the plan only what was wrong with it is of interest
			stack.Session.Plain = !colored(g.Err)
			dir := out
			if dir == "" {
				dir = filepath.Join(t.dir(), "estate")
			}
			if dir, err = filepath.Abs(dir); err != nil {
				return err
			}
			imported, err := stack.Convert(cmd.Context(), dir)
			if err != nil {
				return err
			}
			return g.imported(imported)
		},
	}
	cmd.Flags().StringVarP(&at.dir, "chdir", "C", ".", "work in `DIR`")
	cmd.Flags().StringVar(&out, "out", "", "write the specification into `DIR`, which must be new (default: the directory estate in the stack's)")
	return cmd
}

// imported says what was written, what was not, and what to do next.
func (g *Globals) imported(i *runner.Imported) error {
	dir := shortest(i.Dir)
	fmt.Fprintf(g.Out, "%s holds the specification: %s, of which %d will move to another address.\n", dir, count(i.Resources, "resource", "resources"), i.Moved)
	if len(i.Left) > 0 {
		fmt.Fprintf(g.Err, "\n%s that it does not say, or says otherwise:\n", count(len(i.Left), "thing", "things"))
		for _, left := range i.Left {
			fmt.Fprintf(g.Err, "  %v\n", left)
		}
		fmt.Fprintln(g.Err)
	}
	if i.Wrong != nil {
		report.Problem(g.Err, "warning", "it does not evaluate before what is listed has been added")
		return i.Wrong
	}
	fmt.Fprintln(g.Out, "To see that it plans empty against the same state:")
	if i.State != "" {
		fmt.Fprintf(g.Out, "  cp%s%s\n", quoteAll(shortest(i.State)), quoteAll(filepath.Join(dir, "terraform.tfstate")))
	}
	fmt.Fprintf(g.Out, "  assize plan -C%s\n", quoteAll(dir))
	if i.State == "" {
		fmt.Fprintf(g.Out, "It names the same state (%s), so that only one of the two may be applied from now on.\n", i.Backend)
	}
	return nil
}

// shortest is a path as one would type it here.
func shortest(path string) string {
	here, err := filepath.Abs(".")
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(here, path)
	if err != nil || len(rel) > len(path) {
		return path
	}
	return rel
}
