package trial_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/page"
	"github.com/assize-iac/assize/internal/report/trial"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// evil is a name that wants to be a command of a CI runner, or a line of ours.
const evil = "a\n::error::x\nok    \u202e##[group]\x1b[31m"

func theTest() api.PolicyTest {
	return api.PolicyTest{Outcome: api.Errored, Policies: []api.TestedPolicy{
		{
			Path: "policy/a.rego", Engine: api.Rego, Outcome: api.Failed,
			Plans: []api.TestedPlan{
				{Name: "create", Outcome: api.Passed, Judged: api.Passed, Missing: []string{}, Unexpected: []string{}, Wrote: "a_test/" + evil},
				{Name: evil, Outcome: api.Failed, Judged: api.Failed, Missing: []string{"deny " + evil}, Unexpected: []string{"warn r a.b"}},
				{Name: "state", Outcome: api.Errored, Missing: []string{}, Unexpected: []string{}, Error: "this is a state", Hint: "make a plan"},
			},
			Tests: []api.RegoTest{
				{Name: "data.main.test_a", Position: "a_test.rego:3", Outcome: api.Passed},
				{Name: "data.main.todo_test_b", Position: "a_test.rego:9", Outcome: api.Skipped},
				{Name: "data.main.test_c", Position: "a_test.rego:12", Outcome: api.Failed, Error: "two"},
			},
			Untested: []string{"no plan that the policy refuses"},
			Mutation: &api.Mutation{Mutants: 4, Left: 2, Survivors: []api.Mutant{{Position: "policy/a.rego:5", Rule: "deny", Change: "dropped " + evil, Tell: "a plan " + evil}}},
			Coverage: &api.Coverage{
				Rules: []api.RuleCount{{Rule: "deny", Matched: 1}}, Idle: []string{"warn"},
				Files: []api.FileLines{{File: "a.rego", Covered: []int{1, 2}, Missed: []int{3, 4, 5, 9, 11, 12}}},
			},
		},
		{
			Path: "c.cue", Engine: api.CUE, Outcome: api.Failed, Untested: []string{"no plan that the policy refuses"}, Unmutated: "the policy is untested",
			Plans: []api.TestedPlan{{Name: "create", Outcome: api.Passed, Judged: api.Passed, Missing: []string{}, Unexpected: []string{}}},
			Tests: []api.RegoTest{},
		},
		{Path: "b.cue", Engine: api.CUE, Outcome: api.Errored, Error: "it does not compile\nhere", Hint: "mend it"},
	}}
}

func theReplay() api.Replay {
	f := api.Finding{Level: api.Deny, Rule: "r", Address: evil, Message: "keep it"}
	return api.Replay{
		Outcome: api.Errored, Counts: api.ReplayCounts{Plans: 11, Same: 4, NewlyRefused: 1, NewlyPassed: 1, NewlyErrored: 1, NewlyJudged: 1, Unjudged: 1, Findings: 1, Unread: 1},
		Plans: []api.ReplayedPlan{
			{Path: "a.json", Difference: api.NewlyRefused, Added: []api.Finding{f}, MoreAdded: 3},
			{Path: evil, Difference: api.NewlyPassed, Removed: []api.Finding{{Level: api.Warn, Rule: "w", Excepted: true}}},
			{Path: "c.json", Difference: api.NewlyErrored, Errors: []api.ReplayedError{{Side: "candidate", Policy: "b.rego", Error: "could not judge", Hint: "test the value"}}},
			{Path: "d.json", Difference: api.OtherFinding, MoreGone: 1},
			{Path: "f.json", Difference: api.NewlyJudged, Errors: []api.ReplayedError{{Side: "present", Policy: evil, Error: "it timed out"}}},
			{Path: "g.json", Difference: api.Unjudged, Errors: []api.ReplayedError{{Side: "present", Policy: "a.rego", Error: "x"}, {Side: "candidate", Policy: "b.rego", Error: "y"}}},
			{Path: "e.json", Difference: api.Unread, Error: "this is a state"},
		},
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*bytes.Buffer) error{
		"test.txt":    func(b *bytes.Buffer) error { return trial.Test(b, theTest(), page.Options{}) },
		"test.json":   func(b *bytes.Buffer) error { return page.JSON(b, theTest()) },
		"test.xml":    func(b *bytes.Buffer) error { return trial.JUnit(b, theTest()) },
		"replay.txt":  func(b *bytes.Buffer) error { return trial.Replay(b, theReplay(), page.Options{}) },
		"replay.json": func(b *bytes.Buffer) error { return page.JSON(b, theReplay()) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for _, bad := range []string{"\n::", "##[", "\x1b", "\u202e"} {
			if strings.Contains(b.String(), bad) {
				t.Errorf("%s acts: %q", name, bad)
			}
		}
	}
}

// TestSame: JSON says what was given, and XML is well-formed.
func TestSame(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := page.JSON(&b, theTest()); err != nil {
		t.Fatal(err)
	}
	var got api.PolicyTest
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(theTest(), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.Reset()
	if err := trial.JUnit(&b, theTest()); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
	}
	if err := xml.Unmarshal(b.Bytes(), &doc); err != nil || doc.Tests != 11 || doc.Failures != 6 || doc.Errors != 2 {
		t.Errorf("%+v %v", doc, err)
	}
}

// TestColours: meaning never hangs on them.
func TestColours(t *testing.T) {
	t.Parallel()
	var plain, painted bytes.Buffer
	if err := trial.Test(&plain, theTest(), page.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := trial.Test(&painted, theTest(), page.Options{Color: true}); err != nil {
		t.Fatal(err)
	}
	text := painted.String()
	for _, code := range []page.Color{page.Red, page.Yellow, page.Green, page.Dim, page.Plain} {
		text = strings.ReplaceAll(text, "\x1b["+string(code)+"m", "")
	}
	if text = strings.ReplaceAll(text, "\x1b[0m", ""); text != plain.String() {
		t.Errorf("without colours:\n%s", cmp.Diff(plain.String(), text))
	}
}
