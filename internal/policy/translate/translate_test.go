package translate_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/rules"
	"github.com/assize-iac/assize/internal/policy/translate"
)

var (
	update = flag.Bool("update", false, "rewrite the golden files")
	root   = filepath.Join("..", "..", "..", "testdata")
)

func readFile(t testing.TB, path ...string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestLesson proves what the hard exercise of seed 002 asks for: a block for
// each rule, with its id, level, path and operator.
func TestLesson(t *testing.T) {
	t.Parallel()
	loaded, err := rules.Load(source(api.Rules, "rules.json", string(readFile(t, root, "lesson", "rules.json"))))
	if err != nil {
		t.Fatal(err)
	}
	text, err := translate.Rego(loaded, "main")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "lesson.rego", text)
	blocks := strings.Split(text, "\n# rule: ")[1:]
	if len(blocks) != len(loaded) {
		t.Fatalf("%d blocks for %d rules", len(blocks), len(loaded))
	}
	for i, r := range loaded {
		want := []string{r.ID + "\n" + string(r.Level) + " contains ", fmt.Sprintf("\"id\": %q,", r.ID), fmt.Sprintf("\"level\": %q,", r.Level)}
		if r.Op != "" {
			want = append(want, fmt.Sprintf("\"path\": %q,", r.Path), fmt.Sprintf("\"op\": %q,", r.Op))
		} else {
			want = append(want, fmt.Sprintf("\"check\": %q,", r.Check))
		}
		for _, part := range want {
			if !strings.Contains(blocks[i], part) {
				t.Errorf("the block of %s lacks %s:\n%s", r.ID, part, blocks[i])
			}
		}
	}
	if cue, err := translate.CUE(loaded[:9]); err != nil { // the tenth warns
		t.Error(err)
	} else {
		golden(t, "lesson.cue", cue)
	}
}

// golden compares got with a file below testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(readFile(t, path)), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestCorners are cases that random plans seldom meet.
func TestCorners(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ rule, change, want string }{
		{`"path":"a[*]","op":"eq","value":1`, `"after":{"a":{"0":1,"00":1}},"after_unknown":{"a":[true]}`, "a"},
		{`"path":"a[*].b","op":"exists"`, `"after":{"a":" [ ] "}`, "a[*].b"},
		{`"path":"a[*].b","op":"exists"`, `"after":{"a":"\u00a0[]"}`, "a[*].b"},
		{`"path":"a[*].b","op":"exists"`, `"after":{"a":"\ufeff[]"}`, "a[*].b"},
		{`"path":"a[*].b","op":"exists"`, `"after":{"a":"[\u00a0]"}`, "a a[*].b"},
		{`"path":"a[*].b","op":"absent"`, `"after":{"a":"\ufeff\u2003\u000b[{\"b\":1},{}]"}`, "a[0].b"},
		{`"path":"a[*].b","op":"absent","unknown":"allow"`, `"after":{"a":"\u200b[{\"b\":1}]"}`, ""},
		{`"path":"a[*].b","op":"absent","unknown":"allow"`, `"after":{"a":{"b":1,"c":null,"d":{},"e":"{","f":" {}","g":[]}}`, "a.b a.e.b"},
		{`"path":"a[*][*]","op":"absent"`, `"after":{"a":"{\"b\":\"x\"}"}`, "a.b"},
		{`"path":"a[*]","op":"exists"`, `"after":{"a":{"b":"x"}}`, ""},
		{`"path":"a[*].b","op":"absent"`, `"after":{"a":["x"]}`, ""},
		{`"path":"a[0]","op":"absent"`, `"after":{"a":{"":1}}`, ""},
		{`"path":"a[\"\"]","op":"absent"`, `"after":{"a":{"":1}}`, `a[""]`},
		{`"path":"a[*]","op":"lt","value":1,"unknown":"allow"`, `"after":{"a":[]},"after_unknown":{"a":{"b":true}}`, "a"},
		{`"path":"a.b[*].c","op":"absent","unknown":"allow"`, `"after":{"a":[]},"after_unknown":{"a":{"b":true}}`, "a.b"},
		{`"path":"a[*].b","op":"exists"`, `"after":{"a":{"k":{},"l":{}}},"after_sensitive":{"a":true}`, "a[*].b"},
		{`"path":"a[*].b","op":"exists"`, `"after":{"a":{"k":{},"l":{}}},"after_sensitive":{"a":[true]}`, "a[*].b"},
		{`"path":"a[*].b","op":"exists"`, `"after":{"a":[{"k":{}}]},"after_sensitive":{"a":[true,false]}`, "a[0].b"},
		{`"path":"a[*].b","op":"exists"`, `"after":{"a":"{\"k\":{}}"},"after_sensitive":{"a":true}`, "a[*].b"},
		{`"path":"a.b","op":"absent"`, `"after":{"a":"{\"b\":1,\"\\u0062\":null}"}`, "a.b"},
		{`"path":"a.b","op":"absent"`, `"after":{"a":"{\"b\":null,\"x\":\"\\\"b\\\":\"}"}`, ""},
		{`"path":"a[0]","op":"absent"`, `"after":{"a":"[null,\"\\ud800\"]"}`, "a[0]"},
		{`"path":"a[0]","op":"absent"`, `"after":{"a":"[null,\"\\\\ud800\",\"\\ud83d\\ude00\"]"}`, ""},
		{`"path":"a[0]","op":"eq","value":9007199254740993`, `"after":{"a":"[9007199254740993.0]"}`, ""},
		{`"path":"a[0]","op":"eq","value":9007199254740993`, `"after":{"a":"[9007199254740992]"}`, "a[0]"},
		{`"path":"a[0]","op":"lt","value":1,"unknown":"allow"`, `"after":{"a":"[1e100000]"}`, "a[0]"},
		{`"path":"a.1","op":"eq","value":true`, `"after":{"a":[1,true]}`, ""},
		{`"path":"a.01","op":"exists"`, `"after":{"a":[1,true]}`, "a.01"},
		{`"path":"a.b","op":"eq","value":1,"unknown":"allow"`, `"after":{"a":"{\"b\":null}"},"after_sensitive":{"a":true}`, "a.b"},
		{`"path":"a.b","op":"eq","value":1,"unknown":"allow"`, `"after":{"a":{"b":null}},"after_sensitive":{"a":{"b":true}}`, "a.b"},
		{`"path":"a.b","op":"eq","value":1,"unknown":"allow"`, `"after":{"a":{"b":null}},"after_sensitive":{"a":{"c":true}}`, ""},
		{`"path":"a","op":"eq","value":{"b":null}`, `"after":{"a":{"b":null}},"after_sensitive":{"a":{"b":true}}`, "a"},
		{`"path":"a","op":"ne","value":{"b":1},"unknown":"allow"`, `"after":{"a":{"b":null}},"after_sensitive":{"a":true}`, "a"},
		{`"path":"a","op":"ne","value":true`, `"after":{"a":[null,null]},"after_sensitive":{"a":[{"a":true},false]}`, "a"},
		{`"path":"a","op":"ne","value":true`, `"after":{"a":[[null],1]},"after_sensitive":{"a":[[false,true],false]}`, "a"},
		{`"path":"a","op":"ne","value":true`, `"after":{"a":[[null],1]},"after_sensitive":{"a":[[false],{"a":true}]}`, ""},
		{`"path":"a","op":"in","value":[{"b":[null]}]`, `"after":{"a":{"b":[null]}},"after_sensitive":{"a":{"b":[false,true]}}`, "a"},
		{`"path":"a","op":"not_in","value":[1]`, `"after":{"a":"[null]"},"after_sensitive":{"a":true}`, ""},
		{`"path":"a.b","op":"ne","value":1`, `"after":{"a":"{\"b\":[null]}"},"after_sensitive":{"a":true}`, "a.b"},
		{`"path":"a","op":"ne","value":1,"unknown":"allow"`, `"after":{"a":[null]},"after_unknown":{"a":[true]},"after_sensitive":{"a":[true]}`, ""},
		{`"path":"a","op":"ne","value":1,"unknown":"allow"`, `"after":{"a":[null,null]},"after_unknown":{"a":[true]},"after_sensitive":{"a":[true,true]}`, "a"},
		{`"path":"a","op":"ne","value":1,"unknown":"allow"`, `"after":{"a":[null]},"after_unknown":{"a":[{"b":true}]},"after_sensitive":{"a":true}`, ""},
		{`"path":"a","op":"ne","value":1,"unknown":"allow"`, `"after":{"a":{"b":[1]}},"after_unknown":{"a":{"b":{"c":true}}}`, "a"},
		{`"path":"a","op":"ne","value":1,"unknown":"allow"`, `"after":{"a":{"b":[1]}},"after_unknown":{"a":{"b":[false,true],"c":true}}`, ""},
		{`"path":"[*]","op":"eq","value":1`, `"after":{"< &>":2}`, `["< &>"]`},
		{`"path":"[*][*]","op":"eq","value":1`, `"after":{"<&>":{"*":2,"a.b":2,"é":2,"\u2028":2,"\\u003c":2}}`, "<&>.é <&>.\u2028 <&>[\"*\"] <&>[\"\\\\u003c\"] <&>[\"a.b\"]"},
	} {
		src := source(api.Rules, "rules.json", `[{"id":"r","level":"deny","message":"m",`+test.rule+"}]")
		p := decodePlan(t, `{"format_version":"0.1","resource_changes":[{"address":"t.x","mode":"managed","type":"t","name":"x","change":{"actions":["create"],`+test.change+"}}]}")
		rego, err := asRego(src)
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, f := range policy.Judge(engines, src, p).Findings {
			paths = append(paths, f.Path)
		}
		slices.Sort(paths)
		if got := strings.Join(paths, " "); got != test.want {
			t.Errorf("%s, %s: the rules find %q, want %q", test.rule, test.change, got, test.want)
		}
		if diff := cmp.Diff(found(policy.Judge(engines, src, p)), found(policy.Judge(engines, rego, p))); diff != "" {
			t.Errorf("%s, %s (-rules +rego):\n%s", test.rule, test.change, diff)
		}
	}
}

// hostile are texts that end a literal, a comment or a block somewhere, or
// that look like something else.
var hostile = []string{
	`"`, `\`, "`", `\"`, "'", "\"}\n}\ndeny contains \"x\" if {\n\"", "# rule: other", "*/ /*", `\(x)`, `#"\#(x)"#`, "%s%d%%", "{{x}}", "${x}", `$"{x}"`, "]", "}", "[*]", `\u0041`, `\x41`,
	"\u2028", "\u202eabc", "\ufeff", "\u00a0", "\u200b", "\x7f", "é", "𝄞", "\U000e0001", "e\u0301", "input", "rule", "null", "true", "-1", "__close", "_set", "#x", "$unknown0", "number", "error", "METADATA", "# METADATA\n# x: [",
	"a\nb", "\n", "\t", "\r\n", "\x00", "\x1b[31m", "  spaces  ",
}

// TestHostile compiles texts that nobody should write: each rule finds what it
// is about, says what its author wrote, and nothing else comes of it.
func TestHostile(t *testing.T) {
	t.Parallel()
	var all, members []string
	for i, text := range hostile {
		id := strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return '.' // the loader refuses those
			}
			return r
		}, text)
		all = append(all, fmt.Sprintf(`{"id":%s,"level":"deny","message":%s,"type":%s,"address":%s,"path":%s,"op":"in","value":[%s]}`,
			quoted(fmt.Sprint(i, id)), quoted("m"+text+"m"), quoted("*"+text), quoted("t."+text+"?"), quoted("["+quoted(text)+"]"), quoted(text)))
		all = append(all, fmt.Sprintf(`{"id":%s,"level":"deny","message":%s,"path":%s,"op":"not_matches","value":%s}`,
			quoted(fmt.Sprint("again ", i, id)), quoted(text+"."), quoted("["+quoted(text)+"]"), quoted(regexp.QuoteMeta(text))))
		members = append(members, fmt.Sprintf(`{"address":%s,"mode":"managed","type":%s,"name":"x","change":{"actions":["create"],"after":{%s:%s},"after_unknown":{}}}`,
			quoted("t."+text+"0"), quoted(text), quoted(text), quoted(text+"!")))
	}
	src := source(api.Rules, "rules.json", "["+strings.Join(all, ",")+"]")
	p := decodePlan(t, `{"format_version":"1.2","resource_changes":[`+strings.Join(members, ",")+"]}")
	rego, file := compiled(t, src)
	want, got := policy.Judge(engines, src, p), policy.Judge(engines, rego, p)
	if diff := cmp.Diff(found(want), found(got)); diff != "" || len(want.Findings) < 2*len(hostile) {
		t.Errorf("%d findings (-rules +rego):\n%s", len(want.Findings), diff)
	}
	loaded, err := rules.Load(src)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range got.Findings {
		i := slices.IndexFunc(loaded, func(r rules.Rule) bool { return r.ID == f.Rule })
		if i < 0 || !strings.HasPrefix(f.Message, loaded[i].Message+": ") {
			t.Errorf("%q says %q", f.Rule, f.Message)
		}
	}
	input := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(input, p.Raw, 0o644); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(short(want), opa(t, file, input)); diff != "" {
		t.Errorf("-rules +opa:\n%s", diff)
	}
	cue, err := asCUE(src)
	if err != nil {
		t.Fatal(err)
	}
	p.Changes = slices.DeleteFunc(p.Changes, hasMark)
	if diff := cmp.Diff(denied(src, p), denied(cue, p)); diff != "" {
		t.Errorf("-rules +cue:\n%s", diff)
	}
}

// TestPackages refuses names that are none, whatever they would do to the file.
func TestPackages(t *testing.T) {
	t.Parallel()
	for pkg, ok := range map[string]bool{
		"main": true, "policies.disks": true, "_x.y1": true, "inputs": true,
		"": false, "a.": false, "a b": false, "a\n": false, "a-b": false, "1a": false, "a.if": false, "in": false, "input": false, "data": false, `a["b"]`: false, "main\ndeny contains 1": false, "é": false,
	} {
		text, err := translate.Rego(nil, pkg)
		if (err == nil) != ok || ok && !strings.Contains(text, "\npackage "+pkg+"\n") {
			t.Errorf("%q: %v", pkg, err)
		}
	}
}

// TestNumbersBeyondOPA refuses what opa could not load.
func TestNumbersBeyondOPA(t *testing.T) {
	t.Parallel()
	for number, ok := range map[string]bool{"1e30000": true, "-1.5e-30000": true, "1e30001": false, "1e-99999": false} {
		src := source(api.Rules, "r.json", `[{"id":"big","level":"deny","message":"m","path":"a","op":"in","value":[1,{"a":[`+number+`]}]}]`)
		_, err := asRego(src)
		if (err == nil) != ok || !ok && !strings.Contains(err.Error(), `r.json:1:2: rule "big": Rego has no number`) {
			t.Errorf("%s: %v", number, err)
		}
		if ok {
			compiled(t, src)
		}
	}
}
