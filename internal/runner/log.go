package runner

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
)

// logName is the log of what was applied, in a stack's home (docs/audit.md, rule 6).
const logName = "log"

// Log appends an entry to the stack's log and has it on the disk before it returns.
// The time is now, and the chain goes on where the log ends.
func (s *Stack) Log(e identity.Entry) error {
	home, err := s.prepare()
	if err != nil {
		return err
	}
	path := filepath.Join(home, logName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return unwritable(path, err)
	}
	defer f.Close() // and with it the lock
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return unwritable(path, errors.Join(err, errIrregular))
	}
	// Where a file system knows no locks, two applies of one stack at once are kept
	// apart by the lock of the state.
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	last, size, err := lastEntry(f)
	if err != nil {
		return err
	}
	e.At = time.Now()
	line, err := identity.Chain(last, e).Encode()
	if err != nil {
		return problem.New(api.Internal, "the entry of the log cannot be written: %w", err)
	}
	if _, err = f.WriteAt(append(line, '\n'), size); err == nil {
		err = errors.Join(f.Truncate(size+int64(len(line))+1), f.Sync())
	}
	if err != nil {
		return unwritable(path, err)
	}
	return nil
}

// lastEntry is the last whole entry of a log, and where it ends. What follows it is
// what a process that was killed had begun to write, and counts for nothing.
func lastEntry(f *os.File) (identity.Entry, int64, error) {
	data, err := io.ReadAll(f)
	if err != nil {
		return identity.Entry{}, 0, unreadable(f.Name(), err)
	}
	end := bytes.LastIndexByte(data, '\n')
	if end < 0 {
		return identity.Entry{}, 0, nil
	}
	begin := bytes.LastIndexByte(data[:end], '\n') + 1
	last, err := identity.DecodeEntry(data[begin:end])
	if err != nil {
		return identity.Entry{}, 0, problem.New(api.Conflict, "the log %s does not end with an entry: %w", f.Name(), err).
			WithHint("somebody changed it: keep it as it is, move it away, and try again")
	}
	return last, int64(end) + 1, nil
}

// Entries are those of the stack's log, verified from the first to the last.
func (s *Stack) Entries() ([]identity.Entry, error) {
	path := filepath.Join(s.home(), logName)
	f, err := openRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, unreadable(path, err)
	}
	var all []identity.Entry
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		e, err := identity.DecodeEntry(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			return nil, changed(path, err)
		}
		all = append(all, e)
	}
	if err := identity.Verify(slices.Values(all)); err != nil && len(all) > 0 {
		return nil, changed(path, err)
	}
	return all, nil
}

func changed(path string, err error) error {
	return problem.New(api.Conflict, "the log %s was changed: %w", path, err).WithHint("keep it as it is; assize audit verify %s says more", path)
}
