package cueengine_test

import (
	"testing"

	"github.com/assize-iac/assize/api"
)

// TestCopied: a helper that holds a part of the document asks no less of it
// than the document's own place (docs/policy.md, rules 29 and 30). What the
// author computes from the document is the author's own.
func TestCopied(t *testing.T) {
	t.Parallel()
	p := decode(t, `{"format_version":"1.2","resource_changes":[{"address":"a.b","mode":"managed","type":"a","name":"b",
		"change":{"actions":["create"],"before":null,"after":{"x":2,"o":{"a":1},"none":{},"text":"{\"a\":1}","list":[{"a":1}]},"after_unknown":{"u":true}}}]}`)
	for text, want := range map[string]api.Outcome{
		`changes: [...{after: {...}, _c: after & {env: "prod"}}]`:                                           api.Failed,
		`changes: [...{after: {...}, _c: after & {env: string}}]`:                                           api.Failed,
		`changes: [...{after: {...}, _c: after & {env!: "prod"}}]`:                                          api.Failed,
		`changes: [...{after: {...}, _c: after & {env: deep: "prod"}}]`:                                     api.Failed,
		`changes: [...{after: {...}, _c: after, _c: env: "prod"}]`:                                          api.Failed,
		`changes: [...{after: {...}, #c: after & {env: "prod"}}]`:                                           api.Failed,
		`changes: [...{after: {...}, _c: {after, env: "prod"}}]`:                                            api.Failed,
		`changes: [...{after: {...}, _c: after.o & {b: 1}}]`:                                                api.Failed,
		`changes: [...{after: {...}, _c: after & {o: b: 1}}]`:                                               api.Failed,
		`changes: [...{after: {...}, _c: after.none & {env: "prod"}}]`:                                      api.Failed,
		`changes: [...{A=after: {...}, _c: A & {env: "prod"}}]`:                                             api.Failed,
		`changes: [...{after: {...}, let a = after & {env: "prod"}, _c: a}]`:                                api.Failed,
		`changes: [...{after: {...}, _c: [for e in after.list {e & {b: 1}}]}]`:                              api.Failed,
		"changes: [...]\n_c: [for c in changes {c.after & {env: \"prod\"}}]":                                api.Failed,
		"changes: [...]\n_c: {for c in changes {(c.addr): c}}\n_c: \"a.b\": after: env: \"prod\"":           api.Failed,
		"changes: [...]\nfor i, c in changes {\"c\\(i)\": c.after & {env: \"prod\"}}":                       api.Failed,
		"#T: {env: \"prod\", ...}\nchanges: [...{after: {...}, _c: after & #T}]":                            api.Failed,
		"import \"encoding/json\"\nchanges: [...{after: {...}, _c: json.Unmarshal(after.text) & {b: 1}}]":   api.Failed,
		`changes: [...{after: {...}, _c: after & ({env: "prod"} | {env: "dev"})}]`:                          api.Failed,
		`changes: [...{after: {...}, _c: after & {env: "prod" | "dev"}}]`:                                   api.Failed,
		`changes: [...{after: {...}, _c: after & ({x: 2} | {x: 3})}]`:                                       api.Passed,
		`changes: [...{after: {...}, _c: [for k, v in after {v}]}]`:                                         api.Passed,
		`changes: [...{after: {...}, _c: after & {x: 2}}]`:                                                  api.Passed,
		`changes: [...{after: {...}, _c: after & {x: int, o: a: 1}}]`:                                       api.Passed,
		`changes: [...{after: {...}, _c: after & {env?: "prod", [string]: _}}]`:                             api.Passed,
		`changes: [...{after: {...}, _c: after & {env: *"prod" | string}}]`:                                 api.Passed,
		`changes: [...{addr: string, after: {...}, _c: {after, where: addr, what: "of \(addr)"}}]`:          api.Passed,
		`changes: [...{after: {...}, _c: {a: after.x, kind: "disk", o: after.o}}]`:                          api.Passed,
		`changes: [...{after: {...}, _c: {for k, v in after {(k): v}, kind: "disk"}}]`:                      api.Passed,
		"changes: [...]\n_c: [for c in changes {addr: c.addr, env: \"prod\"}]":                              api.Passed,
		"import \"encoding/json\"\nchanges: [...{after: {...}, _c: json.Unmarshal(after.text) & {a: int}}]": api.Passed,
	} {
		if v := judge(source("p.cue", text), p); v.Outcome != want {
			t.Errorf("%s: %s %s %v, want %s", text, v.Outcome, v.Error, v.Findings, want)
		}
	}
}
