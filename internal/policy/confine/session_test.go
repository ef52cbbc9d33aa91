package confine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/confine"
	"github.com/assize-iac/assize/internal/policy/cueengine"
	"github.com/assize-iac/assize/internal/policy/regoengine"
)

// named is a plan whose one change has the given name, which a bomb obeys.
func named(t *testing.T, name string) *plan.Plan {
	t.Helper()
	p, err := plan.Decode(fmt.Appendf(nil, `{"format_version": "1.2", "terraform_version": "1.12.6", "resource_changes": [
		{"address": "a.%[1]s", "mode": "managed", "type": "a", "name": %[1]q, "change": {"actions": ["create"],
		 "before": null, "after": {}, "after_unknown": {}}}]}`, name))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestSession: a child that dies on the third plan errors that plan, a new
// child goes on with the rest, and the policy is compiled once a child.
func TestSession(t *testing.T) {
	t.Parallel()
	for deed, want := range map[string]string{
		"exit":            "could not judge: the judging process gave no proper answer",
		"memory":          "could not judge: the policy needed more than 256 MiB of memory",
		"cpu":             "could not judge: the policy needed more than 1s of processor time",
		"sleep":           "could not judge: the policy took more than 2s",
		"panic":           "the bomb engine panicked",
		"panic elsewhere": "could not judge: the judging process died (exit status 2)",
		"giant":           "could not judge: the verdict is larger than 8 MiB",
		"no level":        "could not judge: the judging process gave no proper answer",
		"two answers":     "could not judge: the judging process gave no proper answer",
	} {
		t.Run(deed, func(t *testing.T) {
			t.Parallel()
			limits := small
			switch deed {
			case "cpu":
				limits.CPU = time.Second
			case "sleep":
				limits.Wall = 2 * time.Second
			}
			s := policy.Open([]policy.Engine{confine.New(bomb{}, limits)}, bombSource("obey"))
			defer s.Close()
			var got, expected []string
			for i, name := range []string{"one", "two", deed, "four", "five"} {
				v := s.Judge(named(t, name))
				got = append(got, fmt.Sprint(v.Outcome, " ", v.Notes, v.Error))
				expected = append(expected, "passed [a."+name+"]")
				if i == 2 {
					expected[i] = "errored []" + want
				}
			}
			if diff := cmp.Diff(expected, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestSessionStartsAnew: what the plans before it used up does not count
// against a plan.
func TestSessionStartsAnew(t *testing.T) {
	t.Parallel()
	limits := small
	limits.CPU = 2 * time.Second
	s := policy.Open([]policy.Engine{confine.New(bomb{}, limits)}, bombSource("obey"))
	defer s.Close()
	for range 4 {
		if v := s.Judge(named(t, "a second")); v.Outcome != api.Passed {
			t.Errorf("%s: %s", v.Outcome, v.Error)
		}
	}
}

// TestSessionSame: a session says of each plan what a child of its own says of
// it, also of a policy that cannot be used.
func TestSessionSame(t *testing.T) {
	t.Parallel()
	var plans []*plan.Plan
	for _, path := range []string{"cue/create.json", "cue/delete.json", "lesson/plan.json", "lesson/plan-clean.json"} {
		raw, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", path))
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		plans = append(plans, p)
	}
	for _, free := range []policy.Engine{cueengine.New(), regoengine.New()} {
		confined := []policy.Engine{confine.New(free, small)}
		for _, text := range sameTexts[free.Language()] {
			src := bombOf(free.Language(), text)
			inChild, here := policy.Open(confined, src), policy.Open([]policy.Engine{free}, src)
			for _, p := range plans {
				want := policy.Judge(confined, src, p)
				for _, s := range []*policy.Session{inChild, here} {
					if diff := cmp.Diff(want, s.Judge(p)); diff != "" {
						t.Errorf("%q (-alone +session):\n%s", text, diff)
					}
				}
			}
			inChild.Close()
			here.Close()
		}
	}
}

// TestSessionWithoutEngine: a session that cannot judge says so of every plan.
func TestSessionWithoutEngine(t *testing.T) {
	t.Parallel()
	s := policy.Open(nil, bombSource("obey"))
	defer s.Close()
	if v := s.Judge(named(t, "one")); v.Outcome != api.Errored || !strings.Contains(v.Error, "no bomb engine") {
		t.Errorf("%s: %s", v.Outcome, v.Error)
	}
}
