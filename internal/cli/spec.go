package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/internal/runner"
	"github.com/assize-iac/assize/internal/settings"
)

const specHelp = `Work on a specification: infrastructure in CUE, which OpenTofu plans and applies. A
directory with files of the package estate is a stack like any other.

  package estate

  import rnd "registry.opentofu.org/hashicorp/random"

  $random: rnd.#Provider
  name: $random.#Resource.random_pet & {length: 2}
  $output: is: name.id

The import path of a provider is its source address. What it has is asked of the
provider itself, and every attribute is checked before any provider does anything.
`

func newSpecCmd(g *Globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "spec",
		Short: "Work on a specification in CUE",
		Long:  specHelp + exitHelp,
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newSpecWork(g, "init", "Fetch the providers and what they say of themselves", specInitHelp, specInit),
		newSpecWork(g, "check", "Evaluate the specification against its providers", specCheckHelp, specCheck),
		newSpecWork(g, "show", "Print the configuration that the specification comes to", specShowHelp, specShow),
		newSpecImport(g),
		newSpecWork(g, "vendor", "Write the packages of the providers, for editors", specVendorHelp, specVendor),
	)
	return cmd
}

const specInitHelp = `Fetch the providers that the specification imports, in the versions of the lock file,
and remember what they have. Every other command does this by itself when it has to.

  assize spec init
`

const specCheckHelp = `Evaluate the specification and check it against its providers. No provider does
anything, and nothing is written beside the specification but the lock file.

  assize spec check
  assize spec check infra/network
`

const specShowHelp = `Print the configuration that the specification comes to: what OpenTofu is given, as
JSON. The same specification makes the same bytes.

  assize spec show
  assize spec show | jq .resource
`

const specVendorHelp = `Write the packages of the providers below cue.mod, with everything they have, and a
module if there is none: then "cue vet" and the language server of CUE know what the
specification speaks of. Nothing that assize does needs it.

  assize spec vendor && cue vet -c=false .
`

// newSpecWork is a command that does one thing with one specification.
func newSpecWork(g *Globals, use, short, long string, do func(*cobra.Command, *Globals, *runner.Stack) error) *cobra.Command {
	var at where
	cmd := &cobra.Command{
		Use:   use + " [STACK]",
		Short: short,
		Long:  long + exitHelp,
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, stack, err := at.of(args).place(g, settings.Plan)
			if err != nil {
				return err
			}
			stack.Session.Out, stack.Session.Err = g.Err, g.Err // what the tool says is no result
			stack.Session.Plain = !colored(g.Err)
			return do(cmd, g, stack)
		},
	}
	cmd.Flags().StringVarP(&at.dir, "chdir", "C", ".", "work in `DIR`")
	return cmd
}

func specInit(cmd *cobra.Command, g *Globals, s *runner.Stack) error {
	if _, err := s.Specification(cmd.Context()); err != nil {
		return err
	}
	_, err := fmt.Fprintln(g.Out, `assize has been initialised. Run "assize plan" to see what it would do.`)
	return err
}

func specCheck(cmd *cobra.Command, g *Globals, s *runner.Stack) error {
	compiled, err := s.Specification(cmd.Context())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(g.Out, "Success! %v.\n", compiled.Counts)
	return err
}

func specShow(cmd *cobra.Command, g *Globals, s *runner.Stack) error {
	compiled, err := s.Specification(cmd.Context())
	if err != nil {
		return err
	}
	_, err = g.Out.Write(compiled.Config)
	return err
}

func specVendor(cmd *cobra.Command, g *Globals, s *runner.Stack) error {
	files, err := s.Vendor(cmd.Context())
	for _, name := range files {
		fmt.Fprintln(g.Out, name)
	}
	return err
}
