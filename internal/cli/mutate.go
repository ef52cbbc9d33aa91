package cli

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/mutate"
	"github.com/assize-iac/assize/internal/policy/suite"
	"github.com/assize-iac/assize/internal/problem"
)

// mutants is how many are tried where nothing else is said: some minutes of
// Rego on two cores.
const mutants = 1000

// mutate adds to what is known of a policy what its mutants come to, or why they
// were not tried.
func (t *trialPolicy) mutate(g *Globals, limit int, out *api.TestedPolicy) {
	if out.Unmutated = suite.Unready(*out); out.Unmutated != "" {
		return
	}
	var err error
	if out.Mutation, err = t.mutation(g, limit); err != nil {
		out.Error, out.Hint = err.Error(), problem.Hint(err)
	}
}

// mutation tries out the mutants of the policy, as many at a time as there are
// cores, and keeps those that nothing tells from it. Their order is that of the
// policy's text.
func (t *trialPolicy) mutation(g *Globals, limit int) (*api.Mutation, error) {
	all, err := mutate.Of(t.src)
	if err != nil {
		return nil, err
	}
	tried := mutate.Cut(all, limit)
	out := &api.Mutation{Mutants: len(tried), Left: len(all) - len(tried), Survivors: []api.Mutant{}}
	survives := make([]bool, len(tried))
	bar := newProgress(g.Err, g.Out, t.src.Path)
	defer bar.stop()
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				survives[i] = t.survives(tried[i].Source)
			}
		})
	}
	bar.step("trying mutants")
	for i := range tried {
		bar.count(fmt.Sprintf("trying mutant %d of %d", i+1, len(tried)))
		next <- i
	}
	close(next)
	wg.Wait()
	for i, m := range tried {
		if survives[i] {
			out.Survivors = append(out.Survivors, m.Mutant)
		}
	}
	return out, nil
}

// survives reports whether a changed policy does all that is wanted of the
// policy. One that cannot judge does not: a plan tells.
func (t *trialPolicy) survives(src policy.Source) bool {
	session := t.open(src)
	defer session.Close()
	for _, f := range t.fixtures {
		if !f.want.Equal(suite.Found(session.Judge(f.plan))) {
			return false
		}
	}
	tests, err := policy.Test(t.engines, t.withTests(src))
	if err != nil {
		return false
	}
	for _, test := range tests {
		if test.Outcome != api.Passed {
			return false
		}
	}
	return true
}
