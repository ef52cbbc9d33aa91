package policy_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
)

// bundled is source as it came out of a bundle.
func bundled(evaluator string) policy.Source {
	src := source
	src.Bundle = &policy.Bundle{Digest: "sha256:b", Evaluator: evaluator}
	return src
}

// TestJudgeBundle: a verdict names the bundle, passed or errored, and says when
// another evaluator checked it (docs/bundle.md, rules 3 and 10).
func TestJudgeBundle(t *testing.T) {
	t.Parallel()
	passes := []policy.Engine{fake{func() (api.Verdict, error) { return api.Verdict{}, nil }}}
	fails := []policy.Engine{fake{func() (api.Verdict, error) { return api.Verdict{}, errors.New("no") }}}
	const note = "the bundle was checked by fake/2 when it was built"
	for _, c := range []struct {
		evaluator string
		engines   []policy.Engine
		noted     bool
	}{{"fake/1", passes, false}, {"fake/2", passes, true}, {"", passes, false}, {"fake/2", fails, false}} {
		v := policy.Judge(c.engines, bundled(c.evaluator), secretPlan(t))
		if v.Bundle != "sha256:b" || v.Digest != source.Digest() {
			t.Errorf("%q: bundle %q, digest %q", c.evaluator, v.Bundle, v.Digest)
		}
		if slices.Contains(v.Notes, note) != c.noted {
			t.Errorf("%q: notes %q", c.evaluator, v.Notes)
		}
	}
	if v := policy.Judge(passes, source, secretPlan(t)); v.Bundle != "" {
		t.Errorf("plain files are of the bundle %q", v.Bundle)
	}
}

// TestWithRego: a bundle of Assize answers once, one of OPA takes the options
// and keeps its documents, and other languages have none (docs/bundle.md, rule 12).
func TestWithRego(t *testing.T) {
	t.Parallel()
	data := func(names ...string) (out []policy.File) {
		for _, name := range names {
			out = append(out, policy.File{Name: name})
		}
		return out
	}
	ours := policy.Source{Path: "b.tar.gz", Language: api.Rego, Bundle: &policy.Bundle{Evaluator: "opa/1"}, Rego: policy.RegoOptions{Namespaces: []string{"a"}}}
	opas := policy.Source{Language: api.Rego, Bundle: &policy.Bundle{}, Rego: policy.RegoOptions{Data: data("data.json")}}
	asked := policy.RegoOptions{InputShape: "plan", Data: data("x.json")}

	if got, err := ours.WithRego(policy.RegoOptions{}); err != nil || len(got.Rego.Namespaces) != 1 {
		t.Errorf("ours, nothing asked: %+v, %v", got, err)
	}
	if _, err := ours.WithRego(asked); err == nil || !strings.Contains(err.Error(), "b.tar.gz is a bundle") {
		t.Errorf("ours, asked again: %v", err)
	}
	got, err := opas.WithRego(asked)
	if err != nil || got.Rego.InputShape != "plan" || len(got.Rego.Data) != 2 || got.Rego.Data[0].Name != "data.json" {
		t.Errorf("OPA's: %+v, %v", got, err)
	}
	if got, err := opas.WithRego(policy.RegoOptions{}); err != nil || len(got.Rego.Data) != 1 {
		t.Errorf("OPA's, nothing asked: %+v, %v", got, err)
	}
	if got, err := source.WithRego(asked); err != nil || !got.Rego.IsZero() {
		t.Errorf("rules: %+v, %v", got, err)
	}
}

// panicking accepts a policy and then cannot say anything about it.
type panicking struct{ fake }

func (panicking) Pack(policy.Source) (*policy.OPA, error) { panic(canary) }

// TestChecked: what an engine refuses goes into no bundle.
func TestChecked(t *testing.T) {
	t.Parallel()
	if _, err := policy.Checked(nil, source); err == nil {
		t.Error("a policy without an engine was checked")
	}
	if _, err := policy.Checked([]policy.Engine{panicking{}}, source); err == nil || err.Error() != "the rules engine panicked" {
		t.Errorf("a panic came to %v", err)
	}
	got, err := policy.Checked([]policy.Engine{fake{}}, source)
	if err != nil || got.Bundle.Evaluator != "fake/1" || got.Bundle.OPA != nil || source.Bundle != nil {
		t.Errorf("%+v, %v", got, err)
	}
}
