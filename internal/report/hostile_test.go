package report_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report"
)

// TestHostileStrings puts each nasty string into every field of text there is
// and has every format read by a parser of its own.
func TestHostileStrings(t *testing.T) {
	t.Parallel()
	for i, s := range nasty() {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			check := filled(s)
			assertFormats(t, check)
			assertFormats(t, ruled(check))
		})
	}
	t.Run("all", func(t *testing.T) {
		t.Parallel()
		assertFormats(t, hostile())
	})
}

func TestAnyStrings(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.SampledFrom(nasty()),
			rapid.StringOfN(rapid.SampledFrom([]rune("`:#[]|<>@\n\r\\ -*_%,!()&;\u200b\u202e\x1b")), 0, 60, -1)).Draw(t, "text")
		check := filled(s)
		if rapid.Bool().Draw(t, "ruled") {
			check = ruled(check)
		}
		assertFormats(t, check)
	})
}

// FuzzFormats has every format read by a parser of its own, each with one text
// in every place of a result.
func FuzzFormats(f *testing.F) {
	for _, s := range nasty() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		check := filled(s)
		assertFormats(t, check)
		assertFormats(t, ruled(check))
	})
}

func TestAnyStringsOnTheirOwn(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom(nasty())
	rapid.Check(t, func(t *rapid.T) {
		check := api.Check{Outcome: rapid.SampledFrom([]api.Outcome{api.Passed, api.Failed, api.Errored, ""}).Draw(t, "outcome")}
		for range rapid.IntRange(0, 3).Draw(t, "plans") {
			check.Plans = append(check.Plans, api.PlanCheck{Path: piece.Draw(t, "plan"), Outcome: api.Passed, Error: piece.Draw(t, "error")})
		}
		for range rapid.IntRange(0, 4).Draw(t, "policies") {
			v := verdict(api.Outcome(rapid.SampledFrom([]string{"passed", "failed", "errored", "?"}).Draw(t, "outcome")), piece.Draw(t, "rule"))
			v.Plan, v.Path = piece.Draw(t, "plan"), piece.Draw(t, "path")
			check.Policies = append(check.Policies, v)
		}
		for range rapid.IntRange(0, 6).Draw(t, "findings") {
			f := finding(api.Level(rapid.SampledFrom([]string{"deny", "warn", "?"}).Draw(t, "level")), piece.Draw(t, "rule"), piece.Draw(t, "address"), piece.Draw(t, "action"), piece.Draw(t, "message"))
			f.Plan, f.Policy, f.Positions = piece.Draw(t, "plan"), piece.Draw(t, "policy"), []string{piece.Draw(t, "position")}
			f.Excepted = rapid.Bool().Draw(t, "excepted")
			check.Findings = append(check.Findings, f)
		}
		assertFormats(t, check)
	})
}

// filled is a check whose every string is s.
func filled(s string) api.Check {
	var check api.Check
	fill(reflect.ValueOf(&check).Elem(), s)
	return check
}

func fill(v reflect.Value, s string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Int:
		v.SetInt(2)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), s)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), s)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), s)
		}
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]any{s: []any{s, map[string]any{s: s}}}))
	case reflect.Bool: // Excepted stays false
	default:
		panic("a kind of field that this test does not know: " + v.Kind().String())
	}
}

// ruled gives a filled check the words that the judge itself chooses.
func ruled(c api.Check) api.Check {
	c.Outcome = api.Failed
	for i := range c.Plans {
		c.Plans[i].Outcome, c.Plans[i].Error = api.Failed, ""
	}
	for i := range c.Policies {
		c.Policies[i].Outcome, c.Policies[i].Error = api.Failed, ""
	}
	c.Findings[0].Level, c.Findings[1].Level = api.Deny, api.Warn
	return c
}

func assertFormats(t rapid.TB, c api.Check) {
	t.Helper()
	assertText(t, c)
	assertJSON(t, c)
	assertMarkdown(t, c)
	assertSARIF(t, c)
	assertJUnit(t, c)
	assertGitHub(t, c)
}

func output(t rapid.TB, format string, c api.Check, o report.Options) string {
	t.Helper()
	i := slices.IndexFunc(report.Formats(), func(f report.Format) bool { return f.Name == format })
	var b bytes.Buffer
	if err := report.Formats()[i].Write(&b, c, o); err != nil {
		t.Fatal(err)
	}
	out := b.String()
	if format != "github" {
		if got := commands(out); len(got) > 0 {
			t.Fatalf("%s: a CI runner reads commands: %q", format, got)
		}
	}
	for _, r := range strings.ReplaceAll(out, "\n", "") {
		if r != '\ufe0f' && !strconv.IsPrint(r) {
			t.Fatalf("%s: %U is written as it is", format, r)
		}
	}
	return out
}

func assertText(t rapid.TB, c api.Check) {
	t.Helper()
	for _, width := range []int{0, 40} {
		out := output(t, "text", c, report.Options{Width: width})
		if got := len(regexp.MustCompile(`(?m)^(DENY|WARN|EXCEPTED)\b`).FindAllString(out, -1)); got != len(c.Findings) {
			t.Fatalf("%d lines begin a finding, want %d:\n%s", got, len(c.Findings), out)
		}
		if got := len(regexp.MustCompile(`(?m)^Policy\b`).FindAllString(out, -1)); got != len(c.Policies) {
			t.Fatalf("%d lines begin a policy, want %d:\n%s", got, len(c.Policies), out)
		}
		assertColor(t, c, width, out)
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		if last := lines[len(lines)-1]; strings.HasPrefix(last, "policy passed") != (c.Outcome == api.Passed && judged(c)) {
			t.Fatalf("outcome %q ends in %q", c.Outcome, last)
		}
	}
}

// assertColor checks that colours add SGR codes and change nothing else.
func assertColor(t rapid.TB, c api.Check, width int, plain string) {
	t.Helper()
	var b bytes.Buffer
	if err := report.Text(&b, c, report.Options{Color: true, Width: width}); err != nil {
		t.Fatal(err)
	}
	if got := commands(b.String()); len(got) > 0 {
		t.Fatalf("a CI runner reads commands: %q", got)
	}
	if got := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(b.String(), ""); got != plain {
		t.Fatalf("colours change the text:\n%s", cmp.Diff(plain, got))
	}
}

func assertJSON(t rapid.TB, c api.Check) {
	t.Helper()
	var got, want api.Check
	plain, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(plain, &want); err != nil {
		t.Fatal(err)
	}
	out := output(t, "json", c, report.Options{})
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&got); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if strings.Contains(out, ": null") {
		t.Fatalf("a list is null:\n%s", out)
	}
	empty := cmp.FilterValues(func(a, b any) bool {
		x, y := reflect.ValueOf(a), reflect.ValueOf(b)
		return x.IsValid() && y.IsValid() && x.Kind() == reflect.Slice && y.Kind() == reflect.Slice && x.Len()+y.Len() == 0
	}, cmp.Ignore())
	if diff := cmp.Diff(want, got, empty); diff != "" {
		t.Fatalf("JSON says something else (-want +got):\n%s", diff)
	}
}
