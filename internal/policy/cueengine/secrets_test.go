package cueengine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"cuelang.org/go/cue/literal"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/cueengine"
)

// secretPlan has one sensitive attribute. The engine's own texts are looked
// at, before policy.Judge searches them again.
func secretPlan(t interface{ Fatal(...any) }, secret any) *plan.Plan {
	value, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Decode(fmt.Appendf(nil, `{"format_version":"1.2","resource_changes":[{"address":"db.main","mode":"managed","type":"db","name":"main",
		"change":{"actions":["create"],"before":null,"after":{"password":%s,"copy":{"of":[%s]},"size":3},
		"after_sensitive":{"password":true}}}]}`, value, value))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// leaks are policies that make CUE quote, print or build on a secret.
var leaks = []string{
	`changes: [...{after: password: int}]`,
	`changes: [...{after: password: =~"^ok$"}]`,
	`changes: [...{after: password: "a" | "b"}]`,
	`changes: [...{after: password: null | =~"^ok$" | {x: 1}}]`,
	`changes: [...{after: password: _, if true {error("it is \(after.password)")}}]`,
	`changes: [...{after: password: _, if true {error("a \" and \(after.password)")}}]`,
	`changes: [...{after: copy: of: [string, string]}]`,
	`changes: [...{after: copy: int}]`,
	`changes: [...{after: close({size: 3})}]`,
	`changes: [...{after: password: string, after: other: after.password}]`,
	`changes: [...{after: password: string, (after.password): "x"}]`,
	`changes: [...{after: password: string, after: copy: (after.password): int}]`,
	"import \"list\"\nchanges: list.MaxItems(0)",
	"import \"strings\"\nchanges: [...{after: password: strings.MaxRunes(0)}]",
	"import \"json\"\nchanges: [...{after: password: json.Validate(int)}]",
	"import \"encoding/json\"\nchanges: [...{after: password: string, if true {error(json.Marshal(after))}}]",
	"import \"strconv\"\nchanges: [...{after: password: string, if true {error(strconv.Quote(after.password))}}]",
	"import \"strconv\"\nchanges: [...{after: password: string, if true {error(strconv.QuoteToASCII(after.password))}}]",
	`outputs: secret: changes[0].after.password, changes: _`,
	`changes: _, summary: (changes[0].after.password): 1`,
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{
		"CANARY-plain-0123", `CANARY"double'single`, "CANARY\nwith\ttwo lines", `CANARY\back\\slash\n`, "CANARY\u007f\u00a0\u2028\U000e0001",
		"CANARY-ünïcödé-\U0001f600", `CANARY\(x) #"q"#`, "-----BEGIN KEY-----\nCANARYCANARYCANARY\nCANARYCANARYCANARY\n-----END KEY-----\n", `{"user":"CANARYinside"}`,
	} {
		t.Run(literal.String.Quote(secret), func(t *testing.T) {
			t.Parallel()
			p := secretPlan(t, secret)
			for _, text := range leaks {
				checkSilent(t, text, p, secret)
			}
		})
	}
	p := secretPlan(t, json.Number("73501982746"))
	checkSilent(t, `changes: [...{after: password: string}]`, p, "73501982746")
	checkSilent(t, `changes: [...{after: password: <5}]`, p, "73501982746")
}

func TestSecretsOfAnyText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := "C" + rapid.StringN(4, 40, -1).Draw(t, "secret") + "Y"
		p := secretPlan(t, secret)
		checkSilent(t, rapid.SampledFrom(leaks).Draw(t, "policy"), p, secret)
	})
}

// checkSilent looks for the secret, and for what would give it away, in
// everything that the engine says.
func checkSilent(t interface{ Errorf(string, ...any) }, text string, p *plan.Plan, secret string) {
	src := source("p.cue", text)
	v, err := cueengine.New().Judge(src, p)
	if err != nil {
		v = policy.Errored(src, err)
	}
	if err == nil && len(v.Findings)+len(v.Notes) == 0 {
		t.Errorf("%s says nothing", text)
	}
	all, err := json.Marshal(map[string]any{"verdict": v, "findings": v.Findings})
	if err != nil {
		t.Errorf("%v", err)
	}
	said := append(strings.Split(v.Error+"\n"+strings.Join(v.Notes, "\n"), "\n"), string(all))
	for _, f := range v.Findings {
		said = append(said, f.Message, f.Path)
	}
	for _, s := range said {
		for _, form := range forms(secret) {
			if strings.Contains(s, form) {
				t.Errorf("%s gives away %q:\n%s", text, form, s)
			}
		}
	}
}

// forms are the secret and its lines, plain and in CUE's escapes.
func forms(secret string) []string {
	quoted := literal.String.Quote(secret)
	out := []string{secret, quoted[1 : len(quoted)-1]}
	for line := range strings.Lines(secret) {
		if line = strings.TrimSpace(line); len(line) > 8 {
			out = append(out, line)
		}
	}
	if strings.Contains(secret, "CANARY") {
		out = append(out, "CANARY")
	}
	return out
}

// What is not secret stays readable.
func TestSecretsLeaveTheRest(t *testing.T) {
	t.Parallel()
	v, err := cueengine.New().Judge(source("p.cue", `changes: [...{after: password: =~"^ok$"}]`), secretPlan(t, "CANARY\nsecret"))
	if err != nil || len(v.Findings) != 1 {
		t.Fatal(err, v)
	}
	want := `changes.0.after.password: conflicts with the policy (the value is sensitive)`
	if f := v.Findings[0]; f.Message != want || f.Address != "db.main" || f.Level != api.Deny {
		t.Errorf("got %+v", f)
	}
}

// CUE respells numbers, and a short one cannot be searched for: at a marked
// path no value is quoted at all.
func TestSecretNumbers(t *testing.T) {
	t.Parallel()
	for _, number := range []string{"42", "1.23456e-07", "1.5e+30", "98765.4321", "7"} {
		for _, text := range []string{`changes: [...{after: password: "x"}]`, `changes: [...{after: password: {deep: 1}}]`} {
			v, err := cueengine.New().Judge(source("p.cue", text), secretPlan(t, json.Number(number)))
			if err != nil || len(v.Findings) != 1 {
				t.Fatal(err, v)
			}
			want := "changes.0.after.password: conflicts with the policy (the value is sensitive)"
			if m := v.Findings[0].Message; m != want {
				t.Errorf("%s, %s: %s", number, text, m)
			}
		}
	}
}
