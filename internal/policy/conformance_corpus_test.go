package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/rules"
)

// subjects are what a case can be about: the first word of its name. The list
// is the table of contents, and none of it may be empty.
var subjects = strings.Fields(`
	present missing null unknown sensitive
	bool string number list empty json key regex op
	address module
	replace delete forget moved import deposed noop read data ephemeral actions
	level several hidden limit source checks complete deferred output
	plan refused errored`)

const minCases = 110

// TestConformanceCorpus: people read the corpus to learn how to write a policy,
// so a case says what it is about, in lines that fit on a screen.
func TestConformanceCorpus(t *testing.T) {
	t.Parallel()
	cases := readCases(t)
	if len(cases) < minCases {
		t.Errorf("%d cases, want at least %d", len(cases), minCases)
	}
	known := strings.Fields("lib.rego changes.json plan.json flags.json rules.json policy.rego policy.cue cannot.rules cannot.rego cannot.cue cannot.conftest secret want")
	found := map[string]bool{}
	for _, c := range cases {
		subject, _, _ := strings.Cut(c.name, "_")
		if found[subject] = true; !slices.Contains(subjects, subject) {
			t.Errorf("%s: %s is no subject", c.name, subject)
		}
		if text := strings.TrimSpace(c.comment); !strings.HasSuffix(text, ".") || strings.Count(text, "\n") > 3 {
			t.Errorf("%s: want up to four lines on what the case pins and why", c.name)
		}
		if _, ok := c.files["want"]; !ok {
			t.Errorf("%s: no want", c.name)
		}
		for name, text := range c.files {
			if !slices.Contains(known, name) {
				t.Errorf("%s: no such file: %s", c.name, name)
			}
			for line := range strings.Lines(text) {
				if len(line) > 160 {
					t.Errorf("%s: a line of %d bytes in %s", c.name, len(line), name)
				}
			}
		}
	}
	for _, subject := range subjects {
		if !found[subject] {
			t.Errorf("no case about %s", subject)
		}
	}
}

var states = map[plan.State]string{plan.Missing: "missing", plan.Null: "null", plan.Unknown: "unknown", plan.Present: "present"}

// TestConformanceWords: every word that a rule can be written in occurs in the
// corpus, where it holds and where it is violated; every operator meets a value
// in each of the four states; and every kind of change is in a plan.
func TestConformanceWords(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range readCases(t) {
		for lang, name := range policyFiles {
			if c.files[name] != "" {
				seen[strings.TrimSpace(string(lang)+" "+c.files["want"])] = true
			}
		}
		p, err := plan.Decode(c.plan(t))
		if err != nil {
			continue
		}
		c.setFlags(t, p)
		for _, change := range p.Changes {
			seen["action "+string(change.Action)], seen["mode "+change.Mode] = true, true
		}
		name := policyFiles[api.Rules]
		loaded, err := rules.Load(policy.Source{Path: name, Language: api.Rules, Files: []policy.File{{Name: name, Data: []byte(c.files[name])}}})
		if err == nil {
			note(seen, loaded, p)
		}
	}
	want := []string{"warn", "unknown allowed"}
	for _, lang := range []string{"rules", "rego", "cue"} {
		want = append(want, lang, lang+" errored") // passes, and cannot judge
	}
	for _, op := range rules.Ops() {
		want = append(want, string(op)+" holds", string(op)+" is violated")
		for _, state := range states {
			want = append(want, string(op)+" meets "+state)
		}
	}
	for _, check := range rules.Checks() {
		want = append(want, string(check)+" holds", string(check)+" is violated")
	}
	for _, action := range strings.Fields("no-op create read update replace delete forget create,forget forget,create") {
		want = append(want, "action "+action)
	}
	for _, mode := range strings.Fields("managed data ephemeral") {
		want = append(want, "mode "+mode)
	}
	for _, what := range want {
		if !seen[what] {
			t.Errorf("no case: %s", what)
		}
	}
}

// note adds what the rules of a case use and come to.
func note(seen map[string]bool, loaded []rules.Rule, p *plan.Plan) {
	verdict := rules.Judge(loaded, p)
	for i, r := range loaded {
		word := string(r.Op) + string(r.Check)
		violations := 0
		for _, f := range verdict.Findings {
			if f.Rule == r.ID {
				violations++
			}
		}
		seen[word+" is violated"] = seen[word+" is violated"] || violations > 0
		seen[word+" holds"] = seen[word+" holds"] || verdict.Rules[i].Matched > violations
		seen["warn"] = seen["warn"] || r.Level == api.Warn
		seen["unknown allowed"] = seen["unknown allowed"] || r.AllowUnknown
		if r.Op == "" || len(r.Types)+len(r.Addresses) > 0 {
			continue
		}
		for j := range p.Changes {
			if c := &p.Changes[j]; c.Action == plan.Create && c.Mode == "managed" {
				for _, f := range p.Lookup(c, r.Path) {
					seen[word+" meets "+states[f.State]] = true
				}
			}
		}
	}
}
