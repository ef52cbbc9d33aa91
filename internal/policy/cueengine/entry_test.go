package cueengine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/internal/plan"
)

// planWithoutChanges has everything else that has an address.
func planWithoutChanges(t *testing.T) *plan.Plan {
	return decode(t, `{"format_version":"1.2","terraform_version":"1.12.6","resource_changes":[],
		"configuration":{"root_module":{"module_calls":{"net":{"source":"github.com/x/net"}}}},
		"checks":[{"address":{"kind":"check","name":"tls","to_display":"check.tls"},"status":"fail"}],
		"output_changes":{"url":{"actions":["create"],"before":null,"after":"http://x","after_unknown":false}},
		"deferred_changes":[{"reason":"provider_config_unknown","resource_change":{"address":"db.main","mode":"managed","type":"db","name":"main",
			"change":{"actions":["create"],"before":null,"after":{"size":"huge","password":73501982746},"after_unknown":{},"after_sensitive":{"password":true}}}}]}`)
}

// TestEntries: what has an address and is no change is named in findings, and
// counts as looked at.
func TestEntries(t *testing.T) {
	t.Parallel()
	tests := []struct {
		policy  string
		matched int
		want    []string // address, action, path, message
	}{
		{`modules?: [...{source: =~"^registry"}]`, 1, []string{"module.net", "config", "source", `modules.0.source: invalid value "github.com/x/net" (out of bound =~"^registry")`}},
		{`checks?: [...{status: "pass"}]`, 1, []string{"check.tls", "", "status", `checks.0.status: conflicting values "pass" and "fail"`}},
		{`deferred?: [...{after: size: "small"}]`, 1, []string{"db.main", "create", "after.size", `deferred.0.after.size: conflicting values "small" and "huge"`}},
		{`deferred?: [...{after: password: 1}]`, 1, []string{"db.main", "create", "after.password", `deferred.0.after.password: conflicts with the policy (the value is sensitive)`}},
		{`outputs: url: =~"^https:"`, 1, []string{"", "", "outputs.url", `outputs.url: invalid value "http://x" (out of bound =~"^https:")`}},
		{`modules?: [...{source: =~"^github"}]`, 1, nil},
		{"modules?: [...{source: =~\"^github\"}]\nchecks?: [...{status: _}]", 2, nil},
		{`changes: [...{action: "create"}]`, 0, nil},
	}
	for _, tt := range tests {
		v := judge(source("p.cue", tt.policy), planWithoutChanges(t))
		var got []string
		for _, f := range v.Findings {
			got = append(got, f.Address, f.Action, f.Path, f.Message)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.policy, diff)
		}
		if v.Rules[0].Matched != tt.matched || (tt.matched == 0) != (len(v.Notes) > 0) {
			t.Errorf("%s: matched %d, want %d; notes %q", tt.policy, v.Rules[0].Matched, tt.matched, v.Notes)
		}
	}
}
