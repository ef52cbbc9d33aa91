package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report"
)

// TestViolation holds the blocks of seed 003's page, byte for byte.
func TestViolation(t *testing.T) {
	t.Parallel()
	owner := verdict(api.Failed)
	owner.Path, owner.Engine, owner.Digest = "policy/owner.cue", api.CUE, ownerDigest
	excepted := finding(api.Deny, "no-delete", "terraform_data.old", "delete", "not shown")
	excepted.Excepted = true
	rego := verdict(api.Failed)
	rego.Path = "policy/main.rego"
	for name, tt := range map[string]struct {
		verdict  api.Verdict
		findings []api.Finding
		want     string
	}{
		"cue": {owner, cue().Findings, `Error: the plan violates the policy policy/owner.cue (sha256:88d9b5cb971a):
changes.0.after.keepers.owner: conflicting values null and =~"^team-" (mismatched types null and string):
    plan:1:413
    policy/owner.cue:3:2
    policy/owner.cue:4:26
changes.2.after.keepers.owner: invalid value "sales" (out of bound =~"^team-"):
    policy/owner.cue:4:26
    plan:1:977
`},
		"rules": {verdict(api.Failed), lesson().Findings[5:], `Error: the plan violates the policy policy/rules.json (sha256:0a1b2c3d4e5f):
no-replace-stateful: terraform_data.db (replace): stateful resources are not replaced by a routine apply; write a migration plan: the plan would destroy and recreate it; reason replace_because_cannot_update
protect-audit: terraform_data.audit_log (delete): the audit log stays: the plan would delete a protected address; reason delete_because_no_resource_config
module-sources: module.legacy (config): modules come from the registry: source is "./vendor/legacy"
`},
		"excepted and warnings": {rego, []api.Finding{excepted, finding(api.Warn, "w", "x", "create", "not shown")},
			"Error: the plan violates the policy policy/main.rego (sha256:0a1b2c3d4e5f):\n"},
		"several lines": {rego, []api.Finding{finding(api.Deny, "r", "", "", "two\nlines\x1b[2K\n::error::x")},
			"Error: the plan violates the policy policy/main.rego (sha256:0a1b2c3d4e5f):\nr: the plan: two\n  lines\\x1b[2K\n  \\::error::x\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			if err := report.Violation(&b, tt.verdict, tt.findings); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSatisfied(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[api.Outcome]string{
		api.Passed:  "Policy policy/no-delete.cue (sha256:065bfbaff717) is satisfied.\n",
		api.Failed:  "Policy policy/no-delete.cue (sha256:065bfbaff717) is violated.\n",
		api.Errored: "Policy policy/no-delete.cue (sha256:065bfbaff717) could not judge: no reason was given\n",
		"":          "Policy policy/no-delete.cue (sha256:065bfbaff717) could not judge: no reason was given\n",
	} {
		v := verdict(outcome)
		v.Path, v.Digest = "policy/no-delete.cue", noDelete
		var b bytes.Buffer
		if err := report.Satisfied(&b, v); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, b.String()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", outcome, diff)
		}
	}
}

// TestNoFormatPassesWhatWasNotJudged feeds every format results that contradict
// themselves: the worse part counts.
func TestNoFormatPassesWhatWasNotJudged(t *testing.T) {
	t.Parallel()
	silent := verdict("")
	for name, c := range map[string]api.Check{
		"no outcome":      {},
		"no verdict":      {Outcome: api.Passed, Plans: []api.PlanCheck{{Path: "plan.json"}}},
		"silent verdict":  {Outcome: api.Passed, Plans: []api.PlanCheck{{Path: "p", Outcome: api.Passed}}, Policies: []api.Verdict{silent}},
		"plan with error": {Outcome: api.Passed, Plans: []api.PlanCheck{{Path: "p", Outcome: api.Passed, Error: "x"}}},
		"unknown outcome": {Outcome: "fine", Plans: []api.PlanCheck{{Path: "p", Outcome: api.Passed}}},
	} {
		for format, want := range map[string]string{
			"text": "\ncould not judge\n", "markdown": "### ⚠️ could not judge\n", "sarif": `"executionSuccessful": false`,
			"junit": `errors="1"`, "github": "::error title=assize::could not judge\n",
		} {
			if got := render(t, format, c, report.Options{}); !strings.Contains("\n"+got, want) {
				t.Errorf("%s as %s: want %q in\n%s", name, format, want, got)
			}
		}
	}
}

// What somebody typed as a reason cannot pass for a line of ours.
func TestOverriddenIsHarmless(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := report.Overridden(&out, []api.Override{{
		Policy: "p.json", PolicyDigest: "sha256:0123456789abcdef", Actor: "al\x1b[2Jice", Expires: "2026-11-30T15:00:00Z",
		Justification: "INFRA-2214\nPolicy q.json is satisfied.",
	}})
	want := `Policy p.json (sha256:0123456789ab) is overridden until 2026-11-30T15:00:00Z by al\x1b[2Jice: INFRA-2214
  Policy q.json is satisfied.
`
	if err != nil || out.String() != want {
		t.Errorf("got %v\n%s", err, out.String())
	}
}
