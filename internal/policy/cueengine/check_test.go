package cueengine_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/cueengine"
	"github.com/assize-iac/assize/internal/problem"
)

// TestCheck is every way in which a file cannot be used. Judging says the same.
func TestCheck(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, policy, want string }{
		{"empty", "", "the file is empty"},
		{"blank", " \n\t\n", "the file is empty"},
		{"comments", "// TO BE WRITTEN\n", "the file holds no rule"},
		{"only a package", "package policy\n", "the file holds no rule"},
		{"only helpers", "_x: string\n#Y: 1\nlet Z = 2\n", "the file holds no rule"},
		{"a specification", "package estate\nsummary: destroy: 0\n", "package estate is a specification, not a policy (policy/p.cue:1:1)"},
		{"an empty struct", "{}", "the file holds no rule"},
		{"top", "_", "the file holds no rule"},
		{"an ellipsis", "...", "the file holds no rule"},
		{"a pattern of anything", "[string]: _", "the file holds no rule"},
		{"a field of anything", "summary: _", "the file holds no rule"},
		{"an open list", "changes: [...]", "the file holds no rule"},
		{"a list of anything", "changes: [..._]", "the file holds no rule"},
		{"an embedded helper", "{_x: 1}", "the file holds no rule"},
		{"a guard that is false", "if false {summary: destroy: 0}", "the file holds no rule"},
		{"or nothing", "{summary: destroy: 0} | {}", "the file holds no rule"},
		{"or anything by default", "{summary: destroy: 0} | *{summary: _}", "the file holds no rule"},
		{"syntax", "changes: [...{addr: string}]\nsyntax error here\n",
			"it does not compile: expected label or ':', found 'IDENT' error (policy/p.cue:2:8)"},
		{"undeclared", "changes: [...{\n\tif action == \"delete\" {error(\"no\")}\n}]\n",
			`it does not compile: reference "action" not found (policy/p.cue:2:5)`},
		{"unused import", "import \"strings\"\nsummary: destroy: 0\n",
			`it does not compile: imported and not used: "strings" (policy/p.cue:1:8)`},
		{"unknown import", "import \"stringz\"\nx: stringz.X\n",
			`it does not compile: builtin package "stringz" undefined (policy/p.cue:1:8)`},
		{"import of a module", "import \"github.com/foo/bar\"\nx: bar.y\n",
			`import "github.com/foo/bar" is outside the CUE standard library (policy/p.cue:1:8)`},
		{"import of a domain alone", "import \"example.com:x\"\ny: x.y\n",
			`import "example.com:x" is outside the CUE standard library (policy/p.cue:1:8)`},
		{"import of a relative path", "import \"./x\"\ny: x.y\n",
			`import "./x" is outside the CUE standard library (policy/p.cue:1:8)`},
		{"import of a tool", "import \"tool/exec\"\nx: exec.Run & {cmd: \"id\"}\n",
			`import "tool/exec" is outside the CUE standard library (policy/p.cue:1:8)`},
		{"import of the tool package", "import \"tool\"\nx: tool.Command\n",
			`import "tool" is outside the CUE standard library (policy/p.cue:1:8)`},
		{"embed", "@extern(embed)\npackage p\nx: _ @embed(file=/etc/passwd,type=text)\n",
			"the attribute @extern is not allowed in a policy (policy/p.cue:1:1)"},
		{"embed below", "summary: {destroy: _ @embed(file=\"x\")}\n",
			"the attribute @embed is not allowed in a policy (policy/p.cue:1:22)"},
		{"experiment", "@experiment(try)\nsummary: destroy: 0\n",
			"the attribute @experiment is not allowed in a policy (policy/p.cue:1:1)"},
		{"condition", "@if(prod)\npackage p\nsummary: destroy: 0\n",
			"the attribute @if is not allowed in a policy (policy/p.cue:1:1)"},
		{"regexp", `changes: [...{addr: =~"("}]`,
			"error parsing regexp: missing closing ): `(` (policy/p.cue:1:23)"},
		{"negated regexp", `changes: [...{addr: !~"[z-a]"}]`,
			"error parsing regexp: invalid character class range: `z-a` (policy/p.cue:1:23)"},
		{"regexp in a guard", `changes: [...{addr: string, if addr =~ #"a\d("# {error("no")}}]`,
			"error parsing regexp: missing closing ): `a\\d(` (policy/p.cue:1:40)"},
		{"matchN", `changes: [...{after: matchN(1, [{tags: env: "prod"}])}]`, "matchN also holds of what the plan does not show (policy/p.cue:1:22)"},
		{"matchIf by another name", "_m: matchIf\nchanges: [...{after: _m({a: 1}, {b: 1}, _)}]", "matchIf also holds of what the plan does not show (policy/p.cue:1:5)"},
		{"list.MatchN", "import l \"list\"\nchanges: l.MatchN(0, {after: id: \"x\"})", "list.MatchN also holds of what the plan does not show (policy/p.cue:2:10)"},
		{"no UTF-8", "summary: \"\xff\": 0\n", "it does not compile: illegal UTF-8 encoding (policy/p.cue:1:11)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			src := source("policy/p.cue", tt.policy)
			err := policy.Check([]policy.Engine{cueengine.New()}, src)
			if err == nil {
				t.Fatal("accepted")
			}
			want := "policy policy/p.cue cannot be used: " + tt.want
			if diff := cmp.Diff(want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if problem.Code(err) != api.Invalid {
				t.Errorf("code %s", problem.Code(err))
			}
			if v := judge(src, readPlan(t, "create")); v.Outcome != api.Errored || v.Error != err.Error() {
				t.Errorf("judged: %s %q", v.Outcome, v.Error)
			}
		})
	}
}

func TestCheckAccepts(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a policy that alone is in error":        "changes: [...]\nif len(changes) == 0 {error(\"an empty plan\")}\n",
		"documentation and attributes":           "// Why.\nsummary: destroy: 0 @owner(platform)\n",
		"a value that may be absent":             "complete: _\n",
		"presence further down":                  "changes: [...{after: id: _}]\n",
		"a private constraint over the document": "changes: [...]\n_x: [for c in changes {c.after.x & 1}]\n",
		"a pattern at the top":                   "[=~\"^x_\"]: string\n",
		"a field called like a built-in":         "changes: [...{matchN?: 1, after: matchIf: 2}]\n",
		"a disjunction at the top":               "{summary: destroy: 0} | {summary: create: 0}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := cueengine.New().Check(source("p.cue", text)); err != nil {
				t.Error(err)
			}
		})
	}
	if err := cueengine.New().Check(policy.Source{Path: "policy", Language: api.CUE}); err == nil {
		t.Error("a policy without files is accepted")
	}
}

// TestVersion: a verdict names the evaluator that go.mod pins.
func TestVersion(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if want := "cuelang.org/go " + cueengine.Version + "\n"; !strings.Contains(strings.ReplaceAll(string(mod), " // indirect", ""), want) {
		t.Errorf("go.mod has no line %q", want)
	}
}

// FuzzCheck: any text is a policy that can be judged, or is refused by name.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		"changes: [...{action: !=\"delete\"}]", "import \"list\"\nchanges: list.MaxItems(2)", "@if(x)\npackage p\n", "x: =~\"(\"", "\xff", "{", "#A: {a: #A}\nb: #A",
		"let X = 1", "\"\\(x)\": 1", "[string]: _", "if true {a: 1}", "import \"a.b\"\n", "X=a: 1", "(\"a\"): 1", "...", "_", "1", "a: b: c: [...{d?: >1}]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		err := policy.Check([]policy.Engine{cueengine.New()}, source("p.cue", text))
		if err != nil && !strings.HasPrefix(err.Error(), "policy p.cue cannot be used: ") {
			t.Errorf("%q: %v", text, err)
		}
	})
}
