package rules_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/rules"
)

var root = filepath.Join("..", "..", "..", "testdata")

func readPlan(t testing.TB, path string) *plan.Plan {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func decode(t testing.TB, text string) *plan.Plan {
	t.Helper()
	p, err := plan.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// source is a policy of one file, given in its text.
func source(name, text string) policy.Source {
	return policy.Source{Path: name, Language: api.Rules, Files: []policy.File{{Name: name, Data: []byte(text)}}}
}

func lessonSource(t testing.TB) policy.Source {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "lesson", "rules.json"))
	if err != nil {
		t.Fatal(err)
	}
	return policy.Source{Path: "policy/rules.json", Language: api.Rules, Files: []policy.File{{Name: "rules.json", Data: raw}}}
}

// judge runs a policy the way everybody does, through policy.Judge.
func judge(t testing.TB, src policy.Source, p *plan.Plan) api.Verdict {
	t.Helper()
	v := policy.Judge([]policy.Engine{rules.Engine{}}, src, p)
	if v.Outcome == api.Errored {
		t.Fatalf("%s", v.Error)
	}
	return v
}

// lines is what a person sees of findings.
func lines(v api.Verdict) []string {
	out := []string{}
	for _, f := range v.Findings {
		out = append(out, string(f.Level)+" "+f.Rule+" "+f.Address+" ("+f.Action+") "+f.Message)
	}
	return out
}

// Seed 002, step 7: 8 denied, 2 warnings.
func TestLesson(t *testing.T) {
	t.Parallel()
	v := judge(t, lessonSource(t), readPlan(t, filepath.Join(root, "lesson", "plan.json")))
	want := []string{
		"deny required-owner terraform_data.batch (create) every resource carries an owner tag; add tags.owner: input.tags.owner is missing",
		"deny required-env terraform_data.batch (create) every resource carries an environment tag; add tags.env: input.tags.env is missing",
		`deny forbid-huge-sizes terraform_data.batch (create) xlarge and metal sizes need a capacity review: input.size is "xlarge", want not_in ["xlarge","metal"]`,
		"deny disk-limit terraform_data.batch (create) disks above 500 GB need a capacity review: input.disk_gb is 1000, want lte 500",
		`deny file-mode local_file.app (create) files are not writable by everybody; set file_permission: file_permission is "0777", want not_in ["0777","0666"]`,
		"deny protect-audit-log terraform_data.audit_log (delete) the audit log is kept for seven years; ask the security team: the plan would delete a protected address; reason delete_because_no_resource_config",
		"deny no-replace-stateful terraform_data.db (replace) stateful resources are not replaced by a routine apply; write a migration plan: the plan would destroy and recreate it; reason replace_because_cannot_update",
		`deny module-sources module.legacy (config) modules come from this repository, our registry or our organisation: source "./vendor/legacy" matches none of the allowed regular expressions`,
		"warn name-convention terraform_data.api (create) names are lowercase words joined by dashes: input.name is known after apply, so it cannot be checked at plan time",
		`warn name-convention terraform_data.batch (create) names are lowercase words joined by dashes: input.name is "Batch_XL", want matches "^[a-z]+(-[a-z]+)*$"`,
	}
	if diff := cmp.Diff(want, lines(v)); diff != "" {
		t.Error(diff)
	}
	if v.Outcome != api.Failed || v.Evaluator != "assize-rules/2" || v.Matched != 6 {
		t.Errorf("outcome %s, evaluator %s, matched %d", v.Outcome, v.Evaluator, v.Matched)
	}
	counts := map[string]int{}
	for _, r := range v.Rules {
		counts[r.Rule] = r.Matched
	}
	wantCounts := map[string]int{
		"required-owner": 4, "required-env": 4, "env-values": 4, "forbid-huge-sizes": 4, "disk-limit": 4, "file-mode": 1,
		"protect-audit-log": 1, "no-replace-stateful": 1, "module-sources": 2, "name-convention": 4,
	}
	if diff := cmp.Diff(wantCounts, counts); diff != "" {
		t.Error(diff)
	}
	if v.Rules[0].Rule != "required-owner" || v.Rules[9].Rule != "name-convention" {
		t.Errorf("the rules are not in the order of the file: %v", v.Rules)
	}
	if got := v.Findings[3]; got.Path != "input.disk_gb" || got.Positions[0] != "policy/rules.json:36:3" {
		t.Errorf("path %q, positions %q", got.Path, got.Positions)
	}
}

// Seed 002, step 7: "policy passed".
func TestLessonClean(t *testing.T) {
	t.Parallel()
	v := judge(t, lessonSource(t), readPlan(t, filepath.Join(root, "lesson", "plan-clean.json")))
	if diff := cmp.Diff([]string{}, lines(v)); diff != "" {
		t.Error(diff)
	}
	if v.Outcome != api.Passed || len(v.Notes) != 0 {
		t.Errorf("outcome %s, notes %v; every rule should have looked at something", v.Outcome, v.Notes)
	}
}

// Seed 002, Easy: the fixture has two destroys, so 1 denies and 2 passes.
func TestLessonMaxDeletes(t *testing.T) {
	t.Parallel()
	p := readPlan(t, filepath.Join(root, "lesson", "plan.json"))
	for limit, want := range map[string][]string{
		"0": {"deny few  () destroy little: the plan destroys 2 resources, want at most 0"},
		"1": {"deny few  () destroy little: the plan destroys 2 resources, want at most 1"},
		"2": {},
	} {
		text := `[{"id": "few", "level": "deny", "check": "max_deletes", "value": ` + limit + `, "message": "destroy little"}]`
		if diff := cmp.Diff(want, lines(judge(t, source("r.json", text), p))); diff != "" {
			t.Errorf("value %s:\n%s", limit, diff)
		}
	}
}
