package policy

import (
	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/problem"
)

// A Tester is an [Engine] whose language has tests of its own.
type Tester interface {
	// Test runs the tests that are part of a policy. An error means that none
	// could be run.
	Test(Source) ([]api.RegoTest, error)
}

// A Coverer is an [Engine] that can tell which lines of a policy judged a plan.
type Coverer interface {
	// Cover judges the plan and returns the lines, file by file.
	Cover(Source, *plan.Plan) ([]api.FileLines, error)
}

// A Contractor is an [Engine] that judges some policies by a contract.
type Contractor interface {
	// Contract is the one a policy is judged by, nil for none, or why it could
	// judge no plan.
	Contract(Source) (*api.Contract, error)
}

// A Querier is an [Engine] whose language has expressions that ask for something.
type Querier interface {
	// Query evaluates an expression over a document, both as text; what it comes to
	// is JSON.
	Query(expression string, document []byte) ([]byte, error)
}

// Query evaluates an expression of a language over a document in JSON.
func Query(engines []Engine, lang api.Language, expression string, document []byte) (out []byte, err error) {
	defer func() {
		if recover() != nil {
			err = panicked(lang)
		}
	}()
	if e, ok := engine(engines, lang).(Querier); ok {
		return e.Query(expression, document)
	}
	return nil, problem.New(api.Internal, "this build has no queries in %s", lang)
}

// Contract is [Check] that also returns the contract by which a policy is
// judged (docs/decision.md, rule 1): nil without one.
func Contract(engines []Engine, src Source) (c *api.Contract, err error) {
	defer func() {
		if recover() != nil {
			err = panicked(src.Language)
		}
	}()
	if e, ok := engine(engines, src.Language).(Contractor); ok {
		return e.Contract(src)
	}
	return nil, Check(engines, src)
}

// Test runs the tests that are part of a policy: none in languages without.
func Test(engines []Engine, src Source) (tests []api.RegoTest, err error) {
	defer func() {
		if recover() != nil {
			err = panicked(src.Language)
		}
	}()
	if e, ok := engine(engines, src.Language).(Tester); ok {
		return e.Test(src)
	}
	return nil, nil
}

// Cover returns the lines of a policy that judged a plan: none in languages that
// cannot tell.
func Cover(engines []Engine, src Source, p *plan.Plan) (lines []api.FileLines, err error) {
	defer func() {
		if recover() != nil {
			err = panicked(src.Language)
		}
	}()
	if e, ok := engine(engines, src.Language).(Coverer); ok {
		return e.Cover(src, p)
	}
	return nil, nil
}
