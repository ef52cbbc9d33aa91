package report_test

import (
	"fmt"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
)

const (
	rulesDigest = "sha256:0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"
	ownerDigest = "sha256:88d9b5cb971a60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"
	noDelete    = "sha256:065bfbaff71760718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"
	planDigest  = "sha256:5e5e5e5e5e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"
)

// fixtures are results as the judge makes them, by the name of their goldens.
func fixtures() map[string]api.Check {
	return map[string]api.Check{
		"pass":            pass(),
		"lesson":          lesson(),
		"errored-verdict": erroredVerdict(),
		"errored-plan":    erroredPlan(),
		"several":         several(),
		"cue":             cue(),
		"excepted":        excepted(),
		"advisory":        advisory(),
		"warnings":        policy.FailOnWarn(warnings()),
		"nothing":         policy.Collect(nil),
		"decision":        decision(),
		"hostile":         hostile(),
	}
}

func verdict(outcome api.Outcome, rules ...string) api.Verdict {
	v := api.Verdict{
		Path: "policy/rules.json", Engine: api.Rules, Evaluator: "assize rules 1", Digest: rulesDigest,
		Input: planDigest, Enforcement: api.HardMandatory, Outcome: outcome, Matched: len(rules),
		Rules: []api.RuleCount{}, Notes: []string{},
	}
	for _, r := range rules {
		v.Rules = append(v.Rules, api.RuleCount{Rule: r, Matched: 1})
	}
	return v
}

// decision is a policy of the decision contract: one rule, whose findings have
// ids of their own.
func decision() api.Check {
	v := verdict(api.Failed, "decision")
	v.Path, v.Engine, v.Contract = "policy/encryption.rego", api.Rego, &api.Contract{Name: "assize", EntryPoint: "data.assize.v1.decision"}
	f := finding(api.Deny, "encryption-required/0", "aws_s3_bucket.logs", "create", "Enable encryption before apply.")
	f.Policy, f.Engine = v.Path, v.Engine
	v.Findings = []api.Finding{f}
	silent := verdict(api.Passed, "decision")
	silent.Path, silent.Engine, silent.Contract = "policy/freeze.rego", api.Rego, v.Contract
	return collect("plan.json", v, silent)
}

func planOf(path string) api.PlanCheck {
	return api.PlanCheck{
		Path: path, Digest: planDigest,
		Summary: api.Summary{Create: 3, Replace: 1, Destroy: 2, BlastRadius: 5},
	}
}

func collect(path string, verdicts ...api.Verdict) api.Check {
	return policy.Collect([]policy.Judged{{Plan: planOf(path), Verdicts: verdicts}})
}

func pass() api.Check {
	v := verdict(api.Passed, "no-delete", "require-owner")
	v.Rules = append(v.Rules, api.RuleCount{Rule: "bucket-acl"})
	v.Notes = []string{"rule bucket-acl looked at nothing in this plan"}
	c := verdict(api.Passed, "no-delete.cue")
	c.Path, c.Engine, c.Digest = "policy/no-delete.cue", api.CUE, noDelete
	return collect("plan.json", v, c)
}

func finding(lvl api.Level, rule, address, action, message string) api.Finding {
	return api.Finding{
		Policy: "policy/rules.json", Engine: api.Rules, Rule: rule, Level: lvl,
		Address: address, Action: action, Message: message,
	}
}

// lesson is seed 002, step 7: eight denies and two warnings.
func lesson() api.Check {
	v := verdict(api.Failed, "require-owner", "forbid-huge-sizes", "disk-limit", "no-world-writable", "no-replace-stateful",
		"protect-audit", "module-sources", "require-cost-center", "name-convention", "prefer-small", "no-public-ip")
	v.Findings = []api.Finding{
		finding(api.Deny, "require-owner", "terraform_data.batch", "create", "every resource has an owner: input.tags.owner is missing"),
		finding(api.Deny, "require-cost-center", "terraform_data.batch", "create", "every resource is paid by somebody: input.tags.cost_center is missing"),
		finding(api.Deny, "forbid-huge-sizes", "terraform_data.batch", "create", `xlarge and metal sizes need a capacity review: input.size is "xlarge", want not_in ["xlarge","metal"]`),
		finding(api.Deny, "disk-limit", "terraform_data.batch", "create", "disks above 500 GB need a capacity review: input.disk_gb is 1000, want lte 500"),
		finding(api.Deny, "no-world-writable", "local_file.config", "create", `files are not writable by everybody: file_permission is "0777", want matches "^0[0-7][0-5][0-5]$"`),
		finding(api.Deny, "no-replace-stateful", "terraform_data.db", "replace", "stateful resources are not replaced by a routine apply; write a migration plan: the plan would destroy and recreate it; reason replace_because_cannot_update"),
		finding(api.Deny, "protect-audit", "terraform_data.audit_log", "delete", "the audit log stays: the plan would delete a protected address; reason delete_because_no_resource_config"),
		finding(api.Deny, "module-sources", "module.legacy", "config", `modules come from the registry: source is "./vendor/legacy"`),
		finding(api.Warn, "name-convention", "terraform_data.api", "create", "names are lowercase words joined by dashes: input.name is known after apply, so it cannot be checked at plan time"),
		finding(api.Warn, "prefer-small", "terraform_data.batch", "create", "start small"),
	}
	return collect("plan.json", v)
}

func erroredVerdict() api.Check {
	v := verdict(api.Errored)
	v.Path, v.Engine = "policy/main.rego", api.Rego
	v.Error = "2 errors occurred:\npolicy/main.rego:7: rego_type_error: undefined function http.send\npolicy/main.rego:9: rego_unsafe_var_error: var x is unsafe"
	v.Hint = "http.send is not among the built-ins; see `assize policy schema`"
	denied := verdict(api.Failed, "no-delete")
	denied.Findings = []api.Finding{finding(api.Deny, "no-delete", "terraform_data.audit_log", "delete", "the audit log stays")}
	return collect("plan.json", v, denied)
}

func erroredPlan() api.Check {
	return policy.Collect([]policy.Judged{{Plan: api.PlanCheck{
		Path: "state.json", Error: "this is a state, not a plan", Hint: "tofu plan -out=plan.out, then tofu show -json plan.out > plan.json",
	}}})
}

func several() api.Check {
	denied := verdict(api.Failed, "no-delete", "require-owner")
	denied.Findings = []api.Finding{
		finding(api.Warn, "require-owner", `module.web["a"].terraform_data.leaf[0]`, "create", "every resource has an owner"),
		finding(api.Deny, "no-delete", "terraform_data.cbd", "delete", "nothing is deleted"),
		finding(api.Deny, "max-deletes", "", "", "the plan would delete 3 objects, want at most 2"),
	}
	denied.Findings[1].Deposed = "deadbeef"
	return policy.Collect([]policy.Judged{
		{Plan: planOf("infra/prod/plan.json"), Verdicts: []api.Verdict{denied}},
		{Plan: planOf("infra/dev/plan.json"), Verdicts: []api.Verdict{verdict(api.Passed, "no-delete", "require-owner")}},
		{Plan: api.PlanCheck{Path: "infra/empty/plan.json", Error: "the file is empty", Hint: "tofu show -json plan.out > plan.json"}},
	})
}

// cue is seed 003's owner policy.
func cue() api.Check {
	v := verdict(api.Failed, "owner.cue")
	v.Path, v.Engine, v.Digest = "policy/owner.cue", api.CUE, ownerDigest
	v.Notes = []string{"the policy adds chnages, which the plan document does not have: it forbids nothing"}
	v.Findings = []api.Finding{
		{
			Policy: v.Path, Engine: api.CUE, Rule: "owner.cue", Level: api.Deny, Address: "random_pet.bare", Action: "create",
			Message:   `changes.0.after.keepers.owner: conflicting values null and =~"^team-" (mismatched types null and string)`,
			Positions: []string{"plan:1:413", "policy/owner.cue:3:2", "policy/owner.cue:4:26"},
		},
		{
			Policy: v.Path, Engine: api.CUE, Rule: "owner.cue", Level: api.Deny, Address: "random_pet.stray", Action: "replace (create before destroy)",
			Message:   `changes.2.after.keepers.owner: invalid value "sales" (out of bound =~"^team-")`,
			Positions: []string{"policy/owner.cue:4:26", "plan:1:977"},
		},
	}
	return collect("plan.json", v)
}

func excepted() api.Check {
	v := verdict(api.Passed, "no-replace-stateful")
	v.Findings = []api.Finding{
		finding(api.Deny, "no-replace-stateful", "terraform_data.db", "replace", "stateful resources are not replaced"),
		finding(api.Deny, "no-replace-stateful", "terraform_data.cache", "replace", "stateful resources are not replaced (the policy's own exception)"),
	}
	v.Findings[0].Excepted, v.Findings[1].Excepted = true, true
	v.Findings[0].Exception = &api.Exception{Reason: "migration 42", Owner: "team-data", Expires: "2026-03-01", At: "policy/exceptions.yaml:1:3"}
	file := verdict(api.Passed)
	file.Path, file.Engine, file.Evaluator, file.Digest = "policy/exceptions.yaml", api.Exceptions, "assize exceptions 1", ownerDigest
	file.Notes = []string{"the exception from rule no-delete at a.* (policy/exceptions.yaml:11:3) covers nothing here"}
	file.Findings = []api.Finding{finding(api.Warn, "expired-exception", "", "", "the exception from rule no-delete at terraform_data.old has ended (2025-01-01)")}
	file.Findings[0].Policy, file.Findings[0].Engine = file.Path, api.Exceptions
	file.Findings[0].Positions = []string{"policy/exceptions.yaml:6:3"}
	return collect("plan.json", v, file)
}

func advisory() api.Check {
	c := lesson()
	v := c.Policies[0]
	v.Findings, v.Enforcement = c.Findings, api.Advisory
	soft := verdict(api.Failed, "no-friday")
	soft.Path, soft.Enforcement = "policy/soft.json", api.SoftMandatory
	soft.Findings = []api.Finding{finding(api.Deny, "no-friday", "", "", "not on a Friday")}
	soft.Findings[0].Policy = soft.Path
	return collect("plan.json", v, soft)
}

func warnings() api.Check {
	v := verdict(api.Passed, "name-convention")
	v.Findings = []api.Finding{finding(api.Warn, "name-convention", "terraform_data.api", "create", "names are lowercase words")}
	return collect("plan.json", v)
}

// nasty are strings that mean something to one of the readers of a report.
func nasty() []string {
	return []string{
		"", " ", "\n", "plain",
		"::error::forged", "\n::error title=x::forged\n", "  \t::stop-commands::x", "##[error]forged", "##[set-output name=a]b", "##vso[task.complete result=Succeeded;]",
		"%0A::error::forged", "a%25b%0Dc", "title,file=x:y::z",
		"\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\u009b31m", "\x00\x08\x7f", "line\r\x1b[2Koverwritten", "a\u2028b\u2029c\u0085d",
		"\u202egnp.exe", "\u2066a\u2069", "zero\u200bwidth\ufeff\u00ad", "\U000e0041tag", "\u3164filler", "\xff\xfe broken", "\ufffe\uffff",
		"`code`", "``", "```\nfence\n```", strings.Repeat("`", 7), strings.Repeat("`", 100), "~~~\n", "`unfinished", "\\`", "\\",
		"# heading", "\n# heading\n", "a\n===\n", "- item\n- item", "1. item", "> quote", "| a | b |\n|---|---|\n| c | d |", "a | b \\| c",
		"[link](https://example.com)", "![image](https://example.com/x.png)", "<https://example.com>", "https://example.com", "www.example.com", "a@example.com",
		"@octocat", "#1", "octo/repo#1", "**bold** _it_ ~~s~~", "<b>html</b>", "<script>alert(1)</script>", "</details>", "<details><summary>x", "<!-- comment", "-->", "&amp;&#10;&lt;",
		"]]>", "<![CDATA[x]]>", "<?xml?>", "\"quotes\" 'single'", "{\"json\": true}", "{0} {{1}}", "$`x`$", "Policy x is satisfied.", "policy passed",
		"terraform_data.odd[\"new\\nline\"]", "module.web[\"d\\\"e\"].x", "日本語 é 🎉", strings.Repeat("long ", 250),
	}
}

// hostile has every nasty string in every field of text, a finding for each.
func hostile() api.Check {
	out := api.Check{Outcome: api.Failed}
	for i, s := range nasty() {
		path := fmt.Sprintf("%d%s", i, s) // distinct, so that counts can be compared
		out.Plans = append(out.Plans, api.PlanCheck{Path: path, Digest: s, Outcome: api.Errored, Error: s + "x", Hint: s})
		out.Policies = append(out.Policies, api.Verdict{
			Plan: path, Path: path, Engine: api.Language(s), Evaluator: s, Digest: s, Input: s, Enforcement: api.Enforcement(s),
			Outcome: api.Outcome("x" + s), Rules: []api.RuleCount{{Rule: s, Matched: i}}, Notes: []string{s, s}, Error: s, Hint: s,
		})
		for j, lvl := range []api.Level{api.Deny, api.Warn, api.Level(s)} {
			out.Findings = append(out.Findings, api.Finding{
				Plan: path, Policy: path, Engine: api.Language(s), Rule: s, Level: lvl, Address: s, Deposed: s, Action: s, Path: s,
				Message: s, Positions: []string{s, s}, Excepted: j == 2, Exception: &api.Exception{Reason: s, Owner: s, Expires: s, At: s}, Details: map[string]any{s: []any{s}},
			})
		}
	}
	out.Counts = api.Counts{Deny: len(out.Plans), Warn: len(out.Plans), Excepted: len(out.Plans)}
	return out
}
