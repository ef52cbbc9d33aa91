package plan_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/internal/plan"
)

// FuzzParsePath: a path that is read can be written, and is read the same again.
func FuzzParsePath(f *testing.F) {
	for _, text := range []string{"tags.owner", `tags["kubernetes.io/name"]`, "disk[0].size", "disk[*]", "a.0", `[""]`, `["\ud800"]`, "*", "a..b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := plan.ParsePath(text)
		if err != nil {
			return
		}
		again, err := plan.ParsePath(p.String())
		if err != nil {
			t.Fatalf("%q is written as %q, which is no path: %v", text, p.String(), err)
		}
		if diff := cmp.Diff(p, again); diff != "" {
			t.Errorf("%q is written as %q, which is another (-first +again):\n%s", text, p.String(), diff)
		}
	})
}

// FuzzGlob holds globs against the regular expressions that say the same.
func FuzzGlob(f *testing.F) {
	f.Add("*.terraform_data.db[*", `module.m["a.b"].terraform_data.db["x\n"]`)
	f.Add("?*?", "é")
	f.Add("a**b?", "a\n*b")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if !utf8.ValidString(pattern) || !utf8.ValidString(text) {
			plan.NewGlob(pattern).Match(text) // no expression says what broken text matches
			return
		}
		form := strings.NewReplacer(`\*`, `(?s:.*)`, `\?`, `(?s:.)`).Replace(regexp.QuoteMeta(pattern))
		re, err := regexp.Compile("^(?:" + form + ")$")
		if err != nil {
			return // too large an expression
		}
		if got, want := plan.NewGlob(pattern).Match(text), re.MatchString(text); got != want {
			t.Errorf("%q matches %q: %v, want %v", pattern, text, got, want)
		}
	})
}

// FuzzRedact: a secret is in no text that was searched for it, and not in an
// address of the plan either unless it is a plain word.
func FuzzRedact(f *testing.F) {
	f.Add("hunter2", "say hunter2!", `a"].x`)
	f.Add("a${b}\nc d e f", "key: |\n  a$${b}\n  c d e f", "${x}")
	f.Add("(sensitive)", "(sensitive", "")
	f.Add("\x00\x1b'\u2028", "'", "\u2028")
	f.Fuzz(func(t *testing.T, secret, text, key string) {
		if !utf8.ValidString(secret) || !utf8.ValidString(text) || !utf8.ValidString(key) || len(secret) < 4 || strings.TrimSpace(secret) != secret {
			return
		}
		address := "a.b[" + plan.Quote(key+secret) + "]"
		p, err := plan.Decode([]byte(`{"format_version":"1.2","resource_changes":[{"address":` + plan.Quote(address) + `,"mode":"managed","type":"a","name":"b",
			"change":{"actions":["create"],"after":{"p":` + plan.Quote(secret) + `},"after_sensitive":{"p":true}}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if out := p.Redact(text + secret + text); strings.Contains(out, secret) {
			t.Errorf("%q is in %q", secret, out)
		}
		plain := regexp.MustCompile(`^[a-z_]+$`).MatchString(secret)
		if out := p.RedactAddress(address); !plain && strings.Contains(out, secret) {
			t.Errorf("%q is in the address %q", secret, out)
		}
	})
}
