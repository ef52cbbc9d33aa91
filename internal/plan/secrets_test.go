package plan_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/assize-iac/assize/internal/plan"
)

// secretPlan is a plan with the given texts as values of one sensitive
// attribute.
func secretPlan(t interface {
	Helper()
	Fatalf(string, ...any)
}, secrets ...string) *plan.Plan {
	t.Helper()
	list := make([]any, len(secrets))
	for i, s := range secrets {
		list[i] = s
	}
	return decode(t, one(`"after":{"p":`+plan.Quote(list)+`},"after_sensitive":{"p":true}`))
}

func TestRedact(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		secrets []string
		text    string
		want    string
	}{
		{"none", nil, "p is hunter2", "p is hunter2"},
		{"plain", []string{"hunter2"}, "p is hunter2, want hunter3", "p is (sensitive), want hunter3"},
		{"in a word", []string{"hunter2"}, "pg://u:hunter2@h", "pg://u:(sensitive)@h"},
		{"twice", []string{"hunter2"}, "hunter2hunter2", "(sensitive)(sensitive)"},
		{"longest", []string{"hunter2", "hunter2-long"}, "hunter2-long hunter2", "(sensitive) (sensitive)"},
		{"overlapping", []string{"abcdef", "defghi"}, "xabcdefghix", "x(sensitive)x"},
		{"one in another", []string{"bcde", "abcdefgh"}, "abcdefg", "a(sensitive)fg"},
		{"JSON", []string{"a\"b\\c\nd"}, `{"p":"a\"b\\c\nd"}`, `{"p":"(sensitive)"}`},
		{"JSON for HTML", []string{"a<b>&c"}, `"a\u003cb\u003e\u0026c" a<b>&c`, `"(sensitive)" (sensitive)`},
		{"Go", []string{"tab\there\x7fé"}, `"tab\there\x7fé" "tab\there\x7f\u00e9"`, `"(sensitive)" "(sensitive)"`},
		{"JSON in JSON", []string{`a"b"c`}, `"{\"p\":\"a\\\"b\\\"c\"}"`, `"{\"p\":\"(sensitive)\"}"`},
		{"a line of several", []string{"-----BEGIN KEY-----\nMIIEowIBAAKC\nshort\n-----END KEY-----\n"}, "got MIIEowIBAAKC or short", "got (sensitive) or (sensitive)"},
		{"short values in JSON", []string{`{"user":"admin","pin":123456}`}, "admin 123456 administers", "(sensitive) (sensitive) (sensitive)isters"},
		{"YAML", []string{"it's", "zz\x1b\x00tail"}, `'it''s' "zz\e\0tail"`, `'(sensitive)' "(sensitive)"`},
		{"JSON in JSON in JSON", []string{`a"b`}, plan.Quote(plan.Quote(plan.Quote(`a"b`))), `"\"\\\"(sensitive)\\\"\""`},
		{"without its newline", []string{"hunter2\n"}, "p is hunter2.", "p is (sensitive)."},
		{"a value in JSON", []string{`{"username":"root","password":"correct horse"}`}, "correct horse for root", "(sensitive) for (sensitive)"},
		{"a key", []string{`{"tok-KEY-1":null,"password":"hunter2"}`}, "password of tok-KEY-1", "password of (sensitive)"},
		{"a word", []string{"abc"}, "abc abcd xabc a-abc-a abc", "(sensitive) abcd xabc a-(sensitive)-a (sensitive)"},
		{"a letter", []string{"é"}, "é née é_ é", "(sensitive) née é_ (sensitive)"},
		{"blank", []string{"", "  ", "\n\n\n\n"}, "a    b\n\n\n\n", "a    b\n\n\n\n"},
		{"in the marker", []string{"sensitive"}, "it is sensitive", "it is [redacted]"},
		{"in two markers", []string{"sensitive", "redacted"}, "it is sensitive", "it is ***"},
		{"next to the marker", []string{"hunter2", "x(sens"}, "xhunter2", "x[redacted]"},
		{"in every marker", []string{"sensitive", "redacted", "****", "secret"}, "it is sensitive", ""},
	}
	for _, tt := range tests {
		p := secretPlan(t, tt.secrets...)
		if got := p.Redact(tt.text); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
		if got, want := p.HasSecret([]any{map[string]any{"k": tt.text}}), tt.text != tt.want; got != want {
			t.Errorf("%s: HasSecret is %t", tt.name, got)
		}
	}
}

// TestSecretsAreFound marks one value in each place where a plan can say so.
func TestSecretsAreFound(t *testing.T) {
	t.Parallel()
	change := func(c string) string {
		return `{"resource_changes":[{"address":"a.b","change":{"actions":["update"],` + c + `}}]}`
	}
	tests := []struct{ name, text string }{
		{"after", change(`"after":{"p":"CANARY"},"after_sensitive":{"p":true}`)},
		{"before only", change(`"before":{"p":"CANARY"},"before_sensitive":{"p":true}`)},
		{"mask before value", change(`"after_sensitive":{"p":true},"after":{"p":"CANARY"}`)},
		{"root", change(`"after":{"p":{"q":["CANARY"]}},"after_sensitive":true`)},
		{"list", change(`"after":{"l":[{"p":"CANARY"}]},"after_sensitive":{"l":[{"p":true}]}`)},
		{"number", change(`"after":{"p":4711},"after_sensitive":{"p":true}`)},
		{"data", `{"resource_changes":[{"address":"data.a.b","change":{"actions":["read"],"after":{"p":"CANARY"},"after_sensitive":{"p":true}}}]}`},
		{"deferred", `{"deferred_changes":[{"resource_change":{"address":"a.b","change":{"actions":["create"],"after":{"p":"CANARY"},"after_sensitive":{"p":true}}}}]}`},
		{"drift", `{"resource_drift":[{"address":"a.b","change":{"actions":["update"],"before":{"p":"CANARY"},"before_sensitive":{"p":true}}}]}`},
		{"output", `{"output_changes":{"o":{"actions":["create"],"after":"CANARY","after_sensitive":true}}}`},
		{"old output", `{"output_changes":{"o":{"actions":["delete"],"before":{"x":"CANARY"},"before_sensitive":true}}}`},
		{"planned output", `{"planned_values":{"outputs":{"o":{"value":["CANARY"],"sensitive":true}}}}`},
		{"planned", `{"planned_values":{"root_module":{"resources":[{"address":"a.b","values":{"p":"CANARY"},"sensitive_values":{"p":true}}]}}}`},
		{"planned in a module", `{"planned_values":{"root_module":{"child_modules":[{"child_modules":[{"resources":[{"sensitive_values":{"p":true},"values":{"p":"CANARY"}}]}]}]}}}`},
		{"prior", `{"resource_changes":[],"prior_state":{"format_version":"1.0","values":{"root_module":{"resources":[{"values":{"p":"CANARY"},"sensitive_values":{"p":true}}]}}}}`},
		{"prior output", `{"resource_changes":[],"prior_state":{"values":{"outputs":{"o":{"sensitive":true,"value":"CANARY"}}}}}`},
		{"variable", `{"resource_changes":[],"variables":{"v":{"value":"CANARY"}},"configuration":{"root_module":{"variables":{"v":{"sensitive":true}}}}}`},
		{"output of the configuration", `{"configuration":{"root_module":{"outputs":{"o":{"sensitive":true,"expression":{"constant_value":"CANARY"}}}}}}`},
		{"output of a module", `{"configuration":{"root_module":{"module_calls":{"m":{"module":{"outputs":{"o":{"ephemeral":true,"expression":{"constant_value":["CANARY"]}}}}}}}}}`},
		{"action", `{"resource_changes":[],"action_invocations":[{"address":"action.a.b","config_values":{"p":"CANARY"},"config_sensitive":{"p":true}}]}`},
		{"deferred action", `{"resource_changes":[],"deferred_action_invocations":[{"reason":"x","action_invocation":{"config_sensitive":{"p":true},"config_values":{"p":"CANARY"}}}]}`},
		{"variable, the other way around", `{"configuration":{"root_module":{"variables":{"v":{"sensitive":true}}}},"variables":{"v":{"value":{"x":["CANARY"]}}}}`},
		{"ephemeral default", `{"configuration":{"root_module":{"variables":{"v":{"default":"CANARY","ephemeral":true}}}}}`},
		{"default in a module", `{"configuration":{"root_module":{"module_calls":{"m":{"module":{"variables":{"v":{"default":"CANARY","sensitive":true}}}}}}}}`},
		{"argument of a module", `{"configuration":{"root_module":{"module_calls":{"m":{"expressions":{"v":{"constant_value":"CANARY"}},"module":{"variables":{"v":{"sensitive":true}}}}}}}}`},
	}
	for _, tt := range tests {
		p := decode(t, tt.text)
		if got := p.Redact("<CANARY 4711>"); got != "<(sensitive) 4711>" && got != "<CANARY (sensitive)>" {
			t.Errorf("%s: got %s", tt.name, got)
		}
	}
}

// TestSecretNumber: no evaluator's spelling of a secret number is let through.
func TestSecretNumber(t *testing.T) {
	t.Parallel()
	p := decode(t, one(`"after":{"p":[1.23456e-07,123456789012345678901234567890,-1.5e30]},"after_sensitive":{"p":true}`))
	for _, text := range []string{"1.23456e-07", "1.23456E-7", "1.23456e-7", "0.000000123456",
		"123456789012345678901234567890", "1.2345678901234568e+29", "1.2345678901234567890123456789E+29", "-1.5E+30", "-1.5e30"} {
		if got := p.Redact("n is " + text); got != "n is (sensitive)" {
			t.Errorf("%s: got %s", text, got)
		}
	}
	if got := p.Redact("0 and 1 and 30"); got != "0 and 1 and 30" {
		t.Errorf("got %s", got)
	}
}

// TestNoSecrets leaves alone what is not marked, or is no secret on its own.
func TestNoSecrets(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		one(`"after":{"p":"CANARY","q":1},"after_sensitive":{"q":true}`),
		one(`"after":{"p":[true,null,"",12,{"canary":null}]},"after_sensitive":true`),
		one(`"after":{"p":"CANARY"},"after_sensitive":{"p":false,"q":true}`),
		`{"planned_values":{"outputs":{"o":{"value":"CANARY","sensitive":false}}}}`,
		`{"variables":{"v":{"value":"CANARY"}},"configuration":{"root_module":{"variables":{"v":{"default":"CANARY"},"true":{}},"module_calls":{"m":{"module":{"variables":{"v":{"sensitive":true}}}}}}}}`,
	} {
		if p := decode(t, text); p.Redact("CANARY canary true null 12") != "CANARY canary true null 12" {
			t.Errorf("%s: got %s", text, p.Redact("CANARY canary true null 12"))
		}
	}
}

// TestRedactLeavesNoSecret holds for any secrets and any text made of them, in
// whatever way they are quoted.
func TestRedactLeavesNoSecret(t *testing.T) {
	t.Parallel()
	secret := rapid.OneOf(
		rapid.StringMatching(`[abc]{1,6}`),
		rapid.StringMatching(`[(sentiv)*\[rdc\]«»]{1,6}`),
		rapid.StringMatching(`["\\<>&\n\té /a]{1,8}`),
		rapid.String(),
	)
	quote := rapid.SampledFrom([]func(string) string{
		func(s string) string { return s },
		func(s string) string { return plan.Quote(s) },
		strconv.Quote,
		strconv.QuoteToASCII,
		func(s string) string { return plan.Quote(plan.Quote(s)) },
		func(s string) string { return strconv.Quote(plan.Quote(map[string]any{"k": s})) },
	})
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(secret, 1, 6).Draw(t, "secrets")
		p := secretPlan(t, secrets...)
		var text strings.Builder
		for range rapid.IntRange(0, 8).Draw(t, "chunks") {
			if rapid.Bool().Draw(t, "is secret") {
				text.WriteString(quote.Draw(t, "quote")(rapid.SampledFrom(secrets).Draw(t, "which")))
			} else {
				text.WriteString(secret.Draw(t, "chunk"))
			}
		}
		got := p.Redact(text.String())
		for _, s := range secrets {
			if len(s) < 4 || strings.TrimSpace(s) == "" {
				continue
			}
			for _, form := range []string{s, inner(plan.Quote(s)), inner(strconv.Quote(s)), inner(strconv.QuoteToASCII(s))} {
				if strings.Contains(got, form) {
					t.Fatalf("%q holds %q, after %q", got, form, text.String())
				}
			}
		}
		short := slices.ContainsFunc(secrets, func(s string) bool { return len(strings.TrimSpace(s)) < 4 }) // a word only where the marker ends
		if again := p.Redact(got); again != got && !short {
			t.Fatalf("%q became %q", got, again)
		}
		if !utf8.ValidString(got) {
			t.Fatalf("%q is no text any more", got)
		}
	})
}

func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// TestCanary looks for the secret of a real plan, which stands unmarked in many
// places of it: the document is the only thing that shows it, and redaction
// removes it from there too.
func TestCanary(t *testing.T) {
	t.Parallel()
	for name, raw := range realPlans(t) {
		p, err := plan.Decode(raw)
		if err != nil {
			if strings.Contains(err.Error(), "CANARY") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		document := string(p.DocumentJSON(plan.Labels{}))
		for _, text := range []string{string(raw), document, fmt.Sprintf("%+v", p.Changes), fmt.Sprintf("%q", p.Outputs), fmt.Sprintf("%#v", p.Variables)} {
			if got := p.Redact(text); strings.Contains(got, "CANARY") {
				i := strings.Index(got, "CANARY")
				t.Errorf("%s: still there: %s", name, got[max(0, i-60):min(len(got), i+60)])
			}
		}
		if strings.Contains(string(p.MaskedJSON(plan.Labels{})), "CANARY") {
			t.Errorf("%s: the masked document holds the secret", name)
		}
		d := p.Document(plan.Labels{})
		d.Changes, d.Outputs, d.Deferred = nil, nil, nil
		if text := fmt.Sprintf("%+v %+v %v", d, p.Summary(), p.Complete); strings.Contains(text, "CANARY") {
			t.Errorf("%s: %s", name, text)
		}
		shown := 0
		for i := range p.Changes {
			c := &p.Changes[i]
			for _, f := range slices.Concat(p.Lookup(c, path(t, "input.password")), p.Lookup(c, path(t, "output.password")), p.Lookup(c, path(t, "input"))) {
				if strings.Contains(fmt.Sprint(f.Value), "CANARY") {
					shown++
					if !f.Sensitive {
						t.Errorf("%s: %s %s is not sensitive", name, c.Address, f.Path)
					}
				}
			}
		}
		if strings.HasSuffix(name, "create") && (shown == 0 || strings.Count(string(raw), "CANARY") < 5) {
			t.Errorf("%s: the canary is not where this test looks", name)
		}
	}
}

// TestRedactIsFast has many secrets that begin alike.
func TestRedactIsFast(t *testing.T) {
	t.Parallel()
	var secrets []string
	for i := range 20_000 {
		secrets = append(secrets, fmt.Sprintf("arn:aws:secret/%d", i))
	}
	p := secretPlan(t, secrets...)
	start := time.Now()
	p.Redact(strings.Repeat("arn:aws:bucket arn:aws:secret/77 ", 1000))
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("took %s", d)
	}
}
