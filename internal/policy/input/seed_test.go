package input_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan/planjson"
	"github.com/assize-iac/assize/internal/policy/input"
)

// This file has one test for each sentence of seed 000 about the policy input,
// in the order of the seed. The sentence stands above it in other words.

// fullPlan has something in every place that must not reach a policy.
const fullPlan = `{"format_version":"1.2",
	"variables":{"open":{"value":"IN-VARIABLE"},"hidden":{"value":"IN-SENSITIVE-VARIABLE"},"brief":{"value":"IN-EPHEMERAL-VARIABLE"}},
	"planned_values":{"outputs":{"o":{"value":"IN-PLANNED"}},"root_module":{}},
	"prior_state":{"values":{"outputs":{"o":{"value":"IN-STATE"}},"root_module":{}}},
	"output_changes":{"o":{"actions":["create"],"before":null,"after":"IN-OUTPUT"}},
	"resource_drift":[],
	"configuration":{"root_module":{"variables":{"hidden":{"sensitive":true,"default":"IN-DEFAULT"},"brief":{"ephemeral":true}}}},
	"resource_changes":[{"address":"test_thing.a","mode":"managed","type":"test_thing","name":"a","provider_name":"example.com/acme/test",
		"change":{"actions":["create"],"before":null,"after":{"kept":"IN-AFTER"},"after_unknown":{},"before_sensitive":false,"after_sensitive":{}}}]}`

// A policy gets something that was derived from the plan, and never the raw
// plan, state, configuration, variables, credentials or repository.
func TestSeedSanitizedDerivativeOnly(t *testing.T) {
	t.Parallel()
	for _, c := range input.Contracts() {
		in, err := input.Build(c, decode(t, fullPlan), tracked(), input.Bounds{})
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(in.Text), "IN-AFTER", "")
		if strings.Contains(text, "IN-") || len(text) == len(in.Text) {
			t.Errorf("%s: %s", c.Name, in.Text)
		}
		for _, key := range []string{"raw_plan", "state", "prior_state", "planned_values", "configuration", "variables", "credentials", "output_changes", "outputs"} {
			if strings.Contains(text, `"`+key+`"`) {
				t.Errorf("%s: there is a %s", c.Name, key)
			}
		}
	}
}

// Sensitive subtrees of before and after become null before anything is
// evaluated.
// The boolean maps stay as they are, so that a policy can tell a null that
// was put there from an ordinary one.
func TestSeedSensitiveSubtreesAreNullAndMapsRemain(t *testing.T) {
	t.Parallel()
	in := build(t, planText(creates("a", `,"before":{"whole":{"a":"x1x1","b":["y1y1"]},"plain":null},"before_sensitive":{"whole":true},
		"after":{"ordinary":null,"leaf":"x2x2","list":["kept","y2y2"],"deep":{"kept":1,"gone":{"z":"z2z2"}},"number":12345},
		"after_sensitive":{"leaf":true,"list":[false,true],"deep":{"gone":true},"number":true,"later":true},"after_unknown":{"later":true}`)))
	want := api.InputDelta{
		Actions:         []string{"create"},
		Before:          map[string]any{"whole": nil, "plain": nil},
		BeforeSensitive: map[string]any{"whole": true},
		After:           map[string]any{"ordinary": nil, "leaf": nil, "list": []any{"kept", nil}, "deep": map[string]any{"kept": json.Number("1"), "gone": nil}, "number": nil},
		AfterSensitive:  map[string]any{"leaf": true, "list": []any{false, true}, "deep": map[string]any{"gone": true}, "number": true, "later": true},
		AfterUnknown:    map[string]any{"later": true},
	}
	if diff := cmp.Diff(want, in.Document.ResourceChanges[0].Change); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A canary that is found closes the gate.
func TestSeedCanaryFailsClosed(t *testing.T) {
	t.Parallel()
	from := tracked()
	from.Secrets = input.Canaries{{Name: "DB_PASSWORD", Value: "hunter-two"}}
	in, err := input.Build(input.Assize(), decode(t, planText(creates("a", `,"after":{"url":"pg://u:hunter-two@h"}`))), from, input.Bounds{})
	wantProblem(t, err, api.Refused, "DB_PASSWORD")
	if in != nil || err != nil && strings.Contains(err.Error(), "hunter") {
		t.Errorf("got %v, %v", in, err)
	}
}

// An evaluation is bound to the digest of its input: the same plan and
// provenance give the same digest, and any other give another.
func TestSeedInputDigest(t *testing.T) {
	t.Parallel()
	digests := map[string]string{}
	for what, number := range map[string]string{"exact": "9007199254740993", "next": "9007199254740992", "text": `"9007199254740993"`, "null": "null", "absent": ""} {
		after := ""
		if number != "" {
			after = `"size":` + number
		}
		digests[build(t, planText(creates("a", `,"after":{`+after+`}`))).Digest] = what
	}
	commit := strings.Repeat("f", 40)
	from := tracked()
	from.Source.CommitSHA = &commit
	other, err := input.Build(input.Assize(), decode(t, planText(creates("a", `,"after":{}`))), from, input.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	digests[other.Digest] = "another commit"
	if len(digests) != 6 {
		t.Errorf("some are alike: %v", digests)
	}
	one, same := build(t, planText(creates("a", `,"after":{"a":1.0,"b":"é"}`))), build(t, planText(creates("a", `, "after" : {"b":"\u00e9", "a":1}`)))
	if one.Digest != same.Digest || !strings.HasPrefix(one.Digest, "sha256:") || len(one.Digest) != 71 {
		t.Errorf("got %s and %s", one.Digest, same.Digest)
	}
}

// seedExample is the complete input that seed 000 prints.
const seedExample = `{
  "version": "stackship.policy.input/v1",
  "run": {"kind": "tracked"},
  "source": {"commit_sha": "0123456789abcdef0123456789abcdef01234567", "repository_id": "123456789", "working_directory": "."},
  "workspace": {"id": "ws_22222222222222222222222222222222", "metadata": {"environment": "production"}},
  "resource_changes": [{
    "address": "aws_s3_bucket.assets",
    "provider_name": "registry.opentofu.org/hashicorp/aws",
    "change": {
      "actions": ["create"],
      "before": null,
      "after": {"bucket": "northwind-assets", "secret": null},
      "before_sensitive": false,
      "after_sensitive": {"secret": true}
    }
  }]
}`

// The complete input is strictly the document of the example: it is accepted,
// and it is what a plan of that bucket gives.
func TestSeedExample(t *testing.T) {
	t.Parallel()
	want, err := input.Read([]byte(seedExample), input.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	p := decode(t, planText(`{"address":"aws_s3_bucket.assets","mode":"managed","type":"aws_s3_bucket","name":"assets","provider_name":"registry.opentofu.org/hashicorp/aws",
		"change":{"actions":["create"],"before":null,"after":{"bucket":"northwind-assets","secret":"s3cr3t-value"},"after_unknown":{"arn":true},"before_sensitive":false,"after_sensitive":{"secret":true}}}`))
	got, err := input.Build(input.Stackship(), p, tracked(), input.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Document, got.Document); diff != "" || want.Contract != input.Stackship() || string(want.Text) != string(got.Text) || want.Digest != got.Digest {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// There are three kinds of run.
func TestSeedRunKinds(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"tracked", "speculative"} {
		if _, err := input.Read([]byte(strings.ReplaceAll(seedExample, `"tracked"`, `"`+kind+`"`)), input.Bounds{}); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if _, err := input.Read([]byte(manualExample), input.Bounds{}); err != nil {
		t.Errorf("manual: %v", err)
	}
	for _, kind := range []string{"", "Tracked", "tracked ", "drift", "plan-only"} {
		_, err := input.Read([]byte(strings.ReplaceAll(seedExample, `"tracked"`, `"`+kind+`"`)), input.Bounds{})
		wantProblem(t, err, api.Invalid, "run.kind is none of manual, tracked, speculative")
	}
}

// Resource addresses are unique. Ours adds the deposed key, without which a
// legal plan repeats an address.
func TestSeedUniqueAddresses(t *testing.T) {
	t.Parallel()
	element := seedExample[strings.Index(seedExample, "[{")+1 : strings.LastIndex(seedExample, "]\n")]
	_, err := input.Read([]byte(strings.Replace(seedExample, "[{", "["+element+",{", 1)), input.Bounds{})
	wantProblem(t, err, api.Invalid, "repeats the address aws_s3_bucket.assets")

	deposed := strings.Replace(creates("a", ""), `"mode"`, `"deposed":"deadbeef","mode"`, 1)
	p := decode(t, planText(creates("a", ""), deposed))
	_, err = input.Build(input.Stackship(), p, tracked(), input.Bounds{})
	wantProblem(t, err, api.Invalid, "cannot tell a deposed object from the current one")
	in, err := input.Build(input.Assize(), p, tracked(), input.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	again := strings.Replace(string(in.Text), `"deposed":"deadbeef",`, "", 1)
	_, err = input.Read([]byte(again), input.Bounds{})
	wantProblem(t, err, api.Invalid, "repeats an address and deposed key: test_thing.a")
}

// Action tuples are checked and not taken for arbitrary strings.
func TestSeedActionTuples(t *testing.T) {
	t.Parallel()
	read := func(tuple string) error {
		_, err := input.Read([]byte(strings.Replace(seedExample, `["create"]`, tuple, 1)), input.Bounds{})
		return err
	}
	for _, tuple := range []string{`["no-op"]`, `["create"]`, `["read"]`, `["update"]`, `["delete"]`, `["forget"]`, `["delete","create"]`, `["create","delete"]`, `["create","forget"]`, `["forget","create"]`} {
		if err := read(tuple); err != nil {
			t.Errorf("%s: %v", tuple, err)
		}
	}
	for _, tuple := range []string{`[]`, `[""]`, `["deleted"]`, `["Create"]`, `["create,delete"]`, `["create","create"]`, `["update","delete"]`, `["delete","create","delete"]`, `["no-op","delete"]`, `["open"]`} {
		wantProblem(t, read(tuple), api.Invalid, "resource_changes[0].change.actions is no known action")
	}
	// What OpenTofu 1.11 calls open is a read.
	ephemeral := strings.NewReplacer(`"managed"`, `"ephemeral"`, `["create"]`, `["open"]`).Replace(creates("a", ""))
	if got := build(t, planText(ephemeral)).Document.ResourceChanges[0].Change.Actions; len(got) != 1 || got[0] != "read" {
		t.Errorf("got %v", got)
	}
}

// manualExample is the example of a run that no commit belongs to.
var manualExample = strings.NewReplacer(`"tracked"`, `"manual"`, `"`+sha+`"`, "null", `"123456789"`, `"cfg_22222222222222222222222222222222"`).Replace(seedExample)

// Provenance is held against the kind of the run: tracked and speculative runs
// carry the exact commit of 40 characters and the provider's repository id; a
// manual run has null for a commit and the cfg_ id of its configuration. A
// manual input with a made-up commit is rejected, and so is a tracked one
// without any.
func TestSeedProvenanceFitsTheKind(t *testing.T) {
	t.Parallel()
	commit := func(s string) func(*input.Provenance) {
		return func(p *input.Provenance) { p.Source.CommitSHA = &s }
	}
	repository := func(s string) func(*input.Provenance) {
		return func(p *input.Provenance) { p.Source.RepositoryID = s }
	}
	tests := []struct {
		name  string
		from  input.Provenance
		moved func(*input.Provenance)
		want  string // words of the error; "" for none
	}{
		{"tracked", tracked(), func(*input.Provenance) {}, ""},
		{"speculative", tracked(), func(p *input.Provenance) { p.Kind = api.SpeculativeRun }, ""},
		{"manual", manual(), func(*input.Provenance) {}, ""},
		{"tracked without a commit", tracked(), func(p *input.Provenance) { p.Source.CommitSHA = nil }, "source.commit_sha"},
		{"speculative without a commit", tracked(), func(p *input.Provenance) { p.Kind, p.Source.CommitSHA = api.SpeculativeRun, nil }, "source.commit_sha"},
		{"a short commit", tracked(), commit(sha[:39]), "source.commit_sha"},
		{"a long commit", tracked(), commit(sha + "0"), "source.commit_sha"},
		{"a commit and a newline", tracked(), commit(sha + "\n"), "source.commit_sha"},
		{"a commit in capitals", tracked(), commit(strings.ToUpper(sha)), "source.commit_sha"},
		{"a branch", tracked(), commit("main"), "source.commit_sha"},
		{"an empty commit", tracked(), commit(""), "source.commit_sha"},
		{"tracked without a repository", tracked(), repository(""), "source.repository_id"},
		{"tracked with an upload", tracked(), repository("cfg_22222222222222222222222222222222"), "source.repository_id"},
		{"a repository with a space", tracked(), repository("a b"), "source.repository_id"},
		{"manual with a commit", manual(), commit(sha), "source.commit_sha"},
		{"manual with an empty commit", manual(), commit(""), "source.commit_sha"},
		{"manual with a repository", manual(), repository("123456789"), "source.repository_id"},
		{"manual with half an id", manual(), repository("cfg_"), "source.repository_id"},
		{"manual with more than an id", manual(), repository("cfg_2\n"), "source.repository_id"},
		{"no kind", tracked(), func(p *input.Provenance) { p.Kind = "" }, "run.kind"},
		{"an absolute directory", tracked(), func(p *input.Provenance) { p.Source.WorkingDirectory = "/etc" }, "source.working_directory"},
		{"a directory above", tracked(), func(p *input.Provenance) { p.Source.WorkingDirectory = "a/../.." }, "source.working_directory"},
		{"no directory", tracked(), func(p *input.Provenance) { p.Source.WorkingDirectory = "" }, "source.working_directory"},
		{"another system's directory", tracked(), func(p *input.Provenance) { p.Source.WorkingDirectory = `a\b` }, "source.working_directory"},
		{"a directory of two lines", tracked(), func(p *input.Provenance) { p.Source.WorkingDirectory = "a\nb" }, "source.working_directory"},
		{"a long stack", tracked(), func(p *input.Provenance) { p.Subject.ID = strings.Repeat("a", 513) }, ".id"},
		{"a stack that is no text", tracked(), func(p *input.Provenance) { p.Subject.ID = "\xff" }, ".id"},
		{"a stack of two lines", tracked(), func(p *input.Provenance) { p.Subject.ID = "a\nb" }, ".id"},
		{"no stack", tracked(), func(p *input.Provenance) { p.Subject.ID = "" }, ".id"},
		{"metadata that is no text", tracked(), func(p *input.Provenance) { p.Subject.Metadata = map[string]string{"a": "\xff"} }, ".metadata"},
	}
	for _, tt := range tests {
		for _, c := range input.Contracts() {
			from := tt.from
			tt.moved(&from)
			_, err := input.Build(c, decode(t, planText()), from, input.Bounds{})
			if tt.want != "" {
				wantProblem(t, err, api.Invalid, tt.want)
			} else if err != nil {
				t.Errorf("%s, %s: %v", c.Name, tt.name, err)
			}
		}
	}
	// The same holds for what is read.
	for _, text := range []string{
		strings.Replace(seedExample, `"`+sha+`"`, "null", 1), strings.Replace(seedExample, sha, sha[1:], 1), strings.Replace(seedExample, "123456789\"", "cfg_1\"", 1),
		strings.Replace(manualExample, "null", `"`+sha+`"`, 1), strings.Replace(manualExample, "cfg_", "", 1),
	} {
		_, err := input.Read([]byte(text), input.Bounds{})
		wantProblem(t, err, api.Invalid, "source.")
	}
}

// Unknown top-level fields are rejected, and raw_plan, state, variables and
// credentials are four of them.
func TestSeedUnknownTopLevelFields(t *testing.T) {
	t.Parallel()
	_, err := input.Read([]byte(strings.Replace(seedExample, "{", `{"plan":{"complete":null,"deferred":0,"destroy":false,"refresh_only":false,"replace":[],"targets":[]},`, 1)), input.Bounds{})
	wantProblem(t, err, api.Invalid, "plan belongs to assize.policy.input/v1")
	for _, field := range []string{`"mode":"managed"`, `"deposed":"deadbeef"`, `"importing":true`, `"type":"x"`, `"name":"x"`, `"previous_address":"x"`, `"action_reason":"x"`} {
		_, err := input.Read([]byte(strings.Replace(seedExample, `"address"`, field+`,"address"`, 1)), input.Bounds{})
		wantProblem(t, err, api.Invalid, "resource_changes[0] has a field that stackship.policy.input/v1 does not have")
	}
	_, err = input.Read([]byte(strings.Replace(seedExample, `"before"`, `"after_unknown":false,"before"`, 1)), input.Bounds{})
	wantProblem(t, err, api.Invalid, "resource_changes[0] has a field that stackship.policy.input/v1 does not have")
	for _, name := range []string{"raw_plan", "state", "variables", "credentials", "outputs", "Version", "stack", "plan", ""} {
		for _, value := range []string{"null", "{}", `"x"`, "[]"} {
			_, err := input.Read([]byte(strings.Replace(seedExample, "{", fmt.Sprintf("{%q:%s,", name, value), 1)), input.Bounds{})
			wantProblem(t, err, api.Invalid, "policy input")
		}
	}
}

// The sanitized input is capped at 2 MiB; the other limits have their tests in
// bounds_test.go.
func TestSeedTwoMiB(t *testing.T) {
	t.Parallel()
	const limit = 2 * 1024 * 1024
	fits := seedExample + strings.Repeat(" ", limit-len(seedExample))
	if _, err := input.Read([]byte(fits), input.Bounds{}); err != nil {
		t.Error(err)
	}
	_, err := input.Read([]byte(fits+" "), input.Bounds{})
	wantProblem(t, err, api.TooLarge, "bytes 2097153 (limit 2097152)")
}

// members lists the names of an object, for what a contract must have exactly.
func members(t *testing.T, text []byte, path ...any) []string {
	t.Helper()
	v, err := planjson.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range path {
		switch step := step.(type) {
		case string:
			v = v.(map[string]any)[step]
		case int:
			v = v.([]any)[step]
		}
	}
	var names []string
	for name := range v.(map[string]any) {
		names = append(names, name)
	}
	return names
}
