package regoengine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/regoengine"
	"github.com/assize-iac/assize/internal/problem"
)

// onePlan has one change, which deletes a bucket and holds a number that a
// float64 cannot.
const onePlan = `{"format_version": "1.2", "terraform_version": "1.12.6", "resource_changes": [
	{"address": "a.b", "mode": "managed", "type": "a", "name": "b", "change": {"actions": ["delete", "create"],
	 "before": null, "after": {"name": "not a number", "size": 9007199254740993}, "after_unknown": {}}}]}`

// plansOnly is the policy that a plan which is none must not pass.
const plansOnly = `package main
deny contains rc.address if { some rc in input.resource_changes; "delete" in rc.change.actions }`

// TestCouldNotJudge has a case for each place where conftest passes what it
// could not judge (docs/policy.md, rule 25): conftest must exit 0, so that the
// page stays true, and here the plan must not pass.
func TestCouldNotJudge(t *testing.T) {
	t.Parallel()
	state, err := os.ReadFile(filepath.Join(root, "plans", "tofu1126-state-not-plan.json"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		plan, policy string // onePlan and plansOnly where they do not matter
		refused      string // what the plan's decoder says, if it is the plan
		want         string // what the verdict says
		judged       bool   // it can be judged after all, and is denied
	}{
		"state": {plan: string(state), refused: "state"},
		"{}":    {plan: `{}`, refused: "plan"},
		"[]":    {plan: `[]`, refused: "plan"},
		"same key": {
			plan:    strings.Replace(onePlan, `["delete", "create"]`, `["delete"], "actions": ["no-op"]`, 1),
			refused: "actions",
		},
		"package": {
			policy: "package man\ndeny contains \"x\" if input.resource_changes",
			want:   "could not judge: the policy has no package main",
		},
		"complete rule": {
			policy: "package main\ndeny := true",
			want:   "could not judge: deny is a boolean, not a set of messages, so it can never fire (policy.rego:2:1)",
		},
		"complete rule with a condition": {
			policy: "package main\ndefault deny := false\ndeny if input.resource_changes",
			want:   "could not judge: deny is a boolean, not a set of messages, so it can never fire (policy.rego:2:1)",
		},
		"complete rule of any value": {
			policy: "package main\ndeny := input.resource_changes[0].address",
			want:   "could not judge: deny is a string for this plan, not a set of messages (policy.rego:2:1)",
		},
		"partial object": {
			policy: "package main\ndeny[k] := v if some k, v in input",
			want:   "could not judge: deny is an object, not a set of messages, so it can never fire (policy.rego:2:1)",
		},
		"nested name": {
			policy: "package main\ndeny.sizes contains \"x\"\nwarn contains \"y\" if false",
			want:   "could not judge: deny.sizes is no set of messages, so it can never fire (policy.rego:2:1)",
		},
		"undefined": {
			policy: "package main\ndeny := [\"x\"] if input.no_such_key",
			want:   "could not judge: deny is undefined for this plan (policy.rego:2:1)",
		},
		"deny__x": {
			policy: "package main\ndeny__x contains \"x\"",
			want:   "could not judge: rule deny__x can never fire (policy.rego:2:1)",
		},
		"deny_": {
			policy: "package main\ndeny_ contains \"x\"\nwarn contains \"y\" if false",
			want:   "could not judge: rule deny_ can never fire (policy.rego:2:1)",
		},
		"Deny": {
			policy: "package main\nDeny contains \"x\"\nwarn contains \"y\" if false",
			want:   "could not judge: rule Deny can never fire (policy.rego:2:1)",
		},
		"denyAll": {
			policy: "package main\ndenyAll contains \"x\"\nwarn contains \"y\" if false",
			want:   "could not judge: nothing uses denyAll, so it can never fire (policy.rego:2:1)",
		},
		"built-in": {
			policy: "package main\ndeny contains \"x\" if {\n\tsome rc in input.resource_changes\n\tto_number(rc.change.after.name) > 5\n}",
			want:   "could not judge: to_number failed on a value of the plan (policy.rego:4:2)",
		},
		"built-in of another type": {
			policy: "package main\ndeny contains \"x\" if startswith(input.resource_changes[0].change.after.size, \"9\")",
			want:   "could not judge: startswith failed on a value of the plan (policy.rego:2:22)",
		},
		"look-ahead": {
			policy: "package main\ndeny contains \"x\" if regex.match(`^(?!prod)`, input.resource_changes[0].address)",
			want:   "could not judge: error parsing regexp: invalid or unsupported Perl syntax: `(?!` (policy.rego:2:22)",
		},
		"number": {
			policy: "package main\ndeny contains \"big\" if input.resource_changes[0].change.after.size > 9007199254740992",
			judged: true,
		},
		"element": {
			policy: "package main\ndeny contains 42 if input.resource_changes",
			want:   "could not judge: deny holds a number where a message belongs (policy.rego:2:1)",
		},
		"empty message": {
			policy: "package main\ndeny contains \"\" if input.resource_changes",
			want:   "could not judge: deny holds an empty message (policy.rego:2:1)",
		},
		"names that differ in case": {
			policy: "package main\ndeny_a contains \"x\" if false\ndeny_A contains \"y\" if input.resource_changes",
			judged: true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.plan == "" {
				tt.plan = onePlan
			}
			if tt.policy == "" {
				tt.policy = plansOnly
			}
			if exit := conftestExit(t, tt.plan, tt.policy); exit != 0 {
				t.Errorf("conftest exits %d: it does not pass this any more", exit)
			}
			p, err := plan.Decode([]byte(tt.plan))
			if tt.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tt.refused) || problem.Hint(err) == "" {
					t.Errorf("error %v (hint: %s), want one about %q", err, problem.Hint(err), tt.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			v := policy.Judge([]policy.Engine{regoengine.New()}, regoSource(tt.policy), p)
			want := api.Errored
			if tt.judged {
				want = api.Failed
			}
			if v.Outcome != want || v.Error != tt.want {
				t.Errorf("%s %s %v\nwant %s", v.Outcome, v.Error, v.Findings, tt.want)
			}
			if !tt.judged && v.Hint == "" {
				t.Error("no hint")
			}
		})
	}
}

// TestUnused: a set whose name an author may take for a rule's is no policy's
// business while something uses it.
func TestUnused(t *testing.T) {
	t.Parallel()
	p, err := plan.Decode([]byte(onePlan))
	if err != nil {
		t.Fatal(err)
	}
	const unused = "could not judge: nothing uses "
	for text, want := range map[string]string{
		"violations[msg] { msg := \"x\" }\nwarn[msg] { msg := \"y\"; false }":                                 unused + "violations",
		"denyAll contains \"x\" if denyAll\nwarn contains \"y\" if false":                                     "rule data.main.denyAll is recursive",
		"warning contains \"x\"\nwarn contains \"y\" if count(data.lib.warning) < 0":                          unused + "warning",
		"denyAll contains \"x\"\ndeny contains msg if some msg in denyAll":                                    "",
		"denyAll contains \"x\"\ndeny contains msg if denyAll[msg]":                                           "",
		"denyAll contains \"x\"\ndeny contains msg if { some k; some msg in data.main[k]; k == \"denyAll\" }": "recursive",
		"warnings contains \"x\"\ndeny contains \"y\" if data.main[\"warnings\"]":                             "",
		"denied contains \"x\"\ndeny contains \"y\" if false":                                                 "",
		"denyAll := {\"a\"}\ndeny contains \"y\" if false":                                                    "",
		"denyListed(x) if x\ndeny contains \"y\" if false":                                                    "",
	} {
		v := policy.Judge([]policy.Engine{regoengine.New()}, regoSource("package main\n"+text), p)
		if (v.Error == "") != (want == "") || !strings.Contains(v.Error, want) {
			t.Errorf("%s: %s %s, want %s", text, v.Outcome, v.Error, want)
		}
	}
}

// conftestExit writes a plan and a policy and has conftest judge them.
func conftestExit(t *testing.T, plan, policy string) int {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"plan.json": plan, "policy.rego": policy} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, exit := conftest(t, "--policy", filepath.Join(dir, "policy.rego"), filepath.Join(dir, "plan.json"))
	return exit
}

// regoSource is a policy of several files, the first one policy.rego.
func regoSource(texts ...string) policy.Source {
	src := policy.Source{Path: "policy", Language: api.Rego}
	for i, text := range texts {
		name := "policy.rego"
		if i > 0 {
			name = fmt.Sprintf("policy%d.rego", i)
		}
		src.Files = append(src.Files, policy.File{Name: name, Data: []byte(text)})
	}
	return src
}

// TestRefusedPolicies has what conftest refuses too, or cannot be asked.
func TestRefusedPolicies(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		src  policy.Source
		want string
	}{
		"no file": {
			policy.Source{Language: api.Rego},
			"could not judge: the policy holds no Rego file",
		},
		"no Rego file": {
			policy.Source{Language: api.Rego, Files: []policy.File{{Name: "data.json", Data: []byte("{}")}}},
			"could not judge: the policy holds no Rego file",
		},
		"tests only": {
			policy.Source{Language: api.Rego, Files: []policy.File{{Name: "a_test.rego", Data: []byte("package main\ndeny contains 1")}}},
			"could not judge: the policy holds tests only",
		},
		"empty file": {regoSource(""), "could not judge: empty module (policy.rego)"},
		"no rule": {
			regoSource("package main\ndenied contains \"x\""),
			"could not judge: package main has no deny, violation or warn rule",
		},
		"one of two packages": {
			policy.Source{Language: api.Rego, Files: regoSource(plansOnly).Files, Rego: policy.RegoOptions{Namespaces: []string{"main", "network"}}},
			"could not judge: the policy has no package network",
		},
		"no package of a pattern": {
			policy.Source{Language: api.Rego, Files: regoSource(plansOnly).Files, Rego: policy.RegoOptions{Namespaces: []string{"team.*"}}},
			`could not judge: no package matches "team.*"`,
		},
		"no rule in any package": {
			policy.Source{Language: api.Rego, Files: regoSource("package a\nb := 1").Files, Rego: policy.RegoOptions{AllNamespaces: true}},
			"could not judge: no package has a deny, violation or warn rule",
		},
		"function": {
			regoSource("package main\ndeny_x(y) := y\ndeny contains \"x\" if false"),
			"could not judge: deny_x is a function, so it can never fire (policy.rego:2:1)",
		},
		"if without contains": {
			regoSource("package main\ndeny[msg] if msg := \"x\""),
			"could not judge: deny[msg] is no set of messages, so it can never fire (policy.rego:2:1)",
		},
		"v1 syntax": {
			regoSource("package main\n\ndeny contains msg if {\n\tmsg := \n}"),
			"could not judge: unexpected } token (policy.rego:5:1)",
		},
		"v0 syntax": {
			regoSource("package main\ndeny[msg] {\n\tmsg := \n}"),
			"could not judge: unexpected } token (policy.rego:4:1)",
		},
		"unsafe variable": {
			regoSource("package main\ndeny contains msg if x == 1"),
			"could not judge: var msg is unsafe (policy.rego:2:15)",
		},
		"conftest's file": {
			regoSource("package main\ndeny contains \"x\" if data.conftest.file.name == \"plan.json\""),
			"could not judge: data.conftest.file is not available (policy.rego:2:22)",
		},
		"object without msg": {
			regoSource("package main\ndeny contains {\"message\": \"x\"}"),
			"could not judge: deny holds an object without a string msg (policy.rego:2:1)",
		},
		"conflict": {
			regoSource("package main\nx := 1 if input.resource_changes\nx := 2 if input.resource_changes\ndeny contains \"x\" if x == 1"),
			"could not judge: rule data.main.x produced conflicting values (policy.rego:3:1)",
		},
		"shape": {
			policy.Source{Language: api.Rego, Files: regoSource(plansOnly).Files, Rego: policy.RegoOptions{InputShape: "pulumi"}},
			`could not judge: unknown input shape "pulumi"`,
		},
		"data that is no object": {
			policy.Source{Language: api.Rego, Files: regoSource(plansOnly).Files, Rego: policy.RegoOptions{Data: []policy.File{{Name: "a.json", Data: []byte("[]")}}}},
			"could not judge: data file a.json holds no object",
		},
		"data twice": {
			policy.Source{Language: api.Rego, Files: regoSource(plansOnly).Files, Rego: policy.RegoOptions{Data: []policy.File{
				{Name: "a.json", Data: []byte(`{"x": {"y": 1}}`)}, {Name: "x/b.yaml", Data: []byte("y: 2")}}}},
			"could not judge: data file x/b.yaml sets data.x.y, which another file sets too",
		},
	}
	p := decode(t, onePlan)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := policy.Judge([]policy.Engine{regoengine.New()}, tt.src, p)
			if v.Outcome != api.Errored || v.Error != tt.want {
				t.Errorf("%s %s\nwant %s", v.Outcome, v.Error, tt.want)
			}
		})
	}
}

func decode(t testing.TB, text string) *plan.Plan {
	t.Helper()
	p, err := plan.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}
