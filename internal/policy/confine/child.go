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
	req, raw, err := readRequest(os.Stdin)
	if err != nil {
		return exitNoAnswer
	}
	go dieWith(os.Stdin)
	if err := respond(engines, req, raw, out); err != nil {
		return exitNoAnswer
	}
	return 0
}

// Serve answers one request: the work of a child, without the limits.
func Serve(engines []policy.Engine, r io.Reader, w io.Writer) error {
	req, raw, err := readRequest(r)
	if err != nil {
		return err
	}
	return respond(engines, req, raw, w)
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

// dieWith ends the process when its parent is gone, on every system.
func dieWith(in io.Reader) {
	_, _ = io.Copy(io.Discard, in)
	os.Exit(exitOrphan)
}

func respond(engines []policy.Engine, req request, raw []byte, w io.Writer) error {
	data, err := json.Marshal(evaluate(engines, req, raw))
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
			a = failed(problem.New(api.Internal, "the %s engine panicked", req.Source.Language))
		}
	}()
	var engine policy.Engine
	for _, e := range engines {
		if e.Language() == req.Source.Language {
			engine = e
		}
	}
	switch {
	case engine == nil:
		return failed(problem.New(api.Internal, "this build has no %s engine", req.Source.Language))
	case req.Op == opCheck:
		if err := engine.Check(req.Source); err != nil {
			return failed(err)
		}
		return answer{}
	case req.Op != opJudge:
		return failed(problem.New(api.Internal, "unknown request"))
	}
	p, err := plan.Decode(raw)
	if err != nil {
		return failed(err)
	}
	p.Flags = req.Flags
	v, err := engine.Judge(req.Source, p)
	if err != nil {
		return failed(err)
	}
	return answer{Verdict: &v, Findings: v.Findings}
}

func failed(err error) answer {
	return answer{Error: &failure{Code: problem.Code(err), Message: err.Error(), Hint: problem.Hint(err)}}
}
