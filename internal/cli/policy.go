package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/except"
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
	read *reading // what they come to, where it was read before; nil reads it
	from string   // where relative paths begin: where the command was typed, or where -C leads (seed 003, "Refusals of the policy itself"); "" is the directory that is judged

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

// A named policy is a source, or why it could not be read, and the exceptions to
// what it says.
type namedPolicy struct {
	src        policy.Source
	err        error
	exceptions []except.File
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

// judges reads every policy that the flags name, or, when they name none, those
// of assize.yaml that bind the stack in dir; and all exceptions to them.
// Exceptions that cannot be read are not an error yet.
func (f *policyFlags) judges(dir string, cfg *repo.Config) (policies []namedPolicy, exceptions []except.File, err error) {
	base := cmp.Or(f.from, dir)
	rego, err := f.regoOptions(base)
	if err != nil {
		return nil, nil, err
	}
	exceptions = f.namedExceptions(base)
	if cfg == nil {
		policies, err = f.policies(base, exceptions)
	} else {
		policies, exceptions, err = configured(dir, *cfg, exceptions)
	}
	if err != nil {
		return nil, nil, err
	}
	for i, p := range policies {
		if p.err != nil {
			continue
		}
		if src, err := p.src.WithRego(rego); err != nil {
			policies[i].err = err
		} else {
			policies[i].src = src
		}
	}
	return policies, exceptions, nil
}

func (f *policyFlags) policies(dir string, exceptions []except.File) (out []namedPolicy, err error) {
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
			out = append(out, namedPolicy{src, err, exceptions})
		}
	}
	return out, nil
}

// configured reads the policies that bind the stack in dir. Exceptions that are
// named are to all of them; those that an assize.yaml brings along are to its
// own, or a directory would weaken what its repository asks of it
// (docs/exceptions.md, rule 7).
func configured(dir string, cfg repo.Config, named []except.File) (policies []namedPolicy, exceptions []except.File, err error) {
	place, err := cfg.Place(dir)
	if err != nil {
		return nil, nil, err
	}
	exceptions = named
	for _, panel := range cfg.Panels(place) {
		beside := named
		if file := panel.Exceptions.Value; len(named) == 0 && file != "" {
			beside = []except.File{readExceptions(cfg.Root, file).About(panel.Place)}
			exceptions = append(exceptions, beside...)
		}
		for _, p := range panel.Policies {
			src, err := cfg.Policy(p)
			if err != nil {
				return nil, nil, err
			}
			policies = append(policies, namedPolicy{src, nil, beside})
		}
	}
	return policies, exceptions, nil
}

// namedExceptions are the files that the flags name. When they name none, it is
// those of assize.yaml, but not for a command that names policies: exceptions
// that a checkout brings along do not weaken what the command line names
// (docs/exceptions.md, rule 7).
func (f *policyFlags) namedExceptions(dir string) (out []except.File) {
	for _, path := range f.exceptions {
		out = append(out, readExceptions(dir, path))
	}
	return out
}

func readExceptions(dir, path string) except.File {
	data, err := repo.ReadFile(dir, path)
	if err != nil {
		return except.Missing(path, err)
	}
	return except.Load(path, data)
}

// usableExceptions refuses files of which one is none, for those who cannot go on
// without them.
func usableExceptions(files []except.File) error {
	for _, file := range files {
		if file.Err != nil {
			return unusable("exceptions", file.Path, file.Err)
		}
	}
	return nil
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
