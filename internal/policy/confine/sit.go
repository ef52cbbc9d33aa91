package confine

import (
	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/confine"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
)

// A sitter answers the plans of one session, in the order in which they come, until
// the engine panics: nobody knows what a panic leaves behind.
type sitter struct {
	engines []policy.Engine
	src     policy.Source
	judge   func(*plan.Plan) (api.Verdict, error) // nil before the first plan
}

func (s *sitter) answer(head, raw []byte) (reply []byte, sane bool) {
	var b sitting
	if err := confine.Decode(head, &b); err != nil {
		return nil, false
	}
	sane = true
	if s.judge == nil {
		s.judge, sane = prepare(s.engines, s.src)
	}
	a := failed(panicked(s.src))
	if sane {
		a, sane = attempt(s.src, b, raw, s.judge)
	}
	a.Number = b.Number
	return respond(a), sane
}

// prepare compiles the policy once. One that cannot be used answers every plan
// with the reason; sane is false when the engine panicked.
func prepare(engines []policy.Engine, src policy.Source) (judge func(*plan.Plan) (api.Verdict, error), sane bool) {
	defer func() { _ = recover() }()
	engine, err := engineFor(engines, src)
	if err != nil {
		return refusal(err), true
	}
	preparer, ok := engine.(policy.Preparer)
	if !ok {
		return func(p *plan.Plan) (api.Verdict, error) { return engine.Judge(src, p) }, true
	}
	prepared, err := preparer.Prepare(src)
	if err != nil {
		return refusal(err), true
	}
	return prepared.Judge, true
}

func refusal(err error) func(*plan.Plan) (api.Verdict, error) {
	return func(*plan.Plan) (api.Verdict, error) { return api.Verdict{}, err }
}

// attempt judges one plan; sane is false when the engine panicked.
func attempt(src policy.Source, b sitting, raw []byte, judge func(*plan.Plan) (api.Verdict, error)) (a answer, sane bool) {
	defer func() {
		if recover() != nil {
			a, sane = failed(panicked(src)), false
		}
	}()
	return judged(raw, b.Flags, judge), true
}
