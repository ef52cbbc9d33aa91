package rules_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/internal/policy/rules"
)

// inYAML is a rule whose value is given in YAML.
func inYAML(op, value string) string {
	return "- id: x\n  level: deny\n  path: a\n  op: " + op + "\n  message: m\n  value: " + value + "\n"
}

func TestYAMLValues(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		op, yaml string
		want     any
	}{
		{"eq", "9007199254740993", json.Number("9007199254740993")},
		{"eq", "123456789012345678901234567890", json.Number("123456789012345678901234567890")},
		{"eq", "1.50", json.Number("1.5")},
		{"eq", "1.0", json.Number("1")},
		{"eq", "1e3", json.Number("1000")},
		{"eq", "-0", json.Number("0")},
		{"eq", "-5 # a comment", json.Number("-5")},
		{"eq", `"5"`, "5"},
		{"eq", "'0777'", "0777"},
		{"eq", "yes", "yes"}, // strings in YAML 1.2
		{"eq", "no", "no"},
		{"eq", "on", "on"},
		{"eq", "Off", "Off"},
		{"eq", "y", "y"},
		{"eq", "true", true},
		{"eq", "False", false},
		{"eq", `"true"`, "true"},
		{"eq", "2026-03-02", "2026-03-02"},
		{"eq", "12:30", "12:30"},
		{"eq", "1.2.3", "1.2.3"},
		{"eq", "a b\n    c", "a b c"},
		{"eq", "|\n    a\n    b", "a\nb\n"},
		{"eq", ">-\n    a\n    b", "a b"},
		{"eq", `"\u00e9\n\x41"`, "é\nA"},
		{"eq", "'it''s'", "it's"},
		{"eq", "{a: [1, yes], b: {}}", map[string]any{"a": []any{json.Number("1"), "yes"}, "b": map[string]any{}}},
		{"eq", "\n    a: ~\n    b:\n    c: null", map[string]any{"a": nil, "b": nil, "c": nil}},
		{"in", "[dev, 'prod', 3]", []any{"dev", "prod", json.Number("3")}},
		{"in", "[arn:aws:iam, git::https://a/b, a#b]", []any{"arn:aws:iam", "git::https://a/b", "a#b"}},
		{"in", "\n  - dev\n  - [a]\n", []any{"dev", []any{"a"}}},
	} {
		loaded, err := rules.Load(source("r.yaml", inYAML(test.op, test.yaml)))
		if err != nil {
			t.Errorf("%q: %v", test.yaml, err)
			continue
		}
		if diff := cmp.Diff(test.want, loaded[0].Value); diff != "" {
			t.Errorf("%q:\n%s", test.yaml, diff)
		}
	}
}

func TestYAMLRefuses(t *testing.T) {
	t.Parallel()
	ambiguous := " can be read in more than one way; write a plain decimal number, or put it in quotes"
	for _, test := range []struct{ name, text, want string }{
		{"octal, or not", inYAML("eq", "0777"), "r.yml:6:10: 0777" + ambiguous},
		{"octal", inYAML("eq", "0o777"), "r.yml:6:10: 0o777" + ambiguous},
		{"hexadecimal", inYAML("eq", "0x1F"), "r.yml:6:10: 0x1F" + ambiguous},
		{"underscores", inYAML("eq", "1_000"), "r.yml:6:10: 1_000" + ambiguous},
		{"plus", inYAML("eq", "+1"), "r.yml:6:10: +1" + ambiguous},
		{"no digit before the point", inYAML("eq", ".5"), "r.yml:6:10: .5" + ambiguous},
		{"infinity", inYAML("lte", ".inf"), "r.yml:6:10: .inf" + ambiguous},
		{"no number", inYAML("lte", ".nan"), "r.yml:6:10: .nan" + ambiguous},
		{"an anchor", inYAML("eq", "&a 1"), "r.yml:6:10: anchors, aliases, merge keys and tags are not read here; write the value out"},
		{"an alias", inYAML("eq", "*a"), "r.yml:1:1: not YAML: unknown anchor 'a' referenced"},
		{"a tag", inYAML("eq", "!!str 1"), "r.yml:6:10: anchors, aliases, merge keys and tags are not read here; write the value out"},
		{"a merge key", inYAML("eq", "{<<: {a: 1}}"), "r.yml:6:11: anchors, aliases, merge keys and tags are not read here; write the value out"},
		{"a key that is a number", inYAML("eq", "{1: a}"), "r.yml:6:11: a key is a number, want a string; put it in quotes"},
		{"a key that is a boolean", inYAML("eq", "{true: a}"), "r.yml:6:11: a key is a boolean, want a string; put it in quotes"},
		{"two documents", "- id: x\n---\n- id: y\n", "r.yml:3:1: a second document; a file has one"},
		{"nothing but a comment", "# rules\n", "r.yml:1:1: the file is empty"},
		{"a tab", "- id: x\n\tlevel: deny\n", "r.yml:2:1: not YAML: found a tab character that violates indentation"},
		{"not closed", "- id: [a\n", "r.yml:1:1: not YAML: did not find expected ',' or ']'"},
		{"id that is a number", "- id: 5\n  level: warn\n  check: complete_plan\n  message: m\n", "r.yml:1:7: rule 1: id is a number, want a string"},
		{"duplicate fields", "- id: x\n  level: warn\n  check: no_delete\n  message: m\n  level: deny\n  \"message\": n\n",
			"r.yml:5:3: rule \"x\": duplicate field \"level\"\nr.yml:6:3: rule \"x\": duplicate field \"message\""},
		{"duplicate keys in a value", inYAML("eq", "{a: 1, a: 1}"), `r.yml:6:17: rule "x": duplicate key "a" in value`},
		{"deep", strings.Repeat("[", 20_000), "r.yml:1:1: not YAML: exceeded max depth of 10000"},
		{"large", "# " + strings.Repeat("x", 4<<20), "r.yml:1:1: the file has 4194306 bytes, at most 4194304 are read; split it into several"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := rules.Load(source("r.yml", test.text))
			if err == nil {
				t.Fatal("it loads")
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// JSON and YAML say the same.
func TestYAMLIsJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		with(), with("op", `"in"`, "value", "[1,\"a\\u00e9\\n\",true,{\"b\":[]},9007199254740993]"),
		checks("max_deletes", "value", "3"), checks("module_source", "value", `"^\\./"`, "address", `["module.a","module.b*"]`),
		"{\n\t\"rules\":\n\t\t" + with("type", `"aws_*"`) + "\n}\n",
	} {
		var got []string
		for _, name := range []string{"r.json", "r.yaml"} {
			loaded, err := rules.Load(source(name, text))
			if err != nil {
				t.Fatal(err)
			}
			r := loaded[0]
			r.Position = strings.Replace(r.Position, "r.yaml", "r.json", 1)
			got = append(got, describe(r))
		}
		if diff := cmp.Diff(got[0], got[1]); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
	}
}

func TestYAMLForms(t *testing.T) {
	t.Parallel()
	body := "id: x\r\n    level: deny # why not\r\n    check: no_delete\r\n    message: >\r\n      two\r\n      lines\r\n"
	for _, text := range []string{
		"---\r\nrules:\r\n  - " + body, "# rules\r\nrules:\r\n  -\r\n    " + body, "  - " + body, "$schema: x\r\nrules:\r\n  - " + body + "...\r\n",
	} {
		loaded, err := rules.Load(source("r.yaml", text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if r := loaded[0]; r.ID != "x" || r.Level != "deny" || r.Check != rules.NoDelete || r.Message != "two lines" {
			t.Errorf("%q: %s", text, describe(r))
		}
	}
}

// describe is everything about a rule that can be exported.
func describe(r rules.Rule) string {
	text, _ := json.Marshal(r)
	for _, g := range append(r.Types, r.Addresses...) {
		text = append(text, " "+g.String()...)
	}
	return string(text)
}
