package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/repo"
)

func newPolicyCmd(g *Globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Judge plans by policies",
		Long:  "Judge plans by policies, and print what policies are written against.\n" + exitHelp,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return &Exit{Code: ExitUnknown, Err: unknownCommand(cmd, args[0])}
		},
	}
	cmd.AddCommand(newPolicyBuildCmd(g), newPolicyCheckCmd(g), newPolicyCompileCmd(g), newPolicyInputCmd(g), newPolicyInspectCmd(g), newPolicyReplayCmd(g), newPolicySchemaCmd(g), newPolicyTestCmd(g))
	return cmd
}

// policyFlags name policies by their language and say how Rego is read.
type policyFlags struct {
	rules, rego, cue, any []string
	namespaces, data      []string
	allNamespaces         bool
	inputShape            string
	exceptions            []string
}

func (f *policyFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.any, "policy", nil, "policy `FILE`, directory or bundle in any of the three languages (repeatable)")
	flags.StringArrayVar(&f.rules, "rules", nil, "rules, JSON or YAML: `FILE` or directory (repeatable)")
	flags.StringArrayVar(&f.rego, "rego", nil, "Rego, by conftest's convention or the decision contract: `FILE` or directory (repeatable)")
	flags.StringArrayVar(&f.cue, "cue", nil, "CUE: `FILE` or directory (repeatable)")
	f.registerRego(cmd)
	f.registerExceptions(cmd)
}

func (f *policyFlags) registerExceptions(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.exceptions, "exceptions", nil, "exceptions to what policies say, JSON or YAML: `FILE` (repeatable)")
}

// registerRego registers the flags that say how Rego is judged.
func (f *policyFlags) registerRego(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.namespaces, "namespace", nil, "Rego package to judge, default main (repeatable)")
	flags.BoolVar(&f.allNamespaces, "all-namespaces", false, "judge every Rego package that has rules")
	flags.StringArrayVar(&f.data, "data", nil, "documents below data for Rego: `FILE` or directory (repeatable)")
	flags.StringVar(&f.inputShape, "input-shape", "root", "where Rego finds the plan in its input: root, plan, tfplan or terraform")
}

// exactlyOne wants one argument, and says how one is given.
func exactlyOne(noun, example string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return problem.New(api.Invalid, "no %s was named", noun).WithHint("%s", example)
		case len(args) > 1:
			return problem.New(api.Invalid, "more than one %s was named", noun).WithHint("one at a time: %s", example)
		}
		return nil
	}
}

// A named policy is a source, or why it could not be read.
type namedPolicy struct {
	src policy.Source
	err error
}

// read returns every policy that the flags name, or, when they name none,
// those of assize.yaml that bind the stack in dir.
func (f *policyFlags) read(dir string) ([]namedPolicy, error) {
	cfg, err := f.governing(dir)
	if err != nil {
		return nil, err
	}
	return f.policies(dir, cfg)
}

// governing is the configuration whose policies judge in dir: nil when there is
// none, or when the command line names policies itself.
func (f *policyFlags) governing(dir string) (*repo.Config, error) {
	if f.named() {
		return nil, nil
	}
	cfg, ok, err := repo.FindConfig(dir)
	if err != nil || !ok {
		return nil, err
	}
	return &cfg, nil
}

func (f *policyFlags) policies(dir string, cfg *repo.Config) ([]namedPolicy, error) {
	rego, err := f.regoOptions(dir)
	if err != nil {
		return nil, err
	}
	var out []namedPolicy
	for _, group := range []struct {
		lang  api.Language
		paths []string
	}{{"", f.any}, {api.Rules, f.rules}, {api.Rego, f.rego}, {api.CUE, f.cue}} {
		for _, path := range group.paths {
			src, err := repo.ReadPolicyAs(dir, path, group.lang)
			if path == "" {
				return nil, err // a slip of the call: there is no policy to say something of
			}
			if err != nil {
				src = policy.Source{Path: path, Language: group.lang}
			}
			out = append(out, namedPolicy{src, err})
		}
	}
	if cfg != nil {
		if out, err = configured(dir, cfg); err != nil {
			return nil, err
		}
	}
	for i, p := range out {
		if p.err != nil {
			continue
		}
		if src, err := p.src.WithRego(rego); err != nil {
			out[i].err = err
		} else {
			out[i].src = src
		}
	}
	return out, nil
}

func configured(dir string, cfg *repo.Config) ([]namedPolicy, error) {
	sources, err := cfg.PoliciesFor(dir)
	if err != nil {
		return nil, err
	}
	var out []namedPolicy
	for _, src := range sources {
		out = append(out, namedPolicy{src: src})
	}
	return out, nil
}

func (f *policyFlags) regoOptions(dir string) (policy.RegoOptions, error) {
	opts := policy.RegoOptions{Namespaces: f.namespaces, AllNamespaces: f.allNamespaces}
	switch f.inputShape {
	case "root", "":
	case "plan", "tfplan", "terraform":
		opts.InputShape = f.inputShape
	default:
		return opts, problem.New(api.Invalid, "--input-shape %s is none of root, plan, tfplan, terraform", f.inputShape)
	}
	for _, path := range f.data {
		files, err := repo.ReadData(dir, path)
		if err != nil {
			return opts, fmt.Errorf("--data: %w", err)
		}
		opts.Data = append(opts.Data, files...)
	}
	return opts, nil
}
