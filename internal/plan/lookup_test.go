package plan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/internal/plan"
)

func path(t interface {
	Helper()
	Fatalf(string, ...any)
}, text string) plan.Path {
	t.Helper()
	p, err := plan.ParsePath(text)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return p
}

func TestLookup(t *testing.T) {
	t.Parallel()
	num := func(text string) any { return json.Number(text) }
	present := func(path string, v any) plan.Found { return plan.Found{Path: path, State: plan.Present, Value: v} }
	state := func(path string, s plan.State) plan.Found { return plan.Found{Path: path, State: s} }
	sensitive := func(f plan.Found) plan.Found { f.Sensitive = true; return f }
	misfit := func(path string) plan.Found {
		return plan.Found{Path: path, State: plan.Unknown, Reason: "marked as unknown in another shape than it has"}
	}
	const inner = "text that looks like JSON and is not"
	tests := []struct {
		name, change, path string
		want               []plan.Found
	}{
		// Present, missing, null.
		{"leaf", `"after":{"tags":{"owner":"x"}}`, "tags.owner", []plan.Found{present("tags.owner", "x")}},
		{"absent", `"after":{"tags":{}}`, "tags.owner", []plan.Found{state("tags.owner", plan.Missing)}},
		{"null", `"after":{"tags":{"owner":null}}`, "tags.owner", []plan.Found{state("tags.owner", plan.Null)}},
		{"below null", `"after":{"tags":null}`, "tags.owner", []plan.Found{state("tags.owner", plan.Missing)}},
		{"below a scalar", `"after":{"tags":7}`, "tags.owner", []plan.Found{state("tags.owner", plan.Missing)}},
		{"false", `"after":{"on":false}`, "on", []plan.Found{present("on", false)}},
		{"empty text", `"after":{"s":""}`, "s", []plan.Found{present("s", "")}},
		{"empty list", `"after":{"l":[]}`, "l", []plan.Found{present("l", []any{})}},
		{"empty object", `"after":{"o":{}}`, "o", []plan.Found{present("o", map[string]any{})}},
		{"no after", `"before":{"a":1},"after":null`, "a", []plan.Found{state("a", plan.Missing)}},
		{"dotted key", `"after":{"tags":{"kubernetes.io/name":"x","kubernetes":{"io/name":"y"}}}`, `tags["kubernetes.io/name"]`, []plan.Found{present(`tags["kubernetes.io/name"]`, "x")}},
		{"empty key", `"after":{"m":{"":1}}`, `m[""]`, []plan.Found{present(`m[""]`, num("1"))}},
		{"one spelling", `"after":{"n":1.0}`, "n", []plan.Found{present("n", num("1"))}},
		{"large integer", `"after":{"n":9007199254740993}`, "n", []plan.Found{present("n", num("9007199254740993"))}},

		// Lists.
		{"index", `"after":{"d":[{"size":1},{"size":2}]}`, "d[1].size", []plan.Found{present("d[1].size", num("2"))}},
		{"bare number", `"after":{"d":[{"size":1}]}`, "d.0.size", []plan.Found{present("d.0.size", num("1"))}},
		{"bare number in an object", `"after":{"d":{"0":"x"}}`, "d.0", []plan.Found{present("d.0", "x")}},
		{"index in an object", `"after":{"d":{"0":"x"}}`, "d[0]", []plan.Found{state("d[0]", plan.Missing)}},
		{"past the end", `"after":{"d":[]}`, "d[0].size", []plan.Found{state("d[0].size", plan.Missing)}},
		{"key in a list", `"after":{"d":[{"size":1}]}`, "d.size", []plan.Found{state("d.size", plan.Missing)}},
		{"no other spelling of a number", `"after":{"d":[1]}`, "d.00", []plan.Found{state("d.00", plan.Missing)}},

		// Every element.
		{"each", `"after":{"d":[{"size":1},{},{"size":null}]}`, "d[*].size", []plan.Found{
			present("d[0].size", num("1")), state("d[1].size", plan.Missing), state("d[2].size", plan.Null)}},
		{"each of none", `"after":{"d":[]}`, "d[*].size", nil},
		{"each of a missing list", `"after":{}`, "d[*].size", []plan.Found{state("d", plan.Missing)}},
		{"each of null", `"after":{"d":null}`, "d[*].size", []plan.Found{state("d", plan.Null)}},
		{"each of null with a mark", `"after":{"d":null},"after_unknown":{"d":[]}`, "d[*].size", []plan.Found{state("d", plan.Null)}},
		{"each of a scalar", `"after":{"d":"x"}`, "d[*].size", []plan.Found{state("d", plan.Missing)}},
		{"each of a scalar with a mark", `"after":{"d":"x"},"after_unknown":{"d":{}}`, "d[*].size", []plan.Found{state("d", plan.Missing)}},
		{"each below null", `"after":{"a":null}`, "a.d[*].size", []plan.Found{state("a.d", plan.Missing)}},
		{"each value of an object", `"after":{"m":{"b.c":2,"a":1}}`, "m[*]", []plan.Found{present("m.a", num("1")), present(`m["b.c"]`, num("2"))}},
		{"each value of an object that is secret", `"after":{"m":{"k-1":{"x":1}}},"after_sensitive":{"m":true}`, "m[*].x", []plan.Found{sensitive(present("m[*].x", num("1")))}},
		{"below each value of an object, where one is no object", `"after":{"m":{"a":{"x":1},"b":"x","c":null,"d":[2]}}`, "m[*].x", []plan.Found{
			present("m.a.x", num("1")), {Path: "m.b", State: plan.Unknown, Reason: "no object"}, state("m.c.x", plan.Missing), state("m.d.x", plan.Missing)}},
		{"below each element of a list, where one is no object", `"after":{"l":["x"]}`, "l[*].x", []plan.Found{state("l[0].x", plan.Missing)}},
		{"one object in place of a list, inside text", `"after":{"policy":"{\"Statement\":{\"Action\":\"*\"}}"}`, "policy.Statement[*].Action", []plan.Found{
			{Path: "policy.Statement.Action", State: plan.Unknown, Reason: "no object"}}},
		{"each of each", `"after":{"d":[{"p":[1,2]},{"p":[]},{"p":[3]}]}`, "d[*].p[*]", []plan.Found{
			present("d[0].p[0]", num("1")), present("d[0].p[1]", num("2")), present("d[2].p[0]", num("3"))}},

		// Unknown (docs/policy.md, rule 7).
		{"unknown", `"after":{},"after_unknown":{"policy":true}`, "policy", []plan.Found{state("policy", plan.Unknown)}},
		{"unknown prefix", `"after":{"input":{"name":"x"}},"after_unknown":{"input":true}`, "input.name", []plan.Found{state("input.name", plan.Unknown)}},
		{"all is unknown", `"after":{"a":1},"after_unknown":true`, "a.b[*].c", []plan.Found{state("a.b", plan.Unknown)}},
		{"known beside unknown", `"after":{"root_block_device":[{"size":200}]},"after_unknown":{"root_block_device":[{"encrypted":true}]}`,
			"root_block_device[*].size", []plan.Found{present("root_block_device[0].size", num("200"))}},
		{"unknown beside known", `"after":{"root_block_device":[{"size":200}]},"after_unknown":{"root_block_device":[{"encrypted":true}]}`,
			"root_block_device[0].encrypted", []plan.Found{state("root_block_device[0].encrypted", plan.Unknown)}},
		{"partly unknown", `"after":{"m":{"l":"known"}},"after_unknown":{"m":{"k":true}}`, "m",
			[]plan.Found{{Path: "m", State: plan.Present, Value: map[string]any{"l": "known"}, Partial: true}}},
		{"partly marked in another shape", `"after":{"m":{"l":[1]}},"after_unknown":{"m":{"l":{"x":true}}}`, "m",
			[]plan.Found{{Path: "m", State: plan.Present, Value: map[string]any{"l": []any{num("1")}}, Partial: true, Reason: misfit("").Reason}}},
		{"each of a partly unknown object", `"after":{"m":{"l":"known"}},"after_unknown":{"m":{"k":true,"z":false}}`, "m[*]",
			[]plan.Found{state("m.k", plan.Unknown), present("m.l", "known")}},
		{"null at an unknown index", `"after":{"l":["hello",null,"world",null]},"after_unknown":{"l":[false,true,false,false]}`, "l[*]", []plan.Found{
			present("l[0]", "hello"), state("l[1]", plan.Unknown), present("l[2]", "world"), state("l[3]", plan.Null)}},
		{"more unknown than known", `"after":{"l":["a"]},"after_unknown":{"l":[false,{"x":true}]}`, "l[*].x", []plan.Found{
			state("l[0].x", plan.Missing), state("l[1].x", plan.Unknown)}},
		{"each of an unknown list", `"after":{},"after_unknown":{"d":true}`, "d[*].size", []plan.Found{state("d", plan.Unknown)}},
		{"an unknown block that was a list", `"before":{"b":[1]},"after":{},"after_unknown":{"b":true}`, "b[*]", []plan.Found{state("b", plan.Unknown)}},
		{"unknown below what is not there", `"after":{},"after_unknown":{"b":[{"x":true}]}`, "b", []plan.Found{state("b", plan.Unknown)}},
		{"unknown below null", `"after":{"b":null},"after_unknown":{"b":{"x":true}}`, "b", []plan.Found{state("b", plan.Unknown)}},
		{"marks that say nothing", `"after":{"a":1},"after_unknown":{"a":false,"b":{},"c":[],"d":null}`, "b", []plan.Found{state("b", plan.Missing)}},
		{"index in an object with an empty key", `"after":{"m":{"":1}},"after_unknown":{"n":{"":true}},"after_sensitive":{"m":{"":true}}`, "m[0]", []plan.Found{state("m[0]", plan.Missing)}},
		{"index in an unknown object with an empty key", `"after":{},"after_unknown":{"n":{"":true}}`, "n[0]", []plan.Found{state("n[0]", plan.Missing)}},
		{"marks of another shape than a list", `"after":{"x":[]},"after_unknown":{"x":{"a":true}}`, "x[*]", []plan.Found{misfit("x")}},
		{"marks of another shape than the elements", `"after":{"x":[{"a":1}]},"after_unknown":{"x":{"0":{"a":true}}}`, "x[*].a", []plan.Found{misfit("x")}},
		{"marks of another shape than an object", `"after":{"x":{"a":1}},"after_unknown":{"x":[true]}`, "x.a", []plan.Found{misfit("x.a")}},
		{"marks below a scalar", `"after":{"x":"y"},"after_unknown":{"x":{"a":true}}`, "x", []plan.Found{misfit("x")}},
		{"marks of another shape at the root", `"after":{"x":1},"after_unknown":[true]`, "x", []plan.Found{misfit("x")}},
		{"marks of another shape that say nothing", `"after":{"x":[1]},"after_unknown":{"x":{"a":false}}`, "x[*]", []plan.Found{present("x[0]", num("1"))}},
		{"a mark is no text", `"after":{},"after_unknown":{"a":"true"}`, "a", []plan.Found{state("a", plan.Missing)}},
		{"sensitive and unknown", `"after":{},"after_unknown":{"x":true},"after_sensitive":{"x":{}}`, "x[*]", []plan.Found{state("x", plan.Unknown)}},

		// Sensitive (docs/policy.md, rule 8).
		{"marked", `"after":{"p":"hunter2"},"after_sensitive":{"p":true}`, "p", []plan.Found{sensitive(present("p", "hunter2"))}},
		{"marked at the root", `"after":{"p":"hunter2"},"after_sensitive":true`, "p", []plan.Found{sensitive(present("p", "hunter2"))}},
		{"marked in a list", `"after":{"l":["ok","hunter2"]},"after_sensitive":{"l":[false,true]}`, "l[*]", []plan.Found{present("l[0]", "ok"), sensitive(present("l[1]", "hunter2"))}},
		{"a parent in a list is marked", `"after":{"l":[{"p":"hunter2"}]},"after_sensitive":{"l":[true]}`, "l[0].p", []plan.Found{sensitive(present("l[0].p", "hunter2"))}},
		{"a container of one", `"after":{"o":{"p":"hunter2"}},"after_sensitive":{"o":{"p":true}}`, "o", []plan.Found{sensitive(present("o", map[string]any{"p": "hunter2"}))}},
		{"beside one", `"after":{"o":{"p":"hunter2","q":"x"}},"after_sensitive":{"o":{"p":true}}`, "o.q", []plan.Found{present("o.q", "x")}},
		{"an unmarked copy", `"after":{"input":"hunter2","output":"hunter2"},"after_sensitive":{"input":true}`, "output", []plan.Found{sensitive(present("output", "hunter2"))}},
		{"an unmarked part", `"after":{"input":"hunter2","url":"pg://u:hunter2@h"},"after_sensitive":{"input":true}`, "url", []plan.Found{sensitive(present("url", "pg://u:hunter2@h"))}},
		{"an unmarked key", `"after":{"input":"hunter2","m":{"hunter2":1}},"after_sensitive":{"input":true}`, "m", []plan.Found{sensitive(present("m", map[string]any{"hunter2": num("1")}))}},
		{"sensitive only before", `"before":{"p":"hunter2"},"after":{"p":"hunter2"},"before_sensitive":{"p":true},"after_sensitive":{}`, "p", []plan.Found{sensitive(present("p", "hunter2"))}},
		{"a set with coarser marks", `"after":{"s":[{"p":"hunter2"},{"p":"hunter3"}]},"after_sensitive":{"s":[{"p":true}]}`, "s[1].p", []plan.Found{sensitive(present("s[1].p", "hunter3"))}},
		{"marked in another shape", `"after":{"l":["no"]},"after_sensitive":{"l":{"0":true}}`, "l[*]", []plan.Found{sensitive(present("l[0]", "no"))}},
		{"marked in another shape, an object", `"after":{"o":{"p":true}},"after_sensitive":{"o":[true]}`, "o.p", []plan.Found{sensitive(present("o.p", true))}},
		{"marks that mark nothing, in another shape", `"after":{"l":["a","b"]},"after_sensitive":{"l":[false],"x":[true]}`, "l[1]", []plan.Found{present("l[1]", "b")}},
		{"marked below a scalar", `"after":{"b":true},"after_sensitive":{"b":{"x":true}}`, "b", []plan.Found{sensitive(present("b", true))}},
		{"a set with coarser marks and no texts", `"after":{"s":[true,false]},"after_sensitive":{"s":[true]}`, "s[1]", []plan.Found{sensitive(present("s[1]", false))}},
		{"marked null", `"after":{"p":null},"after_sensitive":{"p":true}`, "p", []plan.Found{sensitive(state("p", plan.Null))}},
		{"marked and absent", `"after":{},"after_sensitive":{"p":true}`, "p", []plan.Found{sensitive(state("p", plan.Missing))}},
		{"a secret number", `"after":{"pin":12345,"port":12345},"after_sensitive":{"pin":true}`, "port", []plan.Found{sensitive(present("port", num("12345")))}},

		// JSON inside strings (docs/policy.md, rule 12).
		{"inside text", `"after":{"policy":" {\"Statement\":[{\"Effect\":\"Allow\",\"n\":1.0}]}"}`, "policy.Statement[*].Effect", []plan.Found{present("policy.Statement[0].Effect", "Allow")}},
		{"a number inside text", `"after":{"policy":"{\"n\":1.0}"}`, "policy.n", []plan.Found{present("policy.n", num("1"))}},
		{"a list inside text", `"after":{"l":"[1,null]"}`, "l[*]", []plan.Found{present("l[0]", num("1")), state("l[1]", plan.Null)}},
		{"inside text behind unusual space", `"after":{"a":"\ufeff\u00a0\u000b{\"b\":1}"}`, "a.b", []plan.Found{present("a.b", num("1"))}},
		{"text inside text", `"after":{"a":"{\"b\":\"{\\\"c\\\":1}\"}"}`, "a.b.c", []plan.Found{present("a.b.c", num("1"))}},
		{"not inside text", `"after":{"policy":"{}"}`, "policy.x", []plan.Found{state("policy.x", plan.Missing)}},
		{"the text itself", `"after":{"policy":"{}"}`, "policy", []plan.Found{present("policy", "{}")}},
		{"text that is no JSON", `"after":{"name":"x"}`, "name.x", []plan.Found{state("name.x", plan.Missing)}},
		{"text with a mistake", `"after":{"policy":"{\"a\":}"}`, "policy.a", []plan.Found{{Path: "policy.a", State: plan.Unknown, Reason: inner}}},
		{"text that says a thing twice", `"after":{"policy":"{\"Action\":\"s3:Get\",\"Action\":\"*\"}"}`, "policy.Action", []plan.Found{{Path: "policy.Action", State: plan.Unknown, Reason: inner}}},
		{"text with more behind", `"after":{"policy":"{} {}"}`, "policy.a[*]", []plan.Found{{Path: "policy.a", State: plan.Unknown, Reason: inner}}},
		{"secret text", `"after":{"s":"{\"user\":\"u\",\"p\":\"x\"}"},"after_sensitive":{"s":true}`, "s.user", []plan.Found{sensitive(present("s.user", "u"))}},
		{"unknown text", `"after":{},"after_unknown":{"policy":true}`, "policy.Statement[*].Effect", []plan.Found{state("policy.Statement", plan.Unknown)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := decode(t, one(tt.change))
			if diff := cmp.Diff(tt.want, p.Lookup(&p.Changes[0], path(t, tt.path))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestLookupRedacted reads a plan of a version that printed null for secrets.
func TestLookupRedacted(t *testing.T) {
	t.Parallel()
	p := decode(t, `{"format_version":"0.1","terraform_version":"0.14.0","resource_changes":[{"address":"a.b","change":{"actions":["create"],
		"after":{"p":null,"q":null,"l":[null],"m":{"k":[null]},"u":[null]},"after_unknown":{"u":[true]},
		"after_sensitive":{"p":true,"l":[true],"m":{"k":{"x":true}},"u":[true]}}}]}`)
	const why = "removed from the plan because it is sensitive"
	var got []plan.Found
	for _, text := range []string{"p", "p.below", "p[*].below", "l[*]", "q", "q.below", "l", "m", "u"} {
		got = append(got, p.Lookup(&p.Changes[0], path(t, text))...)
	}
	want := []plan.Found{
		{Path: "p", State: plan.Unknown, Sensitive: true, Reason: why},
		{Path: "p.below", State: plan.Unknown, Sensitive: true, Reason: why},
		{Path: "p", State: plan.Unknown, Sensitive: true, Reason: why},
		{Path: "l[0]", State: plan.Unknown, Sensitive: true, Reason: why},
		{Path: "q", State: plan.Null},
		{Path: "q.below", State: plan.Missing},
		{Path: "l", State: plan.Present, Value: []any{nil}, Sensitive: true, Partial: true, Reason: why},
		{Path: "m", State: plan.Present, Value: map[string]any{"k": []any{nil}}, Sensitive: true, Partial: true, Reason: why},
		{Path: "u", State: plan.Present, Value: []any{nil}, Sensitive: true, Partial: true},
	}
	if text := string(p.DocumentJSON(plan.Labels{})); !strings.Contains(text, `"after":{"l":[{"$unknown":true}],"m":{"k":[{"$unknown":true}]},"p":{"$unknown":true},"q":null,"u":[{"$unknown":true}]}`) {
		t.Errorf("the document says otherwise: %s", text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLookupBefore(t *testing.T) {
	t.Parallel()
	p := decode(t, one(`"before":{"a":1,"p":"hunter2"},"after":{"a":2},"before_sensitive":{"p":true},"after_unknown":{"p":true}`))
	got := append(p.LookupBefore(&p.Changes[0], path(t, "a")), p.LookupBefore(&p.Changes[0], path(t, "p"))...)
	want := []plan.Found{
		{Path: "a", State: plan.Present, Value: json.Number("1")},
		{Path: "p", State: plan.Present, Value: "hunter2", Sensitive: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestLookupReal looks at the values of a real plan in all four states.
func TestLookupReal(t *testing.T) {
	t.Parallel()
	p := decode(t, string(realPlans(t)["tofu1126-create"]))
	find := func(address, text string) []plan.Found {
		for i := range p.Changes {
			if p.Changes[i].Address == address {
				return p.Lookup(&p.Changes[i], path(t, text))
			}
		}
		t.Fatalf("no %s", address)
		return nil
	}
	tests := []struct {
		address, path string
		state         plan.State
		value         any
	}{
		{"terraform_data.nums", "input.big", plan.Present, json.Number("9007199254740993")},
		{"terraform_data.nums", "input.exp", plan.Present, json.Number("1000000000000000000000000000000")},
		{"terraform_data.nums", "input.str", plan.Present, "1000"},
		{"terraform_data.nums", "input.n", plan.Null, nil},
		{"terraform_data.nums", "input.absent", plan.Missing, nil},
		{"terraform_data.unknown_whole", "input.size", plan.Unknown, nil},
		{"terraform_data.unknown_mixed", "input.list[1]", plan.Unknown, nil},
		{"terraform_data.unknown_mixed", "input.list[2]", plan.Null, nil},
		{"terraform_data.unknown_mixed", "input.map.k", plan.Unknown, nil},
		{"terraform_data.unknown_mixed", "input.map.l", plan.Present, "known"},
		{`module.web["b.c"].terraform_data.leaf["a.b"]`, "id", plan.Unknown, nil},
	}
	for _, tt := range tests {
		got := find(tt.address, tt.path)
		if len(got) != 1 || got[0].State != tt.state || !cmp.Equal(got[0].Value, tt.value) {
			t.Errorf("%s %s: got %+v", tt.address, tt.path, got)
		}
	}
}

func TestParsePath(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text, canonical string
		want            plan.Path
	}{
		{"tags.owner", "tags.owner", plan.Path{{Key: "tags"}, {Key: "owner"}}},
		{`tags["a.b/c"].x`, `tags["a.b/c"].x`, plan.Path{{Key: "tags"}, {Key: "a.b/c"}, {Key: "x"}}},
		{`["tags"]`, "tags", plan.Path{{Key: "tags"}}},
		{`a["q\"]\u00e9"]`, `a["q\"]é"]`, plan.Path{{Key: "a"}, {Key: `q"]é`}}},
		{"disk[0].size", "disk[0].size", plan.Path{{Key: "disk"}, {Index: 0, Kind: plan.Index}, {Key: "size"}}},
		{"disk.0.size", "disk.0.size", plan.Path{{Key: "disk"}, {Key: "0"}, {Key: "size"}}},
		{"disk[*][12]", "disk[*][12]", plan.Path{{Key: "disk"}, {Kind: plan.Each}, {Index: 12, Kind: plan.Index}}},
		{"[*].a", "[*].a", plan.Path{{Kind: plan.Each}, {Key: "a"}}},
		{"kebab-key.under_score/x:y@z", "kebab-key.under_score/x:y@z", plan.Path{{Key: "kebab-key"}, {Key: "under_score/x:y@z"}}},
		{"größe.日本", "größe.日本", plan.Path{{Key: "größe"}, {Key: "日本"}}},
		{`a["*"]`, `a["*"]`, plan.Path{{Key: "a"}, {Key: "*"}}},
		{`a[""]`, `a[""]`, plan.Path{{Key: "a"}, {Key: ""}}},
		{`a["new\nline"]`, `a["new\nline"]`, plan.Path{{Key: "a"}, {Key: "new\nline"}}},
	}
	for _, tt := range tests {
		got, err := plan.ParsePath(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.text, diff)
		}
		if got.String() != tt.canonical {
			t.Errorf("%s: String is %s", tt.text, got)
		}
	}
	for _, text := range []string{"", ".", ".a", "a.", "a..b", "a.[0]", "a[", "a[]", "a[0", "a]", "a[0]b", "a[-1]", "a[00]", "a[1.5]",
		"a[99999999999999999999]", "a[x]", `a["x]`, `a["x"`, `a["x"]b`, `a["\x"]`, "a[ 0 ]", "a b", " a", "a.*", "*", `a"b`, `a\b`, "a\n", "\xff", `a["` + "\xff" + `"]`} {
		if got, err := plan.ParsePath(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}

// TestPathString holds for every path: it reads as it is written.
func TestPathString(t *testing.T) {
	t.Parallel()
	step := rapid.Custom(func(t *rapid.T) plan.Step {
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			return plan.Step{Kind: plan.Each}
		case 1:
			return plan.Step{Kind: plan.Index, Index: rapid.IntRange(0, 1_000_000).Draw(t, "index")}
		default:
			return plan.Step{Key: rapid.String().Draw(t, "key")}
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		want := plan.Path(rapid.SliceOfN(step, 1, 5).Draw(t, "path"))
		if got := path(t, want.String()); !cmp.Equal(want, got) {
			t.Fatalf("%s: got %#v, want %#v", want, got, want)
		}
	})
}

func TestQuote(t *testing.T) {
	t.Parallel()
	got := plan.Quote(map[string]any{"b": json.Number("9007199254740993"), "a": "<&>\n\"", "c": []any{nil, true}})
	if want := `{"a":"<&>\n\"","b":9007199254740993,"c":[null,true]}`; got != want {
		t.Errorf("got %s", got)
	}
}

// TestLookupInSecretText: what stands in a text that is secret by value is
// secret too, where no mark says so and however short it is.
func TestLookupInSecretText(t *testing.T) {
	t.Parallel()
	p := decode(t, one(`"after":{"marked":"{\"pin\":12}","mirror":"{\"pin\":12}"},"after_sensitive":{"marked":true}`))
	for _, f := range p.Lookup(&p.Changes[0], path(t, "mirror.pin")) {
		if f.State != plan.Present || !f.Sensitive {
			t.Errorf("%+v, want it present and sensitive", f)
		}
	}
}
