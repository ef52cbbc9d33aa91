package cli

import (
	"context"
	"io"

	"github.com/assize-iac/assize/internal/report"
	"github.com/assize-iac/assize/internal/runner"
)

// Signals are what the user asks of everything that is at work.
type signals struct {
	interrupted <-chan struct{} // closed by the first Ctrl-C
	force       <-chan struct{} // closed by the second
}

// listen takes the signals of this process. The returned context is done after
// the first.
func listen(ctx context.Context) (context.Context, signals, func()) {
	ctx, force, stop := interruptible(ctx)
	return ctx, signals{ctx.Done(), force}, stop
}

// A work is one stack at work: where what is said of it goes, and who is told
// what is being done.
type work struct {
	signals
	stack *runner.Stack
	out   io.Writer // what the tool and the policies say
	err   io.Writer // what went wrong, and what blocks
	look  report.Options

	progress *progress
}

// alone is the work of a command on one stack: the tool prints where the command
// does, and with --json, where complaints go.
func (g *Globals) alone(s *runner.Stack, sig signals, subject string, json bool) *work {
	w := &work{signals: sig, stack: s, out: g.Out, err: g.Err, look: g.reportOptions(), progress: newProgress(g.Err, g.Out, subject)}
	if json {
		w.out, w.look = g.Err, report.Options{}
	}
	s.Session.Plain = !colored(w.out)
	s.Session.Out, s.Session.Err = w.progress.around(w.out), w.progress.around(w.err)
	w.join()
	return w
}

// among is the work on one stack of many: all that is said goes to one place, and
// phase is told what is being done.
func (g *Globals) among(s *runner.Stack, sig signals, said io.Writer, phase func(string)) *work {
	w := &work{signals: sig, stack: s, out: said, err: said, look: g.reportOptions(), progress: told(phase)}
	s.Session.Plain = !colored(g.Out)
	s.Session.Out, s.Session.Err, s.Session.Terse = said, said, true
	w.join()
	return w
}

func (w *work) join() {
	w.stack.Step = w.progress.step
	w.stack.Session.Force = w.force
}

// handOver gives the tool the streams themselves where they outlive this process:
// a progress line between them would not.
func (w *work) handOver() {
	if w.progress.told != nil {
		return
	}
	w.progress.step("")
	w.stack.Step = nil
	w.stack.Session.Out, w.stack.Session.Err = w.out, w.err
}
