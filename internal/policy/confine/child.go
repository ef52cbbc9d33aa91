package confine

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
	_ "time/tzdata" // a policy may name a time zone, and a child reads no files

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
)

// Exit statuses of a child. 2 is the Go runtime's own, of a panic.
const (
	exitUsage      = 64
	exitMemory     = 70
	exitCPU        = 71
	exitUnconfined = 72
	exitNoAnswer   = 73
	exitOrphan     = 74
)

// Child is the main of a judging process and returns its exit status. It
// confines itself before it reads anything.
func Child(engines []policy.Engine) int {
	limits, err := parseArguments(os.Args[1:])
	if err != nil {
		return exitUsage
	}
	out := os.Stdout
	os.Stdout = os.Stderr // what an engine prints is no answer
	debug.SetMemoryLimit(int64(limits.Memory - limits.Memory/8))
	debug.SetMaxStack(maxStack)
	go watchMemory(limits.Memory)
	if err := limits.apply(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitUnconfined
	}
	if err := serve(engines, os.Stdin, out, func() { os.Exit(exitOrphan) }); err != nil {
		return exitNoAnswer
	}
	return 0
}

// Serve answers one request, or the plans of one session: the work of a child,
// without the limits.
func Serve(engines []policy.Engine, r io.Reader, w io.Writer) error {
	return serve(engines, r, w, func() {})
}

// serve calls orphaned when r ends: then the parent is gone, on every system,
// or has no more plans.
func serve(engines []policy.Engine, r io.Reader, w io.Writer, orphaned func()) error {
	var req request
	raw, err := readPair(r, &req)
	if err != nil {
		return err
	}
	if req.Op == opSession {
		return sit(engines, req.Source, r, w, orphaned)
	}
	go func() {
		_, _ = io.Copy(io.Discard, r)
		orphaned()
	}()
	return respond(w, evaluate(engines, req, raw))
}

// watchMemory ends the process when it has more memory than it may, with a
// status that says so. The kernel bounds what it is too slow to see.
func watchMemory(limit uint64) {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for {
		metrics.Read(sample)
		if used := sample[0].Value.Uint64() - sample[1].Value.Uint64(); used > limit {
			os.Exit(exitMemory)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func respond(w io.Writer, a answer) error {
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return writeFrame(w, data)
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
