package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// This file is about words that are no flags, and what somebody may have meant
// by them.

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

// words wants n words and, after them, at most the name of a stack. What a word says
// may be empty nowhere.
func words(noun string, n int, example string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < n:
			return problem.New(api.Invalid, "it wants %s", noun).WithHint("%s", example)
		case len(args) > n+1:
			return problem.New(api.Invalid, "it wants %s and one stack, and got %d words", noun, len(args)).WithHint("%s", example)
		case slices.Contains(args, ""):
			return problem.New(api.Invalid, "a word is empty").WithHint("%s", example)
		}
		return nil
	}
}

// word is that of the command line at i, "" where there is none.
func word(args []string, i int) string {
	if i < len(args) {
		return args[i]
	}
	return ""
}
