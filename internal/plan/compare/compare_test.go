package compare_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/plan/compare"
	"github.com/assize-iac/assize/internal/report/contrast"
	"github.com/assize-iac/assize/internal/report/page"
)

func decode(t tb, changes, rest string) *plan.Plan {
	t.Helper()
	p, err := plan.Decode([]byte(`{"format_version": "1.2", "terraform_version": "1.12.1", "resource_changes": [` + changes + `]` + rest + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// update is a change of one resource to what the fields say.
func update(fields string) string {
	return `{"address": "a.b", "mode": "managed", "type": "a", "name": "b", "change": {"actions": ["update"], ` + fields + `}}`
}

func lines(t tb, d api.PlanDifference) string {
	t.Helper()
	var b bytes.Buffer
	if err := contrast.Text(&b, d, page.Options{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestValues pins what one attribute may be in two plans, as people see it.
func TestValues(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ first, second, want string }{
		"same":                {`"before": {"x": 1}, "after": {"x": 2.0}`, `"before": {"x": 1}, "after": {"x": 2}`, ""},
		"planned":             {`"before": {"x": 1}, "after": {"x": 2}`, `"before": {"x": 1}, "after": {"x": 3}`, "x: 2 → 3"},
		"now":                 {`"before": {"x": 1}, "after": {"x": 2}`, `"before": {"x": 0}, "after": {"x": 2}`, "x as it is now: 1 → 0"},
		"null is not missing": {`"before": {}, "after": {"x": null}`, `"before": {}, "after": {}`, "x: null → (none)"},
		"both unknown":        {`"before": {}, "after": {}, "after_unknown": {"x": true}`, `"before": {}, "after": {"x": 1}, "after_unknown": {"x": true}`, ""},
		"one unknown":         {`"before": {}, "after": {}, "after_unknown": {"x": true}`, `"before": {}, "after": {"x": null}`, "x: (known after apply) → null"},
		"unknown below":       {`"before": {}, "after": {"x": {"y": 1}}, "after_unknown": {"x": {"z": true}}`, `"before": {}, "after": {"x": {"y": 1}}`, "x.z: (known after apply) → (none)"},
		"list grows":          {`"before": {}, "after": {"x": [1]}`, `"before": {}, "after": {"x": [1, 2]}`, "x: [1] → [1,2]"},
		"unknown in a list":   {`"before": {}, "after": {"x": [1, null]}, "after_unknown": {"x": [false, true]}`, `"before": {}, "after": {"x": [1, 2]}`, "x[1]: (known after apply) → 2"},
		"false marks nothing": {`"before": {}, "after": {"x": [1]}, "after_unknown": {"x": [false]}`, `"before": {}, "after": {"x": [1]}, "after_unknown": {"x": []}`, ""},
		"secret": {
			`"before": {}, "after": {"x": "canary-1"}, "after_sensitive": {"x": true}`, `"before": {}, "after": {"x": "canary-2"}, "after_sensitive": {"x": true}`,
			"x: (sensitive) → (sensitive), which is another one",
		},
		"secret in one": {
			`"before": {}, "after": {"x": "canary-1"}, "after_sensitive": {"x": true}`, `"before": {}, "after": {"x": "canary-2"}`,
			"x: (sensitive) → (sensitive), marked as sensitive in the first plan only",
		},
		"only the mark differs": {
			`"before": {}, "after": {"x": "plain"}`, `"before": {}, "after": {"x": "plain"}, "after_sensitive": {"x": true}`,
			"x: (sensitive) → (sensitive), marked as sensitive in the second plan only",
		},
		"marked as it is now": {
			`"before": {"x": "canary-1"}, "before_sensitive": {"x": true}, "after": {"x": "canary-2"}`, `"before": {"x": "canary-1"}, "before_sensitive": {"x": true}, "after": {"x": "canary-3"}`,
			"x: (sensitive) → (sensitive), which is another one",
		},
		"a secret of the other plan": {
			`"before": {}, "after": {"x": "canary-1", "y": 1}, "after_sensitive": {"x": true}`, `"before": {}, "after": {"x": "canary-1", "y": "at canary-1"}, "after_sensitive": {"x": true}`,
			"y: 1 → (sensitive)",
		},
		"keys of a secret": {
			`"before": {}, "after": {"x": {"canary-1": 1}}, "after_sensitive": {"x": true}`, `"before": {}, "after": {"x": {"canary-1": 2}}, "after_sensitive": {"x": true}`,
			"x: (sensitive) → (sensitive), which is another one",
		},
		"a secret set": {
			`"before": {}, "after": {"x": ["canary-1", "b"]}, "after_sensitive": {"x": [true]}`, `"before": {}, "after": {"x": ["canary-1", "c"]}, "after_sensitive": {"x": [true]}`,
			"x: (sensitive) → (sensitive), which is another one",
		},
		"long": {
			`"before": {}, "after": {"x": "` + strings.Repeat("a", 99) + `1"}`, `"before": {}, "after": {"x": "` + strings.Repeat("a", 99) + `2"}`,
			`x: "` + strings.Repeat("a", 58) + `… → "` + strings.Repeat("a", 58) + `…, which is another one`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := compare.Plans(decode(t, update(tt.first), ""), decode(t, update(tt.second), ""))
			want := "The two plans do the same.\n"
			if tt.want != "" {
				want = "The two plans differ.\n\nIn both, and not the same (1)\n    ~ a.b\n        " + tt.want + "\n"
			}
			if diff := cmp.Diff(want, lines(t, d)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			text, err := json.Marshal(d)
			if err != nil || bytes.Contains(text, []byte("canary")) {
				t.Errorf("%s, %v", text, err)
			}
		})
	}
}

// TestWithheld pins that the nulls of a plan that leaves secrets out are not
// taken for the same secret.
func TestWithheld(t *testing.T) {
	t.Parallel()
	p, err := plan.Decode([]byte(`{"format_version": "0.1", "terraform_version": "0.15.0", "resource_changes": [` +
		update(`"before": {}, "after": {"x": null}, "after_sensitive": {"x": true}`) + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	if compare.Plans(p, p).Equal {
		t.Error("what nobody can compare is the same")
	}
}

// TestChanges pins what of a change counts beside its values.
func TestChanges(t *testing.T) {
	t.Parallel()
	const head = `"mode": "managed", "type": "a", "name": "b", "change": {"before": {}, "after": {}, "actions": `
	first := decode(t, strings.Join([]string{
		`{"address": "a.order", ` + head + `["delete", "create"]}}`,
		`{"address": "a.action", ` + head + `["update"]}}`,
		`{"address": "a.noop", ` + head + `["no-op"]}}`,
		`{"address": "a.moved", "previous_address": "a.old", ` + head + `["no-op"]}}`,
		`{"address": "a.tainted", "action_reason": "replace_because_tainted", ` + head + `["delete", "create"], "replace_paths": [["x"]]}}`,
		`{"address": "a.deposed", "deposed": "0123abcd", ` + head + `["no-op"], "importing": {"id": "i-1"}}}`,
	}, ","), `, "checks": [{"address": {"kind": "check", "to_display": "check.up"}, "status": "pass"}], "complete": true,
		"resource_drift": [{"address": "a.twice", `+head+`["update"]}}, {"address": "a.twice", `+head+`["delete"]}}]`)
	second := decode(t, strings.Join([]string{
		`{"address": "a.order", ` + head + `["create", "delete"]}}`,
		`{"address": "a.action", ` + head + `["delete", "create"]}}`,
		`{"address": "a.moved", "previous_address": "a.older", ` + head + `["no-op"]}}`,
		`{"address": "a.tainted", "action_reason": "replace_by_request", "provider_name": "p", ` + head + `["delete", "create"]}}`,
	}, ","), `, "checks": [{"address": {"kind": "check", "to_display": "check.up"}, "status": "fail"}], "deferred_changes": [{"reason": "unknown", "resource_change": {"address": "a.action", `+head+`["update"]}}}], "complete": false,
		"resource_drift": [{"address": "a.twice", `+head+`["update"]}}]`)
	want := `The two plans differ.

Only in the first plan (2)
      a.deposed (deposed object 0123abcd)
    - a.twice (changed outside of the configuration)

Only in the second plan (1)
    ~ a.action (left for another plan)

In both, and not the same (4)
  -/+ a.action
        update → replace
      a.moved
        previous_addr: "a.old" → "a.older"
  +/- a.order
        replace → replace (create before destroy)
  -/+ a.tainted
        provider: "" → "p"
        reason: "replace_because_tainted" → "replace_by_request"
        replace_paths: ["x"] → []

Of the plan as a whole (2)
  check check.up: "pass" → "fail"
  complete: "yes" → "no"
`
	if diff := cmp.Diff(want, lines(t, compare.Plans(first, second))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRealPlans compares every real plan with every other one: each is the same
// as itself only, and no secret of either is in the result. Two of each tool do
// nothing, one because only the state was to be refreshed.
func TestRealPlans(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../testdata/plans/*.json")
	if err != nil {
		t.Fatal(err)
	}
	var plans []*plan.Plan
	var does []string
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := plan.Decode(raw); err == nil { // a state and an errored plan are among them
			plans = append(plans, p)
			does = append(does, strings.Replace(filepath.Base(file), "refresh-only", "noop", 1))
		}
	}
	if len(plans) < 14 {
		t.Fatalf("%d plans", len(plans))
	}
	for i, a := range plans {
		for j, b := range plans {
			d := compare.Plans(a, b)
			if d.Equal != (does[i] == does[j]) {
				t.Errorf("plans %d and %d: equal is %v", i, j, d.Equal)
			}
			text, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			if shown := string(text); a.Redact(shown) != shown || b.Redact(shown) != shown {
				t.Errorf("plans %d and %d: a secret is in %s", i, j, shown)
			}
		}
	}
}

// TestAnyValues checks on any two values that a plan is the same as itself, that
// what JSON tells apart is told apart, and that the order turns the answer around.
func TestAnyValues(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SampledFrom([]string{`1`, `"a"`, `null`, `[]`, `{}`, `[1]`, `[1,{"k":"a"}]`, `{"k":1}`, `{"k":[1]}`, `{"k":null}`, `{"k":{"l":true}}`, `"canary-1"`, `["canary-1"]`})
		marks := rapid.SampledFrom([]string{`false`, `true`, `[]`, `[true]`, `{}`, `{"k":true}`, `{"k":[true]}`, `[false,{"k":true}]`})
		draw := func(name string) (value, text string) {
			value = values.Draw(t, name)
			return value, fmt.Sprintf(`"before": {}, "after": {"x": %s}, "after_unknown": {"x": %s}, "after_sensitive": {"x": %s}`, value, marks.Draw(t, name+"Unknown"), marks.Draw(t, name+"Sensitive"))
		}
		valueA, textA := draw("a")
		valueB, textB := draw("b")
		a, b := decode(t, update(textA), ""), decode(t, update(textB), "")
		if d := compare.Plans(a, a); !d.Equal {
			t.Fatalf("%s is not the same as itself: %+v", textA, d)
		}
		there, back := compare.Plans(a, b), compare.Plans(b, a)
		if there.Equal != back.Equal {
			t.Fatalf("%v and %v", there, back)
		}
		if unknown := strings.Contains(textA+textB, `_unknown": {"x": true`) || strings.Contains(textA+textB, `_unknown": {"x": [`) || strings.Contains(textA+textB, `_unknown": {"x": {`); !unknown && valueA != valueB && there.Equal {
			t.Fatalf("%s and %s are the same", textA, textB)
		}
	})
}

// tb is what a test and a property have in common.
type tb interface {
	Helper()
	Fatal(...any)
}

// TestAgain pins what a plan that is made again may have become, and what is
// another plan than the one that was judged.
func TestAgain(t *testing.T) {
	t.Parallel()
	const unknown = `"before": {}, "after": {"y": 1}, "after_unknown": {"x": true}`
	read := strings.NewReplacer("managed", "data", "update", "read").Replace(update(unknown))
	output := func(change string) string { return `, "output_changes": {"o": {` + change + `}}` }
	check := func(status string) string {
		return `, "checks": [{"address": {"kind": "check", "to_display": "check.up"}, "status": "` + status + `"}]`
	}
	for name, tt := range map[string]struct {
		judged, rest, again, restAgain string
		equal                          bool
	}{
		"the same":                  {update(unknown), "", update(unknown), "", true},
		"known now":                 {update(unknown), "", update(`"before": {}, "after": {"x": "a", "y": 1}`), "", true},
		"an object is known now":    {update(unknown), "", update(`"before": {}, "after": {"x": {"z": [1]}, "y": 1}`), "", true},
		"known and another value":   {update(unknown), "", update(`"before": {}, "after": {"x": "a", "y": 2}`), "", false},
		"was known":                 {update(`"before": {}, "after": {"x": "a", "y": 1}`), "", update(unknown), "", false},
		"unknown in a list":         {update(`"before": {}, "after": {"x": [1, null]}, "after_unknown": {"x": [false, true]}`), "", update(`"before": {}, "after": {"x": [1, 2]}`), "", true},
		"another length":            {update(`"before": {}, "after": {"x": [1, null]}, "after_unknown": {"x": [false, true]}`), "", update(`"before": {}, "after": {"x": [1, 2, 3]}`), "", false},
		"turned out to be nothing":  {update(unknown), "", "", "", true},
		"is not created any more":   {strings.Replace(update(unknown), `["update"]`, `["create"]`, 1), "", "", "", false},
		"a new output is gone":      {"", output(`"actions": ["create"], "before": null, "after_unknown": true`), "", "", false},
		"was known, and is gone":    {update(`"before": {}, "after": {"x": "a"}`), "", "", "", false},
		"one more":                  {"", "", update(unknown), "", false},
		"another action":            {update(unknown), "", strings.Replace(update(unknown), `["update"]`, `["delete", "create"]`, 1), "", false},
		"another object is there":   {update(`"before": {"x": 1}, "after": {"x": 2}`), "", update(`"before": {"x": 0}, "after": {"x": 2}`), "", false},
		"reading":                   {read, "", "", "", true},
		"an output is known":        {"", output(`"actions": ["update"], "before": 1, "after_unknown": true`), "", output(`"actions": ["update"], "before": 1, "after": 2, "after_unknown": false`), true},
		"an output stays":           {"", output(`"actions": ["update"], "before": 1, "after_unknown": true`), "", output(`"actions": ["no-op"], "before": 1, "after": 1, "after_unknown": false`), true},
		"an output becomes another": {"", output(`"actions": ["update"], "before": 1, "after": 2, "after_unknown": false`), "", output(`"actions": ["update"], "before": 1, "after": 3, "after_unknown": false`), false},
		"a check passes":            {"", check("unknown"), "", check("pass"), true},
		"a check fails":             {"", check("unknown"), "", check("fail"), false},
		"something drifted":         {"", "", "", `, "resource_drift": [` + update(unknown) + `]`, true},
		"a secret is known now":     {update(unknown), "", update(`"before": {}, "after": {"x": "canary", "y": 1}, "after_sensitive": {"x": true}`), "", true},
		"only the mark is gone":     {update(`"before": {}, "after": {"x": "canary"}, "after_sensitive": {"x": true}`), "", update(`"before": {}, "after": {"x": "canary"}`), "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := compare.Again(decode(t, tt.judged, tt.rest), decode(t, tt.again, tt.restAgain))
			if d.Equal != tt.equal {
				t.Errorf("%+v", d)
			}
		})
	}
}
