package translate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/regoengine"
	"github.com/assize-iac/assize/internal/policy/rules"
	"github.com/assize-iac/assize/internal/policy/translate"
)

var engines = []policy.Engine{rules.Engine{}, regoengine.New()}

func source(lang api.Language, name, text string) policy.Source {
	return policy.Source{Path: name, Language: lang, Files: []policy.File{{Name: name, Data: []byte(text)}}}
}

// asRego compiles rules as the command does.
func asRego(src policy.Source) (policy.Source, error) {
	loaded, err := rules.Load(src)
	if err != nil {
		return policy.Source{}, err
	}
	text, err := translate.Rego(loaded, "main")
	return source(api.Rego, "rules.rego", text), err
}

// found is what is compared of a verdict: all of it but the words.
func found(v api.Verdict) []string {
	if v.Outcome == api.Errored {
		return []string{v.Error}
	}
	out := []string{}
	for _, f := range v.Findings {
		path := f.Path
		if p, ok := f.Details["path"].(string); ok {
			path = p
		}
		out = append(out, fmt.Sprintf("%s %s %s [%s] %s %s", f.Level, f.Rule, f.Address, f.Deposed, f.Action, path))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// A round is some rules and some plans. What the rules take to compile is
// shared by the plans.
type round struct{ Rules, Plans []string }

func randomRound(t *rapid.T) (r round) {
	shape := decode(object([]string{"a", "b"}, func(string) string { return value(t, 3) }))
	for range 3 {
		r.Plans = append(r.Plans, randomPlan(t, 8, shape))
	}
	for i := range 40 {
		r.Rules = append(r.Rules, randomRule(t, i, shape))
	}
	return r
}

// TestSameFindings judges random plans by random rules, and by what becomes of
// them in Rego: 12,000 pairs of a rule and a plan.
func TestSameFindings(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.Custom(randomRound).Draw(t, "round")
		if diff := disagreement(r); diff != "" {
			t.Fatal(diff)
		}
	})
}

func disagreement(r round) string {
	src := source(api.Rules, "rules.json", "["+strings.Join(r.Rules, ",\n")+"]")
	rego, err := asRego(src)
	if err != nil {
		return err.Error()
	}
	for _, text := range r.Plans {
		p, err := plan.Decode([]byte(text))
		if err != nil {
			return err.Error()
		}
		want, got := found(policy.Judge(engines, src, p)), found(policy.Judge(engines, rego, p))
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Sprintf("-rules +rego:\n%s\nrules:\n%s\nplan: %s", diff, src.Files[0].Data, text)
		}
	}
	return ""
}

func decodePlan(t interface {
	Helper()
	Fatalf(string, ...any)
}, text string) *plan.Plan {
	t.Helper()
	p, err := plan.Decode([]byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return p
}
