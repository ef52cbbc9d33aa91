package input_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy/input"
	"github.com/assize-iac/assize/internal/problem"
)

const sha = "0123456789abcdef0123456789abcdef01234567"

// tracked is where the plan of seed 000's example came from.
func tracked() input.Provenance {
	commit := sha
	return input.Provenance{
		Kind:    api.TrackedRun,
		Source:  api.InputSource{CommitSHA: &commit, RepositoryID: "123456789", WorkingDirectory: "."},
		Subject: api.InputSubject{ID: "ws_22222222222222222222222222222222", Metadata: map[string]string{"environment": "production"}},
	}
}

func manual() input.Provenance {
	return input.Provenance{
		Kind:    api.ManualRun,
		Source:  api.InputSource{RepositoryID: "cfg_22222222222222222222222222222222", WorkingDirectory: "infra/prod"},
		Subject: api.InputSubject{ID: "infra/prod:eu"},
	}
}

// planText is a plan whose resource_changes are the given objects.
func planText(changes ...string) string {
	return `{"format_version":"1.2","resource_changes":[` + strings.Join(changes, ",") + `]}`
}

// creates is one change that creates test_thing.name; delta is what else
// stands in its change, after a comma.
func creates(name, delta string) string {
	return fmt.Sprintf(`{"address":"test_thing.%s","mode":"managed","type":"test_thing","name":%q,"provider_name":"example.com/acme/test","change":{"actions":["create"]%s}}`, name, name, delta)
}

func decode(t interface {
	Helper()
	Fatal(...any)
}, text string) *plan.Plan {
	t.Helper()
	p, err := plan.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// build makes an input of our contract, which must succeed.
func build(t interface {
	Helper()
	Fatal(...any)
}, text string) *input.Input {
	t.Helper()
	in, err := input.Build(input.Assize(), decode(t, text), tracked(), input.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// realPlans are the plans of the test data that can be decoded, by name.
func realPlans(t testing.TB) map[string]*plan.Plan {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "plans", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	lesson, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "lesson", "plan*.json"))
	if err != nil {
		t.Fatal(err)
	}
	plans := map[string]*plan.Plan{}
	for _, path := range append(paths, lesson...) {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := plan.Decode(raw); err == nil { // errored plans and states are no plans
			plans[strings.TrimSuffix(filepath.Base(path), ".json")] = p
		}
	}
	if len(plans) < 18 {
		t.Fatalf("only %d plans decode", len(plans))
	}
	return plans
}

// wantProblem holds an error against a code and words of its message.
func wantProblem(t *testing.T, err error, code api.Code, words string) {
	t.Helper()
	if err == nil || problem.Code(err) != code || !strings.Contains(err.Error(), words) {
		t.Errorf("got %v (%s), want %q (%s)", err, problem.Code(err), words, code)
	}
	if err != nil && problem.Hint(err) == "" {
		t.Errorf("%v: no hint", err)
	}
}
