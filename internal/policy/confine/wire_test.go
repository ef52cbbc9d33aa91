package confine

import (
	"bytes"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// FuzzAnswer: whatever a child says is one well-formed answer or an error, and
// nothing of it is in the error unless it is well-formed itself.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		`{"verdict":{"outcome":"passed"}}`, `{"verdict":{},"findings":[{"level":"deny","message":"no"}]}`, `{"verdict":{},"findings":[{"message":"no"}]}`,
		`{"verdict":{},"error":{"code":"invalid","message":"x"}}`, `{"error":{"code":"invalid","message":"x","hint":""}}`, `{"error":{"code":"fine","message":"x"}}`,
		`{"error":{"code":"invalid","message":""}}`, `{}`, `null`, `{"verdict":null}`, `{"verdict":{}} {}`, `{"findings":[{"level":"deny"}]}`, `[]`, ``,
	} {
		var frame bytes.Buffer
		if err := writeFrame(&frame, []byte(body)); err != nil {
			f.Fatal(err)
		}
		f.Add(frame.Bytes(), true)
		f.Add(frame.Bytes(), false)
		f.Add(append(frame.Bytes(), 'x'), true)
		f.Add(frame.Bytes()[:frame.Len()/2], true)
	}
	f.Fuzz(func(t *testing.T, data []byte, judged bool) {
		op := map[bool]string{true: opJudge, false: opCheck}[judged]
		a, err := parseAnswer(op, data)
		if err != nil {
			if err.Error() == "" || problem.Code(err) == "" {
				t.Errorf("an error that says nothing: %#v", err)
			}
			return
		}
		for _, finding := range a.Findings {
			if finding.Level != api.Deny && finding.Level != api.Warn {
				t.Errorf("a finding of level %q", finding.Level)
			}
		}
		if !judged && len(a.Findings) > 0 {
			t.Error("findings of a check")
		}
	})
}

// TestNoAnswerIsNone: what is not a verdict never reads as one that passed.
func TestNoAnswerIsNone(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{}`, `null`, `{"verdict":null}`, `{"verdict":{}} {}`, `{"verdict":{},"error":{"code":"invalid","message":"x"}}`} {
		var frame bytes.Buffer
		if err := writeFrame(&frame, []byte(body)); err != nil {
			t.Fatal(err)
		}
		if _, err := parseAnswer(opJudge, frame.Bytes()); err == nil {
			t.Errorf("%s is taken for a verdict", body)
		}
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	want := Limits{}.orDefault()
	got, err := parseArguments(want.arguments())
	if err != nil || got.Memory != want.Memory || got.CPU != want.CPU {
		t.Errorf("got %+v %v", got, err)
	}
	for _, args := range [][]string{nil, {Argument}, {Argument, "1"}, {Argument, "0", "1"}, {Argument, "1", "0"}, {Argument, "x", "1"}, {Argument, "-1", "1"}, {Argument, "1", "1", "1"}} {
		if _, err := parseArguments(args); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}
