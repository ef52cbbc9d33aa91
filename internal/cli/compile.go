package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy/rules"
	"github.com/assize-iac/assize/internal/policy/translate"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/repo"
)

const compileHelp = `Write rules as Rego, for those who judge by opa or conftest, or as CUE.

RULES is a file of rules, JSON or YAML, or a directory of them. In Rego, each
rule is one block of deny or warn, and finds what the rule finds. What a
language cannot say is refused by name: see docs/compile.md.

  assize policy compile rules.json -o policy/rules.rego
  conftest test --parser json --policy policy plan.json

  assize policy compile rules.json --cue -o rules.cue
  assize policy check plan.json --cue rules.cue
`

type compileOptions struct {
	cue    bool
	pkg    string
	output string
}

func newPolicyCompileCmd(g *Globals) *cobra.Command {
	var o compileOptions
	cmd := &cobra.Command{
		Use:   "compile RULES",
		Short: "Write rules as Rego or CUE",
		Long:  compileHelp + exitHelp,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.cue && cmd.Flags().Changed("package") {
				return problem.New(api.Invalid, "--package names a Rego package; CUE policies have none").
					WithHint("leave out --package or --cue")
			}
			return runCompile(g, o, args[0])
		},
	}
	cmd.Flags().BoolVar(&o.cue, "cue", false, "write CUE, which knows no warnings, instead of Rego")
	cmd.Flags().StringVar(&o.pkg, "package", "main", "Rego package to write")
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "write to `FILE` instead of standard output")
	return cmd
}

// runCompile writes nothing unless all of the rules can be written: half a
// policy would be one that passes more.
func runCompile(g *Globals, o compileOptions, path string) error {
	src, err := repo.ReadPolicyAs(".", path, api.Rules)
	if err != nil {
		return err
	}
	loaded, err := rules.Load(src)
	if err != nil {
		return err
	}
	text, err := compiled(loaded, o)
	if err != nil {
		return err
	}
	if o.output == "" {
		_, err = io.WriteString(g.Out, text)
	} else {
		err = repo.WriteFile(o.output, []byte(text))
	}
	if err != nil {
		return problem.New(api.Internal, "the policy could not be written: %w", err)
	}
	return nil
}

func compiled(loaded []rules.Rule, o compileOptions) (string, error) {
	if o.cue {
		return translate.CUE(loaded)
	}
	return translate.Rego(loaded, o.pkg)
}
