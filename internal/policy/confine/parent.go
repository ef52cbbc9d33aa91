package confine

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// bigPlan is from which size on, in bytes, a plan is worth a collection.
const bigPlan = 16 << 20

// ask runs one child for one request.
func (e *Engine) ask(req request, raw []byte) (answer, error) {
	c, err := e.start()
	if err != nil {
		return answer{}, err
	}
	// The pipe stays open until the child has answered: its end tells the
	// child that nobody waits for it any more. A child that dies early breaks
	// the pipe; why it died says more.
	go func() {
		_ = writePair(c.in, req, raw)
		if len(raw) > bigPlan {
			debug.FreeOSMemory() // what reading it took; the child needs as much now, and nobody needs both
		}
	}()
	data, _ := io.ReadAll(io.LimitReader(c.out, maxAnswer+1))
	if len(data) > maxAnswer {
		_ = c.cmd.Process.Kill()
	}
	err = c.wait()
	if err := e.verdictOn(c, err, len(data)); err != nil {
		return answer{}, err
	}
	return parseAnswer(req.Op, data)
}

// outOfMemory is how the Go runtime ends when the kernel gives it no more
// memory, or no thread for lack of it; sometimes it crashes instead.
var outOfMemory = []string{
	"fatal error: runtime: out of memory", "fatal error: runtime: cannot", "fatal error: failed to reserve",
	"fatal error: out of memory", "fatal error: cannot allocate", "runtime: out of memory", "runtime: failed to create new OS thread", "runtime/cgo: pthread_create failed",
}

// A child is one running process.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.Reader
	stderr *head
	timer  *time.Timer
	late   atomic.Bool // it was killed for taking too long
	gone   chan struct{}
}

// wait waits for the end of a child of which everything was read.
func (c *child) wait() error {
	err := c.cmd.Wait()
	c.timer.Stop()
	_ = c.in.Close()
	close(c.gone)
	return err
}

// start starts a child. The kernel kills it when the thread that started it
// ends, so one is kept for as long as the child lives.
func (e *Engine) start() (*child, error) {
	started, failed := make(chan *child, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		c, err := e.spawn()
		if err != nil {
			failed <- err
			return
		}
		started <- c
		<-c.gone
	}()
	select {
	case c := <-started:
		return c, nil
	case err := <-failed:
		return nil, problem.New(api.Unavailable, "could not judge: the judging process did not start: %w", err)
	}
}

func (e *Engine) spawn() (*child, error) {
	self, err := executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.Command(self, e.limits.arguments()...), stderr: &head{}, gone: make(chan struct{})}
	c.cmd.Args[0] = os.Args[0]
	// Nothing of the caller's environment: it holds credentials. Two threads
	// are enough, and the runtime need not look for the machine's limits.
	c.cmd.Env = []string{"GOMAXPROCS=2", "GOTRACEBACK=none"}
	c.cmd.Stderr = c.stderr
	detach(c.cmd)
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if c.out, err = c.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.timer = time.AfterFunc(e.limits.Wall, func() {
		c.late.Store(true)
		_ = c.cmd.Process.Kill()
	})
	return c, nil
}

// verdictOn says how a child failed, nil when it ended well.
func (e *Engine) verdictOn(c *child, err error, answered int) error {
	state := c.cmd.ProcessState
	switch {
	case err == nil && answered <= maxAnswer:
		return nil
	case answered > maxAnswer:
		return problem.New(api.TooLarge, "could not judge: the verdict is larger than %s", size(maxAnswer)).
			WithHint("the policy says too much: let it report each violation once, without the values it looked at")
	case c.late.Load():
		return exceeded("took more than %s", e.limits.Wall.String())
	case state == nil:
		return problem.New(api.Internal, "could not judge: the judging process was lost")
	case c.stderr.says("fatal error: stack overflow"):
		return exceeded("needed more than %s of stack", size(maxStack))
	case state.ExitCode() == exitMemory, c.stderr.says(outOfMemory...), !state.Success() && peak(state) > e.limits.Memory:
		return exceeded("needed more than %s of memory", size(e.limits.Memory))
	case state.ExitCode() == exitCPU, !state.Exited() && state.UserTime()+state.SystemTime() >= e.limits.CPU:
		return exceeded("needed more than %s of processor time", e.limits.CPU.String())
	case state.ExitCode() == exitUnconfined:
		return problem.New(api.Unavailable, "could not judge: this system does not let a judging process confine itself").
			WithHint("policies in Rego and CUE run with limits and a seccomp filter; allow prctl, setrlimit and seccomp here")
	default:
		return problem.New(api.Internal, "could not judge: the judging process died (%s)", state.String()).
			WithHint("try again; if it dies again, the policy found a fault in its engine, and the policy is worth reporting")
	}
}

// A head keeps the beginning of what is written to it. It is searched for the
// runtime's own words and never shown.
type head struct{ bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	if room := 4096 - h.Len(); room > 0 {
		h.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// says reports whether a line begins with one of the words.
func (h *head) says(words ...string) bool {
	for line := range strings.Lines(h.String()) {
		if slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(line, word) }) {
			return true
		}
	}
	return false
}
