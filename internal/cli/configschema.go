package cli

import (
	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/settings"
)

const configSchemaHelp = `Print the JSON Schema of a configuration file, for editors: they complete its keys, say
what each means, and mark what is wrong while it is typed.

  assize config schema >assize.schema.json
  assize config schema .assize.yaml

An editor with the YAML language server takes it from a comment in the file:

  # yaml-language-server: $schema=assize.schema.json
`

func newConfigSchemaCmd(g *Globals) *cobra.Command {
	return &cobra.Command{
		Use:       "schema [assize.yaml|.assize.yaml]",
		Short:     "Print the JSON Schema of a configuration file, for editors",
		Long:      configSchemaHelp + exitHelp,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: []string{"assize.yaml", ".assize.yaml"},
		RunE: func(_ *cobra.Command, args []string) error {
			schema := settings.RootSchema()
			switch {
			case len(args) == 0 || args[0] == "assize.yaml":
			case args[0] == ".assize.yaml":
				schema = settings.DirectorySchema()
			default:
				return problem.New(api.Invalid, "there is no schema of %q", args[0]).WithHint("use assize.yaml or .assize.yaml")
			}
			_, err := g.Out.Write(schema)
			return err
		},
	}
}
