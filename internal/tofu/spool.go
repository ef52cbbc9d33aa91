package tofu

import (
	"io"
	"os"
	"time"
)

// spoolTick is how long what the tool prints may wait to be shown.
const spoolTick = 50 * time.Millisecond

// A spool takes the output of an apply into files without a name, and shows it
// from there. A pipe would be the tool's death when its reader goes, be it
// `| head` or this process: a Go program that writes to a broken pipe on its
// standard output ends, even when SIGPIPE was ignored as it was started, and
// the state of what it has just made is lost (docs/warrant.md, rule 9).
type spool struct {
	parts      []*spoolPart
	stop, done chan struct{}
}

// A spoolPart is one stream. The tool writes at the file's own offset; what
// was shown is counted apart.
type spoolPart struct {
	file  *os.File
	shown int64
	to    io.Writer // nil once it takes nothing any more
}

func newSpool() *spool { return &spool{stop: make(chan struct{}), done: make(chan struct{})} }

// take replaces both streams of a call by what outlives their readers.
func (p *spool) take(dir string, c call) (call, error) {
	same := same(c.out, c.err) // or what is written to both would change its order
	var err error
	if c.out, err = p.lasting(dir, c.out); err != nil {
		return c, err
	}
	if same {
		c.err = c.out
		return c, nil
	}
	c.err, err = p.lasting(dir, c.err)
	return c, err
}

// lasting leaves a terminal and a file what they are: they stay, and the tool
// colours what it writes to a terminal.
func (p *spool) lasting(dir string, w io.Writer) (io.Writer, error) {
	if lasts(w) {
		return w, nil
	}
	file, err := os.CreateTemp(dir, "output-") // 0600
	if err != nil {
		return nil, err
	}
	p.parts = append(p.parts, &spoolPart{file: file, to: w})
	return file, os.Remove(file.Name())
}

// show passes on what comes, until close.
func (p *spool) show() {
	defer close(p.done)
	tick := time.NewTicker(spoolTick)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.pass()
		case <-p.stop:
			p.pass()
			return
		}
	}
}

func (p *spool) pass() {
	for _, part := range p.parts {
		if part.to == nil {
			continue
		}
		n, err := io.Copy(part.to, io.NewSectionReader(part.file, part.shown, 1<<62))
		part.shown += n
		if err != nil {
			part.to = nil // nobody reads it; the tool must not notice
		}
	}
}

// close shows the rest, and gives the files up.
func (p *spool) close() {
	close(p.stop)
	<-p.done
	for _, part := range p.parts {
		_ = part.file.Close()
	}
}

// same reports whether two writers are one, or lead to one file.
func same(a, b io.Writer) bool {
	if a == b {
		return true
	}
	f, ok := a.(*os.File)
	g, also := b.(*os.File)
	if !ok || !also {
		return false
	}
	one, err := f.Stat()
	if err != nil {
		return false
	}
	other, err := g.Stat()
	return err == nil && os.SameFile(one, other)
}
