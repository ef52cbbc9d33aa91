package suite_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy/suite"
)

func verdict(outcome api.Outcome, findings ...api.Finding) api.Verdict {
	return api.Verdict{Outcome: outcome, Findings: findings}
}

func parse(t *testing.T, text string) suite.Want {
	t.Helper()
	w, err := suite.ParseWant(text)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestUnready: there is a reason not to try mutants exactly where the policy does
// not pass.
func TestUnready(t *testing.T) {
	t.Parallel()
	plan := func(o api.Outcome) []api.TestedPlan { return []api.TestedPlan{{Outcome: api.Passed}, {Outcome: o}} }
	for name, tt := range map[string]struct {
		policy api.TestedPolicy
		want   string
	}{
		"ready":    {api.TestedPolicy{Plans: plan(api.Passed)}, ""},
		"an error": {api.TestedPolicy{Error: "x", Plans: plan(api.Failed)}, "the policy could not be tested"},
		"a plan":   {api.TestedPolicy{Plans: plan(api.Failed), Untested: []string{"x"}}, "not every plan is as wanted"},
		"no plan":  {api.TestedPolicy{Plans: plan(api.Errored)}, "not every plan is as wanted"},
		"skipped":  {api.TestedPolicy{Plans: plan(api.Passed), Tests: []api.RegoTest{{Outcome: api.Skipped}}}, "not every test in Rego passes"},
		"untested": {api.TestedPolicy{Plans: plan(api.Passed), Untested: []string{"x"}}, "the policy is untested"},
	} {
		got := suite.Unready(tt.policy)
		if got != tt.want || (got == "") != (suite.Outcome(tt.policy) == api.Passed) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	deny := api.Finding{Level: api.Deny, Rule: "r", Address: "a.b"}
	for name, tt := range map[string]struct {
		want                string
		got                 api.Verdict
		outcome             api.Outcome
		missing, unexpected []string
	}{
		"as wanted":        {"deny r a.b", verdict(api.Failed, deny), api.Passed, nil, nil},
		"in any order":     {"deny r a.c\n# why\n\ndeny r a.b", verdict(api.Failed, deny, api.Finding{Level: api.Deny, Rule: "r", Address: "a.c"}), api.Passed, nil, nil},
		"twice":            {"deny r a.b", verdict(api.Failed, deny, deny), api.Failed, nil, []string{"deny r a.b"}},
		"once too few":     {"deny r a.b\ndeny r a.b", verdict(api.Failed, deny), api.Failed, []string{"deny r a.b"}, nil},
		"nothing":          {"", verdict(api.Passed), api.Passed, nil, nil},
		"another level":    {"warn r a.b", verdict(api.Failed, deny), api.Failed, []string{"warn r a.b"}, []string{"deny r a.b"}},
		"excepted":         {"excepted r a.b", verdict(api.Passed, api.Finding{Level: api.Deny, Rule: "r", Address: "a.b", Excepted: true}), api.Passed, nil, nil},
		"no address":       {"deny r", verdict(api.Failed, api.Finding{Level: api.Deny, Rule: "r"}), api.Passed, nil, nil},
		"deposed":          {"deny r a.b deposed 1f", verdict(api.Failed, api.Finding{Level: api.Deny, Rule: "r", Address: "a.b", Deposed: "1f"}), api.Passed, nil, nil},
		"a rule of words":  {`deny "no deletes" a.b`, verdict(api.Failed, api.Finding{Level: api.Deny, Rule: "no deletes", Address: "a.b"}), api.Passed, nil, nil},
		"an address lines": {`deny r "a[\"x\\ny\"]"`, verdict(api.Failed, api.Finding{Level: api.Deny, Rule: "r", Address: "a[\"x\\ny\"]"}), api.Failed, []string{`deny r "a[\"x\\ny\"]"`}, []string{`deny r a["x\ny"]`}},
		"errored":          {"errored", verdict(api.Errored), api.Passed, nil, nil},
		"not errored":      {"errored", verdict(api.Passed), api.Failed, []string{"errored"}, nil},
		"errored instead":  {"deny r a.b", verdict(api.Errored), api.Failed, []string{"deny r a.b"}, []string{"errored"}},
		"no outcome":       {"", verdict("fine"), api.Failed, nil, []string{"errored"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := suite.Compare("n", parse(t, tt.want), tt.got)
			want := api.TestedPlan{Name: "n", Outcome: tt.outcome, Judged: tt.got.Outcome, Missing: append([]string{}, tt.missing...), Unexpected: append([]string{}, tt.unexpected...)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseWantRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"dney r a.b", "deny", "deny ", "errored\ndeny r a.b", "errored twice", "passed"} {
		if w, err := suite.ParseWant(text); err == nil {
			t.Errorf("%q is %q", text, w)
		}
	}
}

// TestFoundIsWanted: what --update writes is what is then as wanted, whatever a
// policy calls its rules and a plan its objects.
func TestFoundIsWanted(t *testing.T) {
	t.Parallel()
	finding := rapid.Custom(func(t *rapid.T) api.Finding {
		return api.Finding{
			Level: rapid.SampledFrom([]api.Level{api.Deny, api.Warn}).Draw(t, "level"), Rule: rapid.String().Draw(t, "rule"),
			Address: rapid.String().Draw(t, "address"), Deposed: rapid.SampledFrom([]string{"", "1f"}).Draw(t, "deposed"), Excepted: rapid.Bool().Draw(t, "excepted"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		v := verdict(rapid.SampledFrom([]api.Outcome{api.Passed, api.Failed, api.Errored}).Draw(t, "outcome"), rapid.SliceOf(finding).Draw(t, "findings")...)
		text := suite.Found(v).String()
		want, err := suite.ParseWant(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if got := suite.Compare("n", want, v); got.Outcome != api.Passed {
			t.Fatalf("%q: %+v", text, got)
		}
	})
}

func TestUnproved(t *testing.T) {
	t.Parallel()
	refused, passed, warned, unjudged := "deny r a.b", "", "warn r a.b", "errored"
	for _, tt := range []struct {
		wants     []string
		onlyWarns bool
		want      []string
	}{
		{nil, false, []string{"no plan that the policy refuses", "no plan that the policy lets pass"}},
		{[]string{refused}, false, []string{"no plan that the policy lets pass"}},
		{[]string{passed}, false, []string{"no plan that the policy refuses"}},
		{[]string{refused, passed}, false, []string{}},
		{[]string{refused, warned}, false, []string{}},
		{[]string{refused, unjudged}, false, []string{"no plan that the policy lets pass"}},
		{[]string{warned, passed}, false, []string{"no plan that the policy refuses"}},
		{[]string{warned, passed}, true, []string{}},
		{[]string{passed}, true, []string{"no plan that the policy warns of"}},
	} {
		var wants []suite.Want
		for _, text := range tt.wants {
			wants = append(wants, parse(t, text))
		}
		if diff := cmp.Diff(tt.want, suite.Unproved(wants, tt.onlyWarns)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.wants, diff)
		}
	}
}

// TestOutcome: nothing that is not as it should be is a pass.
func TestOutcome(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		policy api.TestedPolicy
		want   api.Outcome
	}{
		"all well":         {api.TestedPolicy{Plans: []api.TestedPlan{{Outcome: api.Passed}}, Tests: []api.RegoTest{{Outcome: api.Passed}}, Mutation: &api.Mutation{Mutants: 3}}, api.Passed},
		"a plan":           {api.TestedPolicy{Plans: []api.TestedPlan{{Outcome: api.Failed}}}, api.Failed},
		"an unread plan":   {api.TestedPolicy{Plans: []api.TestedPlan{{Outcome: api.Errored}, {Outcome: api.Failed}}}, api.Errored},
		"no outcome":       {api.TestedPolicy{Plans: []api.TestedPlan{{}}}, api.Errored},
		"a failing test":   {api.TestedPolicy{Tests: []api.RegoTest{{Outcome: api.Failed}}}, api.Failed},
		"an erring test":   {api.TestedPolicy{Tests: []api.RegoTest{{Outcome: api.Errored}}}, api.Failed},
		"a skipped test":   {api.TestedPolicy{Tests: []api.RegoTest{{Outcome: api.Skipped}}}, api.Failed},
		"untested":         {api.TestedPolicy{Untested: []string{"x"}}, api.Failed},
		"a survivor":       {api.TestedPolicy{Mutation: &api.Mutation{Survivors: []api.Mutant{{}}}}, api.Failed},
		"an unused policy": {api.TestedPolicy{Error: "x"}, api.Errored},
	} {
		tt.policy.Outcome = suite.Outcome(tt.policy)
		if tt.policy.Outcome != tt.want {
			t.Errorf("%s: %s, want %s", name, tt.policy.Outcome, tt.want)
		}
		if got := suite.Overall([]api.TestedPolicy{{Outcome: api.Passed}, tt.policy}); got != tt.want {
			t.Errorf("%s: over all %s, want %s", name, got, tt.want)
		}
	}
	if suite.Overall(nil) != api.Errored {
		t.Error("no policy at all is a pass")
	}
}

// FuzzWant: a .want file is read or refused, and what is read reads the same
// when it is written.
func FuzzWant(f *testing.F) {
	for _, seed := range []string{"", "deny r a.b\n", "errored", "# x\n\nwarn r", "deny \"a b\" c\x00", "excepted r a deposed b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w, err := suite.ParseWant(text)
		if err != nil {
			return
		}
		again, err := suite.ParseWant(w.String())
		if err != nil || !again.Equal(w) {
			t.Errorf("%q becomes %q (%v)", text, w, err)
		}
	})
}
