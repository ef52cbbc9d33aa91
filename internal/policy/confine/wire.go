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

// The two things a child is asked.
const (
	opCheck = "check"
	opJudge = "judge"
)

// A request is everything that a verdict depends on, but the plan's bytes,
// which follow in a frame of their own.
type request struct {
	Op     string
	Source policy.Source
	Flags  plan.Flags
}

// An answer is what one request came to: a verdict, an error, or, for a
// successful check, neither.
type answer struct {
	Verdict  *api.Verdict  `json:"verdict,omitempty"`
	Findings []api.Finding `json:"findings,omitempty"` // a verdict's JSON leaves them out
	Error    *failure      `json:"error,omitempty"`
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

// readFrame reads what the other side says is there, and no more memory than
// arrives is spent on it.
func readFrame(r io.Reader) ([]byte, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint64(head[:])
	if n > 1<<40 {
		return nil, fmt.Errorf("a frame of %d bytes", n)
	}
	var data bytes.Buffer
	if got, err := io.CopyN(&data, r, int64(n)); err != nil {
		return nil, fmt.Errorf("%d of %d bytes: %w", got, n, err)
	}
	return data.Bytes(), nil
}

func writeRequest(w io.Writer, req request, raw []byte) error {
	head, err := json.Marshal(req)
	if err != nil {
		return err
	}
	if err := writeFrame(w, head); err != nil {
		return err
	}
	return writeFrame(w, raw)
}

func readRequest(r io.Reader) (req request, raw []byte, err error) {
	head, err := readFrame(r)
	if err != nil {
		return req, nil, err
	}
	if err := decodeStrict(head, &req); err != nil {
		return req, nil, err
	}
	raw, err = readFrame(r)
	return req, raw, err
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

// parseAnswer takes nothing for granted: the child ran somebody's policy. What
// is not one well-formed answer to op is an error, never a verdict.
func parseAnswer(op string, data []byte) (api.Verdict, error) {
	r := bytes.NewReader(data)
	body, err := readFrame(r)
	if err == nil && r.Len() > 0 {
		err = fmt.Errorf("%d bytes follow the answer", r.Len())
	}
	var a answer
	if err == nil {
		err = decodeStrict(body, &a)
	}
	if err == nil {
		err = a.validate(op)
	}
	if err != nil {
		return api.Verdict{}, problem.New(api.Internal, "could not judge: the judging process gave no proper answer")
	}
	if a.Error != nil {
		return api.Verdict{}, &problem.Error{Code: a.Error.Code, Message: a.Error.Message, Hint: a.Error.Hint}
	}
	if a.Verdict == nil {
		return api.Verdict{}, nil // a check that found nothing
	}
	a.Verdict.Findings = a.Findings
	return *a.Verdict, nil
}

func (a answer) validate(op string) error {
	if a.Error != nil {
		if a.Verdict != nil || len(a.Findings) > 0 || a.Error.Message == "" || !slices.Contains(api.Codes(), a.Error.Code) {
			return fmt.Errorf("an error that is none")
		}
		return nil
	}
	if (a.Verdict != nil) != (op == opJudge) || op == opCheck && len(a.Findings) > 0 {
		return fmt.Errorf("an answer to another question")
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
