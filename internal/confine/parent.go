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
)

// big is from which size on, in bytes, a request is worth a collection.
const big = 16 << 20

// Run starts a child for one request, whose answer is all that it says.
func (t Task) Run(head any, raw []byte) ([]byte, error) {
	p, err := t.Start()
	if err != nil {
		return nil, err
	}
	// The pipe stays open until the child has answered: its end tells the
	// child that nobody waits for it any more. A child that dies early breaks
	// the pipe; why it died says more.
	go p.send(head, raw)
	data, _ := io.ReadAll(io.LimitReader(p.out, int64(p.limits.Answer)+1))
	if len(data) > p.limits.Answer {
		_ = p.cmd.Process.Kill()
	}
	if err := p.verdict(p.wait(), len(data)); err != nil {
		return nil, err
	}
	body, err := only(data)
	if err != nil {
		return nil, t.Improper()
	}
	return body, nil
}

// Ask sends a request and waits for its answer. After an error the child is gone.
//
// A child may use its processor time and its memory for all of its answers
// together; wall time is counted for each.
func (p *Process) Ask(head any, raw []byte) ([]byte, error) {
	p.timer.Reset(p.limits.Wall)
	sent := make(chan struct{})
	go func() { p.send(head, raw); close(sent) }()
	body, size, err := readAnswer(p.out, p.limits.Answer)
	if err != nil {
		return nil, p.lost(size)
	}
	<-sent // a child that answered without reading must not get two requests at once
	if !p.timer.Stop() {
		p.Close() // it is being killed; what it said before stands
	}
	return body, nil
}

// lost says what became of a child that gave no answer of which size bytes were
// read or announced.
func (p *Process) lost(size int) error {
	if size > p.limits.Answer {
		_ = p.cmd.Process.Kill()
	}
	if err := p.verdict(p.wait(), size); err != nil {
		return err
	}
	return p.task.Improper()
}

// Ended reports whether there is no child any more.
func (p *Process) Ended() bool { return p.ended }

// Kill ends the child from any goroutine: whoever waits for an answer gets an error.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() }

// Close ends the child. It has nothing to say any more.
func (p *Process) Close() {
	if !p.ended {
		_ = p.cmd.Process.Kill()
		_ = p.wait()
	}
}

// send writes a request. A child that dies early breaks the pipe; why it died says
// more.
func (p *Process) send(head any, raw []byte) {
	_ = writePair(p.in, head, raw)
	if len(raw) > big {
		debug.FreeOSMemory() // what reading it took; the child needs as much now, and nobody needs both
	}
}

// outOfMemory is how the Go runtime ends when the kernel gives it no more
// memory, or no thread for lack of it; sometimes it crashes instead.
var outOfMemory = []string{
	"fatal error: runtime: out of memory", "fatal error: runtime: cannot", "fatal error: failed to reserve",
	"fatal error: out of memory", "fatal error: cannot allocate", "runtime: out of memory", "runtime: failed to create new OS thread", "runtime/cgo: pthread_create failed",
}

// A Process is one running child. It is for one goroutine.
type Process struct {
	task   Task
	limits Limits
	ended  bool
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.Reader
	stderr *head
	timer  *time.Timer
	late   atomic.Bool // it was killed for taking too long
	gone   chan struct{}
}

// wait waits for the end of a child of which everything was read.
func (p *Process) wait() error {
	err := p.cmd.Wait()
	p.timer.Stop()
	_ = p.in.Close()
	close(p.gone)
	p.ended = true
	return err
}

// Start starts a child. The kernel kills it when the thread that started it
// ends, so one is kept for as long as the child lives.
func (t Task) Start() (*Process, error) {
	started, failed := make(chan *Process, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		p, err := t.spawn()
		if err != nil {
			failed <- err
			return
		}
		started <- p
		<-p.gone
	}()
	select {
	case p := <-started:
		return p, nil
	case err := <-failed:
		return nil, t.failed(api.Unavailable, "the %s process did not start: %v", t.Words.Doing, err)
	}
}

func (t Task) spawn() (*Process, error) {
	self, err := executable()
	if err != nil {
		return nil, err
	}
	t.Limits = t.Limits.OrDefault()
	p := &Process{task: t, limits: t.Limits, cmd: exec.Command(self, t.arguments()...), stderr: &head{}, gone: make(chan struct{})}
	p.cmd.Args[0] = os.Args[0]
	// Nothing of the caller's environment: it holds credentials. Two threads
	// are enough, and the runtime need not look for the machine's limits.
	p.cmd.Env = []string{"GOMAXPROCS=2", "GOTRACEBACK=none"}
	p.cmd.Stderr = p.stderr
	detach(p.cmd)
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.out, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.timer = time.AfterFunc(p.limits.Wall, func() {
		p.late.Store(true)
		_ = p.cmd.Process.Kill()
	})
	return p, nil
}

// verdict says how a child failed that has answered that many bytes, nil when it
// ended well.
func (p *Process) verdict(err error, answered int) error {
	state, t := p.cmd.ProcessState, p.task
	switch {
	case err == nil && answered <= p.limits.Answer:
		return nil
	case answered > p.limits.Answer:
		return t.failed(api.TooLarge, "%s is larger than %s", t.Words.Answer, size(uint64(p.limits.Answer))).WithHint("%s", t.Words.LessSaid)
	case p.late.Load():
		return t.exceeded("took more than %s", p.limits.Wall.String())
	case state == nil:
		return t.failed(api.Internal, "the %s process was lost", t.Words.Doing)
	case p.stderr.says("fatal error: stack overflow"):
		return t.exceeded("needed more than %s of stack", size(maxStack))
	case state.ExitCode() == exitMemory, p.stderr.says(outOfMemory...), !state.Success() && peak(state) > p.limits.Memory:
		return t.exceeded("needed more than %s of memory", size(p.limits.Memory))
	case state.ExitCode() == exitCPU, !state.Exited() && state.UserTime()+state.SystemTime() >= p.limits.CPU:
		return t.exceeded("needed more than %s of processor time", p.limits.CPU.String())
	case state.ExitCode() == exitUnconfined:
		return t.failed(api.Unavailable, "this system does not let a process confine itself").
			WithHint("policies in Rego and CUE, and specifications, run with limits and a seccomp filter; allow prctl, setrlimit and seccomp here")
	default:
		return t.failed(api.Internal, "the %s process died (%s)", t.Words.Doing, state.String()).
			WithHint("try again; if it dies again, %s found a fault in its engine, and that is worth reporting", t.Words.Subject)
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
