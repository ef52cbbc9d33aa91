package runner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// dirName is where plans are kept in a stack's directory. Plans hold secrets in
// clear, so it is for its owner alone and git does not see it
// (docs/warrant.md, rule 5).
const dirName = ".assize"

const temporaryPrefix = "tmp-"

// A private is a directory of one process. It is locked while it is in use, so
// that what a killed process left behind can be told from what is in use.
type private struct {
	path string
	lock *os.File
}

func newPrivate(dir string) (*private, error) {
	home, err := prepare(dir)
	if err != nil {
		return nil, err
	}
	sweep(home)
	path, err := os.MkdirTemp(home, temporaryPrefix)
	if err != nil {
		return nil, unwritable(home, err)
	}
	p := &private{path: path}
	// Where a file system knows no locks, nobody can take this one for left
	// behind either.
	p.lock, _ = lock(path)
	return p, nil
}

// close removes everything; what was saved lies elsewhere by then.
func (p *private) close() {
	// A failure here leaves what the next run sweeps up.
	_ = os.RemoveAll(p.path)
	if p.lock != nil {
		p.lock.Close()
	}
}

// prepare makes the directory private.
func prepare(dir string) (string, error) {
	home := filepath.Join(dir, dirName)
	if err := os.Mkdir(home, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", unwritable(home, err)
	}
	if err := refuseLink(home); err != nil {
		return "", err
	}
	if err := os.Chmod(home, 0o700); err != nil {
		return "", unwritable(home, err)
	}
	return home, keepFromGit(filepath.Join(home, ".gitignore"))
}

// refuseLink refuses a directory that leads elsewhere: a checkout could carry a
// link that has plans written where others read, or removed where they are not ours.
func refuseLink(home string) error {
	info, err := os.Lstat(home)
	if err == nil && !info.IsDir() {
		return problem.New(api.Conflict, "%s is no directory; plans would be written elsewhere", home).WithHint("remove it")
	}
	return nil
}

// keepFromGit creates the file but never follows a link to another one.
func keepFromGit(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		_, err = f.WriteString("*\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return unwritable(path, err)
	}
	return nil
}

// sweep removes what processes that were killed have left behind.
func sweep(home string) {
	entries, err := os.ReadDir(home)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), temporaryPrefix) {
			continue
		}
		path := filepath.Join(home, e.Name())
		if f, err := lock(path); err == nil {
			_ = os.RemoveAll(path)
			f.Close()
		}
	}
}

// lock ends with the process, however it ends.
func lock(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func unwritable(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return problem.New(api.Unavailable, "%s cannot be written: %w", path, err)
}
