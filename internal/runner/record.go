package runner

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// A Record is the file that says what became of the last rollout, in the private
// directory of the root. One process at a time has it.
type Record struct {
	path string
	lock *os.File
}

const (
	recordName = "rollout.json"
	lockName   = "rollout.lock"
)

// OpenRecord takes the record of a root for this process until it is closed; it
// is [api.Locked] while another one has it.
func OpenRecord(root string) (*Record, error) {
	home, err := Private(root)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(home, lockName)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return nil, unwritable(path, err)
	}
	f.Close()
	held, err := lock(path)
	if err != nil {
		return nil, problem.New(api.Locked, "another assize is at work on the stacks of %s", root).WithHint("wait until it has ended")
	}
	sweep(home) // where the root is no stack, nobody else does
	return &Record{path: filepath.Join(home, recordName), lock: held}, nil
}

// HasRecord reports whether there is a record of a rollout in root.
func HasRecord(root string) bool {
	_, err := os.Lstat(filepath.Join(root, dirName, recordName))
	return err == nil
}

// PeekRecord is what was written last, nil where nothing was, without taking the
// record from anybody; busy says that another process has it.
func PeekRecord(root string) (data []byte, busy bool, err error) {
	home := filepath.Join(root, dirName)
	if err := refuseLink(home); err != nil {
		return nil, false, err
	}
	if f, err := os.Open(filepath.Join(home, lockName)); err == nil {
		busy = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil
		f.Close()
	}
	r := Record{path: filepath.Join(home, recordName)}
	data, err = r.Read()
	return data, busy, err
}

// Read returns what was written last, nil where nothing was.
func (r *Record) Read() ([]byte, error) {
	data, err := os.ReadFile(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(r.path, err)
	}
	return data, nil
}

// Write replaces the record, completely or not at all.
func (r *Record) Write(data []byte) error { return place(bytes.NewReader(data), r.path) }

// Close lets others have it.
func (r *Record) Close() { r.lock.Close() }
