package policy

import (
	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/problem"
)

// A Preparer is an [Engine] that can do once what needs no plan, for a policy
// that is to judge many.
type Preparer interface {
	// Prepare compiles a policy, or says why it could judge no plan.
	Prepare(Source) (Prepared, error)
}

// A Prepared judges plans by one policy, one after the other. What it says of a
// plan must not depend on those before it.
type Prepared interface {
	// Judge is [Engine.Judge] for the policy.
	Judge(*plan.Plan) (api.Verdict, error)
	// Close ends what judging started.
	Close()
}

// A PreparedFunc is a Prepared that has nothing to close.
type PreparedFunc func(*plan.Plan) (api.Verdict, error)

// Judge calls f.
func (f PreparedFunc) Judge(p *plan.Plan) (api.Verdict, error) { return f(p) }

// Close does nothing.
func (PreparedFunc) Close() {}

// A Session judges plans by one policy as [Judge] does, and compiles it once.
// Plans are judged one at a time: it is not for several goroutines.
type Session struct {
	engine   Engine
	src      Source
	digest   string // of src; a policy may be large, and so may be the number of plans
	excuses  []Excuse
	prepared Prepared
	err      error // why no plan can be judged
}

// Open starts a session. A policy that cannot be used gives one in which every
// verdict is errored. The caller closes it.
func Open(engines []Engine, src Source, excuses ...Excuse) *Session {
	s := &Session{engine: engine(engines, src.Language), src: src, digest: src.Digest(), excuses: excuses}
	if s.engine == nil {
		s.err = noEngine(src.Language)
		return s
	}
	s.prepared, s.err = prepare(s.engine, src)
	return s
}

func prepare(e Engine, src Source) (p Prepared, err error) {
	defer func() {
		if recover() != nil {
			err = panicked(src.Language)
		}
	}()
	if e, ok := e.(Preparer); ok {
		return e.Prepare(src)
	}
	return PreparedFunc(func(p *plan.Plan) (api.Verdict, error) { return e.Judge(src, p) }), nil
}

// Judge always returns a verdict, the one that [Judge] returns.
func (s *Session) Judge(p *plan.Plan) api.Verdict {
	return judge(s.engine, s.src, s.digest, p, s.excuses, func() (api.Verdict, error) {
		if s.err != nil {
			return api.Verdict{}, s.err
		}
		return s.prepared.Judge(p)
	})
}

// Close ends the session.
func (s *Session) Close() {
	if s.prepared != nil {
		s.prepared.Close()
	}
}

func noEngine(lang api.Language) error {
	return problem.New(api.Internal, "this build has no %s engine", lang)
}

func panicked(lang api.Language) error {
	return problem.New(api.Internal, "the %s engine panicked", lang)
}
