package cueengine_test

import (
	"fmt"
	"testing"

	"github.com/assize-iac/assize/api"
)

// TestAbsence is the table of docs/policy.md, rule 29, and the numbers below it.
func TestAbsence(t *testing.T) {
	t.Parallel()
	const pass, deny = api.Passed, api.Failed
	tests := []struct {
		field                  string
		null, missing, unknown api.Outcome
	}{
		{"x: <5", deny, deny, deny},
		{"x: null | <5", pass, deny, deny},
		{"x: *null | <5", pass, pass, deny},
		{"x?: <5", deny, pass, deny},
	}
	for _, tt := range tests {
		states := []struct {
			after, unknown string
			want           api.Outcome
		}{
			{`{"x":4}`, `{}`, pass}, {`{"x":7}`, `{}`, deny},
			{`{"x":null}`, `{}`, tt.null}, {`{}`, `{}`, tt.missing}, {`{}`, `{"x":true}`, tt.unknown},
		}
		for _, state := range states {
			p := decode(t, fmt.Sprintf(`{"format_version":"1.2","resource_changes":[{"address":"a.b","mode":"managed","type":"a","name":"b",
				"change":{"actions":["create"],"before":null,"after":%s,"after_unknown":%s}}]}`, state.after, state.unknown))
			if v := judge(source("p.cue", "changes: [...{after: "+tt.field+"}]"), p); v.Outcome != state.want {
				t.Errorf("%s of %s, unknown %s: %s, want %s", tt.field, state.after, state.unknown, v.Outcome, state.want)
			}
		}
	}
}

// TestFloats: a plan's 1.0 is the integer 1, which no 1.0 of a policy equals;
// bounds compare numbers.
func TestFloats(t *testing.T) {
	t.Parallel()
	for _, number := range []string{"1", "1.0", "10e-1"} {
		p := decode(t, `{"format_version":"1.2","resource_changes":[{"address":"a.b","mode":"managed","type":"a","name":"b",
			"change":{"actions":["create"],"before":null,"after":{"x":`+number+`},"after_unknown":{}}}]}`)
		for policy, want := range map[string]api.Outcome{"1": api.Passed, "1.0": api.Failed, "<=1.0": api.Passed, "float": api.Failed, "int": api.Passed} {
			if v := judge(source("p.cue", "changes: [...{after: x: "+policy+"}]"), p); v.Outcome != want {
				t.Errorf("%s of a policy and %s of a plan: %s, want %s", policy, number, v.Outcome, want)
			}
		}
	}
}
