package gate_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/gate"
)

func said() api.Verdict {
	v := verdict(api.Failed, api.SoftMandatory)
	v.Findings = []api.Finding{{
		Policy: v.Path, Engine: v.Engine, Rule: "small", Level: api.Deny, Address: "a.b", Action: "create", Message: "no",
		Positions: []string{"p.cue:1:1"}, Details: map[string]any{"limit": json.Number("9007199254740993"), "a": "b"},
	}}
	return v
}

func resultDigest(t testing.TB, v api.Verdict) string {
	t.Helper()
	d, err := gate.ResultDigest(v)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Whatever field a verdict or a finding gets, it is part of the digest, but for
// the name of the plan.
func TestResultDigestCoversEverything(t *testing.T) {
	t.Parallel()
	was := resultDigest(t, said())
	for i := range reflect.TypeFor[api.Verdict]().NumField() {
		v := said()
		name := change(reflect.ValueOf(&v).Elem(), i)
		if same := resultDigest(t, v) == was; same != (name == "Plan") {
			t.Errorf("another %s of the verdict: the digest is the same: %t", name, same)
		}
	}
	for i := range reflect.TypeFor[api.Finding]().NumField() {
		v := said()
		name := change(reflect.ValueOf(&v.Findings[0]).Elem(), i)
		if same := resultDigest(t, v) == was; same != (name == "Plan") {
			t.Errorf("another %s of the finding: the digest is the same: %t", name, same)
		}
	}
	for name, details := range map[string]map[string]any{
		"another number that is the same float64": {"limit": json.Number("9007199254740992"), "a": "b"},
		"one detail less":                         {"limit": json.Number("9007199254740993")},
		"a number as text":                        {"limit": "9007199254740993", "a": "b"},
	} {
		v := said()
		v.Findings[0].Details = details
		if resultDigest(t, v) == was {
			t.Errorf("%s: the digest is the same", name)
		}
	}
	excepted := said()
	excepted.Findings[0].Excepted, excepted.Findings[0].Exception = true, &api.Exception{Reason: "a"}
	because := said()
	because.Findings[0].Excepted, because.Findings[0].Exception = true, &api.Exception{Reason: "b"}
	if resultDigest(t, excepted) == resultDigest(t, because) {
		t.Error("another reason of an exception: the digest is the same")
	}
}

// change makes a field of a struct another one, and returns its name.
func change(v reflect.Value, i int) string {
	f := v.Field(i)
	switch f.Kind() {
	case reflect.String:
		f.SetString(f.String() + "x")
	case reflect.Int:
		f.SetInt(f.Int() + 1)
	case reflect.Bool:
		f.SetBool(!f.Bool())
	case reflect.Slice:
		f.Set(reflect.Append(f, reflect.Zero(f.Type().Elem())))
	case reflect.Map:
		f.Set(reflect.ValueOf(map[string]any{"another": true}))
	case reflect.Pointer:
		f.Set(reflect.New(f.Type().Elem()))
	default:
		panic("say how to change a " + f.Kind().String())
	}
	return v.Type().Field(i).Name
}

func TestCompose(t *testing.T) {
	t.Parallel()
	compose := func(verdicts ...api.Verdict) api.Composition {
		t.Helper()
		c, err := gate.Compose(verdicts)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	passed, soft := verdict(api.Passed, api.HardMandatory), said()
	c := compose(passed, soft)
	if c.Outcome != api.StandsSoftFailed || len(c.Results) != 2 {
		t.Fatalf("got %+v", c)
	}
	want := api.Result{
		Policy: soft.Path, Engine: api.CUE, PolicyDigest: soft.Digest, Enforcement: api.SoftMandatory,
		Outcome: api.Failed, Digest: resultDigest(t, soft),
	}
	if c.Results[1] != want {
		t.Errorf("got %+v, want %+v", c.Results[1], want)
	}
	if compose(soft, passed).Digest == c.Digest || compose(soft).Digest == c.Digest {
		t.Error("another order, or fewer results, has the same digest")
	}
	renamed := soft
	renamed.Plan = "elsewhere.json"
	if compose(passed, renamed).Digest != c.Digest {
		t.Error("the same plan by another name has another digest")
	}
	if c := compose(); c.Outcome != api.StandsErrored || c.Digest == "" {
		t.Errorf("nothing that judged: %+v", c)
	}
}
