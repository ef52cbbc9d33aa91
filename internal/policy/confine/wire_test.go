package confine

import (
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/confine"
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
		f.Add([]byte(body), true)
		f.Add([]byte(body), false)
		f.Add([]byte(body+"x"), true)
		f.Add([]byte(body[:len(body)/2]), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, judged bool) {
		op := map[bool]string{true: opJudge, false: opCheck}[judged]
		a, err := openAnswer(confine.Task{Words: judging}, op, 0, data)
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
		if _, err := openAnswer(confine.Task{Words: judging}, opJudge, 0, []byte(body)); err == nil {
			t.Errorf("%s is taken for a verdict", body)
		}
	}
}
