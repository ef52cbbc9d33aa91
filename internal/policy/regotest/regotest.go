// Package regotest runs what tests a Rego policy, and says which of its lines
// judged a plan. It is the engine of package regoengine with these two added;
// what a policy may do is decided there.
package regotest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/regoengine"
)

// oneTest bounds a single test. The process around all of them has less time
// than it looks: it is bounded as a whole.
const oneTest = time.Minute

// An Engine judges by Rego and runs tests of it.
type Engine struct{ regoengine.Engine }

// New returns the engine.
func New() Engine { return Engine{regoengine.New()} }

// Test implements [policy.Tester]: it runs what `opa test` would run, with the
// built-ins that judging has (docs/testing.md, rule 8).
func (Engine) Test(src policy.Source) ([]api.RegoTest, error) {
	loaded, err := regoengine.Tests(src)
	if err != nil || loaded == nil {
		return nil, err
	}
	results, err := tester.NewRunner().
		SetCompiler(loaded.Compiler).
		SetStore(inmem.NewFromObject(loaded.Data)).
		SetModules(loaded.Modules).
		SetTimeout(oneTest).
		SetParallel(1).
		RaiseBuiltinErrors(true).
		RunTests(context.Background(), nil)
	if err != nil {
		return nil, regoengine.Explain(err, src.Files...)
	}
	var found []*tester.Result
	for r := range results {
		found = append(found, r)
	}
	slices.SortFunc(found, func(a, b *tester.Result) int {
		return cmp.Or(a.Location.Compare(b.Location), strings.Compare(a.Name, b.Name))
	})
	var out []api.RegoTest
	for _, r := range found {
		out = append(out, result(r))
	}
	return out, nil
}

func result(r *tester.Result) api.RegoTest {
	t := api.RegoTest{Name: r.Package + "." + r.Name, Position: fmt.Sprintf("%s:%d", r.Location.File, r.Location.Row), Outcome: api.Passed}
	switch {
	case r.Error != nil:
		t.Outcome, t.Error = api.Errored, regoengine.Explain(r.Error).Error()
	case r.Fail:
		t.Outcome, t.Error = api.Failed, strings.Join(failing(r.SubResults), ", ")
	case r.Skip:
		t.Outcome = api.Skipped
	}
	return t
}

// failing names the cases of one test that failed.
func failing(cases tester.SubResultMap) (names []string) {
	for name, sub := range cases.Iter {
		if sub.Fail {
			names = append(names, strings.Join(name, "/"))
		}
	}
	return names
}

// Cover implements [policy.Coverer] by OPA's own coverage. Tests are not part of
// it: they judge nothing.
func (Engine) Cover(src policy.Source, p *plan.Plan) ([]api.FileLines, error) {
	tracer := cover.New()
	modules, err := regoengine.Trace(src, p, tracer)
	if err != nil {
		return nil, err
	}
	report := tracer.Report(modules)
	var out []api.FileLines
	for _, f := range src.Files {
		if r := report.Files[f.Name]; r != nil && !regoengine.IsTest(f.Name) {
			out = append(out, api.FileLines{File: f.Name, Covered: rows(r.Covered), Missed: rows(r.NotCovered)})
		}
	}
	return out, nil
}

// rows are the lines in which ranges begin, each once: a rule is a range that
// holds those of its body.
func rows(ranges []cover.Range) []int {
	out := []int{}
	for _, r := range ranges {
		out = append(out, r.Start.Row)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
