package confine

import (
	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/confine"
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
	child  *confine.Process // nil before the first plan
	number int              // of the last plan that the child was given
}

// Judge implements [policy.Prepared].
func (s *session) Judge(p *plan.Plan) (api.Verdict, error) {
	fresh := s.gone()
	v, err := s.ask(p)
	if err != nil && s.gone() && !fresh {
		return s.ask(p)
	}
	return v, err
}

// gone reports whether there is no child.
func (s *session) gone() bool { return s.child == nil || s.child.Ended() }

// Close ends the child. It has nothing to say any more.
func (s *session) Close() {
	if s.child != nil {
		s.child.Close()
	}
}

// ask gives the plan to the child. When that did not go as it should, the child
// is gone.
func (s *session) ask(p *plan.Plan) (api.Verdict, error) {
	if s.gone() {
		if err := s.open(); err != nil {
			return api.Verdict{}, err
		}
	}
	s.number++
	body, err := s.child.Ask(sitting{Number: s.number, Flags: p.Flags}, p.Raw)
	if err != nil {
		return api.Verdict{}, err
	}
	a, err := openAnswer(s.engine.task, opJudge, s.number, body)
	if err != nil && err.Error() == s.engine.task.Improper().Error() {
		s.Close()
	}
	return a.verdict(err)
}

// open starts a child and gives it the policy.
func (s *session) open() (err error) {
	if s.child, err = s.engine.task.Start(); err != nil {
		return err
	}
	s.number = 0
	body, err := s.child.Ask(request{Op: opSession, Source: s.src}, nil)
	if err == nil {
		_, err = openAnswer(s.engine.task, opSession, 0, body)
	}
	if err != nil {
		s.Close()
	}
	return err
}
