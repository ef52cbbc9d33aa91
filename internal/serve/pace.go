package serve

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// A pace is how slow a client may be (docs/server.md, rule 7). One that sends or takes nothing is let
// go after patience. Over a whole body it may be waited for that long altogether,
// and a second more for each slowest bytes.
type pace struct {
	patience time.Duration
	slowest  int64
}

// usual lets 300 MB take hours over a bad line, and ends a client that sends a byte
// a second after half a minute.
func usual() pace { return pace{patience: 30 * time.Second, slowest: 16 << 10} }

// chunk is what a client must take of an answer within patience, in bytes.
const chunk = 64 << 10

// limit lets no client hold a request open by being slow.
func (p pace) limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		b := &pacedBody{ReadCloser: r.Body, pace: p, control: c}
		r.Body = b
		next.ServeHTTP(&pacedWriter{ResponseWriter: w, pace: p, control: c}, r)
		if !b.ended {
			// What the handler did not want the server still reads, up to some size.
			_ = c.SetReadDeadline(time.Now().Add(p.patience / 6))
		}
	})
}

// A pacedBody is the body of a request, whose sender must not be too slow.
type pacedBody struct {
	io.ReadCloser
	pace    pace
	control *http.ResponseController
	waited  time.Duration // for the client, not for whoever reads
	read    int64
	ended   bool
}

func (b *pacedBody) Read(p []byte) (int, error) {
	begin := time.Now()
	left := b.pace.patience + time.Duration(b.read/b.pace.slowest)*time.Second - b.waited
	// That there is no deadline to set is so in tests of a handler alone.
	_ = b.control.SetReadDeadline(begin.Add(left))
	n, err := b.ReadCloser.Read(p)
	// While nobody reads, nobody must be waited for: the connection would end.
	_ = b.control.SetReadDeadline(time.Time{})
	b.read += int64(n)
	b.waited += time.Since(begin)
	b.ended = errors.Is(err, io.EOF)
	return n, err
}

// A pacedWriter is an answer, whose reader must not be too slow.
type pacedWriter struct {
	http.ResponseWriter
	pace    pace
	control *http.ResponseController
}

func (w *pacedWriter) Write(p []byte) (written int, err error) {
	for len(p) > 0 && err == nil {
		n := min(len(p), chunk)
		_ = w.control.SetWriteDeadline(time.Now().Add(w.pace.patience))
		n, err = w.ResponseWriter.Write(p[:n])
		written, p = written+n, p[n:]
	}
	return written, err
}

// Unwrap is for http.ResponseController.
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
