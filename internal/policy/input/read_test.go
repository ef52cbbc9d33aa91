package input_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy/input"
	"github.com/assize-iac/assize/internal/problem"
)

// example is the document of the page.
func example(t testing.TB) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "policy-input.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```json\n(.*?)```").FindSubmatch(page)
	if found == nil {
		t.Fatal("the page has no example")
	}
	return string(found[1])
}

// TestReadIsStrict changes one thing of the page's example, at every level
// (docs/policy-input.md, rule 13).
func TestReadIsStrict(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, old, new, want string }{
		{"an unknown field of the run", `"kind": "tracked"`, `"kind": "tracked", "id": 1`, `"run"."id" is an unknown field`},
		{"an unknown field of the source", `"working_directory"`, `"branch": "main", "working_directory"`, `"source"."branch" is an unknown field`},
		{"an unknown field of the stack", `"metadata": {`, `"name": "x", "metadata": {`, `"stack"."name" is an unknown field`},
		{"an unknown field of the plan", `"deferred": 0`, `"deferred": 0, "x": 0`, `"plan"."x" is an unknown field`},
		{"an unknown field of a change", `"mode"`, `"index": 0, "mode"`, `"resource_changes"[0]."index" is an unknown field`},
		{"an unknown field of what changes", `"before":`, `"replace_paths": [], "before":`, `"resource_changes"[0]."change"."replace_paths" is an unknown field`},
		{"a field in other letters", `"mode"`, `"Mode"`, `"Mode" is an unknown field`},
		{"the field of the other contract", `"stack"`, `"workspace"`, "says stack, and nothing else"},
		{"both subjects", `"run"`, `"workspace": {"id": "x", "metadata": {}}, "run"`, "says stack, and nothing else"},
		{"the other version", `assize.policy.input/v1`, `stackship.policy.input/v1`, "says workspace, and nothing else"},
		{"an unknown version", `input/v1`, `input/v2`, `has version "assize.policy.input/v2", which this build does not know`},
		{"a duplicate at the top", `"run"`, `"version": "assize.policy.input/v1", "run"`, `says a thing twice: "version"`},
		{"a duplicate inside", `"bucket"`, `"secret": 1, "bucket"`, "says a thing twice"},
		{"no version", `"version": "assize.policy.input/v1",`, ``, `"version" is missing`},
		{"no source", `"repository_id": "123456789",`, ``, `"source"."repository_id" is missing`},
		{"no commit", `"commit_sha": "` + sha + `",`, ``, `"source"."commit_sha" is missing`},
		{"no mode", `"mode": "managed",`, ``, "resource_changes[0].mode is none of"},
		{"no type", `"type": "aws_s3_bucket",`, ``, "has no type or no name"},
		{"no before", `"before": null,`, ``, `"before" is missing`},
		{"no sensitivity map", `"before_sensitive": false,`, ``, `"before_sensitive" is missing`},
		{"no map of unknowns", `"after_unknown": {"arn": true},`, ``, "after_unknown is no map of booleans"},
		{"no plan", `"plan": {"complete": null, "deferred": 0, "destroy": false, "refresh_only": false, "targets": [], "replace": []},`, ``, "plan belongs to assize.policy.input/v1"},
		{"no word on completeness", `"complete": null,`, ``, `"plan"."complete" is missing`},
		{"null for a version", `"version": "assize.policy.input/v1"`, `"version": null`, `"version" is null`},
		{"null for a run", `{"kind": "tracked"}`, `null`, `"run" is null`},
		{"null for a kind", `"tracked"`, `null`, `"run"."kind" is null`},
		{"null for metadata", `{"environment": "production"}`, `null`, "stack.metadata is null"},
		{"null in metadata", `"production"`, `null`, `"environment" is null`},
		{"null for targets", `"targets": []`, `"targets": null`, "plan has a negative number, or null for a list"},
		{"null for an address", `"address": "aws_s3_bucket.assets"`, `"address": null`, `"address" is null`},
		{"null for actions", `["create"]`, `null`, "actions is no known action"},
		{"null in actions", `["create"]`, `[null]`, `"actions"[0] is null`},
		{"null for a map", `"before_sensitive": false`, `"before_sensitive": null`, "before_sensitive is no map of booleans"},
		{"null in a map", `"after_sensitive": {"secret": true}`, `"after_sensitive": {"secret": true, "bucket": null}`, "after_sensitive is no map of booleans"},
		{"null for unknowns", `{"arn": true}`, `null`, `"after_unknown" is null, or unknown`},
		{"null for what is left out", `"mode"`, `"deposed": null, "mode"`, `"deposed" is null, or unknown`},
		{"empty for what is left out", `"mode"`, `"deposed": "", "mode"`, `"deposed" is an unknown field, or one that is left out when it is empty`},
		{"false for what is left out", `"mode"`, `"importing": false, "mode"`, `"importing" is an unknown field, or one that is left out when it is empty`},
		{"a number for a text", `"123456789"`, `123456789`, "a value of the wrong type, number, at source.repository_id"},
		{"a text for a number", `"deferred": 0`, `"deferred": "0"`, "a value of the wrong type, string, at plan.deferred"},
		{"a fraction", `"deferred": 0`, `"deferred": 0.5`, "a value of the wrong type, number, at plan.deferred"},
		{"a negative number", `"deferred": 0`, `"deferred": -1`, "plan has a negative number"},
		{"a number in metadata", `"production"`, `1`, "a value of the wrong type, number"},
		{"a list for an object", `{"kind": "tracked"}`, `[]`, "a value of the wrong type, array, at run"},
		{"a list for a value", `"after": {"bucket": "northwind-assets", "secret": null}`, `"after": []`, "after is neither an object nor null"},
		{"a text for a map", `{"secret": true}`, `"true"`, "after_sensitive is no map of booleans"},
		{"what is sensitive and stands there", `"secret": null`, `"secret": "x"`, "after shows a value that after_sensitive calls sensitive"},
		{"all is sensitive and stands there", `{"secret": true}`, `true`, "after shows a value that after_sensitive calls sensitive"},
		{"a map that does not fit", `{"secret": true}`, `{"bucket": {"a": true}, "secret": true}`, "after shows a value that after_sensitive calls sensitive"},
		{"a list that does not fit", `{"secret": true}`, `[true]`, "after shows a value that after_sensitive calls sensitive"},
		{"an empty address", `"address": "aws_s3_bucket.assets"`, `"address": ""`, "resource_changes[0] has no address"},
		{"a lone surrogate", `northwind`, `\ud800`, "is not valid JSON"},
		{"no UTF-8", `northwind`, "\xff", "is not valid JSON"},
		{"a trailing comma", `"environment": "production"`, `"environment": "production",`, "is not valid JSON"},
		{"a huge number", `"northwind-assets"`, `1e999999`, "a number beyond 1e99999"},
	}
	text := example(t)
	if _, err := input.Read([]byte(text), input.Bounds{}); err != nil {
		t.Fatalf("the page's example: %v", err)
	}
	for _, tt := range tests {
		if !strings.Contains(text, tt.old) {
			t.Fatalf("%s: the example has no %s", tt.name, tt.old)
		}
		_, err := input.Read([]byte(strings.Replace(text, tt.old, tt.new, 1)), input.Bounds{})
		if err == nil || problem.Code(err) != api.Invalid || !strings.Contains(err.Error(), tt.want) || problem.Hint(err) == "" {
			t.Errorf("%s: got %v (%s), want %q", tt.name, err, problem.Code(err), tt.want)
		}
	}
	for _, marks := range []string{"[true]", "[true, false, true]", `{"0": true}`, "[false, true]"} {
		text := strings.NewReplacer(`"secret": null}`, `"secret": null, "list": [null, "x"]}`, `{"secret": true}`, `{"list": `+marks+`}`).Replace(text)
		_, err := input.Read([]byte(text), input.Bounds{})
		wantProblem(t, err, api.Invalid, "after shows a value that after_sensitive calls sensitive")
	}
	for _, text := range []string{"", " ", "null", "[]", "{}", `"x"`, "1", text + text, text + "x", "\xef\xbb\xbf" + text, strings.Replace(text, `"resource_changes": [`, `"resource_changes": null, "x": [`, 1), `{"version":"assize.policy.input/v1"}`} {
		if _, err := input.Read([]byte(text), input.Bounds{}); problem.Code(err) != api.Invalid {
			t.Errorf("%.30q: got %v", text, err)
		}
	}
}

// TestReadSays nothing of values: an error about a document may be logged.
func TestReadQuotesNoValue(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(example(t), "northwind-assets", "hunter-two")
	for _, change := range [][2]string{
		{`"secret": null`, `"secret": "hunter-two"`}, {`"bucket"`, `"hunter-two": 1, "hunter-two": 2, "bucket"`}, {`"deferred": 0`, `"deferred": 1234567890123456789012345`},
		{`"create"`, `"hunter-two"`}, {`"managed"`, `"hunter-two"`}, {sha, "hunter-two"}, {`"123456789"`, `"hunter two"`}, {`"infra/prod",`, `"hunter-two",`}, {`"hunter-two",`, `"hunter-two"`},
		{`"working_directory": "infra/prod"`, `"working_directory": "../hunter-two"`}, {`"tracked"`, `"hunter-two"`}, {`{"secret": true}`, `"hunter-two"`}, {`{"secret": true}`, `{"secret":"hunter-two"}`},
	} {
		_, err := input.Read([]byte(strings.Replace(text, change[0], change[1], 1)), input.Bounds{})
		if err != nil && strings.Contains(err.Error()+problem.Hint(err), "hunter") || err != nil && strings.Contains(err.Error(), "12345678901234567890") {
			t.Errorf("%s: %v", change[1], err)
		}
	}
}

// TestReadNormalises accepts what differs in white space, order and spelling
// alone, as one document.
func TestReadNormalises(t *testing.T) {
	t.Parallel()
	text := example(t)
	want, err := input.Read([]byte(text), input.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	other := strings.NewReplacer("\n", "\r\n\t", `"northwind-assets", "secret": null`, `"\u006eorthwind-assets", "secret": null`, `"deferred": 0`, `"deferred": 0.0e7`,
		`"deferred": 0, "destroy": false`, `"destroy": false, "deferred": -0`).Replace(text)
	got, err := input.Read([]byte(other), input.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(input.Contract{})); diff != "" || other == text {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestPage holds the table of bounds against the code.
func TestPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "policy-input.md"))
	if err != nil {
		t.Fatal(err)
	}
	d := input.DefaultBounds()
	for row, got := range map[string]int{
		"`bytes` | 2 MiB": d.Bytes - 2<<20, "`nodes` | 50,000": d.Nodes - 50_000, "`changes` | 5,000": d.Changes - 5000, "`sensitivity_nodes` | 20,000": d.SensitivityNodes - 20_000,
		"`keys` | 5,000": d.Keys - 5000, "`items` | 10,000": d.Items - 10_000, "`string_bytes` | 1 MiB": d.StringBytes - 1<<20, "`depth` | 64": d.Depth - 64,
	} {
		if got != 0 || !strings.Contains(string(page), "| "+row+" |") {
			t.Errorf("%s is %d off, or not on the page", row, got)
		}
	}
	for _, c := range input.Contracts() {
		for _, word := range []string{c.InputVersion, c.EntryPoint, "`" + c.Subject + "`"} {
			if !strings.Contains(string(page), word) {
				t.Errorf("the page does not name %s", word)
			}
		}
	}
}

// FuzzRead holds that no text panics the reader, that what it refuses has a
// code and a hint, and that what it accepts is one document with one text.
func FuzzRead(f *testing.F) {
	f.Add([]byte(example(f)))
	f.Add([]byte(seedExample))
	f.Add([]byte(manualExample))
	for name, p := range realPlans(f) {
		if strings.Contains(name, "targeted") || strings.Contains(name, "plan") {
			in, err := input.Build(input.Assize(), p, manual(), input.Bounds{})
			if err != nil {
				f.Fatal(err)
			}
			f.Add(in.Text)
		}
	}
	for _, text := range []string{"", "{", "000", "1e999999", "[[[[[[", `{"version":1}`, `{"version":"assize.policy.input/v1","resource_changes":[null,{"change":[]},{"change":{"before_sensitive":[[]]}}]}`, "{\"a\":\"\\ud800\"}", `{"resource_changes":{"change":1e9}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		in, err := input.Read(text, input.Bounds{})
		if err != nil {
			if code := problem.Code(err); code != api.Invalid && code != api.TooLarge || problem.Hint(err) == "" {
				t.Fatalf("%s: %v", code, err)
			}
			return
		}
		again, err := input.Read(in.Text, input.Bounds{})
		if err != nil {
			t.Fatalf("%v: its own text is refused: %s", err, in.Text)
		}
		if diff := cmp.Diff(in, again, cmp.AllowUnexported(input.Contract{})); diff != "" {
			t.Fatalf("-first +second:\n%s", diff)
		}
	})
}
