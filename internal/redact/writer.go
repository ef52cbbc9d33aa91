package redact

import (
	"errors"
	"io"
)

// pieceMax is by how many bytes a large write is worked on.
const pieceMax = 32 << 10

// A Writer passes on what is written to it without the secrets of its set. What
// it writes depends on all the bytes together and not on how they came. It is
// for one goroutine at a time.
type Writer struct {
	set    *Set
	to     io.Writer
	at     int32  // the longest beginning of a form that the stream ends with
	held   []byte // what may still become part of a secret
	found  []span // secrets in held, in order; they do not overlap
	out    []byte // what is to be written next; kept for its space
	closed error  // why nothing more is taken
	silent bool   // a secret was found that no mask can stand for
}

// A span is a secret from one place in held to another, or several that
// overlap. One that begins before held has had its mask.
type span struct{ from, to int }

// Writer returns a writer to w. Close must be called at the end, for what is
// held until then.
func (s *Set) Writer(w io.Writer) *Writer { return &Writer{set: s, to: w} }

// Write takes p, and writes what can be decided. Its errors are those of the
// writer underneath, and stay.
func (w *Writer) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0 && w.closed == nil; {
		n := min(len(rest), pieceMax)
		w.search(rest[:n])
		w.closed = w.release(len(w.held) - int(w.set.tree.nodes[w.at].depth))
		rest = rest[n:]
	}
	if w.closed != nil {
		return 0, w.closed
	}
	return len(p), nil
}

// Close writes what was held: the stream has ended, so the beginning of a
// secret is ordinary text. It leaves the writer underneath open.
func (w *Writer) Close() error {
	if errors.Is(w.closed, io.ErrClosedPipe) {
		return nil
	}
	err := w.closed
	if err == nil {
		err = w.release(len(w.held))
	}
	w.closed = io.ErrClosedPipe
	return err
}

// search holds a piece of the stream and finds the secrets that end in it.
func (w *Writer) search(piece []byte) {
	start := len(w.held)
	w.held = append(w.held, piece...)
	for i, letter := range piece {
		w.at = w.set.tree.step(w.at, letter)
		if n := int(w.set.tree.nodes[w.at].match); n > 0 {
			w.cover(span{start + i + 1 - n, start + i + 1})
		}
	}
}

// cover adds a secret, which ends after all others. What it overlaps becomes
// one with it: a part of a secret that is shown beside a mask gives it away.
func (w *Writer) cover(s span) {
	n := len(w.found)
	for ; n > 0 && w.found[n-1].to > s.from; n-- {
		s.from = min(s.from, w.found[n-1].from)
	}
	w.found = append(w.found[:n], s)
}

// release writes the first n bytes that are held, which no secret to come can
// begin in.
func (w *Writer) release(n int) error {
	w.out = w.out[:0]
	shown, done := 0, 0
	for _, s := range w.found {
		if s.from >= n {
			break
		}
		if s.from >= 0 {
			w.show(w.held[shown:s.from])
			w.silent = w.silent || w.set.mask == ""
			w.show([]byte(w.set.mask))
		}
		shown = min(s.to, n)
		if s.to > n {
			break // more of it is to come
		}
		done++
	}
	w.show(w.held[shown:n])
	w.found = append(w.found[:0], w.found[done:]...)
	for i := range w.found {
		w.found[i].from -= n
		w.found[i].to -= n
	}
	w.held = append(w.held[:0], w.held[n:]...)
	if len(w.out) == 0 {
		return nil
	}
	_, err := w.to.Write(w.out)
	return err
}

func (w *Writer) show(text []byte) {
	if !w.silent {
		w.out = append(w.out, text...)
	}
}
