package cli

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/rules"
	"github.com/assize-iac/assize/internal/policy/suite"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/repo"
	"github.com/assize-iac/assize/internal/report/page"
	"github.com/assize-iac/assize/internal/report/trial"
)

const testHelp = `Test policies by plans whose findings are known (docs/testing.md).

The plans of policy/limits.cue lie in policy/limits_test, those of a directory
policy in policy_test: NAME.json, which "tofu show -json" printed, and NAME.want
with a line for each finding, "deny RULE ADDRESS", nothing where the plan passes,
or "errored". Tests in Rego, in files that end in _test.rego, run as well.

  assize policy test policy/limits.cue
  assize policy test policy/limits.cue --update    # write NAME.want; read the diff
  assize policy test policy/rules.json --plans testdata/plans
  assize policy test policy/limits.cue --mutate    # would a slip be noticed?
  assize policy test policy/ --coverage

A policy is untested until one plan is refused and one passes. One that decides
(docs/decision.md) sees the run that --kind, --metadata and their like describe.
`

type testOptions struct {
	policies policyFlags // only how Rego is judged, and exceptions
	from     provenanceFlags
	dir      string
	plans    string
	format   string
	update   bool
	coverage bool
	mutate   bool
	mutants  int
}

func newPolicyTestCmd(g *Globals) *cobra.Command {
	var o testOptions
	cmd := &cobra.Command{
		Use:   "test POLICY...",
		Short: "Test policies by plans whose findings are known",
		Long:  testHelp + exitHelp,
		RunE: func(_ *cobra.Command, args []string) error {
			return runTest(g, o, args)
		},
	}
	unknownFlags(cmd)
	o.policies.registerRego(cmd)
	o.policies.registerExceptions(cmd)
	o.from.register(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&o.dir, "chdir", "C", ".", "resolve policies and plans in `DIR`")
	flags.StringVar(&o.plans, "plans", "", "the plans are in `DIR`")
	flags.StringVar(&o.format, "format", "text", "output format: text, json, junit")
	flags.BoolVar(&o.update, "update", false, "write what the policy finds into every NAME.want")
	flags.BoolVar(&o.coverage, "coverage", false, "say which rules and lines judged something")
	flags.BoolVar(&o.mutate, "mutate", false, "weaken the policy in one place after the other, and report what no plan notices")
	flags.IntVar(&o.mutants, "max-mutants", mutants, "try at most `N` ways to weaken a policy")
	return cmd
}

// unknownFlags has what cannot be understood exit as what cannot be judged: 1
// would say that a policy had spoken.
func unknownFlags(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return &Exit{Code: ExitUnknown, Err: problem.New(api.Invalid, "%w", err).WithHint("see `%s --help`", cmd.CommandPath())}
	})
}

func runTest(g *Globals, o testOptions, paths []string) error {
	err := o.check(paths)
	if err != nil {
		return &Exit{ExitUnknown, err}
	}
	how, err := g.manner(o.dir, o.policies, o.from)
	if err != nil {
		return &Exit{ExitUnknown, err}
	}
	var out api.PolicyTest
	for _, path := range paths {
		out.Policies = append(out.Policies, g.testPolicy(o, path, how))
	}
	out.Outcome = suite.Overall(out.Policies)
	switch o.format {
	case "json":
		err = page.JSON(g.Out, out)
	case "junit":
		err = trial.JUnit(g.Out, out)
	default:
		err = trial.Test(g.Out, out, g.pageOptions())
	}
	if err != nil {
		return &Exit{ExitUnknown, problem.New(api.Internal, "the result could not be written: %w", err)}
	}
	return checkExit(out.Outcome)
}

func (o *testOptions) check(paths []string) error {
	switch {
	case !slices.Contains([]string{"text", "json", "junit"}, o.format):
		return problem.New(api.Invalid, "--format %s is not known", o.format).WithHint("use one of text, json, junit")
	case len(paths) == 0:
		return problem.New(api.Invalid, "no policy was named: nothing was tested").WithHint("assize policy test policy/rules.json")
	case o.mutants < 1:
		return problem.New(api.Invalid, "--max-mutants %d tries nothing", o.mutants).WithHint("leave out --mutate instead")
	case o.plans != "" && len(paths) > 1:
		return problem.New(api.Invalid, "--plans is for one policy").WithHint("what is wanted of a plan depends on the policy; test one after the other")
	}
	return nil
}

// A manner is how every policy of one test is judged.
type manner struct {
	rego    policy.RegoOptions
	run     policy.Run      // where the plans come from
	excuses []policy.Excuse // of the exceptions that are named
}

// manner reads what flags say of it. Exceptions are those that are named and no
// others, as the policies are (docs/exceptions.md, rule 7).
func (g *Globals) manner(dir string, flags policyFlags, from provenanceFlags) (how manner, err error) {
	if how.rego, err = flags.regoOptions(dir); err != nil {
		return how, err
	}
	if how.run, err = from.read(dir); err != nil {
		return how, err
	}
	files := flags.namedExceptions(dir)
	if err := usableExceptions(files); err != nil {
		return how, err
	}
	how.excuses = excuses(files, g.Now())
	return how, nil
}

// pageOptions says what the reader of a page can show.
func (g *Globals) pageOptions() page.Options {
	o := g.reportOptions()
	return page.Options{Color: o.Color, Width: o.Width}
}

// A trialPolicy is a policy on trial, with what it is tried by.
type trialPolicy struct {
	engines  []policy.Engine
	src      policy.Source
	excuses  []policy.Excuse
	tests    []policy.File // tests in Rego that are no part of src
	fixtures []fixture
}

// A fixture is a plan of which something is wanted.
type fixture struct {
	name string
	plan *plan.Plan
	want suite.Want

	verdict api.Verdict // of the policy as it is
}

func (g *Globals) testPolicy(o testOptions, path string, how manner) api.TestedPolicy {
	t := trialPolicy{engines: g.Engines, excuses: how.excuses}
	out := api.TestedPolicy{Path: path, Plans: []api.TestedPlan{}, Tests: []api.RegoTest{}, Untested: []string{}}
	err := t.read(o, path, how)
	if err == nil {
		err = t.run(o, path, &out)
	}
	if err == nil && o.coverage {
		out.Coverage, err = t.coverage()
	}
	if err != nil {
		out.Error, out.Hint = err.Error(), problem.Hint(err)
	}
	if o.mutate {
		t.mutate(g, o.mutants, &out)
	}
	out.Outcome = suite.Outcome(out)
	return out
}

// read reads the policy, and refuses one that could judge no plan: every
// fixture would say so.
func (t *trialPolicy) read(o testOptions, path string, how manner) (err error) {
	if t.src, err = repo.ReadPolicy(o.dir, path); err != nil {
		return err
	}
	if t.src, err = t.src.WithRego(how.rego); err != nil {
		return err
	}
	t.src.Run = how.run
	if t.tests, err = repo.ReadTests(o.dir, t.src); err != nil {
		return err
	}
	return policy.Check(t.engines, t.src)
}

// run fills in everything but the outcome.
func (t *trialPolicy) run(o testOptions, path string, out *api.TestedPolicy) error {
	dir := o.plans
	if dir == "" {
		dir = repo.FixtureDir(o.dir, path)
	}
	read, err := repo.ReadFixtures(o.dir, dir, o.plans != "")
	if err != nil {
		return err
	}
	session := t.open(t.src)
	defer session.Close()
	var verdicts []api.Verdict
	for _, f := range read {
		result, v, err := t.judge(o, dir, f, session)
		if err != nil {
			return err
		}
		out.Plans = append(out.Plans, result)
		verdicts = append(verdicts, v)
		if v.Evaluator != "" {
			out.Evaluator = v.Evaluator
		}
	}
	out.Engine, out.Digest = t.src.Language, t.src.Digest()
	tests, err := policy.Test(t.engines, t.withTests(t.src))
	if err != nil {
		return err
	}
	out.Tests = append(out.Tests, tests...)
	switch len(read) {
	case 0:
		out.Untested = []string{fmt.Sprintf("no plan in %s: put one there that the policy refuses, and one that it lets pass", dir)}
	case len(t.fixtures): // else something has to be mended first
		out.Untested = suite.Unproved(t.wants(), t.onlyWarns(verdicts))
	}
	return nil
}

// judge judges one fixture and keeps it when it can be used.
func (t *trialPolicy) judge(o testOptions, dir string, read repo.Fixture, s *policy.Session) (api.TestedPlan, api.Verdict, error) {
	bad := func(err error) (api.TestedPlan, api.Verdict, error) {
		return api.TestedPlan{Name: read.Name, Outcome: api.Errored, Missing: []string{}, Unexpected: []string{}, Error: err.Error(), Hint: problem.Hint(err)}, api.Verdict{}, nil
	}
	p, err := plan.Decode(read.Plan)
	if err != nil {
		return bad(err)
	}
	v, wrote := s.Judge(p), ""
	if o.update {
		text := suite.Found(v).String()
		if !read.HasWant || text != string(read.Want) {
			if wrote, err = repo.WriteWant(o.dir, dir, read.Name, text); err != nil {
				return api.TestedPlan{}, v, err
			}
		}
		read.Want, read.HasWant = []byte(text), true
	}
	if !read.HasWant {
		return bad(problem.New(api.NotFound, "%s.want does not exist", filepath.Join(dir, read.Name)).
			WithHint("write down what the policy should find, or let --update write what it finds and read it"))
	}
	want, err := suite.ParseWant(string(read.Want))
	if err != nil {
		return bad(err)
	}
	t.fixtures = append(t.fixtures, fixture{read.Name, p, want, v})
	result := suite.Compare(read.Name, want, v)
	result.Wrote = wrote
	return result, v, nil
}

// open has a policy judge as the tested one does.
func (t *trialPolicy) open(src policy.Source) *policy.Session {
	return policy.Open(t.engines, src, t.excuses...)
}

// withTests is a policy with the tests that stand beside it.
func (t *trialPolicy) withTests(src policy.Source) policy.Source {
	src.Files = slices.Concat(src.Files, t.tests)
	return src
}

func (t *trialPolicy) wants() (wants []suite.Want) {
	for _, f := range t.fixtures {
		wants = append(wants, f.want)
	}
	return wants
}

// onlyWarns reports whether the policy can say nothing but warn. CUE always
// denies; where nothing is known, a deny is wanted.
func (t *trialPolicy) onlyWarns(verdicts []api.Verdict) bool {
	switch t.src.Language {
	case api.Rules:
		loaded, err := rules.Load(t.src)
		return err == nil && !slices.ContainsFunc(loaded, func(r rules.Rule) bool { return r.Level == api.Deny })
	case api.Rego:
		return slices.ContainsFunc(verdicts, func(v api.Verdict) bool { return suite.OnlyWarns(v.Rules) })
	}
	return false
}
