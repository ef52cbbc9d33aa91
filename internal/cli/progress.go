package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	eraseLine     = "\r\x1b[K"
	progressEvery = time.Second
)

// A progress is one line at the end of a terminal's output: what is being done
// and for how long. It is erased before anything else is written, and on
// anything but a terminal it does not exist.
type progress struct {
	mu      sync.Mutex
	w       io.Writer // nil: no terminal
	subject string
	doing   string
	since   time.Time
	drawn   bool
	midLine bool // the last output did not end its line
	done    chan struct{}
	told    func(doing string) // instead of a line; nil for none
}

// newProgress draws on w only where out is a terminal, too: a line that moves
// beside output that goes to a file or a pipe is of no use, and the pipe's
// reader may be drawing as well.
func newProgress(w, out io.Writer, subject string) *progress {
	p := &progress{subject: subject, done: make(chan struct{})}
	if onTerminal(w) && onTerminal(out) {
		p.w = w
		go p.tick()
	}
	return p
}

// told is a progress that somebody else shows.
func told(of func(doing string)) *progress {
	return &progress{done: make(chan struct{}), told: of}
}

func onTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isTerminal(f)
}

func (p *progress) tick() {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-ticker.C:
			p.mu.Lock()
			p.draw()
			p.mu.Unlock()
		}
	}
}

// step says what is being done from now on; "" for nothing worth a line.
func (p *progress) step(doing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doing, p.since = doing, time.Now()
	if p.told != nil && doing != "" {
		p.told(doing)
	}
	p.draw()
}

// count says how far the step has come. It is shown with the next tick: there
// may be thousands a second.
func (p *progress) count(doing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doing = doing
}

// stop erases the line for good.
func (p *progress) stop() {
	p.step("")
	close(p.done)
}

func (p *progress) draw() {
	if p.w == nil || p.midLine {
		return
	}
	p.erase()
	if p.doing != "" {
		of := " " // planning payments, but reading the state of payments
		if strings.Contains(p.doing, " ") {
			of = " of "
		}
		fmt.Fprintf(p.w, "assize: %s%s%s, %s", p.doing, of, p.subject, time.Since(p.since).Round(time.Second))
		p.drawn = true
	}
}

func (p *progress) erase() {
	if p.drawn {
		io.WriteString(p.w, eraseLine)
		p.drawn = false
	}
}

// around returns w such that what is written to it and the line do not mix.
// Without a line it is w itself: a file goes to the tool as it is.
func (p *progress) around(w io.Writer) io.Writer {
	if p.w == nil {
		return w
	}
	return &besideProgress{p, w}
}

type besideProgress struct {
	p *progress
	w io.Writer
}

func (b *besideProgress) Write(data []byte) (int, error) {
	b.p.mu.Lock()
	defer b.p.mu.Unlock()
	b.p.erase()
	b.p.midLine = !bytes.HasSuffix(data, []byte("\n"))
	n, err := b.w.Write(data)
	b.p.draw()
	return n, err
}
