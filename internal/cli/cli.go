// Package cli is the commands: it reads flags and files, calls the packages
// that decide, and prints what they say. It decides nothing itself but the
// exit code, and must not know which engines exist.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/report"
)

// Globals is what every command works with; main fills it in.
type Globals struct {
	In      io.Reader
	Out     io.Writer // results: what a program may read
	Err     io.Writer // progress, errors, hints
	Engines []policy.Engine
	Version string
	Now     func() time.Time // the clock of warrants, exceptions and overrides
}

// Run executes one command line and returns the exit code. It is the only
// place that prints an error.
func Run(ctx context.Context, g *Globals, args []string) int {
	root := newRootCmd(g)
	root.SetArgs(args)
	root.SetIn(g.In)
	root.SetOut(g.Out)
	root.SetErr(g.Err)
	g.warnUnknown(os.Environ())
	err := root.ExecuteContext(ctx)
	g.printError(err)
	return exitCode(err)
}

func (g *Globals) printError(err error) {
	var exit *Exit
	if err == nil || errors.As(err, &exit) && exit.Err == nil {
		return
	}
	report.Problem(g.Err, "error", err.Error())
	if hint := problem.Hint(err); hint != "" {
		report.Problem(g.Err, "hint", hint)
	}
}

func newRootCmd(g *Globals) *cobra.Command {
	version := false
	root := &cobra.Command{
		Use:   "assize",
		Short: "Decide whether a change to infrastructure may happen, and carry out exactly what was judged",
		Long: `Assize judges the plans of OpenTofu and Terraform by policies in three languages
(rules as data, Rego, CUE) and applies exactly the plans that were judged: those of
one stack, or of all stacks that a change affects, in their order.

  assize plan --base main              plan what differs from main, and what depends on it
  assize apply                         apply that, and nothing else
  assize status                        what became of it, and what is next
  assize drift                         what was changed outside of the configuration?
  assize policy check plan.json --rules policy/rules.json
                                       judge a plan that something else has made
  assize server                        keep the states of a team, for unchanged tofu and terraform
` + exitHelp,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0:
				return unknownCommand(cmd, args[0])
			case version:
				fmt.Fprint(g.Out, versions(g))
				return nil
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVar(&version, "version", false, "print the version, like the command version")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return problem.New(api.Invalid, "%w", err).WithHint("see `%s --help`", cmd.CommandPath())
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		newPlanCmd(g), newApplyCmd(g), newDestroyCmd(g), newDriftCmd(g), newStatusCmd(g), newOverrideCmd(g), newImportCmd(g), newSpecCmd(g), newLogCmd(g), newMCPCmd(g),
		newStacksCmd(g), newGraphCmd(g), newAffectedCmd(g), newConfigCmd(g), newShowCmd(g), newDiffCmd(g), newPolicyCmd(g),
		newAuditCmd(g), newArtifactCmd(g), newServerCmd(g), newLoginCmd(g), newLogoutCmd(g), newStackCmd(g), newStateCmd(g),
		newTokenCmd(g), newWhoamiCmd(g), newOrganisationCmd(g), newProjectCmd(g), newTeamCmd(g), newMemberCmd(g), newGrantCmd(g), newAdministratorCmd(g), newVersionCmd(g),
	)
	return root
}

// unknownCommand fails closed: a misspelt command in a pipeline must not exit 0
// by printing help.
func unknownCommand(cmd *cobra.Command, name string) error {
	hint := fmt.Sprintf("`%s --help` lists the commands", cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		hint = fmt.Sprintf("did you mean `%s %s`?", cmd.CommandPath(), near[0])
	}
	var below []string
	for _, group := range cmd.Commands() {
		if inner, _, err := group.Find([]string{name}); err == nil && inner.HasParent() && inner.Parent() == group {
			below = append(below, "`"+inner.CommandPath()+"`")
		}
	}
	if len(below) > 0 {
		hint = fmt.Sprintf("did you mean %s?", strings.Join(below, " or "))
	}
	return problem.New(api.Invalid, "%s has no command %q", cmd.CommandPath(), name).WithHint("%s", hint)
}

// reportOptions says what the reader of the results can show.
func (g *Globals) reportOptions() report.Options {
	o := report.Options{Version: g.Version}
	if f, ok := g.Out.(*os.File); ok && isTerminal(f) {
		o.Color, o.Width = colored(f), width(f)
	}
	return o
}

// colored reports whether w is a terminal that wants colours
// (https://no-color.org).
func colored(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	return isTerminal(f)
}
