package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/rules"
	"github.com/assize-iac/assize/internal/policy/translate"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/repo"
	"github.com/assize-iac/assize/internal/report/page"
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
		Args:  exactlyOne("file of rules", "assize policy compile rules.json -o rules.rego"),
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
	src, err := readRules(path)
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
		if _, err := io.WriteString(g.Out, text); err != nil {
			return problem.New(api.Internal, "the policy could not be written: %w", err)
		}
		return nil
	}
	if err := writeCompiled(o.output, path, text); err != nil {
		return err
	}
	fmt.Fprintf(g.Out, "%s holds %s.\nNext: assize policy check plan.json %s\n", o.output, page.Plural(len(loaded), "rule"), o.judged())
	return nil
}

// readRules has a message of its own for a policy that is no rules: its author
// may well think that compiling goes the other way.
func readRules(path string) (policy.Source, error) {
	src, err := repo.ReadPolicyAs(".", path, api.Rules)
	if err == nil {
		return src, nil
	}
	if other, unread := repo.ReadPolicy(".", path); unread == nil && other.Language != api.Rules {
		err = problem.New(api.Invalid, "%s is %s, and only rules are compiled, to Rego or CUE", path, other.Language).
			WithHint("assize policy compile rules.json -o rules.rego")
	}
	return src, err
}

// writeCompiled writes over nothing but what this command has written: that
// begins with the same line.
func writeCompiled(path, input, text string) error {
	header, _, _ := strings.Cut(text, "\n")
	ours := func(old []byte) bool { return strings.HasPrefix(string(old), header+"\n") }
	if err := replaceable(path, input, "policy of this language that was compiled from rules", ours); err != nil {
		return err
	}
	if err := repo.WriteFile(path, []byte(text)); err != nil {
		return unwritten(path, err)
	}
	return nil
}

// judged are the flags that have plans judged by what was written.
func (o compileOptions) judged() string {
	switch {
	case o.cue:
		return "--cue" + quoteAll(o.output)
	case o.pkg != "main":
		return "--rego" + quoteAll(o.output) + " --namespace" + quoteAll(o.pkg)
	}
	return "--rego" + quoteAll(o.output)
}

func compiled(loaded []rules.Rule, o compileOptions) (string, error) {
	if o.cue {
		return translate.CUE(loaded)
	}
	return translate.Rego(loaded, o.pkg)
}
