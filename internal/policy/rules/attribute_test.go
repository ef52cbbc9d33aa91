package rules_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/internal/plan"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with a file below testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

// change is one created resource, as both tools write it.
func change(after, unknown, sensitive string) string {
	return `{"address": "t.x", "mode": "managed", "type": "t", "name": "x", "change": {"actions": ["create"], "before": null,
		"after": ` + after + `, "after_unknown": ` + unknown + `, "before_sensitive": false, "after_sensitive": ` + sensitive + `}}`
}

func planOf(changes ...string) string {
	return `{"format_version": "1.2", "terraform_version": "1.12.6", "planned_values": {}, "resource_changes": [` + strings.Join(changes, ",") + `]}`
}

// messages are what one rule says of a plan, without its own message.
func messages(t testing.TB, rule string, p *plan.Plan) []string {
	t.Helper()
	out := []string{}
	for _, f := range judge(t, source("r.json", rule), p).Findings {
		out = append(out, strings.TrimPrefix(f.Message, "m: "))
	}
	return out
}

// Every operator over a value in every state (seed 002, "The Concept"). The
// golden file is the table of docs: "-" is a rule that holds.
func TestOperators(t *testing.T) {
	t.Parallel()
	p := decode(t, planOf(change(`{
		"null": null, "yes": true, "no": false, "text": "abc", "digits": "5", "empty": "",
		"five": 5, "five_point": 5.0, "big": 9007199254740993, "small": -0.1,
		"list": ["abc", 5], "nothing": [], "map": {"a": 1}, "none": {},
		"partly": {"known": 1}, "secret": "hunter2", "code": 4711, "json": "{\"a\": 5}", "broken": "{\"a\": 5"
	}`, `{"later": true, "partly": {"later": true}, "parent": true, "map": {}}`, `{"secret": true, "code": true}`)))
	paths := []string{"missing", "null", "later", "parent.below", "partly", "partly.known", "partly.later", "yes", "no", "text", "digits", "empty",
		"five", "five_point", "big", "small", "list", "nothing", "map", "none", "map.a", "text.below", "list[1]", "list[2]", "list.0",
		"secret", "code", "json", "json.a", "json.b", "broken", "broken.a"}
	var b strings.Builder
	for _, op := range []struct{ name, value string }{
		{"exists", ""}, {"absent", ""}, {"eq", `"abc"`}, {"eq", `5`}, {"eq", `true`}, {"eq", `["abc",5.0]`}, {"eq", `{"known":1}`}, {"ne", `"abc"`}, {"ne", `"hunter2"`},
		{"ne", `{"a":1.0}`}, {"in", `["abc",5,false]`}, {"not_in", `["abc",5,"hunter2",{}]`}, {"matches", `"^[a-z]+$"`}, {"not_matches", `"^[a-z]+"`},
		{"lt", `5`}, {"lte", `5`}, {"gt", `9007199254740992`}, {"gte", `5`},
	} {
		for _, path := range paths {
			fields := []string{"path", fmt.Sprintf("%q", path), "op", `"` + op.name + `"`, "value", op.value}
			if op.value == "" {
				fields[len(fields)-1] = "-"
			}
			got := messages(t, with(fields...), p)
			if len(got) > 1 {
				t.Fatalf("%s: %q", path, got)
			}
			allowed := messages(t, with(append(fields, "unknown", `"allow"`)...), p)
			note := ""
			if len(got) != len(allowed) {
				note = "  [unless unknown: allow]"
			}
			fmt.Fprintf(&b, "%-48s %s%s\n", strings.TrimSpace(op.name+" "+op.value)+" @ "+path, strings.Join(append(got, "-")[:1], ""), note)
		}
		b.WriteString("\n")
	}
	golden(t, "operators.golden", b.String())
	if strings.Contains(strings.ReplaceAll(b.String(), `"hunter2" @`, ""), `is "hunter2"`) {
		t.Error("a secret is quoted")
	}
}

// Every element must satisfy, and each that does not is a finding of its own.
func TestEveryElement(t *testing.T) {
	t.Parallel()
	p := decode(t, planOf(change(`{
		"disk": [{"size": 10, "tags": [{"k": "a"}]}, {"size": 900, "tags": []}, {"size": null}, {}, {"size": 800, "tags": [{"k": "b"}, {}]}],
		"none": [], "unset": null, "text": "abc", "ports": [22, null, 443], "labels": {"a.b": "x", "c": "Y"}, "nolabels": {},
		"policy": "{\"Statement\": [{\"Effect\": \"Allow\"}, {\"Effect\": \"Deny\"}]}", "hollow": " {\"Statement\": [ ]} ", "bare": "[ ]"
	}`, `{"disk": [{}, {}, {}, {"size": true}, {}], "later": true, "ports": [false, true, false]}`, `{}`)))
	for _, test := range []struct {
		path, op, value string
		want            []string
	}{
		{"disk[*].size", "lte", "500", []string{"disk[1].size is 900, want lte 500",
			"disk[3].size is known after apply, so it cannot be checked at plan time", "disk[4].size is 800, want lte 500"}},
		{"disk[*].size", "exists", "-", []string{"disk[2].size is missing", "disk[3].size is known after apply, so it cannot be checked at plan time"}},
		{"disk[*].size", "absent", "-", []string{"disk[0].size is set to 10", "disk[1].size is set to 900",
			"disk[3].size is known after apply, so it cannot be checked at plan time", "disk[4].size is set to 800"}},
		{"disk[*].tags[*].k", "exists", "-", []string{"disk[1].tags[*].k is missing", "disk[2].tags is missing", "disk[3].tags is missing", "disk[4].tags[1].k is missing"}},
		{"disk[*].tags[*].k", "eq", `"a"`, []string{`disk[4].tags[0].k is "b", want eq "a"`}},
		{"none[*].size", "exists", "-", []string{"none[*].size is missing"}},
		{"none[*].size", "absent", "-", []string{}},
		{"none[*].size", "lte", "5", []string{}},
		{"nolabels[*]", "exists", "-", []string{"nolabels[*] is missing"}},
		{"unset[*].size", "exists", "-", []string{"unset is missing"}},
		{"unset[*].size", "lte", "5", []string{}},
		{"gone[*].size", "exists", "-", []string{"gone is missing"}},
		{"text[*]", "exists", "-", []string{"text is missing"}},
		{"later[*].size", "lte", "5", []string{"later is known after apply, so it cannot be checked at plan time"}},
		{"ports[*]", "in", "[22]", []string{"ports[1] is known after apply, so it cannot be checked at plan time", "ports[2] is 443, want in [22]"}},
		{"labels[*]", "matches", `"^[a-z]$"`, []string{`labels.c is "Y", want matches "^[a-z]$"`}},
		{`labels["a.b"]`, "eq", `"y"`, []string{`labels["a.b"] is "x", want eq "y"`}},
		{"policy.Statement[*].Effect", "eq", `"Deny"`, []string{`policy.Statement[0].Effect is "Allow", want eq "Deny"`}},
		{"policy.Statement[*].Sid", "exists", "-", []string{"policy.Statement[0].Sid is missing", "policy.Statement[1].Sid is missing"}},
		{"hollow.Statement[*].Sid", "exists", "-", []string{"hollow.Statement[*].Sid is missing"}},
		{"bare[*].Sid", "exists", "-", []string{"bare[*].Sid is missing"}},
	} {
		rule := with("path", fmt.Sprintf("%q", test.path), "op", `"`+test.op+`"`, "value", test.value)
		if diff := cmp.Diff(test.want, messages(t, rule, p)); diff != "" {
			t.Errorf("%s %s:\n%s", test.path, test.op, diff)
		}
	}
}

// Numbers are exact, whoever wrote them and how.
func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		found, op, value string
		violates         bool
	}{
		{"9007199254740993", "eq", "9007199254740992", true},
		{"9007199254740993", "gt", "9007199254740992", false},
		{"9223372036854775808", "lte", "9223372036854775807", true},
		{"9223372036854775808", "eq", "9.223372036854775808e18", false},
		{"1", "eq", "1.0", false}, {"1.0", "eq", "1", false}, {"100e-2", "in", "[1]", false}, {"-0", "eq", "0", false}, {"-0.0", "gte", "0", false},
		{"0.1", "lt", "0.10000000000000000001", false},
		{"0.30000000000000004", "eq", "0.3", true},
		{"1e400", "gt", "1e399", false}, {"1e-400", "lte", "0", true}, {"1e99999", "lt", "1e99998", true}, {"-1e99999", "lt", "0", false},
		{"123456789012345678901234567890", "lte", "123456789012345678901234567889", true},
		{"true", "lte", "5", true}, {`"3"`, "lte", "5", true}, {"[]", "lte", "5", true}, {"{}", "gt", "-1", true}, {"true", "eq", "1", true}, {"1", "eq", "true", true},
		{`"5"`, "eq", "5", true}, {"5", "not_in", `["5"]`, false}, {"1", "ne", "true", false}, {"0", "in", "[false]", true},
	} {
		p := decode(t, planOf(change(`{"n": `+test.found+`}`, `{}`, `{}`)))
		for _, name := range []string{"r.json", "r.yaml"} {
			v := judge(t, source(name, with("path", `"n"`, "op", `"`+test.op+`"`, "value", test.value)), p)
			if got := len(v.Findings) > 0; got != test.violates {
				t.Errorf("%s: %s %s %s: violates is %v", name, test.found, test.op, test.value, got)
			}
		}
	}
}

// The three unknowns that tools write: a leaf, a parent, an element that
// stands as null in the list.
func TestUnknownIsNeverAPass(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ after, unknown, path, want string }{
		{`{}`, `{"policy": true}`, "policy.Statement[*].Effect", "policy.Statement is known after apply, so it cannot be checked at plan time"},
		{`{}`, `true`, "a.b", "a.b is known after apply, so it cannot be checked at plan time"},
		{`null`, `{"a": true}`, "a.b", "a.b is known after apply, so it cannot be checked at plan time"},
		{`{"a": {"b": "x"}}`, `{"a": true}`, "a.b", "a.b is known after apply, so it cannot be checked at plan time"},
		{`{"a": ["x", null]}`, `{"a": [false, true]}`, "a[1]", "a[1] is known after apply, so it cannot be checked at plan time"},
		{`{"a": ["x", null]}`, `{"a": [false, true]}`, "a", "part of a is known after apply, so it cannot be checked at plan time"},
		{`{"a": [{"size": 200}]}`, `{"a": [{"encrypted": true}]}`, "a[*].encrypted", "a[0].encrypted is known after apply, so it cannot be checked at plan time"},
	} {
		p := decode(t, planOf(change(test.after, test.unknown, `{}`)))
		for _, op := range []string{"eq", "ne"} {
			got := messages(t, with("path", fmt.Sprintf("%q", test.path), "op", `"`+op+`"`, "value", `"x"`), p)
			if diff := cmp.Diff([]string{test.want}, got); diff != "" {
				t.Errorf("%s in %s, %s:\n%s", test.path, test.after, op, diff)
			}
			if got := messages(t, with("path", fmt.Sprintf("%q", test.path), "op", `"`+op+`"`, "value", `"x"`, "unknown", `"allow"`), p); len(got) > 0 {
				t.Errorf("%s allowed: %q", test.path, got)
			}
		}
	}
}

// What is secret is not quoted, neither as the value found nor through what
// the rule wanted.
func TestSecretsAreNotQuoted(t *testing.T) {
	t.Parallel()
	p := decode(t, planOf(change(`{"secret": "hunter22", "mirror": "x hunter22 y", "map": {"pw": "hunter22", "user": "root"}, "flag": true}`,
		`{}`, `{"secret": true, "map": {"pw": true}, "flag": true}`)))
	for _, test := range []struct{ path, op, value, want string }{
		{"secret", "eq", `"other"`, `secret is (sensitive), want eq "other"`},
		{"secret", "ne", `"hunter22"`, `secret is (sensitive), want ne (sensitive)`},
		{"secret", "not_in", `["a", "hunter22"]`, `secret is (sensitive), want not_in (sensitive)`},
		{"secret", "not_matches", `"^hunter"`, `secret is (sensitive), want not_matches (sensitive)`},
		{"secret", "absent", `-`, `secret is set to (sensitive)`},
		{"mirror", "matches", `"^y"`, `mirror is (sensitive), want matches "^y"`},
		{"map", "eq", `{"pw": "hunter22", "user": "me"}`, `map is (sensitive), want eq {"pw":"(sensitive)","user":"me"}`},
		{"flag", "eq", `false`, `flag is (sensitive), want eq false`},
		{"flag", "ne", `true`, `flag is (sensitive), want ne (sensitive)`},
	} {
		rule := with("path", fmt.Sprintf("%q", test.path), "op", `"`+test.op+`"`, "value", test.value)
		if diff := cmp.Diff([]string{test.want}, messages(t, rule, p)); diff != "" {
			t.Errorf("%s %s:\n%s", test.path, test.op, diff)
		}
	}
}

func TestLongValuesAreCut(t *testing.T) {
	t.Parallel()
	p := decode(t, planOf(change(`{"a": "`+strings.Repeat("é", 1000)+`"}`, `{}`, `{}`)))
	got := messages(t, with("path", `"a"`, "op", `"eq"`, "value", `"x"`), p)
	want := []string{`a is "` + strings.Repeat("é", 249) + `… (2002 bytes), want eq "x"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestEqualFindings: the keys of a secret are not told, so that two elements of
// it would say the same thing twice. Two that a reader can tell apart stay two.
func TestEqualFindings(t *testing.T) {
	t.Parallel()
	const rule = `[{"id":"r","level":"deny","path":"m[*].x","op":"exists","message":"m"}]`
	for _, tt := range []struct {
		name, after, sensitive string
		want                   []string
	}{
		{"by mark", `{"m":{"k-1":{},"k-2":{}}}`, `{"m":true}`, []string{"m[*].x is missing"}},
		{"by value", `{"p":"hunter1 hunter2","m":{"hunter1":{},"hunter2":{}},"q":{"a":"hunter1","b":"hunter2"}}`, `{"p":true,"q":true}`, []string{"m.(sensitive).x is missing"}},
		{"in clear", `{"m":{"k-1":{},"k-2":{}}}`, `{}`, []string{"m.k-1.x is missing", "m.k-2.x is missing"}},
	} {
		p := decode(t, planOf(change(tt.after, "{}", tt.sensitive)))
		if diff := cmp.Diff(tt.want, messages(t, rule, p)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
