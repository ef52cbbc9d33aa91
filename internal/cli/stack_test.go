package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/rules"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/report"
)

// What a hint shows can be typed as it stands.
func TestRetyped(t *testing.T) {
	t.Parallel()
	const flags = " -C 'my stack' --policy p --out x"
	for _, tc := range []struct{ flags, hint, want string }{
		{"", "assize plan", "assize plan"},
		{flags, "assize plan", "assize plan" + flags},
		{flags, "assize plan, once", "`assize plan" + flags + "`, once"},
		{flags, "run `assize plan` again", "run `assize plan" + flags + "` again"},
		{flags, "tofu init", "tofu init"},
	} {
		err := retyped(tc.flags, problem.New(api.Stale, "stale").WithHint("%s", tc.hint))
		if got := problem.Hint(err); got != tc.want {
			t.Errorf("got %s, want %s", got, tc.want)
		}
	}
}

func TestChosen(t *testing.T) {
	t.Parallel()
	cmd := newPlanCmd(&Globals{})
	if err := cmd.ParseFlags([]string{"-C", "my stack", "--policy", "p", "--policy", "q r", "--all-namespaces"}); err != nil {
		t.Fatal(err)
	}
	if got, want := chosen(cmd, judgingNames()), " -C 'my stack' --policy p --policy 'q r' --all-namespaces=true"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Of two policies one warns and one denies: nothing may say that policy passed.
func TestWarningBesideDeny(t *testing.T) {
	t.Parallel()
	finding := func(l api.Level) []api.Finding {
		return []api.Finding{{Policy: "p", Rule: "r", Level: l, Message: "said so", Engine: api.Rules, Address: "a.b"}}
	}
	warns := api.Verdict{Path: "warns", Outcome: api.Passed, Findings: finding(api.Warn)}
	denies := api.Verdict{Path: "denies", Outcome: api.Failed, Findings: finding(api.Deny)}
	for _, tc := range []struct {
		verdicts []api.Verdict
		passed   bool
	}{{[]api.Verdict{warns}, true}, {[]api.Verdict{warns, denies}, false}} {
		var out, why bytes.Buffer
		if err := printVerdicts(&out, &why, tc.verdicts, nil, report.Options{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "said so") || strings.Contains(out.String(), "policy passed") != tc.passed {
			t.Errorf("got %q", out.String())
		}
	}
}

// An endless engine passes everything, once it is let go.
type endless struct{ letGo chan struct{} }

func (endless) Language() api.Language    { return api.Rules }
func (endless) Evaluator() string         { return "endless/1" }
func (endless) Check(policy.Source) error { return nil }
func (e endless) Judge(policy.Source, *plan.Plan) (api.Verdict, error) {
	<-e.letGo
	return api.Verdict{}, nil
}

// Whoever interrupts does not wait for a policy, and gets no pass.
func TestInterruptedJudging(t *testing.T) {
	t.Parallel()
	engine := endless{make(chan struct{})}
	defer close(engine.letGo)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w := &work{progress: newProgress(&bytes.Buffer{}, &bytes.Buffer{}, "x"), signals: signals{interrupted: ctx.Done()}}
	b := jury{engines: []policy.Engine{engine}, policies: []namedPolicy{{src: policy.Source{Path: "p.json", Language: api.Rules}}}, clock: time.Now}
	verdicts := b.judgeOne(w, &plan.Plan{})
	if len(verdicts) != 1 || verdicts[0].Outcome != api.Errored {
		t.Errorf("got %+v", verdicts)
	}
}

// An exception that ends while the plan is being made has ended when the plan is
// judged.
func TestExceptionEndsBeforeJudging(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"p.json": `[{"id": "keep", "level": "deny", "check": "no_delete", "message": "it stays"}]`,
		"e.json": `[{"rule": "keep", "address": "*", "reason": "r", "owner": "o", "expires": "2026-03-01"}]`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := plan.Decode([]byte(`{"format_version": "1.2", "resource_changes": [{"address": "a.b", "type": "a", "name": "b", "mode": "managed",
		"provider_name": "p", "change": {"actions": ["delete"], "before": {}, "after": null}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 1, 23, 59, 59, 0, time.UTC)
	g := &Globals{Now: func() time.Time { return now }, Engines: []policy.Engine{rules.Engine{}}}
	b, err := g.usable(dir, policyFlags{any: []string{"p.json"}, exceptions: []string{"e.json"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []api.Outcome{api.Passed, api.Failed} {
		if v := b.during(policy.Run{}).judge([]planInput{{plan: p}})[0].Verdicts[0]; v.Outcome != want {
			t.Errorf("at %s: %+v", now, v)
		}
		now = now.Add(time.Second)
	}
}
