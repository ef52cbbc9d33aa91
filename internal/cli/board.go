package cli

import (
	"bytes"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/assize-iac/assize/api"
	drawing "github.com/assize-iac/assize/internal/report/board"
	"github.com/assize-iac/assize/internal/report/page"
	"github.com/assize-iac/assize/internal/rollout"
)

// boardEvery is how often the table is drawn: often enough to look alive.
const boardEvery = 100 * time.Millisecond

// A board shows a rollout as it goes on: a table on a terminal, lines anywhere
// else, or events as JSON (docs/rollouts.md, rule 8). [board.close] must be called.
type board struct {
	out   io.Writer // what a program may read
	err   io.Writer // what is said beside it, where there is no table
	json  bool
	now   func() time.Time
	done  chan struct{}
	alive sync.WaitGroup // the drawing

	mu      sync.Mutex // of both outputs, and of what follows
	known   drawing.Board
	look    drawing.Options
	screen  *screen // nil: no terminal, or one that cannot draw
	beside  []*besideBoard
	failure error // the first of writing to out
}

// newBoard draws a table where a [progress] would draw its line.
func (g *Globals) newBoard(json bool) *board {
	o := g.reportOptions()
	b := &board{out: g.Out, err: g.Err, json: json, now: g.Now, done: make(chan struct{})}
	b.look = drawing.Options{
		Options:  page.Options{Color: o.Color, Width: o.Width},
		Annotate: os.Getenv("GITHUB_ACTIONS") == "true",
	}
	if tty, ok := g.Out.(*os.File); ok && !json && onTerminal(g.Err) && isTerminal(tty) && os.Getenv("TERM") != "dumb" {
		b.screen = &screen{w: tty, size: func() (int, int) { return size(tty) }}
		b.alive.Go(b.tick)
	}
	return b
}

func (b *board) tick() {
	ticker := time.NewTicker(boardEvery)
	defer ticker.Stop()
	for {
		select {
		case <-b.done:
			return
		case <-ticker.C:
			b.mu.Lock()
			b.draw()
			b.mu.Unlock()
		}
	}
}

// watch shows an event. It is a [rollout.Order]'s Watch.
func (b *board) watch(e api.RolloutEvent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.json:
		b.wrote(page.JSONLine(b.out, e))
	case b.screen != nil:
		b.known.Add(e) // there may be thousands a second; the next tick shows it
	default:
		b.wrote(b.known.Line(b.out, e, b.look))
	}
}

// draw draws the table as it is now.
func (b *board) draw() {
	var table bytes.Buffer
	o := b.look
	if o.Width, o.Height = b.screen.room(); o.Height < tableMin {
		b.wrote(b.screen.draw(""))
		return
	}
	b.wrote(b.known.Table(&table, b.now(), o))
	b.wrote(b.screen.draw(table.String()))
}

// tableMin is how many lines a table has at least. A terminal that is lower gets
// one in the end.
const tableMin = 3

// writer returns a writer of text that stands above the table or between the lines,
// and with events, on standard error. Whole lines are written, so that stacks which write at the
// same time, each with a writer of its own, do not mix in one.
func (b *board) writer() io.Writer {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := &besideBoard{board: b}
	b.beside = append(b.beside, w)
	return w
}

type besideBoard struct {
	board *board
	rest  []byte // of a line that has not ended
}

func (w *besideBoard) Write(data []byte) (int, error) {
	w.board.mu.Lock()
	defer w.board.mu.Unlock()
	w.rest = append(w.rest, data...)
	end := bytes.LastIndexByte(w.rest, '\n') + 1
	if end == 0 {
		return len(data), nil
	}
	err := w.board.print(w.rest[:end])
	w.rest = slices.Clone(w.rest[end:])
	return len(data), err
}

func (b *board) print(lines []byte) error {
	if b.screen != nil {
		return b.screen.print(lines)
	}
	w := b.out
	if b.json {
		w = b.err
	}
	_, err := w.Write(lines)
	return err
}

// close takes the table away, and says what became of all stacks, with none left
// out. It returns the first error of writing results, of which the caller may have
// something to say.
func (b *board) close(r api.Rollout) error {
	close(b.done)
	b.alive.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.beside {
		if len(w.rest) > 0 {
			b.wrote(b.print(append(w.rest, '\n')))
		}
	}
	if b.json {
		b.wrote(page.JSONLine(b.out, api.RolloutEvent{Time: rollout.Timestamp(b.now()), Event: "rollout", Rollout: &r}))
		return b.failure
	}
	if b.screen != nil {
		b.wrote(b.screen.draw(""))
		b.look.Width, _ = b.screen.room()
		b.wrote(b.known.Table(b.out, b.now(), b.look))
	}
	b.wrote(drawing.Closing(b.out, r, b.look))
	return b.failure
}

func (b *board) wrote(err error) {
	if b.failure == nil {
		b.failure = err
	}
}
