package confine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/confine"
	"github.com/assize-iac/assize/internal/policy/cueengine"
	"github.com/assize-iac/assize/internal/policy/input"
	"github.com/assize-iac/assize/internal/policy/regoengine"
)

// bombs are policies of the two languages that need more than there is: each
// is small, legal, and found no bound in its engine.
var bombs = []struct {
	name     string
	language api.Language
	text     string
}{
	{"cue range", api.CUE, "import \"list\"\n_x: list.Range(0, 30000000, 1)\nsummary: create: <len(_x)"},
	{"cue loops", api.CUE, "import \"list\"\n_r: list.Range(0, 3000, 1)\nsummary: create: <len([for a in _r for b in _r {a * b}])"},
	{"cue doubling", api.CUE, doubling("_s%d: _s%d + _s%d\n", `_s0: "xxxxxxxx"`) + "created: !=_s40"},
	{"cue doubled lists", api.CUE, "import \"list\"\n" + doubling("_s%d: list.Concat([_s%d, _s%d])\n", `_s0: [1, 2, 3]`) + "summary: create: <len(_s40)"},
	{"cue alternatives", api.CUE, alternatives(28) + "summary: create: <len(_x)"},
	{"cue in a template", api.CUE, "import \"list\"\nchanges: [...{_x: list.Range(0, 20000000, 1), addr: string, if len(_x) > 1 {addr: !=\"\"}}]"},

	{"rego range", api.Rego, rego(`n := numbers.range(1, 1000000000); count(n) == 0`)},
	{"rego loops", api.Rego, rego(`r := numbers.range(1, 3000); n := [z | x := r[_]; y := r[_]; z := x * y]; count(n) == 0`)},
	{"rego replace", api.Rego, rego(`s0 := "xxxxxxxxxx"` + doublingRego(12, `s%d := replace(s%d, "x", "xxxxxxxxxx")`) + `; s12 == ""`)},
	{"rego concat", api.Rego, rego(`s0 := [1, 2, 3]` + doublingRego(40, `s%d := array.concat(s%[2]d, s%[2]d)`) + `; count(s40) == 0`)},
	// Seed 000: "timeout, resource limit, or evaluator failure produces the error outcome".
	{"decision of much memory", api.Rego, decision(`n := numbers.range(1, 1000000000); count(n) == 0`)},
	{"decision of much time", api.Rego, decision(`r := numbers.range(1, 3000); n := [z | x := r[_]; y := r[_]; z := x * y]; count(n) == 0`)},
	{"decision too large", api.Rego, "package assize.v1\ndecision := {\"findings\": numbers.range(1, 1000000000)}"},

	{"rego walk", api.Rego, rego(`r := numbers.range(1, 2000000); n := [[p, q] | walk(r, p); walk(r, q)]; count(n) == 0`)},
}

func doubling(step, first string) string {
	var b strings.Builder
	fmt.Fprintln(&b, first)
	for i := 1; i <= 40; i++ {
		fmt.Fprintf(&b, step, i, i-1, i-1)
	}
	return b.String()
}

func doublingRego(n int, step string) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "; "+step, i, i-1)
	}
	return b.String()
}

func alternatives(n int) string {
	var b strings.Builder
	b.WriteString("_x: ")
	for i := range n {
		fmt.Fprintf(&b, "({a%d: 1} | {a%d: 2, b%d: 1}) & ", i, i, i)
	}
	return b.String() + "_\n"
}

// decision is rego under the decision contract.
func decision(body string) string {
	return "package assize.v1\ndecision := {\"findings\": []} if { " + body + " }\n"
}

func rego(body string) string {
	return "package main\nimport rego.v1\ndeny contains \"no\" if { " + body + " }\n"
}

// duds look like bombs, and some engine has a bound for them. They must not
// pass either.
var duds = []struct {
	name     string
	language api.Language
	text     string
}{
	{"cue power", api.CUE, "import \"math\"\nsummary: create: <math.Pow(7, 300000000)"},
	{"cue repeat", api.CUE, "import \"strings\"\ncreated: !=strings.Repeat(\"x\", 1000000000000)"},
	{"cue structural recursion", api.CUE, "#A: {n: #A}\nsummary: x: #A"},
	{"cue large expression", api.CUE, `changes: [...{addr: =~"((a{100}){100}){100}"}]`},
	{"cue nesting", api.CUE, "summary: create: " + strings.Repeat("(", 1000000)},
	{"cue lists in lists", api.CUE, "summary: create: " + strings.Repeat("[", 200000) + strings.Repeat("]", 200000)},
	{"rego number", api.Rego, rego(`units.parse_bytes("1e999999") == 0`)},
	{"rego large expression", api.Rego, rego(`regex.match("((a{100}){100}){100}", "a")`)},
	{"rego nesting", api.Rego, rego(strings.Repeat("(", 1000000))},
}

// TestBombs: every one ends errored, in time.
func TestBombs(t *testing.T) {
	t.Parallel()
	limits := confine.Limits{Memory: 192 << 20, CPU: time.Second, Wall: 10 * time.Second}
	confined := []policy.Engine{confine.New(cueengine.New(), limits), confine.New(regoengine.New(), limits)}
	p := thePlan(t)
	for _, d := range duds {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			v := policy.Judge(confined, bombOf(d.language, d.text), p)
			if v.Outcome == api.Passed {
				t.Error("passed")
			}
			t.Log(v.Outcome, v.Error, v.Findings)
		})
	}
	for _, b := range bombs {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			v := policy.Judge(confined, bombOf(b.language, b.text), p)
			if took := time.Since(start); took > limits.Wall+time.Second {
				t.Errorf("took %v", took)
			}
			if v.Outcome != api.Errored || !strings.HasPrefix(v.Error, "could not judge: the policy ") {
				t.Errorf("%s: %s %v", v.Outcome, v.Error, v.Findings)
			}
		})
	}
}

func bombOf(language api.Language, text string) policy.Source {
	return policy.Source{
		Path: "p", Language: language, Files: []policy.File{{Name: "p." + string(language), Data: []byte(text)}},
		Run: policy.Run{From: input.Provenance{
			Kind: api.ManualRun, Source: api.InputSource{WorkingDirectory: "."}, Subject: api.InputSubject{ID: "."},
		}},
	}
}

// TestConfinedDecision: where a plan came from reaches the child, and what the
// verdict is bound to comes back.
func TestConfinedDecision(t *testing.T) {
	t.Parallel()
	src := bombOf(api.Rego, `package assize.v1
decision := {"findings": [{"id": input.source.commit_sha, "title": input.stack.id, "message": input.stack.metadata.note, "details": {"n": 9007199254740993}}]}`)
	sha := strings.Repeat("0", 40)
	src.Run.From = input.Provenance{
		Kind: api.TrackedRun, Source: api.InputSource{CommitSHA: &sha, RepositoryID: "7", WorkingDirectory: "infra"},
		Subject: api.InputSubject{ID: "infra", Metadata: map[string]string{"note": "<&>\u2028note"}},
	}
	p := thePlan(t)
	confined := policy.Judge([]policy.Engine{confine.New(regoengine.New(), confine.Limits{})}, src, p)
	if diff := cmp.Diff(policy.Judge([]policy.Engine{regoengine.New()}, src, p), confined); diff != "" || confined.Outcome != api.Failed {
		t.Errorf("%s %s (-here +confined):\n%s", confined.Outcome, confined.Error, diff)
	}
	if confined.Contract == nil || confined.Contract.PolicyInput == "" {
		t.Errorf("bound to %+v", confined.Contract)
	}
	src.Run.Bounds = input.Bounds{Depth: 1}
	if v := policy.Judge([]policy.Engine{confine.New(regoengine.New(), confine.Limits{})}, src, p); !strings.Contains(v.Error, "the bound depth is 1, below the contract's 64") {
		t.Errorf("bounds do not reach the child: %s", v.Error)
	}
	src.Run.Bounds = input.Bounds{}
	src.Run.From.Secrets = input.Canaries{{Name: "NOTE", Value: "<&>\u2028note"}}
	if v := policy.Judge([]policy.Engine{confine.New(regoengine.New(), confine.Limits{})}, src, p); !strings.Contains(v.Error, "the policy input holds the declared secret NOTE") {
		t.Errorf("declared secrets do not reach the child: %s", v.Error)
	}
}
