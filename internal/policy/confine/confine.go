// Package confine is a policy.Engine that runs another one in a confined child
// process (internal/confine; docs/policy.md, rule 33). Rego and CUE cannot be
// bounded from inside.
//
// Whatever goes wrong in the child, a panic included, is an error, and nothing
// that it wrote but a well-formed verdict is shown. The package knows no language;
// the engines are its caller's.
package confine

import (
	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/confine"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
)

// Work is the name of what a child does here; [Judge] is what it is.
const Work = "judge"

// Limits bound one child. Zero means the default.
type Limits = confine.Limits

// judging says what went wrong with a policy.
var judging = confine.Words{
	Do: "judge", Doing: "judging", Subject: "the policy", Answer: "the verdict",
	LessWork: "look for lists that the policy generates, loops inside loops, and alternatives that multiply; or judge a smaller plan",
	LessSaid: "the policy says too much: let it report each violation once, without the values it looked at",
}

// An Engine runs inner in a child process for every call.
type Engine struct {
	inner policy.Engine
	task  confine.Task
}

// New confines an engine. The binary's main must know [Judge] of it as [Work].
func New(inner policy.Engine, limits Limits) *Engine {
	return &Engine{inner: inner, task: confine.Task{Work: Work, Limits: limits, Words: judging}}
}

// Language is that of the inner engine.
func (e *Engine) Language() api.Language { return e.inner.Language() }

// Evaluator is that of the inner engine.
func (e *Engine) Evaluator() string { return e.inner.Evaluator() }

// Check compiles in a child, too: compiling has no bound either.
func (e *Engine) Check(src policy.Source) error {
	_, err := e.ask(request{Op: opCheck, Source: src}, nil)
	return err
}

// Judge judges the plan's own bytes, which the child decodes again.
func (e *Engine) Judge(src policy.Source, p *plan.Plan) (api.Verdict, error) {
	a, err := e.ask(request{Op: opJudge, Source: src, Flags: p.Flags}, p.Raw)
	return a.verdict(err)
}

// Test implements [policy.Tester]: a test can loop as a policy can.
func (e *Engine) Test(src policy.Source) ([]api.RegoTest, error) {
	if _, ok := e.inner.(policy.Tester); !ok {
		return nil, nil
	}
	a, err := e.ask(request{Op: opTest, Source: src}, nil)
	return a.Tests, err
}

// Cover implements [policy.Coverer].
func (e *Engine) Cover(src policy.Source, p *plan.Plan) ([]api.FileLines, error) {
	if _, ok := e.inner.(policy.Coverer); !ok {
		return nil, nil
	}
	a, err := e.ask(request{Op: opCover, Source: src, Flags: p.Flags}, p.Raw)
	return a.Lines, err
}

// Contract implements [policy.Contractor]; without an inner one it is Check.
func (e *Engine) Contract(src policy.Source) (*api.Contract, error) {
	a, err := e.ask(request{Op: opContract, Source: src}, nil)
	return a.Contract, err
}

// Query implements [policy.Querier] for an inner engine that does: an expression can
// loop as a policy can.
func (e *Engine) Query(expression string, document []byte) ([]byte, error) {
	task := e.task
	task.Words = confine.Words{Do: "answer", Doing: "answering", Subject: "the query", Answer: "the answer",
		LessWork: lessOfQuery, LessSaid: lessOfQuery}
	a, err := run(task, request{Op: opQuery, Source: policy.Source{Language: e.Language()}, Expression: expression}, document)
	return a.Value, err
}

const lessOfQuery = "ask for less: look for loops inside loops, and for alternatives that multiply"

// Pack implements [policy.Packer] for an inner engine that does. It runs here,
// not in a child: what it reads, Check has just read within the limits.
func (e *Engine) Pack(src policy.Source) (*policy.OPA, error) {
	if p, ok := e.inner.(policy.Packer); ok {
		return p.Pack(src)
	}
	return nil, nil
}

// ask runs one child for one request.
func (e *Engine) ask(req request, raw []byte) (answer, error) { return run(e.task, req, raw) }

func run(task confine.Task, req request, raw []byte) (answer, error) {
	body, err := task.Run(req, raw)
	if err != nil {
		return answer{}, err
	}
	return openAnswer(task, req.Op, 0, body)
}
