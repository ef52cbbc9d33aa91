package cueengine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"
	cuejson "cuelang.org/go/encoding/json"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/cuefile"
)

// FuzzDocument: whatever stands in a plan, the document is the same in CUE.
func FuzzDocument(f *testing.F) {
	for _, seed := range []string{
		`{"close":1,"x":{"y":true}}`, `{"_hidden":1,"#def":2,"__close":3,"$x":4,"a-b":5,"":6,"if":7,"true":8,"null":9,"let":10,"string":11,"_":12}`,
		`"\u0000\u001f\u007f\u2028\ud83d\ude00 \\( \\(x) #\"\"# '''"`, "\"multi\\nline \\\"\\\"\\\" text\"", `[1,[2,[]],{}]`,
		`9007199254740993`, `1e400`, `-0.0000001`, `123456789012345678901234567890.5`, `1E5`, `{"$unknown":true}`, `{"$unknown":"x"}`, `null`, `false`,
	} {
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, after string, unknown bool) {
		raw := fmt.Sprintf(`{"format_version":"1.2","resource_changes":[{"address":"a.b","mode":"managed","type":"a","name":"b",
			"change":{"actions":["create"],"before":null,"after":{"v":%s,"close":1},"after_unknown":{"u":%t}}}]}`, after, unknown)
		p, err := plan.Decode([]byte(raw))
		if err != nil {
			return // no plan
		}
		d, err := newDocument(p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.onePart().value.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(numbers(t, p.DocumentJSON(plan.Labels{})), numbers(t, got)); diff != "" {
			t.Errorf("(-document +cue):\n%s", diff)
		}
	})
}

// numbers decodes JSON so that numbers compare by what they are: CUE writes
// them in a spelling of its own.
func numbers(t *testing.T, text []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return spelled(v)
}

func spelled(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = spelled(e)
		}
	case []any:
		for i, e := range v {
			v[i] = spelled(e)
		}
	case json.Number:
		return cuecontext.New().CompileString(string(v)+" + 0.0").IncompleteKind().String() + fmt.Sprint(cuecontext.New().CompileString(string(v)+" * 1.0"))
	}
	return v
}

// TestDetails: findings say what CUE prints, in its order.
func TestDetails(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"create", "delete", "destroy"} {
		for _, file := range glob(t, "../../../testdata/cue/policy/*.cue") {
			d := readDocument(t, "../../../testdata/cue/"+name+".json")
			r := readRule(t, file)
			want := ""
			p := d.onePart()
			if err := p.value.Unify(r.Value(p.ctx)).Validate(cue.Concrete(true)); err != nil {
				want = errors.Details(err, nil)
			}
			if diff := cmp.Diff(want, printed(d.findings(r, mustJudge(t, d, r)))); diff != "" {
				t.Errorf("%s on %s (-cue +findings):\n%s", file, name, diff)
			}
		}
	}
}

func printed(findings []api.Finding) string {
	var b strings.Builder
	for _, f := range findings {
		b.WriteString(f.Message)
		if len(f.Positions) > 0 {
			b.WriteString(":\n    " + strings.Join(f.Positions, "\n    "))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestChunks: a large plan in pieces is judged as it would be in one.
func TestChunks(t *testing.T) {
	t.Parallel()
	const n = 83
	raw := manyChanges(n)
	for name, text := range map[string]string{
		"positions": `changes: [...{type: string, if type == "random_pet" {after: keepers: owner: =~"^team-"}}]`,
		"errors":    `changes: [...{addr: string, action: string, after: n: int, if after.n > 70 {error("\(addr) is too large")}}]`,
		"added":     `changes: [...{after: keepers: env: "prod"}]`,
		"guards":    "import \"strings\"\n_low: 20\nchanges: [...{type: string, addr: string, if strings.HasSuffix(addr, \"7]\") {after: n: >_low}}]",
		"holds":     `changes: [...{action: "create"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRule(t, text)
			if !r.Elementwise() {
				t.Fatal("not elementwise")
			}
			whole, chunked := newTestDocument(t, raw), newTestDocument(t, raw)
			chunked.wholeUpTo, chunked.chunkSize = 10, 8
			want, got := mustJudge(t, whole, r), mustJudge(t, chunked, r)
			if diff := cmp.Diff(whole.findings(r, want), chunked.findings(r, got)); diff != "" {
				t.Errorf("findings (-whole +chunks):\n%s", diff)
			}
			if diff := cmp.Diff(want.matched, got.matched); diff != "" {
				t.Errorf("matched (-whole +chunks):\n%s", diff)
			}
			if chunked.whole != nil {
				t.Error("it was judged in one piece")
			}
		})
	}
}

// TestChunksOfCorpus: every policy of the conformance corpus that may be judged
// in pieces says the same of its plan, and of a larger one, in pieces of any size.
func TestChunksOfCorpus(t *testing.T) {
	t.Parallel()
	judged := 0
	for _, path := range glob(t, "../testdata/conformance/*.txtar") {
		ar, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for _, f := range ar.Files {
			files[f.Name] = string(f.Data)
		}
		src := policy.Source{Path: "p.cue", Language: api.CUE, Files: []policy.File{{Name: "p.cue", Data: []byte(files["policy.cue"])}}}
		rules, err := cuefile.Load(src)
		if err != nil || !rules[0].Elementwise() {
			continue
		}
		for _, raw := range []string{`{"format_version":"1.2","resource_changes":` + files["changes.json"] + "}", manyChanges(9)} {
			p, err := plan.Decode([]byte(raw))
			if err != nil {
				continue // a case with a whole plan, or with none
			}
			judged++
			for size := 1; size <= 4; size += 3 {
				if diff := cmp.Diff(inChunks(t, p, rules[0], len(p.Changes)), inChunks(t, p, rules[0], size)); diff != "" {
					t.Errorf("%s in pieces of %d (-whole +chunks):\n%s", path, size, diff)
				}
			}
		}
	}
	if judged < 100 {
		t.Errorf("only %d plans were judged", judged)
	}
}

func mustJudge(t *testing.T, d *document, r cuefile.Rule) outcome {
	t.Helper()
	o, err := d.judge(r)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func inChunks(t *testing.T, p *plan.Plan, r cuefile.Rule, size int) []any {
	t.Helper()
	d, err := newDocument(p)
	if err != nil {
		t.Fatal(err)
	}
	d.chunkSize = size
	if size < len(p.Changes) {
		d.wholeUpTo = 0
	}
	o := mustJudge(t, d, r)
	return []any{d.findings(r, o), d.notes(r, o), o.matched, o.total}
}

// manyChanges is a plan whose changes differ in size, so that positions do.
func manyChanges(n int) string {
	var list []string
	for i := range n {
		owner := []string{`"team-a"`, `"sales"`, `null`}[i%3]
		list = append(list, fmt.Sprintf(`{"address":"random_pet.p[%d]","mode":"managed","type":"random_pet","name":"p","index":%d,
			"change":{"actions":["create"],"before":null,"after":{"n":%d,"keepers":{"owner":%s}},"after_unknown":{"id":true}}}`, i, i, i, owner))
	}
	return `{"format_version":"1.2","resource_changes":[` + strings.Join(list, ",") + `]}`
}

// What looks at the list as a whole is never cut.
func TestElementwise(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`changes: [...{action: "create"}]`:                                               true,
		"package p\n_x: 1\n#Y: {a: 1}\nlet Z = 3\nchanges: [...{after: n: <Z}]":          true,
		`"changes": [...{action: "create"}]`:                                             true,
		`changes: [{action: "create"}, ...]`:                                             false,
		`changes: [...{action: "create"}] & [_, ...]`:                                    false,
		"changes: [...]\n_n: len(changes)":                                               false,
		"changes: [...{action: \"create\"}]\n_n: len(changes)":                           false,
		"changes: [...{action: \"create\"}]\nsummary: create: <5":                        false,
		"import \"list\"\nchanges: [...{action: \"create\"}]\nchanges: list.MaxItems(3)": false,
		"C=changes: [...{action: \"create\"}]\n_n: C[0]":                                 false,
		"changes: [...{action: \"create\"}]\nif true {summary: create: 1}":               false,
		"changes?: [...{action: \"create\"}]":                                            false,
	} {
		file := newRule(t, text)
		if got := file.Elementwise(); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}

// TestPublishedDefinition: #Plan, which authors read and vet with, takes the
// document of every real plan and no misspelt field.
func TestPublishedDefinition(t *testing.T) {
	t.Parallel()
	ctx := cuecontext.New()
	def := ctx.CompileString(api.DocumentCUE(), cue.Filename("document.cue")).LookupPath(cue.ParsePath("#Plan"))
	if err := def.Err(); err != nil {
		t.Fatal(err)
	}
	plans := 0
	for _, path := range append(glob(t, "../../../testdata/plans/*.json"), glob(t, "../../../testdata/cue/*.json")...) {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Decode(raw)
		if err != nil {
			continue // a state, an errored plan
		}
		plans++
		x, err := cuejson.Extract("plan", p.DocumentJSON(plan.Labels{}))
		if err != nil {
			t.Fatal(err)
		}
		doc := ctx.BuildExpr(x)
		if err := def.Unify(doc).Validate(cue.Concrete(true)); err != nil {
			t.Errorf("%s:\n%s", path, errors.Details(err, nil))
		}
		typo := doc.Unify(ctx.CompileString("summary: destory: 0"))
		if err := def.Unify(typo).Validate(); err == nil || !strings.Contains(err.Error(), "summary.destory: field not allowed") {
			t.Errorf("%s: a misspelt field is allowed: %v", path, err)
		}
	}
	if plans < 10 {
		t.Errorf("only %d plans were looked at", plans)
	}
}

func (d *document) onePart() part {
	for p, err := range d.parts(cuefile.Rule{}) {
		if err == nil {
			return p
		}
	}
	panic("no part")
}

func newTestDocument(t *testing.T, raw string) *document {
	t.Helper()
	p, err := plan.Decode([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDocument(p)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func readDocument(t *testing.T, path string) *document {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return newTestDocument(t, string(raw))
}

func readRule(t *testing.T, path string) cuefile.Rule {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return newRule(t, string(data))
}

func newRule(t *testing.T, text string) cuefile.Rule {
	t.Helper()
	rules, err := cuefile.Load(policy.Source{Path: "p.cue", Language: api.CUE, Files: []policy.File{{Name: "p.cue", Data: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	return rules[0]
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("nothing at %s: %v", pattern, err)
	}
	return paths
}
