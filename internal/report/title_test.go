package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report"
)

// TestTitle: a title stands before the message in every format
// (docs/decision.md, rule 6).
func TestTitle(t *testing.T) {
	t.Parallel()
	f := api.Finding{Policy: "p.rego", Engine: api.Rego, Rule: "encryption", Level: api.Deny, Address: "a.b", Action: "create", Title: "Encryption required", Message: "Turn it on."}
	check := api.Check{
		Outcome: api.Failed, Counts: api.Counts{Deny: 1}, Findings: []api.Finding{f},
		Policies: []api.Verdict{{Path: "p.rego", Engine: api.Rego, Enforcement: api.HardMandatory, Outcome: api.Failed}},
		Plans:    []api.PlanCheck{{Outcome: api.Failed}},
	}
	for _, format := range report.Formats() {
		var out bytes.Buffer
		if err := format.Write(&out, check, report.Options{}); err != nil {
			t.Fatal(err)
		}
		want := "Encryption required: Turn it on."
		if format.Name == "json" {
			want = `"title": "Encryption required"`
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s has no title:\n%s", format.Name, out.String())
		}
	}
}
