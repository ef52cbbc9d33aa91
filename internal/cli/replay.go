package cli

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/except"
	"github.com/assize-iac/assize/internal/policy/suite"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/repo"
	"github.com/assize-iac/assize/internal/report/page"
	"github.com/assize-iac/assize/internal/report/trial"
)

const replayHelp = `Judge stored plans by a candidate policy beside the present one, and show what
would change: what would newly be refused, newly pass, or could no longer be
judged (docs/testing.md).

A plan is what "tofu show -json plan.out" printed: a file, every .json file below
a directory, or a pattern in quotes. Without --policy, the present policies are
those of assize.yaml.

  assize policy replay plans/ --candidate policy/rules-new.json
  assize policy replay 'plans/**/*.json' --candidate new/ --policy old/

The candidates stand in the place of all present policies, with the same
exceptions.

It exits with 0 when nothing would newly be refused, with 1 when something would,
and with 2 when a plan could not be read, or not be judged by either side.
`

type replayOptions struct {
	policies  policyFlags // of the present side, how Rego is judged, and exceptions
	from      provenanceFlags
	candidate []string
	dir       string
	format    string
}

func newPolicyReplayCmd(g *Globals) *cobra.Command {
	var o replayOptions
	cmd := &cobra.Command{
		Use:   "replay PLANS... --candidate POLICY",
		Short: "Show what a candidate policy would change for stored plans",
		Long:  replayHelp + exitHelp,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := runReplay(g, o, args); err != nil {
				return unknownUnlessSaid(err)
			}
			return nil
		},
	}
	unknownFlags(cmd)
	o.policies.registerRego(cmd)
	o.policies.registerExceptions(cmd)
	o.from.register(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&o.candidate, "candidate", nil, "the policy that is to be tried out: file or directory (repeatable)")
	flags.StringArrayVar(&o.policies.any, "policy", nil, "a policy that judges at present, instead of those of assize.yaml (repeatable)")
	flags.StringVarP(&o.dir, "chdir", "C", ".", "resolve plans, policies and assize.yaml in `DIR`")
	flags.StringVar(&o.format, "format", "text", "output format: text, json")
	return cmd
}

// unknownUnlessSaid gives an error without a code of its own that of what cannot
// be judged.
func unknownUnlessSaid(err error) error {
	if exit, ok := err.(*Exit); ok {
		return exit
	}
	return &Exit{ExitUnknown, err}
}

func runReplay(g *Globals, o replayOptions, args []string) error {
	if o.format != "text" && o.format != "json" {
		return problem.New(api.Invalid, "--format %s is not known", o.format).WithHint("use one of text, json")
	}
	if len(args) == 0 {
		return problem.New(api.Invalid, "no plan was named").WithHint("assize policy replay plans/ --candidate policy/rules.json")
	}
	present, candidate, err := o.sides(g)
	if err != nil {
		return err
	}
	paths, err := repo.StoredPlans(o.dir, args)
	if err != nil {
		return err
	}
	out := suite.Sum(g.replay(o.dir, paths, present, candidate))
	out.Present, out.Candidate = replayed(present), replayed(candidate)
	if o.format == "json" {
		err = page.JSON(g.Out, out)
	} else {
		err = trial.Replay(g.Out, out, g.pageOptions())
	}
	if err != nil {
		return problem.New(api.Internal, "the result could not be written: %w", err)
	}
	return checkExit(out.Outcome)
}

// A side is the policies that judge together, each with what is excused of what it
// finds.
type side []seat

// A seat is that of one policy.
type seat struct {
	src     policy.Source
	excuses []policy.Excuse
}

// sides reads the policies of both sides, and refuses those that could judge no
// plan: every plan would be reported as changed. A candidate stands in the place
// of the present policies: what is excepted of them is excepted of it, and where
// the plans come from is the same (docs/testing.md, rules 18 and 19).
func (o *replayOptions) sides(g *Globals) (present, candidate side, err error) {
	next := o.policies
	next.any = o.candidate
	if len(o.candidate) == 0 {
		return present, candidate, problem.New(api.Invalid, "no candidate was named").WithHint("name the policy to try out: --candidate policy/rules.json")
	}
	run, err := o.from.read(o.dir)
	if err != nil {
		return present, candidate, err
	}
	now := g.Now()
	if candidate, _, err = seated(g.Engines, &next, o.dir, run, now); err != nil {
		return nil, nil, err
	}
	present, exceptions, err := seated(g.Engines, &o.policies, o.dir, run, now)
	if err != nil {
		return nil, nil, err
	}
	if len(present) == 0 {
		return nil, nil, problem.New(api.Invalid, "there is no present policy to compare with").
			WithHint("name it with --policy, or list policies in assize.yaml")
	}
	for i := range candidate {
		candidate[i].excuses = excuses(exceptions, now)
	}
	return present, candidate, nil
}

// seated reads the policies of one side, and every exception to them.
func seated(engines []policy.Engine, flags *policyFlags, dir string, run policy.Run, now time.Time) (s side, exceptions []except.File, err error) {
	cfg, err := flags.governing(dir)
	if err != nil {
		return nil, nil, err
	}
	policies, exceptions, err := flags.judges(dir, cfg)
	if err == nil {
		err = usableExceptions(exceptions)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, p := range policies {
		if p.err == nil {
			p.err = policy.Check(engines, p.src)
		}
		if p.err != nil {
			return nil, nil, p.err
		}
		p.src.Run = run
		s = append(s, seat{p.src, excuses(p.exceptions, now)})
	}
	return s, exceptions, nil
}

func replayed(s side) (out []api.ReplayedPolicy) {
	for _, seat := range s {
		enforcement := seat.src.Enforcement
		if enforcement == "" {
			enforcement = api.HardMandatory
		}
		out = append(out, api.ReplayedPolicy{Path: seat.src.Path, Engine: seat.src.Language, Digest: seat.src.Digest(), Enforcement: enforcement})
	}
	return out
}

// replay judges every plan by both sides. There are as many workers as cores;
// each holds one plan at a time, and has policies compiled once.
func (g *Globals) replay(dir string, paths []string, present, candidate side) []api.ReplayedPlan {
	out := make([]api.ReplayedPlan, len(paths))
	bar := newProgress(g.Err, g.Out, fmt.Sprintf("%d plans", len(paths)))
	defer bar.stop()
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(paths)) {
		wg.Go(func() {
			before, after := present.sit(g.Engines), candidate.sit(g.Engines)
			defer before.close()
			defer after.close()
			for i := range next {
				out[i] = replayPlan(dir, paths[i], before, after)
			}
		})
	}
	bar.step("replaying")
	for i := range paths {
		bar.count(fmt.Sprintf("replaying plan %d", i+1))
		next <- i
	}
	close(next)
	wg.Wait()
	return out
}

func replayPlan(dir, path string, before, after sitting) api.ReplayedPlan {
	raw, err := repo.ReadStored(dir, path)
	var p *plan.Plan
	if err == nil {
		p, err = plan.Decode(raw)
	}
	if err != nil {
		return api.ReplayedPlan{
			Path: path, Difference: api.Unread, Present: api.Errored, Candidate: api.Errored,
			Added: []api.Finding{}, Removed: []api.Finding{}, Error: err.Error(), Hint: problem.Hint(err),
		}
	}
	out := suite.Replay(before.judge(p), after.judge(p))
	out.Path, out.Digest = path, p.Digest
	return out
}

// A sitting is the policies of a side, ready to judge one plan after the other.
type sitting []*policy.Session

func (s side) sit(engines []policy.Engine) (b sitting) {
	for _, seat := range s {
		b = append(b, policy.Open(engines, seat.src, seat.excuses...))
	}
	return b
}

func (b sitting) judge(p *plan.Plan) (verdicts []api.Verdict) {
	for _, s := range b {
		verdicts = append(verdicts, s.Judge(p))
	}
	return verdicts
}

func (b sitting) close() {
	for _, s := range b {
		s.Close()
	}
}
