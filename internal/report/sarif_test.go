package report_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/report"
)

func assertSARIF(t rapid.TB, c api.Check) {
	t.Helper()
	out := output(t, "sarif", c, report.Options{Version: "1.2.3"})
	var log sarif
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&log); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if err := log.validate(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	run := log.Runs[0]
	if len(run.Results) != len(c.Findings) {
		t.Fatalf("%d results, want %d", len(run.Results), len(c.Findings))
	}
	if run.Invocations[0].ExecutionSuccessful != judged(c) {
		t.Fatalf("executionSuccessful is %v for\n%s", run.Invocations[0].ExecutionSuccessful, out)
	}
}

// judged reports whether every part of a result came to an outcome.
func judged(c api.Check) bool {
	known := func(o api.Outcome) bool { return o == api.Passed || o == api.Failed }
	plans := map[string]bool{}
	for _, p := range c.Plans {
		if plans[p.Path] = true; !known(p.Outcome) || p.Error != "" {
			return false
		}
	}
	for _, v := range c.Policies {
		if !known(v.Outcome) || !plans[v.Plan] && (v.Plan != "" || len(c.Plans) != 1) {
			return false
		}
	}
	for _, f := range c.Findings {
		if !plans[f.Plan] && (f.Plan != "" || len(c.Plans) != 1) {
			return false
		}
	}
	return known(c.Outcome)
}

// sarif is the part of the official schema that our output may use.
type sarif struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    []struct {
		Tool struct {
			Driver struct {
				Name           string `json:"name"`
				Version        string `json:"version"`
				InformationURI string `json:"informationUri"`
				Rules          []struct {
					ID               string  `json:"id"`
					Name             string  `json:"name"`
					ShortDescription message `json:"shortDescription"`
				} `json:"rules"`
			} `json:"driver"`
		} `json:"tool"`
		Invocations []struct {
			ExecutionSuccessful        bool `json:"executionSuccessful"`
			ToolExecutionNotifications []struct {
				Level     string     `json:"level"`
				Message   message    `json:"message"`
				Locations []location `json:"locations"`
			} `json:"toolExecutionNotifications"`
		} `json:"invocations"`
		Results []struct {
			RuleID              string            `json:"ruleId"`
			RuleIndex           *int              `json:"ruleIndex"`
			Level               string            `json:"level"`
			Message             message           `json:"message"`
			Locations           []location        `json:"locations"`
			PartialFingerprints map[string]string `json:"partialFingerprints"`
			Suppressions        []struct {
				Kind   string `json:"kind"`
				Status string `json:"status"`

				Justification string `json:"justification"`
			} `json:"suppressions"`
			Properties map[string]any `json:"properties"`
		} `json:"results"`
	} `json:"runs"`
}

type message struct {
	Text string `json:"text"`
}

type location struct {
	PhysicalLocation *struct {
		ArtifactLocation struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region struct {
			StartLine int `json:"startLine"`
		} `json:"region"`
	} `json:"physicalLocation"`
	LogicalLocations []struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	} `json:"logicalLocations"`
}

// validate checks what the schema and the text of SARIF 2.1.0 demand of the
// members above.
func (s sarif) validate() error {
	if s.Version != "2.1.0" || !strings.HasSuffix(s.Schema, "/sarif-schema-2.1.0.json") || len(s.Runs) != 1 {
		return fmt.Errorf("version %q, schema %q, %d runs", s.Version, s.Schema, len(s.Runs))
	}
	run := s.Runs[0]
	if d := run.Tool.Driver; d.Name != "assize" || d.Version == "" || d.InformationURI == "" || d.Rules == nil {
		return fmt.Errorf("driver %+v", d)
	}
	ids := map[string]bool{}
	for _, r := range run.Tool.Driver.Rules {
		if r.ID == "" || ids[r.ID] || r.ShortDescription.Text == "" {
			return fmt.Errorf("rule %q is empty or there twice", r.ID)
		}
		ids[r.ID] = true
	}
	if run.Results == nil || len(run.Invocations) != 1 || run.Invocations[0].ToolExecutionNotifications == nil {
		return fmt.Errorf("results or invocations are missing")
	}
	for _, n := range run.Invocations[0].ToolExecutionNotifications {
		if err := checkLocations(n.Locations); err != nil || n.Message.Text == "" || n.Level != "error" && n.Level != "note" {
			return fmt.Errorf("notification %+v: %v", n, err)
		}
	}
	prints := map[string]bool{}
	for _, r := range run.Results {
		print := r.PartialFingerprints["primaryLocationLineHash"]
		switch {
		case r.RuleIndex == nil || *r.RuleIndex >= len(run.Tool.Driver.Rules) || run.Tool.Driver.Rules[*r.RuleIndex].ID != r.RuleID:
			return fmt.Errorf("ruleIndex of %q", r.RuleID)
		case r.Level != "error" && r.Level != "warning" && r.Level != "note":
			return fmt.Errorf("level %q", r.Level)
		case r.Message.Text == "" || strings.Contains(r.Message.Text, "]("):
			return fmt.Errorf("message %q", r.Message.Text)
		case print == "" || prints[print]:
			return fmt.Errorf("fingerprint %q is there twice", print)
		}
		prints[print] = true
		if err := checkLocations(r.Locations); err != nil {
			return err
		}
	}
	return nil
}

func checkLocations(all []location) error {
	for _, l := range all {
		if l.PhysicalLocation == nil || l.PhysicalLocation.Region.StartLine < 1 {
			return fmt.Errorf("no physical location")
		}
		uri := l.PhysicalLocation.ArtifactLocation.URI
		if u, err := url.Parse(uri); err != nil || uri == "" || u.Scheme != "" && u.Scheme != "file" {
			return fmt.Errorf("uri %q: %v", uri, err)
		}
	}
	return nil
}

// TestFingerprints pins what a dashboard recognises a finding by: neither the
// values that a message quotes nor where a single plan was written.
func TestFingerprints(t *testing.T) {
	t.Parallel()
	prints := func(path, message, policies string) []string {
		v := verdict(api.Failed, "r")
		v.Path = policies
		v.Findings = []api.Finding{finding(api.Deny, "r", "x.y", "create", message), finding(api.Deny, "r", "x.y", "create", message+"2")}
		for i := range v.Findings {
			v.Findings[i].Policy = policies
		}
		var log sarif
		if err := json.Unmarshal([]byte(render(t, "sarif", collect(path, v), report.Options{})), &log); err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, r := range log.Runs[0].Results {
			out = append(out, r.PartialFingerprints["primaryLocationLineHash"])
		}
		return out
	}
	first := prints("/tmp/a/plan.json", "size is 1", "p.json")
	if same := prints("/tmp/b/plan.json", "size is 2", "p.json"); !slices.Equal(first, same) {
		t.Errorf("%q is %q the next time", first, same)
	}
	if other := prints("/tmp/a/plan.json", "size is 1", "q.json"); slices.Equal(first, other) || first[0] == first[1] {
		t.Errorf("different findings look the same: %q, %q", first, other)
	}
}

func TestArtifactURI(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"plan.json": "plan.json", "infra/a b/plan.json": "infra/a%20b/plan.json", "/tmp/plan.json": "file:///tmp/plan.json",
		"-": "stdin", "a:b": "./a:b", "a%b#c?d": "a%25b%23c%3Fd", "é\x00": "%C3%A9%00",
	} {
		if got := render(t, "sarif", erroredAt(path), report.Options{}); !strings.Contains(got, `"uri": "`+want+`"`) {
			t.Errorf("%q: want %s in\n%s", path, want, got)
		}
	}
}

func erroredAt(path string) api.Check {
	return policy.Collect([]policy.Judged{{Plan: api.PlanCheck{Path: path, Error: "x"}}})
}
