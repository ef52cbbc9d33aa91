package confine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
)

// Prepare implements [policy.Preparer]: one child compiles the policy once and
// judges plan after plan. Whether it compiles is said with the first plan.
//
// A child may use its processor time and its memory for all of its plans
// together; wall time is counted for each. One that dies has errored the plan
// it was at, unless that was not its first: then the plan is given to a new
// child, so that no verdict depends on the plans that came before
// (docs/policy.md, rule 33).
func (e *Engine) Prepare(src policy.Source) (policy.Prepared, error) {
	return &session{engine: e, src: src}, nil
}

// A session is one policy with the child that judges by it.
type session struct {
	engine *Engine
	src    policy.Source
	child  *child // nil before the first plan, and after a child has ended
	number int    // of the last plan that the child was given
}

// Judge implements [policy.Prepared].
func (s *session) Judge(p *plan.Plan) (api.Verdict, error) {
	fresh := s.child == nil
	v, err := s.ask(p)
	if err != nil && s.child == nil && !fresh {
		return s.ask(p)
	}
	return v, err
}

// Close ends the child. It has nothing to say any more.
func (s *session) Close() {
	if c := s.child; c != nil {
		s.child = nil
		_ = c.cmd.Process.Kill()
		_ = c.wait()
	}
}

// ask gives the plan to the child. When that did not go as it should, the child
// is gone.
func (s *session) ask(p *plan.Plan) (api.Verdict, error) {
	if s.child == nil {
		c, err := s.engine.start()
		if err != nil {
			return api.Verdict{}, err
		}
		s.child, s.number = c, 0
	}
	s.number++
	c, number := s.child, s.number
	c.timer.Reset(s.engine.limits.Wall)
	sent := make(chan struct{})
	go func() { s.send(c, number, p); close(sent) }()
	body, size, err := readAnswer(c.out)
	if err != nil {
		return api.Verdict{}, s.lost(size)
	}
	<-sent // a child that answered without reading must not get two plans at once
	if !c.timer.Stop() {
		s.Close() // it is being killed; what it said before stands
	}
	a, err := openAnswer(opJudge, number, body)
	if err != nil && err.Error() == improper().Error() {
		s.Close()
	}
	return a.verdict(err)
}

// lost says what became of a child that gave no answer of which size bytes were
// read or announced.
func (s *session) lost(size int) error {
	c := s.child
	s.child = nil
	if size > maxAnswer {
		_ = c.cmd.Process.Kill()
	}
	if err := s.engine.verdictOn(c, c.wait(), size); err != nil {
		return err
	}
	return improper()
}

// send writes a plan, before the first one the policy. A child that dies early
// breaks the pipe; why it died says more.
func (s *session) send(c *child, number int, p *plan.Plan) {
	if number == 1 {
		if err := writePair(c.in, request{Op: opSession, Source: s.src}, nil); err != nil {
			return
		}
	}
	_ = writePair(c.in, sitting{Number: number, Flags: p.Flags}, p.Raw)
}

// readAnswer reads one frame, and not more than an answer may have; size is
// what was announced or read.
func readAnswer(r io.Reader) (body []byte, size int, err error) {
	var head [8]byte
	if n, err := io.ReadFull(r, head[:]); err != nil {
		return nil, n, err
	}
	n := binary.BigEndian.Uint64(head[:])
	if n > maxAnswer {
		return nil, maxAnswer + 1, fmt.Errorf("an answer of %d bytes", n)
	}
	var data bytes.Buffer
	got, err := io.CopyN(&data, r, int64(n))
	return data.Bytes(), int(got), err
}
