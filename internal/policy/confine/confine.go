// Package confine is a policy.Engine that runs another one in a child process
// of the same binary: with an empty environment, no files, no network, no
// processes of its own, and limits on memory, processor time, wall time and
// the size of the answer (docs/policy.md, rule 33). Rego and CUE cannot be
// bounded from inside.
//
// Whatever goes wrong in the child, a panic included, is an error, and nothing
// that it wrote but a well-formed verdict is shown: a stack trace holds values
// of the plan. The package knows no language; the engines are its caller's.
package confine

import (
	"fmt"
	"strconv"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
)

// Argument is the first argument of a child. A main that finds it there hands
// over to [Child] before it does anything else.
const Argument = "__judge"

// Limits bound one child. Zero means the default.
type Limits struct {
	Memory uint64        // bytes
	CPU    time.Duration // rounded up to seconds; the kernel counts no less
	Wall   time.Duration
}

// The defaults fit plans of a hundred thousand changes.
const (
	defaultMemory = 2 << 30
	defaultCPU    = 60 * time.Second
	defaultWall   = 90 * time.Second
)

// maxStack bounds how deep an evaluation may recurse, in bytes of stack. A
// goroutine that grows to the memory limit spends its time being copied.
const maxStack = 64 << 20

// maxAnswer bounds what a child may say, in bytes.
const maxAnswer = 8 << 20

// An Engine runs inner in a child process for every call.
type Engine struct {
	inner  policy.Engine
	limits Limits
}

// New confines an engine. The binary's main must call [Child] with it.
func New(inner policy.Engine, limits Limits) *Engine {
	return &Engine{inner: inner, limits: limits.orDefault()}
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

// Pack implements [policy.Packer] for an inner engine that does. It runs here,
// not in a child: what it reads, Check has just read within the limits.
func (e *Engine) Pack(src policy.Source) (*policy.OPA, error) {
	if p, ok := e.inner.(policy.Packer); ok {
		return p.Pack(src)
	}
	return nil, nil
}

func (l Limits) orDefault() Limits {
	if l.Memory == 0 {
		l.Memory = defaultMemory
	}
	if l.CPU == 0 {
		l.CPU = defaultCPU
	}
	if l.Wall == 0 {
		l.Wall = defaultWall
	}
	return l
}

// cpuSeconds is what the kernel can count, never less than what was asked.
func (l Limits) cpuSeconds() uint64 {
	return uint64((l.CPU + time.Second - 1) / time.Second)
}

// arguments are those of a child; [parseArguments] reads them there. They are
// no secret, and the limits must hold before the child reads anything.
func (l Limits) arguments() []string {
	return []string{Argument, strconv.FormatUint(l.Memory, 10), strconv.FormatUint(l.cpuSeconds(), 10)}
}

func parseArguments(args []string) (Limits, error) {
	if len(args) != 3 || args[0] != Argument {
		return Limits{}, fmt.Errorf("want %s MEMORY SECONDS", Argument)
	}
	memory, err := strconv.ParseUint(args[1], 10, 63)
	if err != nil {
		return Limits{}, err
	}
	seconds, err := strconv.ParseUint(args[2], 10, 31)
	if err != nil {
		return Limits{}, err
	}
	if memory == 0 || seconds == 0 {
		return Limits{}, fmt.Errorf("a limit of zero")
	}
	return Limits{Memory: memory, CPU: time.Duration(seconds) * time.Second}, nil
}

// exceeded is the error of a limit; format has one verb for the bound.
func exceeded(format, bound string) error {
	return problem.New(api.Limited, "could not judge: the policy "+format, bound).
		WithHint("look for lists that the policy generates, loops inside loops, and alternatives that multiply; or judge a smaller plan")
}

// size writes a number of bytes as people set it.
func size(n uint64) string {
	for _, unit := range []struct {
		bytes uint64
		name  string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}} {
		if n >= unit.bytes && n%unit.bytes == 0 {
			return fmt.Sprintf("%d %s", n/unit.bytes, unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
