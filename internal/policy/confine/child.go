package confine

import (
	"encoding/json"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/confine"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
)

// Judge is what a child does: it answers one request, or the plans of one session.
func Judge(engines []policy.Engine) confine.Work {
	return func() confine.Answerer {
		var s *sitter
		return func(head, raw []byte) (reply []byte, more bool) {
			if s != nil {
				return s.answer(head, raw)
			}
			var req request
			if err := confine.Decode(head, &req); err != nil {
				return nil, false
			}
			if req.Op == opSession {
				s = &sitter{engines: engines, src: req.Source}
				return respond(answer{}), true
			}
			return respond(evaluate(engines, req, raw)), false
		}
	}
}

// respond is an answer as it is sent; nil if it cannot be.
func respond(a answer) []byte {
	data, err := json.Marshal(a)
	if err != nil {
		return nil
	}
	return data
}

// evaluate does what was asked. A panic is an answer here, so that a policy
// that finds a bug of an engine is reported as that, without the values in it.
func evaluate(engines []policy.Engine, req request, raw []byte) (a answer) {
	defer func() {
		if recover() != nil {
			a = failed(panicked(req.Source))
		}
	}()
	engine, err := engineFor(engines, req.Source)
	if err != nil {
		return failed(err)
	}
	switch req.Op {
	case opCheck:
		err = engine.Check(req.Source)
	case opContract:
		a.Contract, err = policy.Contract(engines, req.Source)
	case opTest:
		a.Tests, err = policy.Test(engines, req.Source)
	case opCover:
		a.Lines, err = covered(engines, req, raw)
	case opQuery:
		a.Value, err = policy.Query(engines, req.Source.Language, req.Expression, raw)
	case opJudge:
		return judged(raw, req.Flags, func(p *plan.Plan) (api.Verdict, error) { return engine.Judge(req.Source, p) })
	default:
		err = problem.New(api.Internal, "unknown request")
	}
	if err != nil {
		return failed(err)
	}
	return a
}

func covered(engines []policy.Engine, req request, raw []byte) ([]api.FileLines, error) {
	p, err := plan.Decode(raw)
	if err != nil {
		return nil, err
	}
	p.Flags = req.Flags
	return policy.Cover(engines, req.Source, p)
}

func judged(raw []byte, flags plan.Flags, judge func(*plan.Plan) (api.Verdict, error)) answer {
	p, err := plan.Decode(raw)
	if err != nil {
		return failed(err)
	}
	p.Flags = flags
	v, err := judge(p)
	if err != nil {
		return failed(err)
	}
	return answer{Verdict: &v, Findings: v.Findings}
}

func engineFor(engines []policy.Engine, src policy.Source) (policy.Engine, error) {
	for _, e := range engines {
		if e.Language() == src.Language {
			return e, nil
		}
	}
	return nil, problem.New(api.Internal, "this build has no %s engine", src.Language)
}

func panicked(src policy.Source) error {
	return problem.New(api.Internal, "the %s engine panicked", src.Language)
}

func failed(err error) answer {
	return answer{Error: &failure{Code: problem.Code(err), Message: err.Error(), Hint: problem.Hint(err)}}
}
