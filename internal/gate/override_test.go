package gate_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/gate"
	"github.com/assize-iac/assize/internal/problem"
)

func granted(t testing.TB, w api.Warrant) api.Overrides {
	t.Helper()
	doc, err := gate.Override(w, gate.Grant{Actor: "alice", Justification: " INFRA-2214\n", Expires: created.Add(4 * time.Hour)}, created)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// overridden are facts that are allowed because of one override.
func overriddenFacts(t testing.TB) gate.Facts {
	t.Helper()
	verdicts := []api.Verdict{verdict(api.Passed, api.HardMandatory), said()}
	w := sealed(t, verdicts...)
	return gate.Facts{
		Sealed: w, Now: binding(), Policies: 2, Verdicts: verdicts, Place: place,
		Overrides: granted(t, w).Overrides, At: created.Add(time.Hour),
	}
}

func messages(d gate.Decision) string {
	var all []string
	for _, r := range d.Refusals() {
		all = append(all, r.What+": "+r.Message+" ["+r.Hint+"]")
	}
	return strings.Join(all, "\n")
}

func TestOverridden(t *testing.T) {
	t.Parallel()
	f := overriddenFacts(t)
	d := gate.Decide(f)
	if !d.Allowed() {
		t.Fatalf("refused: %s", messages(d))
	}
	want := api.Override{
		Run: run, Plan: digest("1"), Policy: "policy/no-delete.cue", PolicyDigest: digest("a"), Result: resultDigest(t, said()),
		Actor: "alice", Justification: "INFRA-2214", Created: "2026-11-30T11:00:00Z", Expires: "2026-11-30T15:00:00Z",
	}
	if diff := cmp.Diff([]api.Override{want}, d.Overrides()); diff != "" {
		t.Error(diff)
	}
}

func TestDecideOnOverrides(t *testing.T) {
	t.Parallel()
	const name = "override: the policy policy/no-delete.cue (sha256:aaaaaaaaaaaa) needs an override: "
	override := func(change func(*api.Override)) func(*gate.Facts) {
		return func(f *gate.Facts) { change(&f.Overrides[0]) }
	}
	for _, tc := range []struct {
		name string
		move func(*gate.Facts)
		want string
	}{
		{"none", func(f *gate.Facts) { f.Overrides = nil }, name + "there is none [assize override]"},
		{"of another run", override(func(o *api.Override) { o.Run = "run_f" }), name + "the one that is there is for another plan [assize override]"},
		{"of another plan", override(func(o *api.Override) { o.Plan = digest("f") }), name + "the one that is there is for another plan [assize override]"},
		{"of another policy", override(func(o *api.Override) { o.Policy = "policy/other.cue" }), name + "there is none [assize override]"},
		{"of another version", override(func(o *api.Override) { o.PolicyDigest = digest("f") }),
			name + "the one that is there is for another version of the policy [assize override]"},
		{"of another result", override(func(o *api.Override) { o.Result = digest("f") }),
			name + "the one that is there is for something else that the policy has said [assize override]"},
		{"without a reason", override(func(o *api.Override) { o.Justification = "" }),
			name + "the one that is there has no justification of 1 to 2,000 characters [assize override]"},
		{"without a name", override(func(o *api.Override) { o.Actor = "" }), name + "the one that is there does not say who made it, in 1 to 200 characters [assize override]"},
		{"without an end", override(func(o *api.Override) { o.Expires = "" }), name + "the one that is there has no times [assize override]"},
		{"for too long", override(func(o *api.Override) { o.Expires = "2026-12-01T11:00:01Z" }),
			name + "the one that is there lasts more than 24 hours [assize override]"},
		{"at its end", func(f *gate.Facts) { f.At = created.Add(4 * time.Hour) }, name + "the one that is there ended at 2026-11-30T15:00:00Z [assize override]"},
		{"before its beginning", func(f *gate.Facts) { f.At = created.Add(-time.Second) },
			name + "the one that is there was made in the future, at 2026-11-30T11:00:00Z [assize override]"},
		{"a policy that says something else by now", func(f *gate.Facts) { f.Verdicts[1].Findings[0].Message = "never" },
			name + "the one that is there is for something else that the policy has said [assize plan]"},
		{"a hard failure", func(f *gate.Facts) { f.Verdicts[1].Enforcement = api.HardMandatory },
			"policy: the plan violates the policy policy/no-delete.cue (sha256:aaaaaaaaaaaa) [change the configuration and run assize plan]"},
		{"an error", func(f *gate.Facts) { f.Verdicts[1].Outcome = api.Errored },
			"policy: the policy policy/no-delete.cue (sha256:aaaaaaaaaaaa) could not judge the plan: it gave no outcome []"},
		{"left out", func(f *gate.Facts) { f.Policies, f.Verdicts = 0, nil },
			"override: the policy policy/no-delete.cue, which the plan violates, has not judged it again [assize apply]"},
		{"another file of that name", func(f *gate.Facts) { f.Place = "."; f.Verdicts[1] = verdict(api.Passed, api.HardMandatory) },
			"override: the policy policy/no-delete.cue, which the plan violates, has not judged it again: another file of that name did [assize apply]"},
		{"passed by now", func(f *gate.Facts) { f.Verdicts[1] = verdict(api.Passed, api.SoftMandatory); f.Overrides = nil }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := overriddenFacts(t)
			tc.move(&f)
			d := gate.Decide(f)
			got := messages(d)
			if tc.want == "" {
				got = strings.TrimPrefix(got, "warrant: nothing was decided [assize plan]")
			}
			if d.Allowed() != (tc.want == "") || !d.Allowed() && (got != tc.want || !d.Violation()) {
				t.Errorf("allowed %t, violation %t:\n%s\nwant\n%s", d.Allowed(), d.Violation(), got, tc.want)
			}
		})
	}
}

// Every failure needs an override of its own.
func TestEveryResultNeedsItsOwn(t *testing.T) {
	t.Parallel()
	second := said()
	second.Path, second.Digest = "policy/second.cue", digest("b")
	verdicts := []api.Verdict{said(), second}
	w := sealed(t, verdicts...)
	all := granted(t, w).Overrides
	for _, some := range [][]api.Override{nil, all[:1], all[1:], {all[0], all[0]}} {
		f := gate.Facts{Sealed: w, Now: binding(), Policies: 2, Verdicts: verdicts, Place: place, Overrides: some, At: created}
		if gate.Decide(f).Allowed() {
			t.Errorf("allowed with %d of 2 overrides", len(some))
		}
	}
	if d := gate.Decide(gate.Facts{Sealed: w, Now: binding(), Policies: 2, Verdicts: verdicts, Place: place, Overrides: all, At: created}); !d.Allowed() {
		t.Errorf("refused with both: %s", messages(d))
	}
	one, err := gate.Override(w, gate.Grant{Results: []string{all[1].Result}, Actor: "a", Justification: "b", Expires: created.Add(time.Hour)}, created)
	if err != nil || len(one.Overrides) != 1 || one.Overrides[0].Policy != "policy/second.cue" {
		t.Errorf("got %+v, %v", one, err)
	}
}

func TestOverrideRefuses(t *testing.T) {
	t.Parallel()
	soft := sealed(t, said())
	good := gate.Grant{Actor: "alice", Justification: strings.Repeat("é", 2000), Expires: created.Add(24 * time.Hour)}
	if _, err := gate.Override(soft, good, created.Add(time.Second/2)); err != nil {
		t.Errorf("the longest one: %v", err)
	}
	for name, tc := range map[string]struct {
		w    api.Warrant
		move func(*gate.Grant)
		code api.Code
	}{
		"nothing failed":         {sealed(t, verdict(api.Passed, api.SoftMandatory)), func(*gate.Grant) {}, api.Refused},
		"nothing judged":         {sealed(t), func(*gate.Grant) {}, api.Refused},
		"only advisory":          {sealed(t, verdict(api.Failed, api.Advisory)), func(*gate.Grant) {}, api.Refused},
		"a result that is none":  {soft, func(g *gate.Grant) { g.Results = []string{digest("f")} }, api.Refused},
		"no reason":              {soft, func(g *gate.Grant) { g.Justification = " \n" }, api.Invalid},
		"too long a reason":      {soft, func(g *gate.Grant) { g.Justification += "." }, api.Invalid},
		"a reason that is bytes": {soft, func(g *gate.Grant) { g.Justification = "\xff" }, api.Invalid},
		"nobody":                 {soft, func(g *gate.Grant) { g.Actor = "" }, api.Invalid},
		"too long":               {soft, func(g *gate.Grant) { g.Expires = g.Expires.Add(time.Second) }, api.Invalid},
		"over already":           {soft, func(g *gate.Grant) { g.Expires = created }, api.Invalid},
	} {
		g := good
		tc.move(&g)
		doc, err := gate.Override(tc.w, g, created)
		if err == nil || len(doc.Overrides) != 0 || problem.Code(err) != tc.code || problem.Hint(err) == "" {
			t.Errorf("%s: got %+v, code %s, hint %q: %v", name, doc, problem.Code(err), problem.Hint(err), err)
		}
	}
}

func TestSealKeepsSoftFailures(t *testing.T) {
	t.Parallel()
	w := sealed(t, verdict(api.Passed, api.HardMandatory), said())
	got, err := gate.Open(encode(t, w))
	if err != nil {
		t.Fatal(err)
	}
	if soft := gate.Soft(got); len(soft) != 1 || soft[0].Digest != resultDigest(t, said()) {
		t.Errorf("got %+v", soft)
	}
	for name, forge := range map[string]func(*api.Warrant){
		"no composition":            func(w *api.Warrant) { w.Composition = nil },
		"a composition that passed": func(w *api.Warrant) { w.Composition.Outcome = api.StandsPassed },
		"a result that passed":      func(w *api.Warrant) { w.Composition.Results[1].Outcome = api.Passed },
		"one result less":           func(w *api.Warrant) { w.Composition.Results = w.Composition.Results[:1] },
		"a result without digest":   func(w *api.Warrant) { w.Composition.Results[1].Digest = "" },
		"another result":            func(w *api.Warrant) { w.Composition.Results[1].Digest = digest("f") },
		"no verdicts":               func(w *api.Warrant) { w.Verdicts = []api.Verdict{} },
		"a hard failure":            func(w *api.Warrant) { w.Verdicts[1].Enforcement = api.HardMandatory },
		"no run":                    func(w *api.Warrant) { w.Run = "" },
		"a run of its own":          func(w *api.Warrant) { w.Run += "\n" },
	} {
		bad, err := gate.Open(encode(t, w)) // a copy of its own
		if err != nil {
			t.Fatal(err)
		}
		forge(&bad)
		if _, err := gate.Open(encode(t, reseal(t, bad))); err == nil {
			t.Errorf("a warrant with %s was opened", name)
		}
	}
}

// No fact is ignored: without any of them, what was allowed is refused.
func TestNoFactIsIgnored(t *testing.T) {
	t.Parallel()
	for i := range reflect.TypeFor[gate.Facts]().NumField() {
		f := overriddenFacts(t)
		reflect.ValueOf(&f).Elem().Field(i).SetZero()
		if gate.Decide(f).Allowed() {
			t.Errorf("allowed without %s", reflect.TypeFor[gate.Facts]().Field(i).Name)
		}
	}
	for i := range reflect.TypeFor[api.Override]().NumField() {
		f := overriddenFacts(t)
		reflect.ValueOf(&f.Overrides[0]).Elem().Field(i).SetZero()
		if gate.Decide(f).Allowed() {
			t.Errorf("allowed by an override without %s", reflect.TypeFor[api.Override]().Field(i).Name)
		}
	}
}

// Only an override that agrees in everything opens the gate, however many
// others lie beside it, and in whatever order they and the verdicts are.
func TestOnlyTheRightOverrideOpens(t *testing.T) {
	t.Parallel()
	base := overriddenFacts(t)
	right := base.Overrides[0]
	rapid.Check(t, func(t *rapid.T) {
		pick := func(good string, bad ...string) string {
			return rapid.SampledFrom(append([]string{good, good, good, ""}, bad...)).Draw(t, "field")
		}
		f, opens := base, false
		f.Overrides = nil
		for range rapid.IntRange(0, 4).Draw(t, "overrides") {
			o := api.Override{
				Run: pick(right.Run, strings.ToUpper(right.Run)), Plan: pick(right.Plan, base.Now.Document), Policy: pick(right.Policy, "./"+right.Policy),
				PolicyDigest: pick(right.PolicyDigest, right.Result), Result: pick(right.Result, right.PolicyDigest), Actor: pick("bob"),
				Justification: pick("why", " why", strings.Repeat("x", 2001)),
				Created:       pick(right.Created, "2026-11-30T12:00:01Z", "2026-11-29T11:00:00Z", "today"),
				Expires:       pick(right.Expires, "2026-11-30T12:00:00Z", "2026-12-01T11:00:01Z", "tomorrow"),
			}
			like := right
			like.Actor, like.Justification = "bob", "why"
			opens = opens || o == like
			f.Overrides = append(f.Overrides, o)
		}
		d := gate.Decide(f)
		if d.Allowed() != opens {
			t.Fatalf("allowed %t, want %t: %s", d.Allowed(), opens, messages(d))
		}
		f.Overrides = rapid.Permutation(f.Overrides).Draw(t, "order")
		f.Verdicts = rapid.Permutation(f.Verdicts).Draw(t, "verdicts")
		if gate.Decide(f).Allowed() != opens {
			t.Fatal("the order matters")
		}
	})
}

// A verdict more that nobody has overridden, or a passing one or an override
// less, opens nothing.
func TestLessNeverOpens(t *testing.T) {
	t.Parallel()
	w := sealed(t, said(), verdict(api.Passed, api.HardMandatory))
	all := granted(t, w).Overrides
	rapid.Check(t, func(t *rapid.T) {
		soft := rapid.Just(said())
		hard := rapid.Just(verdict(api.Failed, api.HardMandatory))
		other := said()
		other.Path = "policy/other.cue"
		passed := rapid.Just(verdict(api.Passed, api.SoftMandatory))
		verdicts := rapid.SliceOfN(rapid.OneOf(soft, hard, passed), 0, 4).Draw(t, "verdicts")
		overrides := rapid.SliceOfN(rapid.SampledFrom(all), 0, 2).Draw(t, "overrides")
		f := gate.Facts{Sealed: w, Now: binding(), Policies: len(verdicts), Verdicts: verdicts, Place: place, Overrides: overrides, At: created}
		before := gate.Decide(f).Allowed()

		more := f
		more.Policies, more.Verdicts = f.Policies+1, append(append([]api.Verdict{}, verdicts...), rapid.OneOf(rapid.Just(other), hard).Draw(t, "more"))
		fewer := f
		fewer.Overrides = nil
		for _, worse := range []gate.Facts{more, fewer, without(f, api.Passed)} {
			if gate.Decide(worse).Allowed() && !before {
				t.Fatalf("opened by %d verdicts and %d overrides", len(worse.Verdicts), len(worse.Overrides))
			}
		}
	})
}

// without leaves out the first verdict of an outcome, as if its policy had not
// been named.
func without(f gate.Facts, outcome api.Outcome) gate.Facts {
	for i, v := range f.Verdicts {
		if v.Outcome == outcome {
			f.Verdicts = append(append([]api.Verdict{}, f.Verdicts[:i]...), f.Verdicts[i+1:]...)
			f.Policies--
			return f
		}
	}
	return f
}

func TestOpenOverrides(t *testing.T) {
	t.Parallel()
	doc := granted(t, sealed(t, said()))
	text, err := gate.EncodeOverrides(doc)
	if err != nil {
		t.Fatal(err)
	}
	got, err := gate.OpenOverrides(text)
	if diff := cmp.Diff(doc.Overrides, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for name, bad := range map[string]string{
		"nothing":             "",
		"half":                string(text[:len(text)/2]),
		"null":                "null",
		"something behind it": string(text) + "{}",
		"another format":      strings.Replace(string(text), `"format": 2`, `"format": 1`, 1),
		"an unknown field":    strings.Replace(string(text), `"format"`, `"forever": true, "format"`, 1),
		"a field twice":       strings.Replace(string(text), `"run"`, `"run": "run_f", "run"`, 1),
		"a field in capitals": strings.Replace(string(text), `"run"`, `"Run"`, 1),
		"a field less":        strings.Replace(string(text), `"actor": "alice",`, ``, 1),
		"a null":              strings.Replace(string(text), `"actor": "alice",`, `"actor": null,`, 1),
		"no override":         `{"format": 2, "overrides": [], "seal": ""}`,
		"a later end":         strings.Replace(string(text), "T15:00:00Z", "T16:00:00Z", 1),
		"somebody else":       strings.Replace(string(text), "alice", "bob", 1),
		"another reason":      strings.Replace(string(text), "INFRA-2214", "INFRA-2215", 1),
		"no seal":             strings.Replace(string(text), doc.Seal, "", 1),
		"another seal":        strings.Replace(string(text), doc.Seal, digest("f"), 1),
	} {
		if _, err := gate.OpenOverrides([]byte(bad)); err == nil || problem.Hint(err) == "" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// FuzzOpenOverrides holds that what opens says exactly what it said, and that
// no bytes but the right override's open the gate.
func FuzzOpenOverrides(f *testing.F) {
	facts := overriddenFacts(f)
	right := facts.Overrides[0]
	text, err := gate.EncodeOverrides(granted(f, facts.Sealed))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"format":2,"overrides":[],"seal":""}`))
	f.Add([]byte(`{"format":2,"format":2,"overrides":[{}]}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		overrides, err := gate.OpenOverrides(data)
		if err != nil {
			return
		}
		doc := api.Overrides{Format: api.OverrideFormat, Overrides: overrides}
		body, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		doc.Seal = canonicalDigest(t, bytes.Replace(body, []byte(`,"seal":""`), nil, 1))
		again, err := gate.EncodeOverrides(doc)
		if err != nil {
			t.Fatal(err)
		}
		reread, err := gate.OpenOverrides(again)
		if diff := cmp.Diff(overrides, reread); err != nil || diff != "" {
			t.Fatalf("%v %s", err, diff)
		}
		facts := facts
		facts.Overrides = overrides
		if !gate.Decide(facts).Allowed() {
			return
		}
		for _, o := range overrides {
			if o.Run == right.Run && o.Plan == right.Plan && o.PolicyDigest == right.PolicyDigest && o.Result == right.Result {
				return
			}
		}
		t.Fatalf("opened by %s", data)
	})
}
