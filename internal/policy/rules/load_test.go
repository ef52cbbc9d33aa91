package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/rules"
	"github.com/assize-iac/assize/internal/problem"
)

// with is an attribute rule with some of its fields replaced or added; a field
// that is "-" is left out.
func with(fields ...string) string {
	all := [][2]string{{"id", `"x"`}, {"level", `"deny"`}, {"message", `"m"`}, {"path", `"a.b"`}, {"op", `"eq"`}, {"value", `1`}}
	return compose(all, fields)
}

// checks is a rule with a check in place of an operator.
func checks(check string, fields ...string) string {
	return compose([][2]string{{"id", `"x"`}, {"level", `"deny"`}, {"message", `"m"`}, {"check", `"` + check + `"`}}, fields)
}

func compose(all [][2]string, fields []string) string {
	for i := 0; i < len(fields); i += 2 {
		found := false
		for j := range all {
			if all[j][0] == fields[i] {
				all[j][1], found = fields[i+1], true
			}
		}
		if !found {
			all = append(all, [2]string{fields[i], fields[i+1]})
		}
	}
	var parts []string
	for _, f := range all {
		if f[1] != "-" {
			parts = append(parts, `"`+f[0]+`":`+f[1])
		}
	}
	return "[{" + strings.Join(parts, ",") + "}]"
}

// pathError is what the plan package says of a path.
func pathError(path string) string {
	_, err := plan.ParsePath(path)
	return fmt.Sprint(err)
}

const allowedFields = `allowed: actions, address, check, id, level, message, mode, op, path, type, unknown, value`

type refusal struct{ name, text, want string }

// refusals are files in JSON with one mistake each.
func refusals() []refusal {
	return []refusal{
		{"unknown field", with("opp", `"eq"`), `r.json:1:74: rule "x": unknown field "opp"; ` + allowedFields + ` (did you mean "op"?)`},
		{"far from any field", with("severity", `"high"`), `r.json:1:74: rule "x": unknown field "severity"; ` + allowedFields},
		{"duplicate field", with("level", `"deny","level":"warn"`), `r.json:1:27: rule "x": duplicate field "level"`},
		{"duplicate key in value", with("value", `{"a":1,"b":{"c":1,"c":2}}`), `r.json:1:90: rule "x": duplicate key "c" in value`},
		{"no id", with("id", "-"), `r.json:1:2: rule 1: id is missing`},
		{"id of a wrong type", with("id", "7"), `r.json:1:8: rule 1: id is a number, want a string`},
		{"empty id", with("id", `" "`), `r.json:1:8: rule 1: id is empty`},
		{"id of two lines", with("id", `"a\nb"`), `r.json:1:8: rule 1: id "a\nb" holds a control character`},
		{"no level", with("level", "-"), `r.json:1:2: rule "x": level is missing; deny or warn`},
		{"unknown level", with("level", `"error"`), `r.json:1:20: rule "x": level "error" is none of deny, warn`},
		{"level in capitals", with("level", `"Deny"`), `r.json:1:20: rule "x": level "Deny" is none of deny, warn (did you mean "deny"?)`},
		{"level of a wrong type", with("level", `true`), `r.json:1:20: rule "x": level is a boolean, want a string`},
		{"no message", with("message", "-"), `r.json:1:2: rule "x": message is missing; say what the author of a change should do`},
		{"empty message", with("message", `""`), `r.json:1:37: rule "x": message is empty`},
		{"message of a wrong type", with("message", `null`), `r.json:1:37: rule "x": message is null, want a string`},
		{"both", with("check", `"no_delete"`), `r.json:1:82: rule "x": both op and check; a rule has one of them`},
		{"neither", with("op", "-"), `r.json:1:2: rule "x": neither op nor check; op compares the attribute at path, check looks at what the plan does`},
		{"unknown op", with("op", `"equals"`), `r.json:1:59: rule "x": op "equals" is none of exists, absent, eq, ne, in, not_in, matches, not_matches, lt, lte, gt, gte`},
		{"op nearly", with("op", `"match"`), `r.json:1:59: rule "x": op "match" is none of exists, absent, eq, ne, in, not_in, matches, not_matches, lt, lte, gt, gte (did you mean "matches"?)`},
		{"op of a wrong type", with("op", `["eq"]`), `r.json:1:59: rule "x": op is a list, want a string`},
		{"unknown check", checks("no_deletes"), `r.json:1:49: rule "x": check "no_deletes" is none of no_delete, no_replace, no_forget, no_import, max_deletes, module_source, checks_pass, complete_plan (did you mean "no_delete"?)`},
		{"op without path", with("path", "-"), `r.json:1:2: rule "x": path is missing; op eq needs one, such as tags.owner`},
		{"path of a wrong type", with("path", `["a"]`), `r.json:1:48: rule "x": path is a list, want a string`},
		{"path that does not parse", with("path", `"a..b"`), `r.json:1:48: rule "x": ` + pathError("a..b")},
		{"empty path", with("path", `""`), `r.json:1:48: rule "x": path is empty`},
		{"no value", with("value", "-"), `r.json:1:2: rule "x": value is missing; op eq needs one`},
		{"null value", with("value", "null"), `r.json:1:72: rule "x": value is null, which is never compared; use op absent, or op exists`},
		{"exists with a value", with("op", `"exists"`), `r.json:1:76: rule "x": op exists has no use for "value"; allowed: actions, address, id, level, message, mode, op, path, type, unknown`},
		{"absent with a value", with("op", `"absent"`), `r.json:1:76: rule "x": op absent has no use for "value"; allowed: actions, address, id, level, message, mode, op, path, type, unknown`},
		{"lte without a number", with("op", `"lte"`, "value", `"500"`), `r.json:1:73: rule "x": value is a string; op lte needs a number`},
		{"gt with a boolean", with("op", `"gt"`, "value", `true`), `r.json:1:72: rule "x": value is a boolean; op gt needs a number`},
		{"lt without a value", with("op", `"lt"`, "value", `-`), `r.json:1:2: rule "x": value is missing; op lt needs a number`},
		{"a number beyond all bounds", with("op", `"gte"`, "value", `1e999999999`), `r.json:1:73: rule "x": value 1e999999999: a number beyond 1e99999`},
		{"in without a list", with("op", `"in"`, "value", `"a"`), `r.json:1:72: rule "x": value is a string; op in needs a list of values`},
		{"in with an empty list", with("op", `"in"`, "value", `[]`), `r.json:1:72: rule "x": value is an empty list; op in needs at least one value`},
		{"not_in with null", with("op", `"not_in"`, "value", `["a",null]`), `r.json:1:81: rule "x": value is null, which is never compared; use op absent, or op exists`},
		{"matches without a string", with("op", `"matches"`), `r.json:1:77: rule "x": value is 1; op matches needs a regular expression`},
		{"matches with a list", with("op", `"matches"`, "value", `["a"]`), `r.json:1:77: rule "x": value is a list; op matches needs a regular expression`},
		{"an expression that does not compile", with("op", `"matches"`, "value", `"a("`), `r.json:1:77: rule "x": the regular expression "a(" does not compile: missing closing ): a(`},
		{"lookahead", with("op", `"matches"`, "value", `"^(?!prod)"`), `r.json:1:77: rule "x": the regular expression "^(?!prod)" does not compile: (?! is not in RE2, which knows no lookahead and no lookbehind`},
		{"lookbehind", with("op", `"not_matches"`, "value", `"(?<=a)b"`), `r.json:1:81: rule "x": the regular expression "(?<=a)b" does not compile: (?<=a)b is not in RE2, which knows no lookahead and no lookbehind`},
		{"backreference", with("op", `"matches"`, "value", `"(a)\\1"`), `r.json:1:77: rule "x": the regular expression "(a)\\1" does not compile: \1 is not in RE2, which knows no backreferences`},
		{"a repetition that is too long", with("op", `"matches"`, "value", `"a{1001}"`), `r.json:1:77: rule "x": the regular expression "a{1001}" does not compile: invalid repeat count: {1001}`},
		{"an empty expression", with("op", `"matches"`, "value", `""`), `r.json:1:77: rule "x": the regular expression "" does not compile: it is empty, and would match everything`},
		{"unknown unknown", with("unknown", `"ignore"`), `r.json:1:84: rule "x": unknown "ignore" is none of allow, deny`},
		{"unknown true", with("unknown", `true`), `r.json:1:84: rule "x": unknown is a boolean, want a string`},
		{"unknown action", with("actions", `["create","destroy"]`), `r.json:1:94: rule "x": actions "destroy" is none of no-op, create, read, update, replace, delete, forget, create,forget, forget,create`},
		{"no actions", with("actions", `[]`), `r.json:1:84: rule "x": actions is an empty list, which selects nothing; leave it out or name at least one word`},
		{"unknown mode", with("mode", `"manged"`), `r.json:1:81: rule "x": mode "manged" is none of managed, data, ephemeral (did you mean "managed"?)`},
		{"empty glob", with("type", `""`), `r.json:1:81: rule "x": type holds an empty glob`},
		{"empty glob in a list", with("address", `["a.*",""]`), `r.json:1:91: rule "x": address holds an empty glob`},
		{"no globs", with("address", `[]`), `r.json:1:84: rule "x": address is an empty list, which selects nothing; leave it out or name at least one glob`},
		{"type of a wrong type", with("type", `{}`), `r.json:1:81: rule "x": type is an object, want a string or a list of strings`},
		{"type in a list of a wrong type", with("type", `[1]`), `r.json:1:82: rule "x": type holds a number, want a string`},
		{"no_delete with a path", checks("no_delete", "path", `"a"`), `r.json:1:68: rule "x": check no_delete has no use for "path"; allowed: address, check, id, level, message, mode, type`},
		{"no_replace with unknown", checks("no_replace", "unknown", `"allow"`), `r.json:1:72: rule "x": check no_replace has no use for "unknown"; allowed: address, check, id, level, message, mode, type`},
		{"no_forget with actions", checks("no_forget", "actions", `["forget"]`), `r.json:1:71: rule "x": check no_forget has no use for "actions"; allowed: address, check, id, level, message, mode, type`},
		{"no_import with a value", checks("no_import", "value", `1`), `r.json:1:69: rule "x": check no_import has no use for "value"; allowed: address, check, id, level, message, mode, type`},
		{"max_deletes without a value", checks("max_deletes"), `r.json:1:2: rule "x": value is missing; check max_deletes needs a whole number that is not negative`},
		{"max_deletes below zero", checks("max_deletes", "value", `-1`), `r.json:1:71: rule "x": value is -1; check max_deletes needs a whole number that is not negative`},
		{"max_deletes and a half", checks("max_deletes", "value", `1.5`), `r.json:1:71: rule "x": value is 1.5; check max_deletes needs a whole number that is not negative`},
		{"max_deletes of a string", checks("max_deletes", "value", `"1"`), `r.json:1:71: rule "x": value is a string; check max_deletes needs a whole number that is not negative`},
		{"max_deletes beyond all bounds", checks("max_deletes", "value", `1e30`), `r.json:1:71: rule "x": value is 1e30; check max_deletes needs a whole number that is not negative`},
		{"module_source without a value", checks("module_source"), `r.json:1:2: rule "x": value is missing; check module_source needs a list of regular expressions`},
		{"module_source with an empty list", checks("module_source", "value", `[]`), `r.json:1:73: rule "x": value is an empty list, which no module source could match`},
		{"module_source of a number", checks("module_source", "value", `[1]`), `r.json:1:73: rule "x": value is a list; check module_source needs a list of regular expressions`},
		{"module_source with a type", checks("module_source", "value", `"^a"`, "type", `"a"`), `r.json:1:85: rule "x": check module_source has no use for "type"; allowed: address, check, id, level, message, value`},
		{"checks_pass with a mode", checks("checks_pass", "mode", `"data"`), `r.json:1:70: rule "x": check checks_pass has no use for "mode"; allowed: address, check, id, level, message, unknown`},
		{"complete_plan with an address", checks("complete_plan", "address", `"a"`), `r.json:1:75: rule "x": check complete_plan has no use for "address"; allowed: check, id, level, message`},
		{"a rule that is no object", `["no_delete"]`, `r.json:1:2: rule 1: a string, want an object`},
		{"no rules", `[]`, `r.json:1:1: no rules; a policy without rules would pass everything`},
		{"no rules below rules", `{"rules": []}`, `r.json:1:11: no rules; a policy without rules would pass everything`},
		{"rules of a wrong type", `{"rules": {}}`, `r.json:1:11: an object where the list of rules should be; a file of rules is a list of rules, or an object with "rules"`},
		{"another object", `{"format_version": "1.2"}`, `r.json:1:1: "rules" is missing; a file of rules is a list of rules, or an object with "rules"` + "\nr.json:1:2: unknown field \"format_version\"; allowed: $schema, rules"},
		{"rules twice", `{"rules": ` + with() + `, "rules": []}`, `r.json:1:87: duplicate field "rules"`},
		{"a string", `"rules"`, `r.json:1:1: a string where the list of rules should be; a file of rules is a list of rules, or an object with "rules"`},
		{"empty", " \n", `r.json:1:1: the file is empty`},
		{"a byte-order mark", "\ufeff[]", `r.json:1:1: the file starts with a byte-order mark; save it as UTF-8 without one`},
		{"not UTF-8", "[\n \"\xff\"]", `r.json:2:3: the file is not UTF-8`},
		{"a comment", "[\n  // c\n]", `r.json:2:3: not JSON: invalid character '/' looking for beginning of value`},
		{"cut short", `[{"id": "x"`, `r.json:1:11: not JSON: unexpected end of JSON input`},
		{"two documents", `[] []`, `r.json:1:4: not JSON: invalid character '[' after top-level value`},
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range refusals() {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := rules.Load(source("r.json", test.text))
			if err == nil {
				t.Fatal("it loads")
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Error(diff)
			}
			if problem.Code(err) != api.Invalid || !strings.Contains(problem.Hint(err), "assize policy schema rules") {
				t.Errorf("code %s, hint %q", problem.Code(err), problem.Hint(err))
			}
		})
	}
}

// Everything that is wrong with a policy is said at once, in the order of the
// files, across files.
func TestLoadReportsEverything(t *testing.T) {
	t.Parallel()
	src := policy.Source{Path: "policy", Files: []policy.File{
		{Name: "a.json", Data: []byte(`{
  "rules": [
    {
      "id": "one",
      "levle": "deny",
      "op": "lte",
      "path": "a.",
      "value": "5",
      "message": ""
    },
    {"level": "deny", "check": "no_delete", "message": "é", "path": "a", "op": "eq"}
  ]
}`)},
		{Name: "sub/b.yaml", Data: []byte("- id: one\n  level: warn\n  check: no_delete\n  message: m\n  mode: [managed, call]\n")},
		{Name: "c.toml", Data: []byte("x")},
	}}
	_, err := rules.Load(src)
	want := `policy/a.json:3:5: rule "one": level is missing; deny or warn
policy/a.json:5:7: rule "one": unknown field "levle"; ` + allowedFields + ` (did you mean "level"?)
policy/a.json:7:15: rule "one": ` + pathError("a.") + `
policy/a.json:8:16: rule "one": value is a string; op lte needs a number
policy/a.json:9:18: rule "one": message is empty
policy/a.json:11:5: rule 2: id is missing
policy/a.json:11:32: rule 2: both op and check; a rule has one of them
policy/sub/b.yaml:1:7: rule "one": duplicate id, first used at policy/a.json:4:13
policy/sub/b.yaml:5:19: rule "one": mode "call" is none of managed, data, ephemeral
policy/c.toml:1:1: the name does not say the format; it must end in .json, .yaml or .yml`
	if err == nil {
		t.Fatal("it loads")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
	if err := (rules.Engine{}).Check(src); err == nil || err.Error() != want {
		t.Errorf("Check says something else: %v", err)
	}
}

func TestLoadRefusesNothing(t *testing.T) {
	t.Parallel()
	_, err := rules.Load(policy.Source{Path: "policy"})
	if err == nil || err.Error() != "policy:1:1: no rules; a policy without rules would pass everything" {
		t.Errorf("got %v", err)
	}
}
