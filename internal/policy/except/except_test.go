package except_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/except"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// one is a file with one exception, some of its fields replaced or added; a
// field that is "-" is left out.
func one(fields ...string) string {
	all := [][2]string{{"rule", `"no-delete"`}, {"address", `"a.*"`}, {"reason", `"moving"`}, {"owner", `"team-a"`}, {"expires", `"2026-03-01"`}}
	for i := 0; i < len(fields); i += 2 {
		found := false
		for j := range all {
			if all[j][0] == fields[i] {
				all[j][1], found = fields[i+1], true
			}
		}
		if !found {
			all = append(all, [2]string{fields[i], fields[i+1]})
		}
	}
	var parts []string
	for _, f := range all {
		if f[1] != "-" {
			parts = append(parts, `"`+f[0]+`":`+f[1])
		}
	}
	return "[{" + strings.Join(parts, ",") + "}]"
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	allowed := "; allowed: rule, address, reason, owner, expires, policy"
	for _, tc := range []struct{ name, text, want string }{
		{"no rule", one("rule", "-"), `e.json:1:2: exception 1: rule is missing; the rule whose findings it is about`},
		{"no address", one("address", "-"), `e.json:1:2: exception 1: address is missing; a glob of addresses, or "" for findings about the whole plan`},
		{"no reason", one("reason", "-"), `e.json:1:2: exception 1: reason is missing; why the rule need not hold here`},
		{"no owner", one("owner", "-"), `e.json:1:2: exception 1: owner is missing; who answers for it`},
		{"no expiry", one("expires", "-"), `e.json:1:2: exception 1: expires is missing; the last day, such as 2026-12-31`},
		{"an empty rule", one("rule", `""`), `e.json:1:10: exception 1: rule is empty`},
		{"a blank reason", one("reason", `" "`), `e.json:1:47: exception 1: reason is empty`},
		{"a blank address", one("address", `" "`), `e.json:1:32: exception 1: address is blank; "" is for findings about the whole plan`},
		{"an empty policy", one("policy", `""`), `e.json:1:105: exception 1: policy is empty`},
		{"an address of a wrong type", one("address", `["a"]`), `e.json:1:32: exception 1: address is a list, want a string; "" is for findings about the whole plan`},
		{"null", one("address", `null`), `e.json:1:32: exception 1: address is null, want a string; "" is for findings about the whole plan`},
		{"an owner of a wrong type", one("owner", `7`), `e.json:1:64: exception 1: owner is a number, want a string`},
		{"a day that is none", one("expires", `"2026-02-30"`), `e.json:1:83: exception 1: expires "2026-02-30" is neither a day such as 2026-12-31 nor a time such as 2026-12-31T18:00:00Z`},
		{"a time without a zone", one("expires", `"2026-12-31T18:00:00"`), `e.json:1:83: exception 1: expires "2026-12-31T18:00:00" is neither a day such as 2026-12-31 nor a time such as 2026-12-31T18:00:00Z`},
		{"a time that is none", one("expires", `"2026-12-31T24:00:00Z"`), `e.json:1:83: exception 1: expires "2026-12-31T24:00:00Z" is neither a day such as 2026-12-31 nor a time such as 2026-12-31T18:00:00Z`},
		{"one digit of an hour", one("expires", `"2026-12-31T8:00:00Z"`), `e.json:1:83: exception 1: expires "2026-12-31T8:00:00Z" is neither a day such as 2026-12-31 nor a time such as 2026-12-31T18:00:00Z`},
		{"a comma", one("expires", `"2026-12-31T18:00:00,5Z"`), `e.json:1:83: exception 1: expires "2026-12-31T18:00:00,5Z" is neither a day such as 2026-12-31 nor a time such as 2026-12-31T18:00:00Z`},
		{"an offset of a day", one("expires", `"2026-12-31T18:00:00-24:00"`), `e.json:1:83: exception 1: expires "2026-12-31T18:00:00-24:00" is neither a day such as 2026-12-31 nor a time such as 2026-12-31T18:00:00Z`},
		{"never", one("expires", `"never"`), `e.json:1:83: exception 1: expires "never" is neither a day such as 2026-12-31 nor a time such as 2026-12-31T18:00:00Z`},
		{"an unknown field", one("adress", `"a"`), `e.json:1:96: exception 1: unknown field "adress"` + allowed + ` (did you mean "address"?)`},
		{"a field in capitals", one("Rule", `"a"`), `e.json:1:96: exception 1: unknown field "Rule"` + allowed + ` (did you mean "rule"?)`},
		{"a duplicate field", one("rule", `"a","rule":"b"`), `e.json:1:14: exception 1: duplicate field "rule"`},
		{"no object", `["x"]`, `e.json:1:2: exception 1: a string, want an object`},
		{"another object", `{"rules":[]}`, `e.json:1:1: "exceptions" is missing; a file of exceptions is a list of exceptions, or an object with "exceptions"` + "\n" + `e.json:1:2: unknown field "rules"; allowed: exceptions`},
		{"two mistakes", `[{"rule":"a","address":1,"reason":"r","owner":"o","expires":""}]`, "e.json:1:24: exception 1: address is a number, want a string; \"\" is for findings about the whole plan\ne.json:1:61: exception 1: expires is empty"},
		{"nothing", "", `e.json:1:1: the file is empty`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := except.Load("e.json", []byte(tc.text))
			if f.Err == nil || len(f.Entries) > 0 {
				t.Fatal("it loads")
			}
			if diff := cmp.Diff(tc.want, f.Err.Error()); diff != "" {
				t.Error(diff)
			}
			if v := f.Verdict(&plan.Plan{}, nil, noon); v.Outcome != api.Errored || v.Hint == "" {
				t.Errorf("its verdict is %+v", v)
			}
		})
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"e.json": one(), "o.json": `{"exceptions":` + one() + `}`, "e.yml": one(),
		"e.yaml": "- rule: no-delete\n  address: a.*\n  reason: moving\n  owner: team-a\n  expires: 2026-03-01 # a day\n",
	} {
		f := except.Load(name, []byte(text))
		if f.Err != nil || len(f.Entries) != 1 || !covered(f, noon, "no-delete", "a.b", "p.json") {
			t.Errorf("%s: %v", name, f.Err)
		}
	}
	if f := except.Load("none.json", []byte("[]")); f.Err != nil {
		t.Errorf("a file that holds no exception any more: %v", f.Err)
	}
}

func covered(f except.File, now time.Time, rule, address, path string) bool {
	return f.Excuse(now)(api.Finding{Rule: rule, Address: address, Policy: path, Level: api.Deny}) != nil
}

func TestCovers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, file, rule, address, policy string
		want                              bool
	}{
		{"the rule and a glob", one(), "no-delete", "a.b", "p.json", true},
		{"a glob crosses dots", one("address", `"*.db"`), "no-delete", "module.x.a.db", "p.json", true},
		{"another rule", one(), "no-delet", "a.b", "p.json", false},
		{"a rule is no glob", one("rule", `"no-*"`), "no-delete", "a.b", "p.json", false},
		{"another address", one(), "no-delete", "b.a", "p.json", false},
		{"brackets are literal", one("address", `"a.b[\"x\"]"`), "no-delete", `a.b["x"]`, "p.json", true},
		{"the whole plan", one("address", `""`), "no-delete", "", "p.json", true},
		{"the whole plan is no resource", one("address", `""`), "no-delete", "a.b", "p.json", false},
		{"no glob is about the whole plan", one("address", `"*"`), "no-delete", "", "p.json", false},
		{"the policy", one("policy", `"./q/../p.json"`), "no-delete", "a.b", "p.json", true},
		{"another policy", one("policy", `"q.json"`), "no-delete", "a.b", "p.json", false},
	} {
		f := except.Load("e.json", []byte(tc.file))
		if f.Err != nil {
			t.Fatal(f.Err)
		}
		if got := covered(f, noon, tc.rule, tc.address, tc.policy); got != tc.want {
			t.Errorf("%s: covered is %t", tc.name, got)
		}
	}
}

// A day is valid to its end in UTC, a time to that moment.
func TestExpiry(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		expires, now string
		want         bool
	}{
		{"2026-03-01", "2026-03-01T00:00:00Z", true},
		{"2026-03-01", "2026-03-01T23:59:59Z", true},
		{"2026-03-01", "2026-03-02T00:00:00Z", false},
		{"2026-03-01", "2026-03-02T01:00:00+02:00", true}, // still the first in UTC
		{"2026-03-01T18:00:00+01:00", "2026-03-01T16:59:59Z", true},
		{"2026-03-01T18:00:00+01:00", "2026-03-01T17:00:00Z", false},
	} {
		now, err := time.Parse(time.RFC3339, tc.now)
		if err != nil {
			t.Fatal(err)
		}
		f := except.Load("e.json", []byte(one("expires", `"`+tc.expires+`"`)))
		if got := covered(f, now, "no-delete", "a.b", ""); got != tc.want {
			t.Errorf("%s at %s: covered is %t", tc.expires, tc.now, got)
		}
		v := f.Verdict(&plan.Plan{}, nil, now)
		if expired := len(v.Findings) == 1 && v.Findings[0].Level == api.Warn; expired == tc.want || v.Outcome != api.Passed {
			t.Errorf("%s at %s: %+v", tc.expires, tc.now, v)
		}
	}
}

func TestVerdictSaysWhatIsUnused(t *testing.T) {
	t.Parallel()
	f := except.Load("e.json", []byte(one()))
	found := []policy.Judged{{Verdicts: []api.Verdict{{Findings: []api.Finding{{Exception: &f.Entries[0].Exception}}}}}}
	if v := f.Verdict(&plan.Plan{}, except.Used(found), noon); len(v.Notes) != 0 {
		t.Errorf("used, and %q", v.Notes)
	}
	v := f.Verdict(&plan.Plan{}, except.Used(nil), noon)
	want := []string{"the exception from rule no-delete at a.* (e.json:1:2) covers nothing here"}
	if diff := cmp.Diff(want, v.Notes); diff != "" || len(v.Findings) != 0 {
		t.Error(diff, v.Findings)
	}
	if policy.Compose([]api.Verdict{v}) != api.Errored {
		t.Error("a file of exceptions alone is a pass")
	}
}

// FuzzLoad holds that no text panics the loader, and that what loads is whole.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(one()), false)
	f.Add([]byte("exceptions:\n- rule: a\n  address: ''\n  reason: r\n  owner: o\n  expires: 2026-01-01\n  policy: p\n"), true)
	f.Add([]byte(one("expires", `"2026-03-01T18:00:00.5+01:00"`)), true)
	f.Add([]byte(`[{"rule":"\ud800"}]`), false)
	f.Fuzz(func(t *testing.T, data []byte, yaml bool) {
		name := "e.json"
		if yaml {
			name = "e.yaml"
		}
		file := except.Load(name, data)
		for _, e := range file.Entries {
			if file.Err != nil || e.Rule == "" || e.Reason == "" || e.Owner == "" || e.Expires == "" {
				t.Errorf("half an exception loads: %+v", e)
			}
			if e.Expired(time.Time{}) && e.Expires[:4] != "0000" {
				t.Errorf("%s has ended before there was time", e.Expires)
			}
		}
		file.Excuse(noon)(api.Finding{Rule: "a", Address: "a.b"})
		file.Verdict(&plan.Plan{}, nil, noon)
	})
}
