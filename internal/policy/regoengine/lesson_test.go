package regoengine_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/regoengine"
	"github.com/assize-iac/assize/internal/policy/rules"
)

// TestLesson proves what the lesson of seed 002 proves ("Use It"): its rules
// and their Rego twin, judged here and by conftest, find the same.
func TestLesson(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(root, "lesson", "rules.json"))
	if err != nil {
		t.Fatal(err)
	}
	asRules := policy.Source{Path: "rules.json", Language: api.Rules, Files: []policy.File{{Name: "rules.json", Data: data}}}
	dir := filepath.Join(root, "lesson", "policy")
	asRego, _ := readPolicy(t, dir)
	engines := []policy.Engine{rules.Engine{}, regoengine.New()}
	for name, want := range map[string]api.Counts{
		"plan.json":       {Deny: 8, Warn: 2},
		"plan-clean.json": {},
	} {
		path := filepath.Join(root, "lesson", name)
		p := readPlan(t, path)
		r, v := policy.Judge(engines, asRules, p), policy.Judge(engines, asRego, p)
		if diff := cmp.Diff(triples(r), triples(v)); diff != "" {
			t.Errorf("%s (-rules +rego):\n%s", name, diff)
		}
		check := policy.Collect([]policy.Judged{{Verdicts: []api.Verdict{v}}})
		if diff := cmp.Diff(want, check.Counts); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		theirs := conftestVerdicts(t, dir, nil, map[string]*plan.Plan{path: p})[path]
		if diff := cmp.Diff(theirs, verdict{Outcome: v.Outcome, Error: v.Error, Findings: counted(v.Findings)}); diff != "" {
			t.Errorf("%s (-conftest +assize):\n%s", name, diff)
		}
		if len(v.Notes) > 0 {
			t.Errorf("%s: the lesson's policy has notes: %q", name, v.Notes)
		}
	}
}

// triples are what the lesson compares, with the action that we add.
func triples(v api.Verdict) []string {
	out := []string{string(v.Outcome) + " " + v.Error}
	for _, f := range v.Findings {
		out = append(out, strings.Join([]string{string(f.Level), f.Rule, f.Address, f.Action}, " "))
	}
	slices.Sort(out)
	return out
}

func readPlan(t *testing.T, path string) *plan.Plan {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
