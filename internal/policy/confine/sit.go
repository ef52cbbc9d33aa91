package confine

import (
	"io"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
)

// A brief is one plan of a session as it arrived.
type brief struct {
	sitting
	raw []byte
}

// sit answers the plans of one session, in the order in which they come, until
// r ends or the engine panics: nobody knows what a panic leaves behind.
func sit(engines []policy.Engine, src policy.Source, r io.Reader, w io.Writer, orphaned func()) error {
	briefs := make(chan brief)
	go func() {
		defer close(briefs)
		for {
			var b brief
			var err error
			if b.raw, err = readPair(r, &b.sitting); err != nil {
				orphaned() // at once, also in the middle of a plan that nobody waits for
				return
			}
			briefs <- b
		}
	}()
	judge, sane := prepare(engines, src)
	for b := range briefs {
		a := failed(panicked(src))
		if sane {
			a, sane = attempt(src, b, judge)
		}
		a.Number = b.Number
		if err := respond(w, a); err != nil || !sane {
			return err
		}
	}
	return nil
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
func attempt(src policy.Source, b brief, judge func(*plan.Plan) (api.Verdict, error)) (a answer, sane bool) {
	defer func() {
		if recover() != nil {
			a, sane = failed(panicked(src)), false
		}
	}()
	return judged(b.raw, b.Flags, judge), true
}
