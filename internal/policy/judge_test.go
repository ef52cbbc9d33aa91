package policy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/input"
	"github.com/assize-iac/assize/internal/policy/rules"
)

// fake is an engine that does what the test says.
type fake struct {
	judge func() (api.Verdict, error)
}

func (fake) Language() api.Language    { return api.Rules }
func (fake) Evaluator() string         { return "fake/1" }
func (fake) Check(policy.Source) error { return nil }
func (f fake) Judge(policy.Source, *plan.Plan) (api.Verdict, error) {
	return f.judge()
}

const canary = "hunter2-canary"

func secretPlan(t *testing.T) *plan.Plan {
	t.Helper()
	p, err := plan.Decode([]byte(`{"format_version": "1.2", "terraform_version": "1.12.6", "resource_changes": [
		{"address": "a.b", "mode": "managed", "type": "a", "name": "b", "change": {"actions": ["create"],
		 "before": null, "after": {"password": "` + canary + `"}, "after_unknown": {}, "after_sensitive": {"password": true}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var source = policy.Source{Path: "p.json", Language: api.Rules, Files: []policy.File{{Name: "p.json", Data: []byte("[]")}}}

func TestJudgeFailsClosed(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		engines []policy.Engine
		want    api.Outcome
	}{
		"no engine":  {nil, api.Errored},
		"an error":   {[]policy.Engine{fake{func() (api.Verdict, error) { return api.Verdict{}, errors.New("no") }}}, api.Errored},
		"a panic":    {[]policy.Engine{fake{func() (api.Verdict, error) { panic(canary) }}}, api.Errored},
		"nothing":    {[]policy.Engine{fake{func() (api.Verdict, error) { return api.Verdict{}, nil }}}, api.Passed},
		"a deny":     {[]policy.Engine{fake{func() (api.Verdict, error) { return deny("no"), nil }}}, api.Failed},
		"says pass":  {[]policy.Engine{fake{func() (api.Verdict, error) { v := deny("no"); v.Outcome = api.Passed; return v, nil }}}, api.Failed},
		"an excuse":  {[]policy.Engine{fake{func() (api.Verdict, error) { v := deny("no"); v.Findings[0].Excepted = true; return v, nil }}}, api.Passed},
		"says error": {[]policy.Engine{fake{func() (api.Verdict, error) { return api.Verdict{Outcome: api.Errored}, nil }}}, api.Errored},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := policy.Judge(tt.engines, source, secretPlan(t))
			if v.Outcome != tt.want {
				t.Errorf("outcome %q, want %q", v.Outcome, tt.want)
			}
			if v.Path != "p.json" || v.Digest == "" || v.Input == "" || v.Enforcement != api.HardMandatory {
				t.Errorf("incomplete verdict: %+v", v)
			}
		})
	}
}

func deny(message string) api.Verdict {
	return api.Verdict{Findings: []api.Finding{{Rule: "r", Level: api.Deny, Address: "a.b", Message: message}}}
}

// TestJudgeScrubs puts a secret of the plan into every text of a verdict; none
// may come out, whichever engine said it.
func TestJudgeScrubs(t *testing.T) {
	t.Parallel()
	verdict := func() (api.Verdict, error) {
		return api.Verdict{
			Notes: []string{"note " + canary},
			Rules: []api.RuleCount{{Rule: canary}},
			Findings: []api.Finding{{
				Rule: canary, Level: api.Deny, Address: "made up: " + canary, Path: canary, Message: "is " + canary + "!", Title: canary,
				Positions: []string{canary},
				Details:   map[string]any{canary: []any{canary, map[string]any{"k": canary}, true, nil, 7}},
			}},
		}, nil
	}
	for name, judge := range map[string]func() (api.Verdict, error){
		"verdict": verdict,
		"error":   func() (api.Verdict, error) { return api.Verdict{}, errors.New(canary) },
		"panic":   func() (api.Verdict, error) { panic(canary) },
	} {
		v := policy.Judge([]policy.Engine{fake{judge}}, source, secretPlan(t))
		if text := fmt.Sprintf("%+v", v); strings.Contains(text, canary) {
			t.Errorf("%s: the secret is in %s", name, text)
		}
	}
}

// TestJudgeHidesKeys: an address whose instance key is a secret is judged as it
// is and shown without the key.
func TestJudgeHidesKeys(t *testing.T) {
	t.Parallel()
	p, err := plan.Decode([]byte(`{"format_version": "1.2", "terraform_version": "1.12.6", "resource_changes": [
		{"address": "a.b[\"` + canary + `\"]", "mode": "managed", "type": "a", "name": "b", "index": "` + canary + `", "change": {"actions": ["create"],
		 "before": null, "after": {"password": "` + canary + `"}, "after_unknown": {}, "after_sensitive": {"password": true}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	src := policy.Source{Path: "p.json", Language: api.Rules, Files: []policy.File{{Name: "p.json", Data: []byte(
		`[{"id": "r", "level": "deny", "address": "a.b[\"` + canary + `\"]", "path": "owner", "op": "exists", "message": "say who owns it"}]`)}}}
	v := policy.Judge([]policy.Engine{rules.Engine{}}, src, p)
	want := api.Finding{Policy: "p.json", Engine: api.Rules, Rule: "r", Level: api.Deny, Address: `a.b["(sensitive)"]`, Action: "create",
		Path: "owner", Message: "say who owns it: owner is missing", Positions: []string{"p.json:1:2"}}
	if diff := cmp.Diff([]api.Finding{want}, v.Findings); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestDeclaredSecret: a verdict of any language that holds a declared secret, in
// whatever form, says nothing but that (docs/decision.md, rule 10).
func TestDeclaredSecret(t *testing.T) {
	t.Parallel()
	const token, encoded = "token-of-the-caller", "dG9rZW4tb2YtdGhlLWNhbGxlcg"
	src := source
	src.Run.From.Secrets = input.Canaries{{Name: "TOKEN", Value: token}}
	finding := func(f api.Finding) api.Verdict {
		f.Level = api.Warn
		return api.Verdict{Findings: []api.Finding{f}, Contract: &api.Contract{Name: "assize"}}
	}
	tests := map[string]func() (api.Verdict, error){
		"message":  func() (api.Verdict, error) { return finding(api.Finding{Message: "x" + token}), nil },
		"title":    func() (api.Verdict, error) { return finding(api.Finding{Title: token}), nil },
		"address":  func() (api.Verdict, error) { return finding(api.Finding{Address: token}), nil },
		"position": func() (api.Verdict, error) { return finding(api.Finding{Positions: []string{token}}), nil },
		"details":  func() (api.Verdict, error) { return finding(api.Finding{Details: map[string]any{token: 1}}), nil },
		"encoded":  func() (api.Verdict, error) { return finding(api.Finding{Message: encoded}), nil },
		"note":     func() (api.Verdict, error) { return api.Verdict{Notes: []string{token}}, nil },
		"rule":     func() (api.Verdict, error) { return api.Verdict{Rules: []api.RuleCount{{Rule: token}}}, nil },
		"error":    func() (api.Verdict, error) { return api.Verdict{}, errors.New(token) },
	}
	for name, judge := range tests {
		v := policy.Judge([]policy.Engine{fake{judge}}, src, secretPlan(t))
		if v.Outcome != api.Errored || !strings.Contains(v.Error, "holds the declared secret TOKEN") || v.Input == "" || v.Evaluator == "" {
			t.Errorf("%s: %+v", name, v)
		}
		if text := fmt.Sprintf("%+v", v); strings.Contains(text, token) || strings.Contains(text, encoded) {
			t.Errorf("%s: the secret is in %s", name, text)
		}
	}
	clean := policy.Judge([]policy.Engine{fake{func() (api.Verdict, error) { return finding(api.Finding{Message: "m"}), nil }}}, src, secretPlan(t))
	if clean.Outcome != api.Passed || clean.Contract == nil {
		t.Errorf("without the secret: %+v", clean)
	}
}

// TestComposeNeverOpens: adding a verdict that does not pass never turns a
// closed outcome into a pass, and order does not matter.
func TestComposeNeverOpens(t *testing.T) {
	t.Parallel()
	verdict := rapid.Custom(func(t *rapid.T) api.Verdict {
		return api.Verdict{
			Outcome:     rapid.SampledFrom([]api.Outcome{api.Passed, api.Failed, api.Errored, "", "fine"}).Draw(t, "outcome"),
			Enforcement: rapid.SampledFrom([]api.Enforcement{api.Advisory, api.SoftMandatory, api.HardMandatory, ""}).Draw(t, "enforcement"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		vs := rapid.SliceOf(verdict).Draw(t, "verdicts")
		before := policy.Compose(vs)
		extra := verdict.Draw(t, "extra")
		after := policy.Compose(append(vs[:len(vs):len(vs)], extra))
		if len(vs) > 0 && before != api.Passed && after == api.Passed {
			t.Fatalf("adding %v opened %v", extra, vs)
		}
		if extra.Outcome != api.Passed && extra.Enforcement != api.Advisory && after == api.Passed {
			t.Fatalf("%v did not close", extra)
		}
		if extra.Outcome == api.Errored && after != api.Errored {
			t.Fatalf("an errored verdict came to %q", after)
		}
		shuffled := rapid.Permutation(vs).Draw(t, "shuffled")
		if got := policy.Compose(shuffled); got != before {
			t.Fatalf("order matters: %q and %q", before, got)
		}
	})
}

func TestCollect(t *testing.T) {
	t.Parallel()
	warn := api.Finding{Rule: "w", Level: api.Warn}
	no := api.Finding{Rule: "d", Level: api.Deny}
	excused := api.Finding{Rule: "e", Level: api.Deny, Excepted: true}
	got := policy.Collect([]policy.Judged{
		{Plan: api.PlanCheck{Path: "one.json"}, Verdicts: []api.Verdict{
			{Path: "p", Outcome: api.Passed, Findings: []api.Finding{excused, warn}},
			{Path: "q", Outcome: api.Failed, Findings: []api.Finding{no}},
		}},
		{Plan: api.PlanCheck{Path: "two.json", Error: "this is state, not a plan"}},
	})
	if got.Outcome != api.Errored {
		t.Errorf("outcome %q: a plan that cannot be read must not hide behind a denial", got.Outcome)
	}
	if diff := cmp.Diff(api.Counts{Deny: 1, Warn: 1, Excepted: 1}, got.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	var order []string
	for _, f := range got.Findings {
		order = append(order, f.Plan+" "+f.Rule)
	}
	if diff := cmp.Diff([]string{"one.json d", "one.json w", "one.json e"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if empty := policy.Collect(nil); empty.Outcome != api.Errored {
		t.Errorf("no plan at all came to %q", empty.Outcome)
	}
}

// TestDigest pins that the digest of a file is that of its bytes, and that no
// option and no boundary between files is left out of a digest.
func TestDigest(t *testing.T) {
	t.Parallel()
	file := func(name, data string) policy.File { return policy.File{Name: name, Data: []byte(data)} }
	one := policy.Source{Files: []policy.File{file("a.rego", "x")}}
	if want := "sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"; one.Digest() != want {
		t.Errorf("digest %s, want that of the bytes, %s", one.Digest(), want)
	}
	all := []policy.Source{
		one,
		{Files: []policy.File{file("a.rego", "x"), file("b.rego", "")}},
		{Files: []policy.File{file("a.rego", ""), file("b.rego", "x")}},
		{Files: one.Files, Rego: policy.RegoOptions{Namespaces: []string{"a", "b"}}},
		{Files: one.Files, Rego: policy.RegoOptions{Namespaces: []string{`a" "b`}}},
		{Files: one.Files, Rego: policy.RegoOptions{AllNamespaces: true}},
		{Files: one.Files, Rego: policy.RegoOptions{InputShape: "plan"}},
		{Files: one.Files, Rego: policy.RegoOptions{Contract: "assize"}},
		{Files: one.Files, Rego: policy.RegoOptions{Data: []policy.File{file("b.rego", "")}}},
	}
	ran := one
	ran.Run.From.Kind = api.TrackedRun
	if ran.Digest() != one.Digest() {
		t.Error("where a plan came from counts in the digest of a policy")
	}
	seen := map[string]int{}
	for i, s := range all {
		if j, ok := seen[s.Digest()]; ok {
			t.Errorf("sources %d and %d have one digest", i, j)
		}
		seen[s.Digest()] = i
	}
}
