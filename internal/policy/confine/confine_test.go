package confine_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	process "github.com/assize-iac/assize/internal/confine"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/confine"
	"github.com/assize-iac/assize/internal/policy/cueengine"
	"github.com/assize-iac/assize/internal/policy/regoengine"
	"github.com/assize-iac/assize/internal/problem"
)

// small are limits that a test can wait for, also on a busy machine.
var small = confine.Limits{Memory: 256 << 20, CPU: 20 * time.Second, Wall: 30 * time.Second}

func bombSource(what string) policy.Source {
	return policy.Source{Path: "bomb", Language: "bomb", Files: []policy.File{{Name: "bomb", Data: []byte(what)}}}
}

func thePlan(t *testing.T) *plan.Plan {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "cue", "create.json"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestErrored: whatever happens in the child, the verdict is errored, soon, and
// says nothing that the child wrote.
func TestErrored(t *testing.T) {
	t.Parallel()
	p := thePlan(t)
	tests := []struct {
		what, want string
		code       api.Code
	}{
		{"panic", "the bomb engine panicked", api.Internal},
		{"panic elsewhere", "could not judge: the judging process died (exit status 2)", api.Internal},
		{"memory", "could not judge: the policy needed more than 256 MiB of memory", api.Limited},
		{"one large block", "could not judge: the policy needed more than 256 MiB of memory", api.Limited},
		{"recursion", "could not judge: the policy needed more than 64 MiB of stack", api.Limited},
		{"cpu", "could not judge: the policy needed more than 1s of processor time", api.Limited},
		{"sleep", "could not judge: the policy took more than 2s", api.Limited},
		{"exit", "could not judge: the judging process gave no proper answer", api.Internal},
		{"garbage", "could not judge: the judging process gave no proper answer", api.Internal},
		{"short", "could not judge: the judging process gave no proper answer", api.Internal},
		{"unknown field", "could not judge: the judging process gave no proper answer", api.Internal},
		{"no level", "could not judge: the judging process gave no proper answer", api.Internal},
		{"no outcome", "could not judge: the judging process gave no proper answer", api.Internal},
		{"giant", "could not judge: the verdict is larger than 8 MiB", api.TooLarge},
		{"flood", "could not judge: the verdict is larger than 8 MiB", api.TooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			t.Parallel()
			limits := small
			switch tt.what {
			case "sleep":
				limits.Wall = 2 * time.Second
			case "cpu":
				limits.CPU = time.Second
			}
			e := confine.New(bomb{}, limits)
			start := time.Now()
			_, err := e.Judge(bombSource(tt.what), p)
			if took := time.Since(start); took > limits.Wall+5*time.Second {
				t.Errorf("took %v", took)
			}
			if err == nil || err.Error() != tt.want || problem.Code(err) != tt.code {
				t.Errorf("got %q (%s), want %q (%s)", err, problem.Code(err), tt.want, tt.code)
			}
		})
	}
}

// TestTrespass: a child reaches nothing outside itself.
func TestTrespass(t *testing.T) {
	t.Setenv(bombMarker, "CANARY")
	e := confine.New(bomb{}, small)
	for what, want := range map[string]string{
		"dial":        "operation not permitted",
		"socket":      "operation not permitted",
		"exec":        "operation not permitted",
		"replace":     "operation not permitted",
		"read":        "open /etc/hostname: no such file or directory",
		"create":      "no such file or directory",
		"list":        "open /: no such file or directory",
		"kill":        "operation not permitted",
		"environment": "[GOMAXPROCS=2 GOTRACEBACK=none]",
		"time zone":   "America/New_York <nil>",
		"threads":     "12",
	} {
		v, err := e.Judge(bombSource(what), thePlan(t))
		if err != nil || len(v.Notes) != 1 || !strings.HasSuffix(v.Notes[0], want) {
			t.Errorf("%s: %v %v, want %q", what, v.Notes, err, want)
		}
	}
}

// TestAnswer: request and verdict arrive whole.
func TestAnswer(t *testing.T) {
	t.Parallel()
	p := thePlan(t)
	p.Flags = plan.Flags{Destroy: true, Targets: []string{"a.b"}}
	got, err := confine.New(bomb{}, small).Judge(bombSource("echo"), p)
	if err != nil {
		t.Fatal(err)
	}
	want, err := bomb{}.Judge(bombSource("echo"), p)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-direct +confined):\n%s", diff)
	}
	v, err := confine.New(bomb{}, small).Judge(bombSource("prints"), p)
	if err != nil || len(v.Findings) > 0 {
		t.Errorf("an engine that prints: %v %v", v, err)
	}
}

// TestSame: a confined engine says what it says unconfined, errors included.
func TestSame(t *testing.T) {
	t.Parallel()
	p := thePlan(t)
	for _, free := range []policy.Engine{cueengine.New(), regoengine.New()} {
		confined := confine.New(free, small)
		if free.Evaluator() != confined.Evaluator() || free.Language() != confined.Language() {
			t.Error("another engine")
		}
		for _, text := range sameTexts[free.Language()] {
			src := bombOf(free.Language(), text)
			want, got := policy.Judge([]policy.Engine{free}, src, p), policy.Judge([]policy.Engine{confined}, src, p)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q (-free +confined):\n%s", text, diff)
			}
			a, b := policy.Check([]policy.Engine{free}, src), policy.Check([]policy.Engine{confined}, src)
			if diff := cmp.Diff(described(a), described(b)); diff != "" {
				t.Errorf("%q: check (-free +confined):\n%s", text, diff)
			}
		}
	}
}

var sameTexts = map[api.Language][]string{
	api.CUE: {
		`changes: [...{type: string, if type == "random_pet" {after: keepers: owner: =~"^team-"}}]`,
		"summary: destroy: 0", "summary: destory: 0", "", "syntax error here",
	},
	api.Rego: {
		"package main\nimport rego.v1\ndeny contains {\"msg\": c.address, \"n\": 9007199254740993} if some c in input.resource_changes\n",
		"package main\nimport rego.v1\ndeny contains \"no\" if time.weekday([0, \"America/New_York\"]) == \"Wednesday\"\n",
		"package main\n", "", "syntax error here",
	},
}

func described(err error) []string {
	if err == nil {
		return nil
	}
	return []string{err.Error(), string(problem.Code(err)), problem.Hint(err)}
}

// TestServe feeds a child's loop what no parent sends.
func TestServe(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "\x00", "\x00\x00\x00\x00\x00\x00\x00\x02{}", "\xff\xff\xff\xff\xff\xff\xff\xff", "\x00\x00\x00\x00\x00\x00\x00\x05{\"x\":"} {
		var out bytes.Buffer
		if err := process.Serve(confine.Judge(engines), strings.NewReader(in), &out); err == nil || out.Len() > 0 {
			t.Errorf("%q: %v, answered %q", in, err, out.String())
		}
	}
}

// TestStart keeps the price of a child in sight. The bound is for a busy
// machine with a test binary; a quiet one needs a tenth.
func TestStart(t *testing.T) {
	e, best := confine.New(bomb{}, small), time.Hour
	for range 5 {
		start := time.Now()
		if _, err := e.Judge(bombSource("echo"), thePlan(t)); err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(start))
	}
	t.Logf("a child takes %v", best)
	if best > time.Second {
		t.Errorf("a child takes %v", best)
	}
}
