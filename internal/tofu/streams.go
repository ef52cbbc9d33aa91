package tofu

import (
	"io"
	"os"

	"github.com/assize-iac/assize/internal/redact"
)

// streams are where the tool prints, without the session's secrets where
// what it prints goes through this process or a pipe. finish writes what waits
// for the rest of a secret (docs/warrant.md, rule 17).
func (s *Session) streams() (out, err io.Writer, finish func()) { return s.each(without) }

// clean are streams without secrets wherever they lead to: of what masks nothing by
// itself, and does not outlive this process.
func (s *Session) clean() (out, err io.Writer, finish func()) {
	return s.each(func(secrets *redact.Set, w io.Writer) (io.Writer, func()) {
		if secrets.Empty() {
			return w, func() {}
		}
		return cleaned(secrets, w)
	})
}

func (s *Session) each(wrap func(*redact.Set, io.Writer) (io.Writer, func())) (out, err io.Writer, finish func()) {
	out, endOut := wrap(s.Secrets, s.Out)
	if same(s.Out, s.Err) { // two writers would change the order
		return out, out, endOut
	}
	err, endErr := wrap(s.Secrets, s.Err)
	return out, err, func() { endOut(); endErr() }
}

// complain shows what the tool has said about a command that went wrong.
func (s *Session) complain(said []byte) {
	w, finish := without(s.Secrets, s.Err)
	_, _ = w.Write(said)
	finish()
}

// without returns w without the secrets. To a terminal and to a file the tool
// writes by itself: it colours the one, and an apply outlives this process with
// either.
func without(secrets *redact.Set, w io.Writer) (_ io.Writer, finish func()) {
	if secrets.Empty() || lasts(w) {
		return w, func() {}
	}
	return cleaned(secrets, w)
}

func cleaned(secrets *redact.Set, w io.Writer) (_ io.Writer, finish func()) {
	clean := secrets.Writer(w)
	return clean, func() { _ = clean.Close() }
}

// lasts reports whether w is there for longer than this process.
func lasts(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && (info.Mode().IsRegular() || info.Mode()&os.ModeCharDevice != 0)
}
