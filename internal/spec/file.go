package spec

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

var errIrregular = errors.New("it is no regular file")

// cause is what went wrong with a file, without its path.
func cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// readFile reads a file of a checkout, and not more of it than the limit and a byte.
// What reading would not end of is refused: a link to a device, or a pipe.
func readFile(name string, limit int) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // does not wait for somebody who writes
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errIrregular)
	}
	return io.ReadAll(io.LimitReader(f, int64(limit)+1))
}
