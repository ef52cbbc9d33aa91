package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruptible hands the user's signals to the commands of the tool: ctx is
// done after the first, force is closed by the second. It is the only place
// that listens, so that one Ctrl-C is one interrupt (docs/warrant.md, rule 9).
//
// A broken pipe is caught and dropped: `assize apply | head` must not end this
// process while an apply goes on without it.
func interruptible(parent context.Context) (ctx context.Context, force <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals, pipes := make(chan os.Signal, 2), make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // nohup means it
			signal.Notify(signals, s)
		}
	}
	signal.Notify(pipes, syscall.SIGPIPE)
	forced, done := make(chan struct{}), make(chan struct{})
	go func() {
		for _, act := range []func(){cancel, func() { close(forced) }} {
			select {
			case <-signals:
				act()
			case <-done:
				return
			}
		}
	}()
	return ctx, forced, func() {
		signal.Stop(signals)
		signal.Stop(pipes)
		close(done)
		cancel()
	}
}
