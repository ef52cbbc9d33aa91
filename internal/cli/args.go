package cli

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// This file is about words that are no flags, and what somebody may have meant
// by them.

// noArgs is for a command whose stack is named by -C.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := problem.New(api.Invalid, "`%s` takes no arguments, and %s is one", cmd.CommandPath(), args[0])
	if isDir(args[0]) {
		return err.WithHint("%s -C%s", cmd.CommandPath(), quoteAll(args[0]))
	}
	return err.WithHint("-C names the stack's directory, and --out the file of the plan; see `%s --help`", cmd.CommandPath())
}

// savedPlanArg is for a command on the saved plan that its argument names.
func savedPlanArg(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) > 1:
		return problem.New(api.Invalid, "`%s` takes one saved plan, and %d were named", cmd.CommandPath(), len(args)).
			WithHint("see `%s --help`", cmd.CommandPath())
	case len(args) == 1 && !cmd.Flags().Changed("chdir") && isDir(args[0]):
		return problem.New(api.Invalid, "%s is a directory and no saved plan", args[0]).
			WithHint("%s -C%s", cmd.CommandPath(), quoteAll(args[0]))
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// onePlan reads the one plan that a command is about.
func (g *Globals) onePlan(ctx context.Context, cmd *cobra.Command, paths, planFiles []string) (planInput, error) {
	switch len(paths) + len(planFiles) {
	case 0:
		return planInput{}, problem.New(api.Invalid, "no plan was named").
			WithHint("tofu plan -out=plan.out && %s --show plan.out", cmd.CommandPath())
	case 1:
		in, err := g.planInputs(ctx, paths, planFiles)
		if err != nil {
			return planInput{}, err
		}
		return in[0], in[0].err
	}
	return planInput{}, problem.New(api.Invalid, "more than one plan was named, and `%s` takes one", cmd.CommandPath()).
		WithHint("see `%s --help`", cmd.CommandPath())
}

// fromHere is a file of the stack in dir, which is as -C names it, from where the
// person stands.
func fromHere(dir, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}
