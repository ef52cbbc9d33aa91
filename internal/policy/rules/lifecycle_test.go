package rules_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/internal/plan"
)

// entry is one resource change; rest is more JSON of the entry.
func entry(address, actions, rest string) string {
	kind, name, _ := strings.Cut(address[strings.LastIndex("."+address, "t."):], ".")
	before, after := `{"a": "old"}`, `{"a": "new"}`
	switch actions {
	case `"create"`:
		before = "null"
	case `"delete"`, `"forget"`:
		after = "null"
	}
	return fmt.Sprintf(`{"address": %q, "mode": "managed", "type": %q, "name": %q%s,
		"change": {"actions": [%s], "before": %s, "after": %s, "after_unknown": {}, "before_sensitive": {}, "after_sensitive": {}}}`,
		address, kind, name, rest, actions, before, after)
}

// Every tuple of actions that tools write, by every check that looks at one
// change, and by an attribute rule.
func TestActions(t *testing.T) {
	t.Parallel()
	rules := []struct{ name, text string }{
		{"no_delete", checks("no_delete")}, {"no_replace", checks("no_replace")}, {"no_forget", checks("no_forget")},
		{"attribute", with("path", `"a"`, "value", `"x"`)},
		{"create", with("path", `"a"`, "value", `"x"`, "actions", `"create"`)},
		{"every", with("path", `"a"`, "value", `"x"`, "actions", `["no-op","create","read","update","replace","delete","forget","create,forget","forget,create"]`)},
	}
	after, before := `a is "new", want eq "x"`, `a is "old", want eq "x"`
	for _, test := range []struct {
		actions string
		want    []string // by rule
	}{
		{`"no-op"`, []string{"", "", "", "", "", after}},
		{`"create"`, []string{"", "", "", after, after, after}},
		{`"read"`, []string{"", "", "", "", "", after}},
		{`"update"`, []string{"", "", "", after, "", after}},
		{`"delete"`, []string{"the plan would delete a protected address", "", "", "", "", before}},
		{`"delete","create"`, []string{"the plan would replace a protected address", "the plan would destroy and recreate it", "", after, "", after}},
		{`"create","delete"`, []string{"the plan would replace (create before destroy) a protected address", "the plan would destroy and recreate it", "", after, "", after}},
		{`"forget"`, []string{"", "", "the plan would forget a protected address; the object stays, and nothing manages it any more", "", "", before}},
		{`"create","forget"`, []string{"", "", "the plan would forget a protected address; the object stays, and nothing manages it any more", after, after, after}},
		{`"forget","create"`, []string{"", "", "the plan would forget a protected address; the object stays, and nothing manages it any more", after, after, after}},
	} {
		p := decode(t, planOf(entry("t.x", test.actions, "")))
		for i, rule := range rules {
			if diff := cmp.Diff(test.want[i], strings.Join(messages(t, rule.text, p), "\n")); diff != "" {
				t.Errorf("%s, %s:\n%s", test.actions, rule.name, diff)
			}
		}
	}
}

// Ephemeral and data resources are no managed ones; a rule names them to see
// them, and then sees how they come about.
func TestModes(t *testing.T) {
	t.Parallel()
	of := func(mode, actions string) string {
		return strings.Replace(entry("t."+mode, actions, ""), `"managed"`, `"`+mode+`"`, 1)
	}
	p := decode(t, planOf(of("managed", `"create"`), of("data", `"read"`), of("ephemeral", `"open"`)))
	for mode, want := range map[string][]string{
		"-": {"t.managed"}, `"managed"`: {"t.managed"}, `"data"`: {"t.data"}, `"ephemeral"`: {"t.ephemeral"}, `["data","managed"]`: {"t.managed", "t.data"},
	} {
		got := []string{}
		for _, f := range judge(t, source("r.json", with("mode", mode, "path", `"a"`)), p).Findings {
			got = append(got, f.Address)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", mode, diff)
		}
	}
}

// Globs know * and ? only; brackets and quotes are part of addresses.
func TestAddresses(t *testing.T) {
	t.Parallel()
	all := []string{`t.x`, `t.x[0]`, `t.x["a.b"]`, `t.x["q\"uote"]`, `t.x["new\nline"]`, `t.x["[0]"]`, `module.web["a"].t.x`, `module.web["b.c"].module.in[1].t.y["*"]`, `t.x0`}
	var entries []string
	for _, a := range all {
		entries = append(entries, entry(a, `"delete"`, ""))
	}
	p := decode(t, planOf(entries...))
	for _, test := range []struct {
		glob string
		want []int
	}{
		{`t.x`, []int{0}}, {`t.x[0]`, []int{1}}, {`t.x[?]`, []int{1}}, {`t.x["a.b"]`, []int{2}}, {`t.x["*"]`, []int{2, 3, 4, 5}}, {`t.x["q\"uote"]`, []int{3}},
		{`t.x["[0]"]`, []int{5}}, {`t.x?`, []int{8}}, {`*`, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}}, {`module.web["?"].*`, []int{6}}, {`module.*`, []int{6, 7}},
		{`*.t.?`, []int{6}}, {`*["*"]`, []int{2, 3, 4, 5, 7}}, {`T.X`, nil}, {`t.[xy]`, nil}, {`t.{x,y}`, nil}, {`\*`, nil},
	} {
		var got, want []string
		for _, f := range judge(t, source("r.json", checks("no_delete", "address", fmt.Sprintf("%q", test.glob))), p).Findings {
			got = append(got, f.Address)
		}
		for _, i := range test.want {
			want = append(want, all[i])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", test.glob, diff)
		}
	}
}

// A moved block must not take a protected resource out of sight.
func TestPreviousAddressIsProtected(t *testing.T) {
	t.Parallel()
	moved := `, "previous_address": "t.db", "action_reason": "replace_because_tainted"`
	p := decode(t, planOf(entry("t.harmless", `"delete","create"`, moved), entry("t.other", `"delete","create"`, "")))
	for _, test := range []struct{ rule, want string }{
		{checks("no_delete", "address", `"t.db"`), "the plan would replace a protected address; reason replace_because_tainted; it was moved from t.db"},
		{checks("no_replace", "address", `["t.db*"]`), "the plan would destroy and recreate it; reason replace_because_tainted; it was moved from t.db"},
		{checks("no_replace", "address", `"t.h*"`), "the plan would destroy and recreate it; reason replace_because_tainted"},
		{checks("max_deletes", "address", `"t.db"`, "value", "0"), "the plan destroys 1 resource, want at most 0"},
		{with("address", `"t.db"`, "path", `"a"`, "value", `"x"`), `a is "new", want eq "x"`},
	} {
		if diff := cmp.Diff([]string{test.want}, messages(t, test.rule, p)); diff != "" {
			t.Errorf("%s:\n%s", test.rule, diff)
		}
	}
}

// A deposed object repeats the address of the current one.
func TestDeposed(t *testing.T) {
	t.Parallel()
	p := decode(t, planOf(entry("t.x", `"no-op"`, ""), entry("t.x", `"delete"`, `, "deposed": "deadbeef"`), entry("t.x", `"delete"`, `, "deposed": "0badcafe"`)))
	v := judge(t, source("r.json", checks("no_delete")), p)
	var got []string
	for _, f := range v.Findings {
		got = append(got, f.Deposed+" "+f.Action+" "+f.Message)
	}
	want := []string{
		"deadbeef delete m: the plan would delete a deposed object (deadbeef) of a protected address",
		"0badcafe delete m: the plan would delete a deposed object (0badcafe) of a protected address",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if v.Matched != 3 || v.Rules[0].Matched != 3 {
		t.Errorf("matched %d, by the rule %d", v.Matched, v.Rules[0].Matched)
	}
	if got := messages(t, checks("max_deletes", "value", "1"), p); len(got) != 1 || got[0] != "the plan destroys 2 resources, want at most 1" {
		t.Errorf("got %q", got)
	}
}

func TestMaxDeletesNarrowed(t *testing.T) {
	t.Parallel()
	p := decode(t, planOf(entry("t.a", `"delete"`, ""), entry("module.m.t.b", `"delete","create"`, ""), entry("t.c", `"update"`, ""), entry("t.d", `"forget"`, "")))
	for fields, want := range map[string]int{"": 2, `"address": "module.*"`: 1, `"type": "t"`: 2, `"type": "u"`: 0, `"mode": "data"`: 0} {
		rule := `[{"id": "x", "level": "warn", "message": "m", "check": "max_deletes", "value": 0`
		if fields != "" {
			rule += ", " + fields
		}
		got := messages(t, rule+"}]", p)
		if want > 0 && (len(got) != 1 || !strings.HasPrefix(got[0], fmt.Sprintf("the plan destroys %d resource", want))) || want == 0 && len(got) != 0 {
			t.Errorf("%s: %q", fields, got)
		}
	}
}

func TestImport(t *testing.T) {
	t.Parallel()
	importing := func(what string) string {
		return strings.Replace(entry("t.x", `"update"`, ""), `"change": {`, `"change": {"importing": `+what+`, `, 1)
	}
	for what, want := range map[string][]string{
		`{"id": "i-1"}`: {"the plan would import it"}, `{"identity": {"arn": "a"}}`: {"the plan would import it"}, `{}`: {"the plan would import it"}, `null`: {},
	} {
		if diff := cmp.Diff(want, messages(t, checks("no_import"), decode(t, planOf(importing(what))))); diff != "" {
			t.Errorf("%s:\n%s", what, diff)
		}
	}
}

// Nested calls are at the addresses that resources use; an expression matches
// anywhere unless the author anchors it.
func TestModuleSource(t *testing.T) {
	t.Parallel()
	p := decode(t, strings.TrimSuffix(planOf(), "}")+`, "configuration": {"root_module": {"module_calls": {
		"net": {"source": "registry.opentofu.org/acme/net/aws", "version_constraint": "1.2.3", "module": {"module_calls": {"sub": {"source": "git::https://github.com/someone/net"}}}},
		"fork": {"source": "git::https://evil.example/?github.com/acme/", "module": {}},
		"none": {"module": {}}
	}}}}`)
	text := func(address, source string) string {
		return address + " config m: source " + source + " matches none of the allowed regular expressions"
	}
	fork, none := text("module.fork", `"git::https://evil.example/?github.com/acme/"`), text("module.none", `""`)
	sub := text("module.net.module.sub", `"git::https://github.com/someone/net"`)
	for _, test := range []struct {
		rule string
		want []string
	}{
		{checks("module_source", "value", `["^registry\\.opentofu\\.org/acme/", "^git::https://github\\.com/acme/"]`), []string{fork, sub, none}},
		{checks("module_source", "value", `"github\\.com/acme/|^registry"`), []string{sub, none}},
		{checks("module_source", "value", `"^registry"`, "address", `"module.net*"`), []string{sub}},
		{checks("module_source", "value", `"^registry"`, "address", `"module.gone"`), nil},
	} {
		var got []string
		for _, f := range judge(t, source("r.json", test.rule), p).Findings {
			got = append(got, f.Address+" "+f.Action+" "+f.Message)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s:\n%s", test.rule, diff)
		}
	}
}

func planWithChecks(statuses ...string) string {
	var list []string
	for _, s := range statuses {
		list = append(list, fmt.Sprintf(`{"address": {"kind": "check", "name": %[1]q, "to_display": "check.%[1]s"}, "status": %[1]q,
			"instances": [{"address": {"to_display": "check.%[1]s"}, "status": %[1]q, "problems": [{"message": "a"}, {"message": "b"}]}]}`, s))
	}
	return strings.TrimSuffix(planOf(), "}") + `, "checks": [` + strings.Join(list, ",") + `]}`
}

func TestChecksPass(t *testing.T) {
	t.Parallel()
	p := decode(t, planWithChecks("pass", "fail", "unknown", "error"))
	for _, test := range []struct {
		rule string
		want []string
	}{
		{checks("checks_pass"), []string{"check.fail the check fails; a; b", "check.unknown the check is known after apply, so it cannot be checked at plan time; a; b", "check.error the check ended in an error; a; b"}},
		{checks("checks_pass", "unknown", `"allow"`), []string{"check.fail the check fails; a; b", "check.error the check ended in an error; a; b"}},
		{checks("checks_pass", "address", `"check.e*"`), []string{"check.error the check ended in an error; a; b"}},
	} {
		v := judge(t, source("r.json", test.rule), p)
		var got []string
		for _, f := range v.Findings {
			got = append(got, f.Address+" "+strings.TrimPrefix(f.Message, "m: "))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s:\n%s", test.rule, diff)
		}
	}
	if v := judge(t, source("r.json", checks("checks_pass")), p); v.Rules[0].Matched != 4 || v.Matched != 0 {
		t.Errorf("matched %d, by the rule %d", v.Matched, v.Rules[0].Matched)
	}
}

func TestCompletePlan(t *testing.T) {
	t.Parallel()
	deferred := `, "deferred_changes": [{"reason": "resource_config_unknown", "resource_change": ` + entry("t.x", `"create"`, "") + `}]`
	for _, test := range []struct {
		more  string
		flags plan.Flags
		want  []string
	}{
		{"", plan.Flags{}, []string{}},
		{`, "complete": true`, plan.Flags{Destroy: true, RefreshOnly: true, Replace: []string{"t.x"}}, []string{}},
		{`, "complete": false`, plan.Flags{}, []string{"the plan is not the whole change: the tool says that it is not complete"}},
		{deferred, plan.Flags{}, []string{"the plan is not the whole change: 1 change left for another plan"}},
		{"", plan.Flags{Targets: []string{"t.a", "module.b"}}, []string{"the plan is not the whole change: it was made with -target=t.a -target=module.b"}},
		{`, "complete": false` + deferred, plan.Flags{Targets: []string{"t.a"}},
			[]string{"the plan is not the whole change: the tool says that it is not complete; 1 change left for another plan; it was made with -target=t.a"}},
	} {
		p := decode(t, strings.TrimSuffix(planOf(), "}")+test.more+"}")
		p.Flags = test.flags
		if diff := cmp.Diff(test.want, messages(t, checks("complete_plan"), p)); diff != "" {
			t.Errorf("%s:\n%s", test.more, diff)
		}
	}
}

// One compliant instance hides no other, and the first failure none that
// follow; findings come by rule, then by the plan's order.
func TestOrder(t *testing.T) {
	t.Parallel()
	p := decode(t, planOf(entry("t.b", `"update"`, ""), entry("t.a", `"update"`, ""), entry("t.c", `"delete"`, "")))
	first := strings.TrimSuffix(with("id", `"second"`, "level", `"warn"`, "path", `"a"`), "]")
	v := judge(t, source("r.json", first+","+strings.TrimPrefix(checks("no_delete", "id", `"first"`), "[")), p)
	var got []string
	for _, f := range v.Findings {
		got = append(got, f.Rule+" "+f.Address)
	}
	if diff := cmp.Diff([]string{"second t.b", "second t.a", "first t.c"}, got); diff != "" {
		t.Error(diff)
	}
}

// The broad rule set over every real plan.
func TestRealPlans(t *testing.T) {
	t.Parallel()
	broad := broadRules(t)
	paths, err := filepath.Glob(filepath.Join(root, "plans", "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no plans: %v", err)
	}
	for _, path := range paths {
		name := filepath.Base(path)
		if strings.Contains(name, "errored") || strings.Contains(name, "state-not-plan") {
			continue // no plans that can be judged
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := judge(t, broad, readPlan(t, path))
			var b strings.Builder
			fmt.Fprintf(&b, "%s, %d changes looked at\n\n", v.Outcome, v.Matched)
			for _, r := range v.Rules {
				fmt.Fprintf(&b, "%-20s %d\n", r.Rule, r.Matched)
			}
			b.WriteString("\n")
			for _, f := range v.Findings {
				fmt.Fprintf(&b, "%s %s %s [%s] (%s)\n    %s\n", f.Level, f.Rule, f.Address, f.Deposed, f.Action, f.Message)
			}
			if strings.Contains(b.String(), "CANARY") {
				t.Error("a secret of the plan is in a message")
			}
			golden(t, filepath.Join("plans", strings.TrimSuffix(name, ".json")+".golden"), b.String())
		})
	}
}
