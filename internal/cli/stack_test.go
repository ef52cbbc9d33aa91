package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
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
	if got, want := chosen(cmd), " -C 'my stack' --policy p --policy 'q r' --all-namespaces=true"; got != want {
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
	w := &work{progress: newProgress(&bytes.Buffer{}, &bytes.Buffer{}, "x"), interrupted: ctx.Done()}
	b := bench{engines: []policy.Engine{engine}, policies: []namedPolicy{{src: policy.Source{Path: "p.json", Language: api.Rules}}}}
	verdicts := b.judgeOne(w, &plan.Plan{})
	if len(verdicts) != 1 || verdicts[0].Outcome != api.Errored {
		t.Errorf("got %+v", verdicts)
	}
}
