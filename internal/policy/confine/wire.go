package confine

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/confine"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
)

// What a child is asked.
const (
	opCheck    = "check"
	opContract = "contract"
	opJudge    = "judge"
	opTest     = "test"
	opCover    = "cover"
	opQuery    = "query"   // evaluate an expression over a document
	opSession  = "session" // judge the plans that follow, one by one
)

// A request is everything that a verdict depends on, but the plan's bytes,
// which follow; after a session's request the plans do, each as one [sitting]. Of a
// query its document follows.
type request struct {
	Op         string
	Source     policy.Source
	Flags      plan.Flags
	Expression string // of a query
}

// A sitting is one plan of a session. Its bytes follow.
type sitting struct {
	Number int // from 1; the answer repeats it, so that none is taken for another plan's
	Flags  plan.Flags
}

// An answer is what one request came to: what was asked for, an error, or, for
// a successful check, neither.
type answer struct {
	Number   int             `json:"number,omitempty"` // of a session's plan
	Verdict  *api.Verdict    `json:"verdict,omitempty"`
	Findings []api.Finding   `json:"findings,omitempty"` // a verdict's JSON leaves them out
	Tests    []api.RegoTest  `json:"tests,omitempty"`
	Lines    []api.FileLines `json:"lines,omitempty"`
	Contract *api.Contract   `json:"contract,omitempty"`
	Value    json.RawMessage `json:"value,omitempty"` // of a query
	Error    *failure        `json:"error,omitempty"`
}

// A failure is a problem.Error without its cause.
type failure struct {
	Code    api.Code `json:"code"`
	Message string   `json:"message"`
	Hint    string   `json:"hint"`
}

// openAnswer takes nothing for granted: the child ran somebody's policy. What
// is not one well-formed answer to op and number is an error, never a verdict.
func openAnswer(task confine.Task, op string, number int, body []byte) (answer, error) {
	var a answer
	err := confine.Decode(body, &a)
	if err == nil {
		err = a.validate(op)
	}
	if err != nil || a.Number != number {
		return answer{}, task.Improper()
	}
	if a.Error != nil {
		return answer{}, &problem.Error{Code: a.Error.Code, Message: a.Error.Message, Hint: a.Error.Hint}
	}
	if a.Verdict != nil {
		a.Verdict.Findings = a.Findings
	}
	return a, nil
}

// verdict is the verdict of an answer that holds one.
func (a answer) verdict(err error) (api.Verdict, error) {
	if err != nil {
		return api.Verdict{}, err
	}
	return *a.Verdict, nil
}

func (a answer) validate(op string) error {
	if a.Error != nil {
		if a.Verdict != nil || len(a.Findings)+len(a.Tests)+len(a.Lines)+len(a.Value) > 0 || a.Error.Message == "" || !slices.Contains(api.Codes(), a.Error.Code) {
			return fmt.Errorf("an error that is none")
		}
		return nil
	}
	if (a.Verdict != nil) != (op == opJudge) || op != opJudge && len(a.Findings) > 0 || op != opTest && len(a.Tests) > 0 || op != opCover && len(a.Lines) > 0 || (len(a.Value) > 0) != (op == opQuery) {
		return fmt.Errorf("an answer to another question")
	}
	for _, t := range a.Tests {
		if !slices.Contains([]api.Outcome{api.Passed, api.Failed, api.Errored, api.Skipped}, t.Outcome) {
			return fmt.Errorf("an outcome that is none")
		}
	}
	for _, f := range a.Findings {
		// A level that nobody knows would block nothing.
		if f.Level != api.Deny && f.Level != api.Warn {
			return fmt.Errorf("a level that is none")
		}
	}
	if a.Verdict != nil && !slices.Contains([]api.Outcome{"", api.Passed, api.Failed, api.Errored}, a.Verdict.Outcome) {
		return fmt.Errorf("an outcome that is none")
	}
	return nil
}
