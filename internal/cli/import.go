package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/report"
	"github.com/assize-iac/assize/internal/report/page"
	"github.com/assize-iac/assize/internal/runner"
	"github.com/assize-iac/assize/internal/state/document"
)

const importHelp = `Adopt an object that is there: from now on the state of the stack knows it. It must be
in the specification, or in the configuration, first. In a specification ADDRESS is its
path in CUE; there, $import in the resource does the same with the next plan, which is
shown and judged.

  assize import web.front i-0123456789
  assize import 'aws_instance.web[0]' i-0123456789 infra/network:prod --reason 'made by hand in May'

It is written into the log (assize log), without the id, which may be a secret: the
state has it. A plan that was saved before is stale then.
`

func newImportCmd(g *Globals) *cobra.Command {
	e := edit{action: "import"}
	var vars []string
	cmd := &cobra.Command{
		Use:   "import ADDRESS ID [STACK]",
		Short: "Adopt an object that is there into the state of a stack",
		Long:  importHelp + exitHelp,
		Args:  words("an address and an id", 2, "assize import web.front i-0123456789"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e.at.key = word(args, 2)
			return e.run(cmd.Context(), g, func(s *document.State) (runner.Edit, error) {
				address, err := e.planned(args[0])
				e.words = []string{s.Shown(args[0])}
				return e.stack.Import(address, args[1], vars), err
			}, e.imported)
		},
	}
	e.flags(cmd)
	cmd.Flags().Var(toolFlag{&vars, "-var="}, "var", "set a variable, `NAME=VALUE` (repeatable)")
	cmd.Flags().Var(toolFlag{&vars, "-var-file="}, "var-file", "read variables from `FILE` (repeatable)")
	return cmd
}

// planned is what the tool calls a resource of the specification. What is in a
// configuration the tool knows better.
func (e *edit) planned(name string) (string, error) {
	if !e.stack.Specified() {
		return name, nil
	}
	for address, place := range e.stack.Places() {
		if !place.Is(name) && address != name {
			continue
		}
		if !managed(address) {
			return "", problem.New(api.Invalid, "%s is no resource: there is nothing to adopt", name).WithHint("only what is built from #Resource has objects of its own")
		}
		return address, nil
	}
	return "", problem.New(api.NotFound, "%s is not in the specification", name).
		WithHint(`write it there first, with $import: "ID" in it for the next plan, or without and this command again`)
}

// managed reports whether an address of the tool is that of a resource.
func managed(address string) bool {
	kind, _, _ := strings.Cut(address, ".")
	return kind != "data" && kind != "ephemeral" && kind != "local" && kind != "terraform"
}

func (e *edit) imported(g *Globals, now string) {
	fmt.Fprintf(g.Out, "%s is in the state now%s.\n", page.Visible(e.words[0]), now)
	report.Problem(g.Err, "hint", "assize plan shows in what it differs from what is written")
}
