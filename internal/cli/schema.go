package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

const schemaHelp = `Print what policies are written against, for editors and tests.

  assize policy schema document      JSON Schema of the plan document
  assize policy schema document.cue  its CUE definition, #Plan
  assize policy schema rules         JSON Schema of a file of rules
  assize policy schema decision      JSON Schema of what a decision policy may say
`

func newPolicySchemaCmd(g *Globals) *cobra.Command {
	return &cobra.Command{
		Use:       "schema [document|document.cue|rules|decision]",
		Short:     "Print the schemas of the plan document, of the rules and of decisions",
		Long:      schemaHelp + exitHelp,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: []string{"document", "document.cue", "rules", "decision"},
		RunE: func(_ *cobra.Command, args []string) error {
			name := "document"
			if len(args) == 1 {
				name = args[0]
			}
			text, ok := map[string]string{
				"document":     api.DocumentSchema(),
				"document.cue": api.DocumentCUE(),
				"rules":        api.RulesSchema(),
				"decision":     api.DecisionSchema(),
			}[name]
			if !ok {
				return problem.New(api.Invalid, "there is no schema %q", name).
					WithHint("use document, document.cue, rules or decision")
			}
			_, err := io.WriteString(g.Out, text)
			return err
		},
	}
}
