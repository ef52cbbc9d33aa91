package page_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/page"
)

func TestVisible(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                               "",
		"plain é 日本 🎉 ⚠️":                "plain é 日本 🎉 ⚠️",
		"a\tb\nc\rd":                     `a\tb\nc\rd`,
		"\x00\x07\x08\x1b[31m\x7f":       `\x00\a\b\x1b[31m\x7f`,
		"\u0085\u009b":                   `\u0085\u009b`,
		"\u202enord\u202c":               `\u202enord\u202c`,
		"\u2066\u2069\u200b\u200d\ufeff": `\u2066\u2069\u200b\u200d\ufeff`,
		"a\u2028b\u2029c":                `a\u2028b\u2029c`,
		"\u00a0\u3000":                   `\u00a0\u3000`,
		"\u3164\u115f\u2800\u034f":       `\u3164\u115f\u2800\u034f`,
		"\U000e0041\U000e0101":           `\U000e0041\U000e0101`,
		"\xff\xc3(":                      `\xff\xc3(`,
		"\ufffd":                         "\ufffd",
	} {
		if diff := cmp.Diff(want, page.Visible(in)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
	}
}

func TestVisibleTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		once := page.Visible(rapid.String().Draw(t, "text"))
		if twice := page.Visible(once); once != twice {
			t.Fatalf("%q becomes %q", once, twice)
		}
	})
}

func TestDisarm(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"::error::x":                     `\::error::x`,
		"a\n  \t::warning::x\nb":         "a\n  \t\\::warning::x\nb",
		"\x1b[1;31m ::error::x":          "\x1b[1;31m \\::error::x",
		"a ::error::x std::string":       "a ::error::x std::string",
		"x ##[error]y ##[a]":             `x ##\[error]y ##\[a]`,
		"##vso[task.x]##teamcity[y] # [": `##vso\[task.x]##teamcity\[y] # [`,
		"###[group]":                     `###\[group]`,
	} {
		if diff := cmp.Diff(want, string(page.Disarm([]byte(in)))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
	}
}

// TestInert pins that JSON still says the same.
func TestInert(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"##[error]", "a##vso[b]", "\u009b\u202e\U000e0041", "\\##["})).Draw(t, "text")
		raw, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		inert := page.Inert(raw)
		var got string
		if err := json.Unmarshal(inert, &got); err != nil || got != want {
			t.Fatalf("%q is %q in %s: %v", want, got, inert, err)
		}
		if bytes.Contains(inert, []byte("##[")) || page.Visible(string(inert)) != string(inert) {
			t.Fatalf("%s acts", inert)
		}
	})
}

func TestProse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options page.Options
		text    string
		want    string
	}{
		"one line": {page.Options{}, "a b", "  a b\n"},
		"lines":    {page.Options{}, "\na \r\n\n  b\n", "  a\n\n      b\n"},
		"wrapped":  {page.Options{Width: 30}, "one two three four five six seven eight", "  one two three four five\n    six seven eight\n"},
		"no break": {page.Options{Width: 30}, strings.Repeat("x", 40) + " y", "  " + strings.Repeat("x", 40) + "\n    y\n"},
		"narrow":   {page.Options{Width: 3}, "one two", "  one two\n"},
		"color":    {page.Options{Color: true}, "a\nb", "  \x1b[1;31ma\x1b[0m\n    \x1b[1;31mb\x1b[0m\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := page.New(tt.options)
			p.Prose(2, 4, page.Red, tt.text)
			var b bytes.Buffer
			if _, err := p.WriteTo(&b); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, n := rapid.String().Draw(t, "text"), rapid.IntRange(1, 50).Draw(t, "n")
		got := page.Clip(text, n)
		if utf8.RuneCountInString(got) > n || got != text && !strings.HasSuffix(got, "…") {
			t.Fatalf("%q at %d is %q", text, n, got)
		}
	})
}

func TestTally(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]api.Summary{
		"no changes":                          {Read: 3},
		"1 to create":                         {Create: 1},
		"2 to replace, 1 to destroy":          {Replace: 2, Destroy: 3},
		"1 to forget, 1 to import, 2 to move": {Forget: 1, Import: 1, Move: 2},
	} {
		if got := page.Tally(s); got != want {
			t.Errorf("%+v is %q, want %q", s, got, want)
		}
	}
}
