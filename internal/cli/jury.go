package cli

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/gate"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/except"
	"github.com/assize-iac/assize/internal/policy/input"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/repo"
	"github.com/assize-iac/assize/internal/report"
)

// A jury is who judges in one place: policies, and the exceptions to what they say.
type jury struct {
	engines    []policy.Engine
	policies   []namedPolicy
	exceptions []except.File    // all that are an exception to one of them
	place      string           // of dir, in the directory where paths of policies begin
	clock      func() time.Time // read when it judges: a plan may take hours to make
	secrets    input.Canaries   // declared for the run

	unnamed string // why there are no policies, if there are none
}

// A reading is a jury as it was found.
type reading struct {
	jury jury
	err  error
}

// jury reads everything that judges in dir. Exceptions that cannot be read are
// not an error yet: like a policy that cannot, they get an errored verdict.
func (g *Globals) jury(dir string, flags policyFlags) (jury, error) {
	if flags.read != nil {
		return flags.read.jury, flags.read.err
	}
	b := jury{engines: g.Engines, clock: g.Now, place: "."}
	cfg, err := flags.governing(dir) // once, for everything must come from one reading
	if err != nil {
		return b, err
	}
	b.unnamed = "no policy was named"
	if cfg != nil {
		if b.place, err = cfg.Place(dir); err != nil {
			return b, err
		}
		b.unnamed = g.unnamed(cfg, b.place)
	}
	b.policies, b.exceptions, err = flags.judges(dir, cfg)
	return b, err
}

// unnamed says why nobody judges in dir when the command line names no policy
// and none binds the stack. A stack that assize.yaml was meant to bind and does
// not is the worst way to have none, so its globs are looked at, too.
func (g *Globals) unnamed(cfg *repo.Config, stack string) string {
	n := cfg.Listed()
	if n == 0 {
		return "no policy was named"
	}
	for _, m := range cfg.Misfits() {
		report.Problem(g.Err, "warning", fmt.Sprintf("%s: policy %s: stacks: %q matches no directory, so it binds nothing", m.File, m.Policy, m.Glob))
	}
	lists := repo.ConfigName + " lists"
	if len(cfg.Outer) > 0 {
		lists = fmt.Sprintf("%s and %s above it list", repo.ConfigName, count(len(cfg.Outer), "other", "others"))
	}
	return fmt.Sprintf("%s %s, and none binds the stack %s", lists, count(n, "policy", "policies"), stack)
}

// during is the jury for one run: where the plan comes from is a fact of it, and
// not of a policy.
func (b jury) during(run policy.Run) jury {
	b.policies, b.secrets = slices.Clone(b.policies), run.From.Secrets
	for i := range b.policies {
		b.policies[i].src.Run = run
	}
	return b
}

// verdicts is how many verdicts a plan gets. Exceptions without a policy have
// nothing to say: there is nothing that they could be exceptions to.
func (b jury) verdicts() int {
	if len(b.policies) == 0 {
		return 0
	}
	return len(b.policies) + len(b.exceptions)
}

// judge judges every plan by every policy, as many policies at a time as there
// are cores. The order of the result is that of the arguments; the verdicts of
// the exceptions come last, for they say what was of use.
func (b jury) judge(inputs []planInput) []policy.Judged {
	now := b.clock()
	out := make([]policy.Judged, len(inputs))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for i, in := range inputs {
		out[i].Plan = planCheck(in)
		if in.err != nil {
			continue
		}
		out[i].Verdicts = make([]api.Verdict, len(b.policies))
		for j, p := range b.policies {
			wg.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				out[i].Verdicts[j] = b.one(p, in, now)
			})
		}
	}
	wg.Wait()
	b.conclude(inputs, out, now)
	return out
}

func (b jury) one(p namedPolicy, in planInput, now time.Time) api.Verdict {
	if p.err != nil {
		return policy.Errored(p.src, p.err)
	}
	return policy.Judge(b.engines, p.src, in.plan, excuses(p.exceptions, now)...)
}

func excuses(files []except.File, now time.Time) (out []policy.Excuse) {
	for _, f := range files {
		out = append(out, f.Excuse(now))
	}
	return out
}

// conclude adds what is known only when every policy has judged every plan.
func (b jury) conclude(inputs []planInput, out []policy.Judged, now time.Time) {
	used := except.Used(out)
	for i, in := range inputs {
		if in.err != nil || len(b.policies) == 0 {
			continue
		}
		for _, f := range b.exceptions {
			out[i].Verdicts = append(out[i].Verdicts, policy.Withhold(f.Verdict(in.plan, used, now), b.secrets))
		}
		composition, err := gate.Compose(out[i].Verdicts)
		if err != nil { // what has no digest cannot be vouched for
			out[i].Plan.Error, out[i].Plan.Hint = err.Error(), problem.Hint(err)
			continue
		}
		out[i].Plan.Composition = &composition
	}
}

// judges counts the verdicts of policies, without those of exceptions.
func judges(verdicts []api.Verdict) (n int) {
	for _, v := range verdicts {
		if v.Engine != api.Exceptions {
			n++
		}
	}
	return n
}
