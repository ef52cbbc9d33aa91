package gate_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/gate"
	"github.com/assize-iac/assize/internal/problem"
)

var created = time.Date(2026, 11, 30, 12, 0, 0, 0, time.FixedZone("CET", 3600))

// place is that of the stack below the root of its policies.
const place = "infra/prod"

const run = "run_0123456789abcdef0123456789abcdef"

func digest(s string) string { return "sha256:" + strings.Repeat(s, 64) }

func binding() api.Binding {
	return api.Binding{
		Plan: digest("1"), Document: digest("2"), Configuration: digest("3"), Files: map[string]string{"../m/c.tf": digest("c"), "a.tf": digest("1"), "b.tf": digest("2")}, LockFile: digest("4"), Variables: digest("5"),
		Backend: digest("7"), Settings: digest("8"), Salt: "salt", VarFiles: []string{"prod.tfvars"}, Flags: []string{"-destroy"},
		Tool:      api.Tool{Name: "tofu", Version: "1.12.6", Digest: digest("6")},
		State:     api.State{Lineage: "a", Serial: 3},
		Workspace: "default", Commit: "abc", Provenance: provenance(),
	}
}

func provenance() api.Provenance {
	commit := strings.Repeat("c", 40)
	return api.Provenance{
		Kind:    api.TrackedRun,
		Source:  api.InputSource{CommitSHA: &commit, RepositoryID: "7", WorkingDirectory: "infra/prod"},
		Subject: api.InputSubject{ID: "prod", Metadata: map[string]string{"owner": "team-a"}},
	}
}

func verdict(outcome api.Outcome, e api.Enforcement) api.Verdict {
	return api.Verdict{
		Path: "policy/no-delete.cue", Engine: api.CUE, Digest: digest("a"), Input: digest("2"),
		Enforcement: e, Outcome: outcome, Rules: []api.RuleCount{}, Notes: []string{},
	}
}

func sealed(t testing.TB, verdicts ...api.Verdict) api.Warrant {
	t.Helper()
	w, err := gate.Seal(run, binding(), place, verdicts, api.Summary{Create: 1}, created)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func encode(t testing.TB, w api.Warrant) []byte {
	t.Helper()
	text, err := gate.Encode(w)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Every single thing that moves is a refusal of its own, and says what moved.
func TestCompare(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		move func(*api.Binding)
		want string
	}{
		{"plan", func(b *api.Binding) { b.Plan = digest("f") }, "the plan file is not the one that was judged"},
		{"configuration", func(b *api.Binding) { b.Configuration = digest("f") }, "the configuration has changed since the plan was made"},
		{"configuration", func(b *api.Binding) { b.Configuration = "" }, "the configuration has changed since the plan was made"},
		{"configuration", func(b *api.Binding) {
			b.Configuration = digest("f")
			b.Files = map[string]string{"a.tf": digest("1"), "b.tf": digest("f"), "d\x1b\u202e.tf": digest("2")}
		}, `the configuration has changed since the plan was made: ../m/c.tf removed, b.tf changed, "d\x1b\u202e.tf" added`},
		{"configuration", func(b *api.Binding) {
			b.Configuration = digest("f")
			b.Files = map[string]string{"1.tf": "", "2.tf": "", "3.tf": ""}
		}, "the configuration has changed since the plan was made: ../m/c.tf removed, 1.tf added, 2.tf added, and 3 more"},
		{"lock_file", func(b *api.Binding) { b.LockFile = digest("f") }, "the lock file .terraform.lock.hcl has changed since the plan was made"},
		{"lock_file", func(b *api.Binding) { b.LockFile = "" }, "the lock file .terraform.lock.hcl has gone since the plan was made"},
		{"variables", func(b *api.Binding) { b.Variables = digest("f") },
			"the variables have changed since the plan was made (in their files, or TF_VAR_* in the environment)"},
		{"tool", func(b *api.Binding) { b.Tool.Name = "terraform" }, "the plan was made with tofu 1.12.6, this is terraform"},
		{"tool", func(b *api.Binding) { b.Tool.Version = "1.12.7" }, "the plan was made with tofu 1.12.6, this is 1.12.7"},
		{"tool", func(b *api.Binding) { b.Tool.Digest = digest("f") },
			"tofu is another program than the one that made the plan (sha256:666666666666, now sha256:ffffffffffff)"},
		{"backend", func(b *api.Binding) { b.Backend = digest("f") },
			"the backend is not that of the plan: its settings, or variables in the environment that steer it, are others"},
		{"settings", func(b *api.Binding) { b.Settings = digest("f") },
			"the settings of the stack in assize.yaml or .assize.yaml have changed since the plan was made"},
		{"settings", func(b *api.Binding) { b.Settings = "" },
			"the settings of the stack in assize.yaml or .assize.yaml have changed since the plan was made"},
		{"workspace", func(b *api.Binding) { b.Workspace = "prod" }, `the workspace is "prod", and the plan was made in "default"`},
		{"provenance", func(b *api.Binding) { b.Provenance.Kind = api.ManualRun }, `the kind is "manual", and the plan was judged with "tracked"`},
		{"provenance", func(b *api.Binding) { b.Provenance.Source.CommitSHA = nil },
			`the commit is "", and the plan was judged with "` + strings.Repeat("c", 40) + `"`},
		{"provenance", func(b *api.Binding) { b.Provenance.Source.RepositoryID = "8" }, `the repository is "8", and the plan was judged with "7"`},
		{"provenance", func(b *api.Binding) { b.Provenance.Source.WorkingDirectory = "." },
			`the working directory is ".", and the plan was judged with "infra/prod"`},
		{"provenance", func(b *api.Binding) { b.Provenance.Subject.ID = "dev" }, `the stack id is "dev", and the plan was judged with "prod"`},
		{"provenance", func(b *api.Binding) { b.Provenance.Subject.Metadata["owner"] = "team-b" },
			"the metadata is not that which the plan was judged with"},
		{"state", func(b *api.Binding) { b.State.Serial = 4 }, "the state has moved on: serial 3, now 4"},
		{"state", func(b *api.Binding) { b.State.Serial = 2 }, "the state has gone back: serial 3, now 2"},
		{"state", func(b *api.Binding) { b.State.Lineage = "b" }, `the state is another one: lineage "a", now "b"`},
		{"state", func(b *api.Binding) { b.State = api.State{} }, "the state that the plan was made from is gone"},
	} {
		t.Run(tc.want, func(t *testing.T) {
			t.Parallel()
			now := binding()
			tc.move(&now)
			got := gate.Compare(binding(), now)
			if len(got) != 1 || got[0].What != tc.name || got[0].Message != tc.want || got[0].Hint == "" {
				t.Errorf("got %+v, want %s: %s", got, tc.name, tc.want)
			}
			if gate.Decide(gate.Facts{Sealed: sealed(t), Now: now}).Allowed() {
				t.Error("it was allowed")
			}
		})
	}
}

func TestNothingMoved(t *testing.T) {
	t.Parallel()
	now := binding()
	now.Commit, now.Salt = "another commit of the same files", "" // neither is compared
	if got := gate.Compare(binding(), now); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
	first := binding()
	first.State, first.LockFile = api.State{}, ""
	if got := gate.Compare(first, first); len(got) != 0 {
		t.Errorf("a stack without state and lock file: %+v", got)
	}
	later := first
	later.State, later.LockFile = api.State{Lineage: "a", Serial: 1}, digest("4")
	var messages []string
	for _, r := range gate.Compare(first, later) {
		messages = append(messages, r.Message)
	}
	want := []string{
		"the lock file .terraform.lock.hcl has come into being since the plan was made",
		"there is a state now; when the plan was made there was none",
	}
	if diff := cmp.Diff(want, messages); diff != "" {
		t.Error(diff)
	}
}

// A new field of the binding must be compared, or be named here as one that is not.
func TestEveryFieldIsCompared(t *testing.T) {
	t.Parallel()
	not := map[string]bool{"Mode": true, "Salt": true, "VarFiles": true, "Files": true, "Flags": true, "Commit": true}
	for i := range reflect.TypeFor[api.Binding]().NumField() {
		name := reflect.TypeFor[api.Binding]().Field(i).Name
		now := binding()
		reflect.ValueOf(&now).Elem().Field(i).SetZero()
		allowed := gate.Decide(gate.Facts{Sealed: sealed(t), Now: now}).Allowed()
		if allowed != not[name] {
			t.Errorf("with %s unknown, allowed is %t", name, allowed)
		}
	}
}

// A conditional plan is never applied, however well everything else holds
// (docs/warrant.md, rule 19).
func TestConditional(t *testing.T) {
	t.Parallel()
	w, err := gate.Seal(run, binding(), place, nil, api.Summary{Create: 1}, created, "network", "dns")
	if err != nil {
		t.Fatal(err)
	}
	d := gate.Decide(gate.Facts{Sealed: w, Now: binding(), Place: place})
	if d.Allowed() || len(d.Refusals()) != 1 || d.Refusals()[0].What != "upstream" {
		t.Fatalf("allowed %t: %+v", d.Allowed(), d.Refusals())
	}
	if want := "the plan is conditional: it was made against what network and dns will be"; d.Refusals()[0].Message != want {
		t.Errorf("got %q, want %q", d.Refusals()[0].Message, want)
	}
	// Without what makes it conditional it is not what was sealed.
	w.Upstream = []string{}
	if d := gate.Decide(gate.Facts{Sealed: w, Now: binding(), Place: place}); d.Allowed() {
		t.Error("a warrant that was made unconditional was taken")
	}
}

func TestUnsafe(t *testing.T) {
	t.Parallel()
	now := binding()
	now.Variables = digest("f")
	if gate.Unsafe(gate.Still(binding(), now)) {
		t.Error("the tool may be run to see what else has moved")
	}
	for name, move := range map[string]func(*api.Binding){
		"plan": func(b *api.Binding) { b.Plan = "" }, "tool": func(b *api.Binding) { b.Tool.Digest = digest("f") },
		"lock file": func(b *api.Binding) { b.LockFile = digest("f") }, "workspace": func(b *api.Binding) { b.Workspace = "prod" },
	} {
		now := binding()
		move(&now)
		if !gate.Unsafe(gate.Still(binding(), now)) {
			t.Errorf("the tool is started with another %s", name)
		}
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	hard := func(o api.Outcome) api.Verdict { return verdict(o, api.HardMandatory) }
	other := hard(api.Passed)
	other.Input = digest("f")
	for _, tc := range []struct {
		name      string
		policies  int
		verdicts  []api.Verdict
		want      string // "" is allowed
		violation bool
	}{
		{"no policy was named", 0, nil, "", false},
		{"passed", 1, []api.Verdict{hard(api.Passed)}, "", false},
		{"a failed advisory policy blocks nothing", 1, []api.Verdict{verdict(api.Failed, api.Advisory)}, "", false},
		{"failed", 1, []api.Verdict{hard(api.Failed)}, "the plan violates the policy policy/no-delete.cue (sha256:aaaaaaaaaaaa)", true},
		{"a soft failure blocks without an override", 1, []api.Verdict{verdict(api.Failed, api.SoftMandatory)},
			"the policy policy/no-delete.cue (sha256:aaaaaaaaaaaa) needs an override: there is none", true},
		{"errored blocks even when advisory", 1, []api.Verdict{verdict(api.Errored, api.Advisory)},
			"the policy policy/no-delete.cue (sha256:aaaaaaaaaaaa) could not judge the plan: it gave no outcome", true},
		{"an outcome that is none", 1, []api.Verdict{hard("")},
			"the policy policy/no-delete.cue (sha256:aaaaaaaaaaaa) could not judge the plan: it gave no outcome", true},
		{"a policy that was named and did not judge", 2, []api.Verdict{hard(api.Passed)}, "2 policies were named and 1 judged", true},
		{"a verdict on another plan", 1, []api.Verdict{other},
			"the policy policy/no-delete.cue (sha256:aaaaaaaaaaaa) judged another plan", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := gate.Decide(gate.Facts{Sealed: sealed(t), Now: binding(), Policies: tc.policies, Verdicts: tc.verdicts})
			var got []string
			for _, r := range d.Refusals() {
				got = append(got, r.Message)
			}
			if strings.Join(got, "\n") != tc.want || d.Allowed() != (tc.want == "") || d.Violation() != tc.violation {
				t.Errorf("allowed %t, violation %t, %q; want %q", d.Allowed(), d.Violation(), got, tc.want)
			}
		})
	}
}

func TestZeroValuesRefuse(t *testing.T) {
	t.Parallel()
	var zero gate.Decision
	if zero.Allowed() || zero.Violation() || len(zero.Refusals()) == 0 {
		t.Error("a decision that nobody made allows, or gives no reason")
	}
	if gate.Decide(gate.Facts{}).Allowed() {
		t.Error("no facts at all allow")
	}
}

func TestSealRefuses(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]api.Verdict{
		"failed": verdict(api.Failed, api.HardMandatory), "errored": verdict(api.Errored, api.Advisory), "no outcome": verdict("", api.HardMandatory),
	} {
		if w, err := gate.Seal(run, binding(), place, []api.Verdict{v}, api.Summary{}, created); err == nil || w.Seal != "" {
			t.Errorf("a plan whose policy %s was given a warrant", name)
		}
	}
	incomplete := binding()
	incomplete.Tool.Digest = ""
	if _, err := gate.Seal(run, incomplete, place, nil, api.Summary{}, created); err == nil {
		t.Error("a plan made by an unknown program was given a warrant")
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	w := sealed(t, verdict(api.Passed, api.HardMandatory))
	text := encode(t, w)
	if w.Created != "2026-11-30T11:00:00Z" {
		t.Errorf("created %s", w.Created)
	}
	got, err := gate.Open(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w, got); diff != "" {
		t.Error(diff)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		t.Fatal(err)
	}
	if _, err := gate.Open(compact.Bytes()); err != nil {
		t.Errorf("white space broke the seal: %v", err)
	}
	failed := w
	failed.Verdicts = []api.Verdict{verdict(api.Failed, api.HardMandatory)}
	escapes := w
	escapes.Binding.Tool.Version = "1.12.6\x1b[2J"
	timeless := w
	timeless.Created = "\x1b[2J"
	speculative := w
	speculative.Binding.Provenance.Kind = api.SpeculativeRun
	for name, bad := range map[string]string{
		"nothing":                           "",
		"half of it":                        string(text[:len(text)/2]),
		"something behind it":               string(text) + "{}",
		"an unknown field":                  strings.Replace(string(text), `"format"`, `"override": true, "format"`, 1),
		"another state":                     strings.Replace(string(text), `"serial": 3`, `"serial": 4`, 1),
		"another plan":                      strings.Replace(string(text), digest("1"), digest("f"), 1),
		"another outcome":                   strings.Replace(string(text), `"passed"`, `"failed"`, 1),
		"another count":                     strings.Replace(string(text), `"create": 1`, `"create": 0`, 1),
		"another time":                      strings.Replace(string(text), `2026-11-30`, `2027-11-30`, 1),
		"no seal":                           strings.Replace(string(text), w.Seal, "", 1),
		"another format":                    strings.Replace(string(text), `"format": 3`, `"format": 2`, 1),
		"another kind of run":               strings.Replace(string(text), `"tracked"`, `"manual"`, 1),
		"a seal over a speculative run":     string(encode(t, reseal(t, speculative))),
		"a seal over a policy that said no": string(encode(t, reseal(t, failed))),
		"a seal over escape sequences":      string(encode(t, reseal(t, escapes))),
		"a seal over a time that is none":   string(encode(t, reseal(t, timeless))),
	} {
		_, err := gate.Open([]byte(bad))
		if err == nil {
			t.Errorf("a warrant with %s was opened", name)
		} else if problem.Code(err) != api.Stale || problem.Hint(err) == "" {
			t.Errorf("%s: code %s, hint %q", name, problem.Code(err), problem.Hint(err))
		}
	}
}

// reseal forges a seal: over content that Seal refuses, by way of content it accepts.
func reseal(t testing.TB, w api.Warrant) api.Warrant {
	t.Helper()
	// The format of the digest is public (docs/warrant.md, rule 2), so a forger has it as well.
	w.Seal = ""
	body, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	w.Seal = canonicalDigest(t, bytes.Replace(body, []byte(`,"seal":""`), nil, 1))
	return w
}

// Whatever is true, adding a failing verdict or moving the binding never opens
// the gate, and what is open stays open only for the same facts.
func TestNothingOpensTheGate(t *testing.T) {
	t.Parallel()
	w := sealed(t)
	rapid.Check(t, func(t *rapid.T) {
		outcome := rapid.SampledFrom([]api.Outcome{api.Passed, api.Failed, api.Errored, "", "unknown"})
		enforcement := rapid.SampledFrom([]api.Enforcement{api.Advisory, api.SoftMandatory, api.HardMandatory, ""})
		facts := gate.Facts{Sealed: w, Now: binding()}
		for range rapid.IntRange(0, 3).Draw(t, "verdicts") {
			facts.Verdicts = append(facts.Verdicts, verdict(outcome.Draw(t, "outcome"), enforcement.Draw(t, "enforcement")))
		}
		facts.Policies = rapid.IntRange(0, 3).Draw(t, "policies")
		move(t, &facts.Now, rapid.IntRange(0, 2).Draw(t, "moves"))
		before := gate.Decide(facts)

		worse := facts
		bad := verdict(rapid.SampledFrom([]api.Outcome{api.Failed, api.Errored, "", "unknown"}).Draw(t, "bad"), api.HardMandatory)
		worse.Verdicts = append(append([]api.Verdict{}, facts.Verdicts...), bad)
		worse.Policies++
		if gate.Decide(worse).Allowed() {
			t.Fatalf("a verdict %q opened the gate", bad.Outcome)
		}
		moved := facts
		move(t, &moved.Now, 1)
		if d := gate.Decide(moved); d.Allowed() || len(d.Refusals()) < len(before.Refusals()) {
			t.Fatalf("a move took reasons away: %v, before %v", d.Refusals(), before.Refusals())
		}
		fewer := facts
		if fewer.Policies > 0 {
			fewer.Verdicts = nil
			if gate.Decide(fewer).Allowed() {
				t.Fatal("named policies that did not judge opened the gate")
			}
		}
	})
}

// move changes n things that have not been changed yet.
func move(t *rapid.T, b *api.Binding, n int) {
	for range n {
		fields := []*string{&b.Plan, &b.Document, &b.Configuration, &b.LockFile, &b.Variables, &b.Backend, &b.Workspace}
		*rapid.SampledFrom(fields).Draw(t, "field") = rapid.SampledFrom([]string{"", digest("e"), "?"}).Draw(t, "value")
	}
}

// FuzzOpen holds that nothing but a sealed warrant opens, and that what opens
// says what it said.
func FuzzOpen(f *testing.F) {
	f.Add(encode(f, sealed(f)))
	f.Add(encode(f, sealed(f, verdict(api.Passed, api.HardMandatory))))
	f.Add(encode(f, sealed(f, said())))
	f.Add([]byte(`{"format":1}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := gate.Open(data)
		if err != nil {
			return
		}
		again, err := gate.Open(encode(t, w))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w, again); diff != "" {
			t.Error(diff)
		}
	})
}
