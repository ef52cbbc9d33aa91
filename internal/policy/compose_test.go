package policy_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
)

func TestStand(t *testing.T) {
	t.Parallel()
	contradicts := deny("no")
	contradicts.Outcome = api.Passed
	for _, tc := range []struct {
		v    api.Verdict
		want api.Standing
	}{
		{api.Verdict{Outcome: api.Passed}, api.StandsPassed},
		{api.Verdict{Outcome: api.Failed, Enforcement: api.Advisory}, api.StandsPassed},
		{api.Verdict{Outcome: api.Failed, Enforcement: api.SoftMandatory}, api.StandsSoftFailed},
		{api.Verdict{Outcome: api.Failed, Enforcement: api.HardMandatory}, api.StandsHardFailed},
		{api.Verdict{Outcome: api.Failed, Enforcement: "mild"}, api.StandsHardFailed},
		{api.Verdict{Outcome: api.Errored, Enforcement: api.Advisory}, api.StandsErrored},
		{api.Verdict{Outcome: "fine"}, api.StandsErrored},
		{api.Verdict{}, api.StandsErrored},
		{contradicts, api.StandsErrored},
	} {
		if got := policy.Stand(tc.v); got != tc.want {
			t.Errorf("%s under %s stands as %s, want %s", tc.v.Outcome, tc.v.Enforcement, got, tc.want)
		}
	}
}

// The strongest decides, in whatever order, and more never weakens it.
func TestStrongest(t *testing.T) {
	t.Parallel()
	if policy.Strongest(nil) != api.StandsErrored {
		t.Error("nothing is a pass")
	}
	one := rapid.Custom(func(t *rapid.T) api.Verdict {
		return api.Verdict{
			Engine:      rapid.SampledFrom([]api.Language{api.Rules, api.CUE, api.Exceptions}).Draw(t, "engine"),
			Outcome:     rapid.SampledFrom([]api.Outcome{api.Passed, api.Failed, api.Errored, ""}).Draw(t, "outcome"),
			Enforcement: rapid.SampledFrom([]api.Enforcement{api.Advisory, api.SoftMandatory, api.HardMandatory, ""}).Draw(t, "enforcement"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(one, 1, 6).Draw(t, "verdicts")
		got := policy.Strongest(all)
		if policy.Strongest(rapid.Permutation(all).Draw(t, "order")) != got {
			t.Fatal("the order matters")
		}
		more := append(all, one.Draw(t, "more"))
		if policy.Strongest(more) == api.StandsPassed && got != api.StandsPassed && !onlyExceptions(all) {
			t.Fatal("a verdict more made a pass of it")
		}
		if onlyExceptions(all) && got != api.StandsErrored {
			t.Fatal("exceptions alone are a pass")
		}
	})
}

func onlyExceptions(all []api.Verdict) bool {
	for _, v := range all {
		if v.Engine != api.Exceptions {
			return false
		}
	}
	return true
}

// Exceptions are matched before secrets are replaced, for one that quotes what
// reports hide would match nothing, or anything; what they say themselves is
// searched for secrets too.
func TestExcusesSeeWhatReportsHide(t *testing.T) {
	t.Parallel()
	engine := fake{func() (api.Verdict, error) {
		v := deny("no")
		v.Findings[0].Rule, v.Findings[0].Address = "rule-"+canary, `a.b["`+canary+`"]`
		return v, nil
	}}
	var saw api.Finding
	v := policy.Judge([]policy.Engine{engine}, source, secretPlan(t),
		func(api.Finding) *api.Exception { return nil },
		func(f api.Finding) *api.Exception {
			saw = f
			return &api.Exception{Reason: "because of " + canary, Owner: canary, Expires: "2026-01-01", At: "e.json:1:1"}
		},
		func(api.Finding) *api.Exception { t.Error("what is excused is asked about again"); return nil })
	if saw.Rule != "rule-"+canary || !strings.Contains(saw.Address, canary) || saw.Policy != source.Path || saw.Engine != api.Rules {
		t.Errorf("the excuse saw %+v", saw)
	}
	f := v.Findings[0]
	if v.Outcome != api.Passed || !f.Excepted || f.Exception.At != "e.json:1:1" {
		t.Errorf("got %+v", v)
	}
	if strings.Contains(f.Rule+f.Exception.Reason+f.Exception.Owner, canary) {
		t.Errorf("the secret is in %+v", f)
	}
}

func TestNothingExcusesAnError(t *testing.T) {
	t.Parallel()
	yes := func(api.Finding) *api.Exception { return &api.Exception{} }
	for name, judge := range map[string]func() (api.Verdict, error){
		"an error":   func() (api.Verdict, error) { return deny("no"), errors.New("no") },
		"says error": func() (api.Verdict, error) { v := deny("no"); v.Outcome = api.Errored; return v, nil },
		"a panic":    func() (api.Verdict, error) { panic("no") },
	} {
		if v := policy.Judge([]policy.Engine{fake{judge}}, source, secretPlan(t), yes); v.Outcome != api.Errored {
			t.Errorf("%s: %s", name, v.Outcome)
		}
	}
	ok := fake{func() (api.Verdict, error) { return deny("no"), nil }}
	if v := policy.Judge([]policy.Engine{ok}, source, secretPlan(t), func(api.Finding) *api.Exception { panic(canary) }); v.Outcome != api.Errored {
		t.Errorf("an excuse that panics: %s", v.Outcome)
	}
}
