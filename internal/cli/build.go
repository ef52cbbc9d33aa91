package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/bundle"
	"github.com/assize-iac/assize/internal/policy/suite"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/repo"
	"github.com/assize-iac/assize/internal/report/parcel"
)

const buildHelp = `Check a policy and write it as one file, a bundle that never changes.

DIR or FILE is a policy in one of the three languages. It is checked by its
engine first, and its tests run, if it has any; a policy that could not judge any
plan is not built, nor one whose tests do not pass. The same policy gives the
same bytes on every machine. For Rego, the bundle is one that opa reads, and it
remembers how the policy is judged (docs/bundle.md). A file that is no bundle is
never written over.

  assize policy build policy/ -o policy.tar.gz
  assize policy build policy/ --namespace aws --data exclusions/
  assize policy check plan.json --policy policy.tar.gz
  opa eval -b policy.tar.gz -i plan.json data.main.deny
`

type buildOptions struct {
	policies policyFlags // only what says how Rego is judged
	from     provenanceFlags
	output   string

	invocation string // the flags again, for what to type next
}

func newPolicyBuildCmd(g *Globals) *cobra.Command {
	var o buildOptions
	cmd := &cobra.Command{
		Use:   "build DIR|FILE",
		Short: "Write a policy as one file",
		Long:  buildHelp + exitHelp,
		Args:  exactlyOne("policy", "assize policy build policy/ -o policy.tar.gz"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.invocation = chosen(cmd, everyName())
			return runBuild(g, o, args[0])
		},
	}
	o.policies.registerRego(cmd)
	o.from.register(cmd)
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "write to `FILE`.tar.gz, by default named like the policy, in the current directory")
	return cmd
}

// runBuild writes nothing unless the policy was accepted and the bundle can be
// opened again.
func runBuild(g *Globals, o buildOptions, path string) error {
	out, err := bundleName(o.output, path)
	if err != nil {
		return err
	}
	how, err := g.manner(".", o.policies, o.from)
	if err != nil {
		return err
	}
	if err := replaceable(out, path, "bundle of assize", isOwnBundle); err != nil {
		return err
	}
	src, err := readForBundle(path, how.rego)
	if err != nil {
		return err
	}
	if src, err = policy.Checked(g.Engines, src); err != nil {
		return err
	}
	if err := tested(g, o, src, how); err != nil {
		return err
	}
	data, err := bundle.Build(src)
	if err != nil {
		return err
	}
	_, b, err := bundle.Open(data)
	if err != nil {
		return err
	}
	if b.Contract, err = policy.Contract(g.Engines, src); err != nil {
		return err
	}
	if err := repo.WriteFile(out, data); err != nil {
		return unwritten(out, err)
	}
	b.Path = out
	if err := parcel.Text(g.Out, b); err != nil {
		return problem.New(api.Internal, "the result could not be written: %w", err)
	}
	fmt.Fprintf(g.Out, "\nNext: assize policy check plan.json --policy%s\n", quoteAll(out))
	return nil
}

// isOwnBundle tells what this command has written from what it has not.
func isOwnBundle(data []byte) bool {
	_, b, err := bundle.Open(data)
	return err == nil && b.Format != ""
}

func readForBundle(path string, opts policy.RegoOptions) (policy.Source, error) {
	src, err := repo.ReadPolicy(".", path)
	if err != nil {
		return policy.Source{}, err
	}
	if src.Language != api.Rego && !opts.IsZero() {
		return policy.Source{}, problem.New(api.Invalid, "%s is a %s policy, and --namespace, --all-namespaces, --data and --input-shape are for Rego", path, src.Language)
	}
	return src.WithRego(opts)
}

// tested runs what tests the policy: the plans that lie beside it, and the tests
// in Rego that are in it. A policy that has none is built, and said to have
// none; one of which a single test does not pass is not (docs/bundle.md, rule 1).
func tested(g *Globals, o buildOptions, src policy.Source, how manner) error {
	if repo.IsBundle(src.Path) {
		return nil
	}
	t := g.testPolicy(testOptions{dir: "."}, src.Path, how)
	switch {
	case t.Error != "":
		return problem.New(api.Invalid, "the tests of %s could not be run: %s", src.Path, t.Error).WithHint("%s", t.Hint)
	case t.Digest != src.Digest():
		return problem.New(api.Conflict, "%s changed while it was tested", src.Path).WithHint("build it again")
	case len(t.Plans)+len(t.Tests) == 0:
		fmt.Fprintf(g.Err, "note: %s has no tests; see `assize policy test --help`\n", src.Path)
		return nil
	}
	t.Untested = nil // a gap in the tests is for `policy test` to report
	if suite.Outcome(t) != api.Passed {
		return problem.New(api.Invalid, "the tests of %s do not pass; nothing was built", src.Path).
			WithHint("assize policy test%s%s", quoteAll(src.Path), o.invocation)
	}
	return nil
}

// bundleName is where the bundle goes. Another ending would not be recognised
// when the file is named as a policy.
func bundleName(output, path string) (string, error) {
	if output != "" {
		if !repo.IsBundle(output) {
			return "", problem.New(api.Invalid, "-o %s: a bundle ends in .tar.gz or .tgz", output)
		}
		return output, nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", problem.New(api.Invalid, "%s has no absolute path: %w", path, err)
	}
	base := filepath.Base(abs)
	if info, err := os.Stat(abs); err == nil && !info.IsDir() && !repo.IsBundle(base) {
		base = strings.TrimSuffix(base, filepath.Ext(base))
	}
	if repo.IsBundle(base) || base == string(filepath.Separator) {
		return "", problem.New(api.Invalid, "say where the new bundle goes: -o FILE.tar.gz")
	}
	return base + ".tar.gz", nil
}
