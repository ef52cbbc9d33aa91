package confine

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/assize-iac/assize/api"
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
// which follow in a frame of their own; for a session the plans do, each as one
// [sitting], and for a query its document.
type request struct {
	Op         string
	Source     policy.Source
	Flags      plan.Flags
	Expression string // of a query
}

// A sitting is one plan of a session. Its bytes follow in a frame of their own.
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

// writeFrame writes the length of data, eight bytes, and data.
func writeFrame(w io.Writer, data []byte) error {
	if _, err := w.Write(binary.BigEndian.AppendUint64(nil, uint64(len(data)))); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

// readFrame reads what the other side says is there, and spends no more than
// sixteen times the memory of what arrives on it. A buffer that doubles would
// have three times the size of a big plan in the end.
func readFrame(r io.Reader) ([]byte, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint64(head[:])
	if n > 1<<40 {
		return nil, fmt.Errorf("a frame of %d bytes", n)
	}
	var data []byte
	for size := uint64(1 << 16); ; size *= 16 {
		grown := make([]byte, min(size, n))
		copy(grown, data)
		if got, err := io.ReadFull(r, grown[len(data):]); err != nil {
			return nil, fmt.Errorf("%d of %d bytes: %w", len(data)+got, n, err)
		}
		if data = grown; size >= n {
			return data, nil
		}
	}
}

// writePair writes head as JSON, and raw, a frame each.
func writePair(w io.Writer, head any, raw []byte) error {
	data, err := json.Marshal(head)
	if err != nil {
		return err
	}
	if err := writeFrame(w, data); err != nil {
		return err
	}
	return writeFrame(w, raw)
}

func readPair(r io.Reader, head any) (raw []byte, err error) {
	data, err := readFrame(r)
	if err != nil {
		return nil, err
	}
	if err := decodeStrict(data, head); err != nil {
		return nil, err
	}
	return readFrame(r)
}

// decodeStrict decodes exactly one value without unknown fields. Numbers keep
// their digits.
func decodeStrict(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("something follows the value")
	}
	return nil
}

// parseAnswer reads the one answer to op that is all of data.
func parseAnswer(op string, data []byte) (answer, error) {
	r := bytes.NewReader(data)
	body, err := readFrame(r)
	if err != nil || r.Len() > 0 {
		return answer{}, improper()
	}
	return openAnswer(op, 0, body)
}

// openAnswer takes nothing for granted: the child ran somebody's policy. What
// is not one well-formed answer to op and number is an error, never a verdict.
func openAnswer(op string, number int, body []byte) (answer, error) {
	var a answer
	err := decodeStrict(body, &a)
	if err == nil {
		err = a.validate(op)
	}
	if err != nil || a.Number != number {
		return answer{}, improper()
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

func improper() error {
	return problem.New(api.Internal, "could not judge: the judging process gave no proper answer")
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
