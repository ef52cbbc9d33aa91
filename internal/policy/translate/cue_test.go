package translate_test

import (
	"fmt"

	"regexp"
	"slices"
	"strings"
	"testing"

	"cuelang.org/go/cue/format"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/cueengine"
	"github.com/assize-iac/assize/internal/policy/rules"
	"github.com/assize-iac/assize/internal/policy/translate"
	"github.com/assize-iac/assize/internal/problem"
)

// asCUE compiles rules as the command does.
func asCUE(src policy.Source) (policy.Source, error) {
	loaded, err := rules.Load(src)
	if err != nil {
		return policy.Source{}, err
	}
	text, err := translate.CUE(loaded)
	return source(api.CUE, "rules.cue", text), err
}

// denied are the changes that a verdict denies, and "plan" for anything else: a
// CUE policy has no rules, and checks may have the address of a change.
func denied(src policy.Source, p *plan.Plan) []string {
	v := policy.Judge([]policy.Engine{rules.Engine{}, cueengine.New()}, src, p)
	if v.Outcome == api.Errored {
		return []string{v.Error}
	}
	text := string(src.Files[0].Data)
	isOfChecks := strings.Contains(text, "checks_pass") || strings.Contains(text, "checks?:")
	out := []string{}
	for _, f := range v.Findings {
		is := func(c plan.Change) bool { return c.Address == f.Address && c.Deposed == f.Deposed }
		switch {
		case f.Level != api.Deny:
		case slices.ContainsFunc(p.Changes, is) && !isOfChecks:
			out = append(out, strings.TrimSpace(f.Address+" "+f.Deposed))
		default:
			out = append(out, "plan")
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestCUEEdges judges one value in every state by every operator.
func TestCUEEdges(t *testing.T) {
	t.Parallel()
	states := []struct{ name, after, unknown string }{
		{"missing", `{"a":{}}`, `{}`}, {"null", `{"a":{"v":null}}`, `{}`}, {"unknown", `{"a":{}}`, `{"a":{"v":true}}`},
		{"no parent", `{}`, `{}`}, {"null parent", `{"a":null}`, `{}`}, {"unknown parent", `{}`, `{"a":true}`}, {"unknown object", `{}`, `true`}, {"no values", `null`, `{}`},
		{"text parent", `{"a":"x"}`, `{}`}, {"number parent", `{"a":5}`, `{}`}, {"list parent", `{"a":[{"v":5}]}`, `{}`},
		{"text", `{"a":{"v":"abc"}}`, `{}`}, {"digits", `{"a":{"v":"5"}}`, `{}`}, {"empty text", `{"a":{"v":""}}`, `{}`},
		{"5", `{"a":{"v":5}}`, `{}`}, {"5.0", `{"a":{"v":5.0}}`, `{}`}, {"-5", `{"a":{"v":-5}}`, `{}`}, {"5.5", `{"a":{"v":5.5}}`, `{}`},
		{"big", `{"a":{"v":9007199254740993}}`, `{}`}, {"exact", `{"a":{"v":0.1000000000000000000000000000000000000000001}}`, `{}`},
		{"true", `{"a":{"v":true}}`, `{}`}, {"false", `{"a":{"v":false}}`, `{}`},
		{"empty list", `{"a":{"v":[]}}`, `{}`}, {"list", `{"a":{"v":[5,"abc"]}}`, `{}`}, {"partly unknown list", `{"a":{"v":[5,null]}}`, `{"a":{"v":[false,true]}}`},
		{"nulls", `{"a":{"v":[null]}}`, `{}`}, {"empty object", `{"a":{"v":{}}}`, `{}`}, {"object", `{"a":{"v":{"k":5}}}`, `{}`}, {"partly unknown object", `{"a":{"v":{"k":5}}}`, `{"a":{"v":{"l":true}}}`},
		{"objects", `{"a":{"v":[{"k":5},{"k":6}]}}`, `{}`}, {"one without", `{"a":{"v":[{"k":5},{}]}}`, `{}`}, {"map of objects", `{"a":{"v":{"x":{"k":5},"y":{"k":null}}}}`, `{}`},
	}
	operators := []string{
		`"op":"exists"`, `"op":"absent"`, `"op":"eq","value":5`, `"op":"eq","value":"abc"`, `"op":"eq","value":true`, `"op":"eq","value":[5,"abc"]`, `"op":"eq","value":[]`,
		`"op":"ne","value":5`, `"op":"ne","value":"abc"`, `"op":"ne","value":false`, `"op":"in","value":[5,"abc",true]`, `"op":"in","value":[[5,"abc"],-5]`,
		`"op":"not_in","value":[5,-5,"abc","",true,false]`, `"op":"matches","value":"b"`, `"op":"not_matches","value":"^a"`,
		`"op":"lt","value":5`, `"op":"lte","value":5`, `"op":"gt","value":-5`, `"op":"gte","value":9007199254740993`, `"op":"gt","value":0.1`, `"op":"lte","value":0.1`, `"op":"lt","value":-5`,
	}
	var changes []string
	for _, s := range states {
		changes = append(changes, fmt.Sprintf(`{"address":"t.x[\"%s\"]","mode":"managed","type":"t","name":"x","change":{"actions":["create"],"after":%s,"after_unknown":%s}}`, s.name, s.after, s.unknown))
	}
	p := decodePlan(t, `{"format_version":"1.2","resource_changes":[`+strings.Join(changes, ",")+"]}")
	for _, path := range []string{"a.v", "a.v[0]", "a.v[1].k", "a.v[*]", "a.v[*].k", "a[*].v", "a", "[*][*]"} {
		for _, operator := range operators {
			for _, unknown := range []string{"", `,"unknown":"allow"`} {
				rule := fmt.Sprintf(`{"id":"r","level":"deny","message":"m","path":%q,%s%s}`, path, operator, unknown)
				src := source(api.Rules, "rules.json", "["+rule+"]")
				cue, err := asCUE(src)
				if unknown != "" && strings.Contains(path, "[*]") {
					continue // refused, see TestCUERefuses
				}
				if err != nil {
					t.Errorf("%s: %v", rule, err)
				} else if diff := cmp.Diff(denied(src, p), denied(cue, p)); diff != "" {
					t.Errorf("%s (-rules +cue):\n%s", rule, diff)
				}
			}
		}
	}
}

// TestCUEWithheld judges containers with a null that Terraform 0.14 wrote for a
// secret: nobody knows what they are equal to (docs/policy.md, rule 7).
func TestCUEWithheld(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		after, sensitive string
		denied           bool
	}{
		{`{"v":[null]}`, `{}`, false},
		{`{"v":[null]}`, `{"v":[false]}`, false},
		{`{"v":[null,1]}`, `{"v":[false,true]}`, false},
		{`{"v":[null]}`, `{"v":[true]}`, true},
		{`{"v":[null]}`, `{"v":[{"k":true}]}`, true},
		{`{"v":[null]}`, `{"v":true}`, true},
		{`{"v":[null,null]}`, `{"v":[{"a":true},false,null]}`, true},
		{`{"v":{"k":[null]}}`, `{"v":{"k":{"l":true}}}`, true},
	} {
		p := decodePlan(t, fmt.Sprintf(`{"format_version":"0.1","resource_changes":[{"address":"t.x","mode":"managed","type":"t","name":"x",
			"change":{"actions":["create"],"after":%s,"after_unknown":{},"after_sensitive":%s}}]}`, test.after, test.sensitive))
		for _, operator := range []string{`"op":"ne","value":true`, `"op":"not_in","value":["abc"]`} {
			src := source(api.Rules, "rules.json", `[{"id":"r","level":"deny","message":"m","path":"[*]",`+operator+"}]")
			cue, err := asCUE(src)
			if err != nil {
				t.Fatal(err)
			}
			for _, judge := range []policy.Source{src, cue} {
				if got := len(denied(judge, p)) > 0; got != test.denied {
					t.Errorf("%s of %s with %s: %s denies: %t, want %t", operator, test.after, test.sensitive, judge.Path, got, test.denied)
				}
			}
		}
	}
}

// looksLikeJSON finds texts that CUE cannot look into, so that it must deny.
var looksLikeJSON = regexp.MustCompile(`"(?:[\s\p{Z}\x{85}\x{feff}]|\\[tnrf]|\\u000b)*[\[{]`)

// TestCUEDeniesAsMuch judges random plans by random rules that CUE can say: it
// denies what the rules deny, and nothing else where no text holds JSON.
func TestCUEDeniesAsMuch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.Custom(randomRound).Draw(t, "round")
		p := decodePlan(t, r.Plans[0])
		p.Changes = slices.DeleteFunc(p.Changes, func(c plan.Change) bool {
			return !fits(c.After, c.AfterUnknown) || hasMark(c)
		})
		p.Deferred = slices.DeleteFunc(p.Deferred, hasMark)
		plain := *p
		plain.Changes = slices.DeleteFunc(slices.Clone(p.Changes), func(c plan.Change) bool {
			return looksLikeJSON.MatchString(plan.Quote([]any{c.Before, c.After}))
		})
		for _, rule := range r.Rules[:15] {
			src := source(api.Rules, "rules.json", "["+strings.Replace(rule, `"level":"warn"`, `"level":"deny"`, 1)+"]")
			cue, err := asCUE(src)
			if err != nil || strings.Contains(rule, "max_deletes") {
				continue // refused; and random plans delete data sources, which no tool does
			}
			if p.FormatVersion == "0.1" && strings.Contains(rule, `"unknown":"allow"`) {
				continue // a secret that became null cannot be told from what is unknown
			}
			if diff := cmp.Diff(denied(src, &plain), denied(cue, &plain)); diff != "" {
				t.Fatalf("-rules +cue:\n%s\nrule: %s\nplan: %s", diff, rule, r.Plans[0])
			}
			want, got := denied(src, p), denied(cue, p)
			if slices.ContainsFunc(want, func(address string) bool { return !slices.Contains(got, address) }) {
				t.Fatalf("rules deny %q, CUE only %q\nrule: %s\nplan: %s", want, got, rule, r.Plans[0])
			}
		}
	})
}

// hasMark finds a byte-order mark, which CUE's parser accepts nowhere: the plan
// could not be judged at all.
func hasMark(c plan.Change) bool {
	return strings.Contains(c.Address+plan.Quote([]any{c.Before, c.After}), "\ufeff")
}

// fits reports whether a map of marks has the shape of the value, as tools
// write it. The plan document has no place for marks that have none.
func fits(v, marks any) bool {
	switch m := marks.(type) {
	case []any:
		list, ok := v.([]any)
		for i := range m {
			ok = ok && i < len(list) && fits(list[i], m[i])
		}
		return ok
	case map[string]any:
		object, ok := v.(map[string]any)
		for k := range m {
			ok = ok && (fits(object[k], m[k]) || object[k] == nil && m[k] == true)
		}
		return ok
	}
	return true
}

// TestCUERefuses names each rule that CUE cannot say, and why.
func TestCUERefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ rule, want string }{
		{`"level":"warn","path":"a","op":"exists"`, "it warns"},
		{`"path":"a","op":"exists","actions":["no-op"]`, "it judges no-ops"},
		{`"path":"a.$unknown","op":"exists"`, `its path names "$unknown"`},
		{`"path":"a[100]","op":"absent"`, "an index above 99"},
		{`"path":"a.0","op":"exists"`, "a bare number"},
		{`"path":"a.0","op":"eq","value":1,"unknown":"allow"`, "a bare number"},
		{`"path":"a[*]","op":"eq","value":1,"unknown":"allow"`, "it allows unknown elements"},
		{`"path":"a.b.c.d.e.f.g.h.i.j.k.l.m","op":"exists"`, "more than 12 steps"},
		{`"check":"max_deletes","value":1,"type":"t"`, "it counts some of the changes"},
		{`"check":"max_deletes","value":1,"mode":"data"`, "it counts some of the changes"},
		{`"path":"a","op":"lt","value":1e40000`, "its number is larger or smaller"},
		{`"path":"a","op":"eq","value":{}`, "op eq compares with a list or an object"},
		{`"path":"a","op":"in","value":[1,[{"a":1}]]`, "op in compares with a list or an object"},
		{`"path":"a","op":"ne","value":[]`, "op ne compares with a list or an object"},
		{`"path":"a","op":"not_in","value":["a",[1]]`, "op not_in compares with a list or an object"},
	} {
		fields := `[{"id":"it","message":"m",` + test.rule
		if !strings.Contains(test.rule, "level") {
			fields += `,"level":"deny"`
		}
		_, err := asCUE(source(api.Rules, "rules.json", fields+`},
{"id":"other","level":"warn","message":"m","check":"no_delete"}]`))
		if err == nil || !strings.Contains(err.Error(), `rules.json:1:2: rule "it": `) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), `rules.json:2:1: rule "other"`) {
			t.Errorf("%s: %v", test.rule, err)
		}
		if problem.Code(err) != api.Invalid || !strings.Contains(problem.Hint(err), "docs/compile.md") {
			t.Errorf("%s: code %s, hint %q", test.rule, problem.Code(err), problem.Hint(err))
		}
	}
}

// TestCUERealPlans judges every real plan by the lesson, and by one rule at a
// time, because a CUE policy tells 100 violations at most.
func TestCUERealPlans(t *testing.T) {
	t.Parallel()
	plans := realPlans(t)
	all := []string{strings.Replace(string(readFile(t, root, "lesson", "rules.json")), `"warn"`, `"deny"`, 1)}
	for rule := range strings.Lines(broad) {
		if rule = strings.TrimRight(strings.TrimSpace(rule), ","); rule[0] == '{' {
			all = append(all, "["+rule+"]")
		}
	}
	for _, text := range all {
		src := source(api.Rules, "rules.json", text)
		cue, err := asCUE(src)
		if err != nil {
			t.Fatal(err)
		}
		if formatted, err := format.Source(cue.Files[0].Data); err != nil || string(formatted) != string(cue.Files[0].Data) {
			t.Errorf("cue fmt would change it: %v\n%s", err, cmp.Diff(string(cue.Files[0].Data), string(formatted)))
		}
		for path, p := range plans {
			if diff := cmp.Diff(denied(src, p), denied(cue, p)); diff != "" {
				t.Errorf("%s by %s (-rules +cue):\n%s", path, text, diff)
			}
		}
	}
}
