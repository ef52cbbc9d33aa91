package regoengine_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/input"
	"github.com/assize-iac/assize/internal/policy/regoengine"
)

// secretPlan has a change with a sensitive value, and prior state that no
// decision policy may see.
const secretPlan = `{"format_version": "1.2", "terraform_version": "1.12.6", "prior_state": {"values": {}},
	"variables": {"password": {"value": "hunter-two"}}, "configuration": {"root_module": {"variables": {"password": {"sensitive": true}}}},
	"resource_changes": [{"address": "a.b", "mode": "managed", "type": "a", "name": "b", "provider_name": "example.com/acme/a",
	 "change": {"actions": ["create"], "before": null, "after": {"name": "x", "secret": "s3cr3t-value", "canary": "canary-4f1e"},
	 "after_unknown": {}, "before_sensitive": false, "after_sensitive": {"secret": true}}}]}`

const commit = "0123456789abcdef0123456789abcdef01234567"

// byContract is a policy of the contract assize, or of the one that a package
// clause in text names, for a tracked run.
func byContract(text string) policy.Source {
	if !strings.HasPrefix(text, "package ") {
		text = "package assize.v1\n" + text
	}
	src := regoSource(strings.Split(text, "\n---\n")...) // one file each
	sha := commit
	src.Run.From = input.Provenance{
		Kind:    api.TrackedRun,
		Source:  api.InputSource{CommitSHA: &sha, RepositoryID: "123456789", WorkingDirectory: "."},
		Subject: api.InputSubject{ID: "ws_1", Metadata: map[string]string{"environment": "production"}},
	}
	return src
}

// finds is a decision of one finding, with more members after a comma.
func finds(more string) string {
	return `decision := {"findings": [{"id": "i", "title": "t", "message": "m"` + more + `}]}`
}

// text is a Rego expression for a text of n characters, each three bytes long.
func text(n int) string {
	return fmt.Sprintf(`concat("", ["€" | some _ in numbers.range(1, %d)])`, n)
}

// TestSeed000Contract has a case for every sentence of seed 000 about what a
// policy may do and say. want is a piece of the error, "" for a decision that
// counts, with that many findings.
func TestSeed000Contract(t *testing.T) {
	t.Parallel()
	type test struct {
		name, policy, want string
		findings           int
	}
	tests := []test{
		// "Policy evaluation receives a sanitized derivative of opentofu show -json, never the raw plan, state,
		// configuration archive, variables, credentials, or repository contents."
		{"no raw plan", finds(``) + ` if { input.prior_state }`, "data.assize.v1.decision is undefined for this plan", 0},
		{"no variables", finds(``) + ` if { input.variables }`, "is undefined", 0},
		// "Sensitive before and after subtrees are replaced with null before OPA starts; the corresponding boolean
		// sensitivity maps remain"
		{"sensitive is null", finds(``) + ` if { c := input.resource_changes[0].change; c.after.secret == null; c.after_sensitive.secret == true }`, "", 1},
		// "The complete input is strict stackship.policy.input/v1"
		{"stackship's input", "package stackship.v1\n" + finds(``) + ` if { input.version == "stackship.policy.input/v1"; input.workspace.id == "ws_1"; not input.plan }`, "", 1},
		{"our input", finds(``) + ` if { input.version == "assize.policy.input/v1"; input.stack.metadata.environment == "production" }`, "", 1},
		// "Tracked and speculative runs carry the exact 40-character GitHub commit and provider repository ID"
		{"provenance", finds(``) + ` if { input.run.kind == "tracked"; input.source.commit_sha == "` + commit + `"; input.source.repository_id == "123456789" }`, "", 1},

		// "the fixed entrypoint data.stackship.v1.decision"; "Every bundle defines exactly this entrypoint"
		{"no entry point", "decisions := 1", "package assize.v1 has no rule decision", 0},
		{"two entry points", "package assize.v1\n" + finds(``) + "\n---\npackage stackship.v1\n" + finds(``), "two contracts, assize and stackship", 0},
		{"conftest's rules beside it", "package assize.v1\n" + finds(``) + "\n---\npackage main\ndeny contains \"no\"", "conftest's rules in package main", 0},
		{"a lookalike beside it", "package assize.v1\n" + finds(``) + "\n---\npackage main\ndeny__x contains \"no\"", "conftest's rules in package main", 0},
		{"conftest's rules in its package", "package assize.v1\n" + finds(``) + "\ndeny contains \"no\"", "nothing uses deny, so it can never fire", 0},
		{"a helper in its package", "package assize.v1\ndecision := {\"findings\": deny}\ndeny contains {\"id\": \"i\", \"title\": \"t\", \"message\": \"m\"}", "", 1},
		{"a library beside it", "package assize.v1\n" + finds(`, "details": {"n": data.lib.n}`) + "\n---\npackage lib\nn := 1\ndeny contains \"part\"", "", 1},
		{"a function", "decision(x) := x", "decision is a function", 0},
		{"a package at the entry point", "package assize.v1.decision\nfindings := []", "package assize.v1 has no rule decision", 0},

		// "The capabilities manifest permits only deterministic, side-effect-free built-ins. Network, DNS, host runtime,
		// tracing, printing, clocks, randomness, UUIDs, cryptography, JWT operations, and dynamic Rego parsing are unavailable."
		{"network", finds(``) + ` if { http.send({"method": "get", "url": "http://localhost"}) }`, "http.send is not allowed (policy.rego:2:", 0},
		{"DNS", finds(``) + ` if { net.lookup_ip_addr("localhost") }`, "net.lookup_ip_addr is not allowed", 0},
		{"host runtime", finds(``) + ` if { opa.runtime() }`, "opa.runtime is not allowed", 0},
		{"tracing", finds(``) + ` if { trace("x") }`, "trace is not allowed", 0},
		{"printing", finds(``) + ` if { print("x") }`, "print is not allowed", 0},
		{"clocks", finds(``) + ` if { time.now_ns() > 0 }`, "time.now_ns is not allowed", 0},
		{"randomness", finds(``) + ` if { rand.intn("x", 2) == 0 }`, "rand.intn is not allowed", 0},
		{"UUIDs", finds(``) + ` if { uuid.rfc4122("x") }`, "uuid.rfc4122 is not allowed", 0},
		{"cryptography", finds(``) + ` if { crypto.sha256("x") }`, "crypto.sha256 is not allowed", 0},
		{"JWT operations", finds(``) + ` if { io.jwt.decode("x") }`, "io.jwt.decode is not allowed", 0},
		{"dynamic Rego parsing", finds(``) + ` if { rego.parse_module("x", "package x") }`, "rego.parse_module is not allowed", 0},
		{"what the convention allows to v0", finds(``) + ` if { re_match("a", "a") }`, "re_match is not allowed", 0},
		{"Rego v0", "decision = {\"findings\": []} { input.version }", "policy.rego is in Rego v0, and the contract assize is in v1", 0},

		// "An undefined decision, schema error, forbidden capability, timeout, resource limit, or evaluator failure
		// produces the error outcome": time-out and limits are in policy/confine.
		{"undefined decision", finds(``) + ` if { false }`, "data.assize.v1.decision is undefined for this plan", 0},
		{"several decisions", "decision := {\"findings\": []}\ndecision := {\"findings\": [1]}", "rule data.assize.v1.decision produced conflicting values (policy.rego:", 0},
		{"a built-in that fails", finds(``) + ` if { to_number(input.resource_changes[0].change.after.name) > 1 }`, "to_number failed on a value of the plan (policy.rego:2:", 0},
		{"no object", `decision := "allow"`, "data.assize.v1.decision is a string, not an object with findings", 0},
		{"null", `decision := null`, "not an object with findings", 0},
		{"a set", `decision contains "x"`, "not an object with findings", 0},
		{"a value of the plan", `decision := input.resource_changes[0].address`, "the decision is malformed: it is no object", 0},
		{"null of the plan", `decision := input.resource_changes[0].change.before`, "the decision is malformed: it is no object", 0},

		// "It returns one strict object"; "findings is required; an empty array passes."
		{"empty", `decision := {"findings": []}`, "", 0},
		{"default", "default decision := {\"findings\": []}\n" + finds(``) + ` if { false }`, "", 0},
		{"a set of findings", "decision.findings contains {\"id\": \"i\", \"title\": \"t\", \"message\": \"m\"}", "", 1},
		{"an empty set of findings", "decision.findings contains \"x\" if { false }", "", 0},
		{"no findings", `decision := {}`, "findings is missing, or no list", 0},
		{"null findings", `decision := {"findings": null}`, "findings is missing, or no list", 0},
		{"findings by key", `decision := {"findings": {"a": 1}}`, "findings is missing, or no list", 0},
		{"no object in it", `decision := {"findings": ["no"]}`, "findings[0] is no object", 0},
		{"without id", `decision := {"findings": [{"title": "t", "message": "m"}]}`, "findings[0].id is missing, or no string", 0},
		{"without title", `decision := {"findings": [{"id": "i", "message": "m"}]}`, "findings[0].title is missing, or no string", 0},
		{"without message", `decision := {"findings": [{"id": "i", "title": "t"}]}`, "findings[0].message is missing, or no string", 0},
		{"a number for an address", finds(`, "resource_address": 1`), "findings[0].resource_address is missing, or no string", 0},
		{"null for an address", finds(`, "resource_address": null`), "findings[0].resource_address is missing, or no string", 0},
		{"no object for details", finds(`, "details": ["x"]`), "findings[0].details is no object", 0},
		{"empty id", `decision := {"findings": [{"id": "", "title": "t", "message": "m"}]}`, "findings[0].id is empty", 0},
		{"empty message", `decision := {"findings": [{"id": "i", "title": "t", "message": ""}]}`, "findings[0].message is empty", 0},

		// "Finding IDs must be unique in the result."
		{"one id twice", `decision := {"findings": [{"id": "i", "title": "t", "message": "m"}, {"id": "i", "title": "t", "message": "n"}]}`, "findings[1] repeats the id of findings[0]", 0},

		// "A finding ID is limited to 128 characters, title to 160, message to 4,000, resource address to 512"
		{"id of 128", `decision := {"findings": [{"id": ` + text(128) + `, "title": "t", "message": "m"}]}`, "", 1},
		{"id of 129", `decision := {"findings": [{"id": ` + text(129) + `, "title": "t", "message": "m"}]}`, "findings[0].id is longer than 128 characters", 0},
		{"title of 160", `decision := {"findings": [{"id": "i", "title": ` + text(160) + `, "message": "m"}]}`, "", 1},
		{"title of 161", `decision := {"findings": [{"id": "i", "title": ` + text(161) + `, "message": "m"}]}`, "findings[0].title is longer than 160 characters", 0},
		{"message of 4000", `decision := {"findings": [{"id": "i", "title": "t", "message": ` + text(4000) + `}]}`, "", 1},
		{"message of 4001", `decision := {"findings": [{"id": "i", "title": "t", "message": ` + text(4001) + `}]}`, "findings[0].message is longer than 4000 characters", 0},
		{"address of 512", finds(`, "resource_address": ` + text(512)), "", 1},
		{"address of 513", finds(`, "resource_address": ` + text(513)), "findings[0].resource_address is longer than 512 characters", 0},

		// "the optional details object is depth-, key-, item-, and byte-bounded"
		{"details 8 deep", finds(`, "details": {"x": [[[[[[[]]]]]]]}`), "", 1},
		{"details 9 deep", finds(`, "details": {"x": [[[[[[[[]]]]]]]]}`), "findings[0].details has more than 8 objects and lists inside each other", 0},
		{"details of 64 keys", finds(`, "details": {sprintf("k%d", [n]): n | some n in numbers.range(1, 64)}`), "", 1},
		{"details of 65 keys", finds(`, "details": {"x": [{sprintf("k%d", [n]): n | some n in numbers.range(1, 65)}]}`), "findings[0].details has an object with more than 64 keys", 0},
		{"details of 256 items", finds(`, "details": {"x": numbers.range(1, 256)}`), "", 1},
		{"details of 257 items", finds(`, "details": {"x": numbers.range(1, 257)}`), "findings[0].details has a list with more than 256 elements", 0},
		{"details of 16 KiB", finds(`, "details": {"x": concat("", ["&" | some _ in numbers.range(1, 16384 - 8)])}`), "", 1},
		{"details of a byte more", finds(`, "details": {"x": concat("", ["&" | some _ in numbers.range(1, 16384 - 7)])}`), "findings[0].details is larger than 16 KiB", 0},

		// "Unknown fields and more than 500 findings fail closed."
		{"unknown field", `decision := {"findings": [], "allow": true}`, "it has an unknown field beside findings", 0},
		{"unknown field of a finding", finds(`, "level": "warn"`), "findings[0] has an unknown field", 0},
		{"500 findings", many(500, 1), "", 500},
		{"501 findings", many(501, 1), "it has more than 500 findings", 0},

		// "Both the sanitized input and complete composite result are capped at 2 MiB."
		{"nearly 2 MiB", many(499, 4000), "", 499},
		{"more than 2 MiB", many(500, 4000) + "\npadding := 1", "", 500},
		{"much more than 2 MiB", strings.Replace(many(500, 4000), `"title"`, `"details": {"x": `+text(300)+`}, "title"`, 1), "it is larger than 2 MiB", 0},

		// JSON has no other texts than Unicode's.
		{"no UTF-8", `decision := {"findings": [{"id": "i", "title": base64.decode("/w=="), "message": "m"}]}`, "it holds text that is no UTF-8", 0},
		{"no UTF-8 in a key", finds(`, "details": {base64.decode("/w=="): 1}`), "it holds text that is no UTF-8", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := policy.Judge([]policy.Engine{regoengine.New()}, byContract(tt.policy), decode(t, secretPlan))
			if tt.want == "" {
				if v.Outcome == api.Errored || len(v.Findings) != tt.findings {
					t.Errorf("%s with %d findings, want %d: %s", v.Outcome, len(v.Findings), tt.findings, v.Error)
				}
				return
			}
			if v.Outcome != api.Errored || !strings.HasPrefix(v.Error, "could not judge: ") || !strings.Contains(v.Error, tt.want) || v.Hint == "" {
				t.Errorf("%s with %d findings: %s (hint: %s)\nwant: %s", v.Outcome, len(v.Findings), v.Error, v.Hint, tt.want)
			}
		})
	}
}

// many is a decision with n findings, each with a message of so many bytes.
func many(n, bytes int) string {
	return fmt.Sprintf(`message := concat("", ["x" | some _ in numbers.range(1, %d)])
decision := {"findings": [{"id": sprintf("i%%d", [n]), "title": "t", "message": message} | some n in numbers.range(1, %d)]}`, bytes, n)
}

// TestDecisionIsBound: "Every evaluation is bound to" the plan's digest, the
// input's, the bundle's, the evaluator, the capabilities and the entry point.
func TestDecisionIsBound(t *testing.T) {
	t.Parallel()
	p := decode(t, secretPlan)
	manifest, err := os.ReadFile("builtins/capabilities.json")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(manifest)
	for _, c := range input.Contracts() {
		for _, text := range []string{finds(``), finds(``) + " if { false }", `decision := {}`} {
			src := byContract("package " + c.Package() + "\n" + text)
			in, err := input.Build(c, p, src.Run.From, input.Bounds{})
			if err != nil {
				t.Fatal(err)
			}
			want := &api.Contract{
				Name: c.Name, EntryPoint: "data." + c.Package() + ".decision", InputVersion: c.InputVersion, PolicyInput: in.Digest,
				Capabilities: "assize-rego-capabilities-v1", CapabilitiesDigest: "sha256:" + hex.EncodeToString(sum[:]),
			}
			v := policy.Judge([]policy.Engine{regoengine.New()}, src, p)
			if diff := cmp.Diff(want, v.Contract); diff != "" {
				t.Errorf("%s (%s) (-want +got):\n%s", c.Name, v.Outcome, diff)
			}
			if v.Input != p.Digest || v.Digest != src.Digest() || !strings.HasPrefix(v.Evaluator, "opa/") {
				t.Errorf("%+v is not bound to plan, policy and evaluator", v)
			}
		}
	}
	if v := policy.Judge([]policy.Engine{regoengine.New()}, regoSource("package main\ndeny contains 1 if false"), p); v.Contract != nil {
		t.Errorf("conftest's convention is bound to %+v", v.Contract)
	}
}

// TestDecisionFinding: what a finding becomes, in a report of any language.
func TestDecisionFinding(t *testing.T) {
	t.Parallel()
	v := judge(t, byContract(`decision := {"findings": [{"id": "encryption-required", "title": "Encryption required",
		"message": "Enable encryption before apply.", "resource_address": "a.b", "details": {"control": "storage-encryption"}}]}`), secretPlan)
	want := []api.Finding{{
		Policy: "policy", Engine: api.Rego, Rule: "encryption-required", Level: api.Deny, Address: "a.b", Action: "create",
		Title: "Encryption required", Message: "Enable encryption before apply.", Details: map[string]any{"control": "storage-encryption"},
	}}
	if diff := cmp.Diff(want, v.Findings); diff != "" || v.Outcome != api.Failed {
		t.Errorf("%s (-want +got):\n%s", v.Outcome, diff)
	}
	if diff := cmp.Diff([]api.RuleCount{{Rule: "decision", Matched: 1}}, v.Rules); diff != "" {
		t.Error(diff)
	}
}

// TestPageExample judges by the policy that the page shows, in each way it can
// come out.
func TestPageExample(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "decision.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```rego\n")
	text, _, _ = strings.Cut(text, "```")
	bucket := func(after string) string {
		return `{"format_version": "1.2", "resource_changes": [{"address": "aws_s3_bucket.b", "mode": "managed", "type": "aws_s3_bucket", "name": "b",
			"provider_name": "p", "change": {"actions": ["create"], "before": null, "after": ` + after + `, "after_unknown": {}}}]}`
	}
	for plan, want := range map[string]int{
		bucket(`{"encryption": "aws:kms"}`): 0, bucket(`{"encryption": "none"}`): 1, bucket(`{}`): 1, secretPlan: 0,
	} {
		if v := judge(t, byContract(text), plan); len(v.Findings) != want || len(v.Notes) > 0 {
			t.Errorf("%d findings, want %d, notes %q: %s", len(v.Findings), want, v.Notes, plan)
		}
	}
}

// TestContractByName: whoever judges may say the contract; then no other will do.
func TestContractByName(t *testing.T) {
	t.Parallel()
	ours, conftests := "package assize.v1\n"+`decision := {"findings": []}`, "package main\ndeny contains \"x\" if false"
	tests := []struct {
		name, contract, policy, want string
	}{
		{"as declared", "assize", ours, ""},
		{"the other", "stackship", ours, "two contracts, assize and stackship"},
		{"none declared", "assize", conftests, "package assize.v1 has no rule decision"},
		{"unknown", "sentinel", ours, `there is no contract "sentinel"`},
	}
	for _, tt := range tests {
		src := byContract(tt.policy)
		src.Rego.Contract = tt.contract
		v := policy.Judge([]policy.Engine{regoengine.New()}, src, decode(t, secretPlan))
		if (tt.want == "") != (v.Outcome == api.Passed) || !strings.Contains(v.Error, tt.want) {
			t.Errorf("%s: %s %s", tt.name, v.Outcome, v.Error)
		}
	}
}

// TestContractOptions: what conftest's options do to a decision, which is
// nothing, or no verdict at all (docs/decision.md, rules 2 and 3).
func TestContractOptions(t *testing.T) {
	t.Parallel()
	data := func(text string) policy.RegoOptions {
		return policy.RegoOptions{Data: []policy.File{{Name: "data.json", Data: []byte(text)}}}
	}
	helper := `decision := {"findings": deny}` + "\n" + `deny contains {"id": "i", "title": "t", "message": "m"}`
	undefined := `decision := {"findings": []} if { false }`
	tests := []struct {
		name, policy string
		opts         policy.RegoOptions
		want         string
	}{
		{"a rule deny of its own", helper, policy.RegoOptions{}, ""},
		{"what v0 needed to be v1", "import rego.v1\nimport future.keywords.in\n" + helper, policy.RegoOptions{}, ""},
		{"namespaces of other policies", helper, policy.RegoOptions{Namespaces: []string{"main", "other"}}, ""},
		{"patterns of other policies", helper, policy.RegoOptions{Namespaces: []string{"oth*"}}, ""},
		{"its own package", helper, policy.RegoOptions{Namespaces: []string{"assize.v1"}}, "conftest's rules in package assize.v1"},
		{"all namespaces", helper, policy.RegoOptions{AllNamespaces: true}, "conftest's rules in package assize.v1"},
		{"input shape", finds(``) + ` if { input.version }`, policy.RegoOptions{InputShape: "plan"}, ""},
		{"data", finds(``) + ` if { data.limits.x == 9007199254740993 }`, data(`{"limits": {"x": 9007199254740993}}`), ""},
		{"data for a decision", undefined, data(`{"assize": {"v1": {"decision": {"findings": []}}}}`), "a data file sets data.assize.v1"},
		{"data in place of its package", undefined, data(`{"assize": {"v1": 1}}`), "a data file sets data.assize.v1"},
		{"data beside its package", finds(``), data(`{"assize": {"v2": 1}}`), ""},
	}
	for _, tt := range tests {
		src := byContract(tt.policy)
		src.Rego = tt.opts
		v := policy.Judge([]policy.Engine{regoengine.New()}, src, decode(t, secretPlan))
		if (tt.want == "") != (v.Outcome == api.Failed) || !strings.Contains(v.Error, tt.want) {
			t.Errorf("%s: %s %s", tt.name, v.Outcome, v.Error)
		}
	}
}

// TestDecisionKeepsSecrets: "A secret-canary match fails the stage closed", and
// no error quotes what a policy made of the input.
func TestDecisionKeepsSecrets(t *testing.T) {
	t.Parallel()
	spelt := `concat("", ["canary-", "4f1e"])`
	declared := func(src policy.Source, value string) policy.Source {
		src.Run.From.Secrets = input.Canaries{{Name: "TOKEN", Value: value}}
		return src
	}
	p := decode(t, secretPlan)
	clean := decode(t, strings.Replace(secretPlan, `"canary": "canary-4f1e"`, `"canary": ""`, 1))
	v := policy.Judge([]policy.Engine{regoengine.New()}, declared(byContract(finds(``)), "canary-4f1e"), p)
	if v.Outcome != api.Errored || !strings.Contains(v.Error, "the policy input holds the declared secret TOKEN, in resource_changes[0]") {
		t.Errorf("in the input: %s %s", v.Outcome, v.Error)
	}
	for name, text := range map[string]string{
		"message":   `decision := {"findings": [{"id": "i", "title": "t", "message": ` + spelt + `}]}`,
		"title":     `decision := {"findings": [{"id": "i", "title": ` + spelt + `, "message": "m"}]}`,
		"id":        `decision := {"findings": [{"id": ` + spelt + `, "title": "t", "message": "m"}]}`,
		"address":   finds(`, "resource_address": ` + spelt),
		"details":   finds(`, "details": {"x": [{` + spelt + `: 1}]}`),
		"in base64": finds(`, "details": {"x": base64.encode(` + spelt + `)}`),
	} {
		v := policy.Judge([]policy.Engine{regoengine.New()}, declared(byContract(text), "canary-4f1e"), clean)
		if v.Outcome != api.Errored || !strings.Contains(v.Error, "what the policy says holds the declared secret TOKEN, in findings[0]") || v.Contract == nil {
			t.Errorf("%s: %s %s", name, v.Outcome, v.Error)
		}
		if said := fmt.Sprintf("%+v", v); strings.Contains(said, "4f1e") {
			t.Errorf("%s: the secret is in %s", name, said)
		}
	}
	for name, text := range map[string]string{
		"unknown field": finds(`, ` + spelt + `: 1`), "key": `decision := {"findings": [], ` + spelt + `: 1}`,
		"details": finds(`, "details": [` + spelt + `]`), "id twice": `decision := {"findings": [{"id": ` + spelt + `, "title": "", "message": "m"} | some m in ["m", "n"]]}`,
		"conflict": "decision := {\"findings\": [" + spelt + "]}\ndecision := {\"findings\": [1]}",
	} {
		v := policy.Judge([]policy.Engine{regoengine.New()}, byContract(text), clean)
		if v.Outcome != api.Errored || strings.Contains(v.Error+v.Hint, "4f1e") {
			t.Errorf("%s: %s %s", name, v.Outcome, v.Error)
		}
	}
}

// TestNoProvenanceNoDecision: a caller that does not say where a plan came from
// gets no verdict.
func TestNoProvenanceNoDecision(t *testing.T) {
	t.Parallel()
	src := byContract(finds(``))
	src.Run = policy.Run{}
	v := policy.Judge([]policy.Engine{regoengine.New()}, src, decode(t, secretPlan))
	if v.Outcome != api.Errored || !strings.Contains(v.Error, "run.kind is none of manual, tracked, speculative") {
		t.Errorf("%s %s", v.Outcome, v.Error)
	}
}
