package tofu

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"sync"
	"syscall"
)

// Digests remembers those of programs, for a command that asks for each of many
// stacks: the tools have a hundred megabytes. A program that was written to, or
// replaced, is another file or has another time, and is read again.
type Digests struct {
	mu    sync.Mutex
	known map[version]string
}

// A version of a file, as far as the file system tells them apart.
type version struct {
	device, inode uint64
	size          int64
	changed       syscall.Timespec // of its content or its attributes; nobody can set it
}

func (d *Digests) of(f *os.File) (string, error) {
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	v, ok := versionOf(info)
	if d == nil || !ok {
		return digestOf(f)
	}
	d.mu.Lock() // so that the first stacks of a wave do not all read it
	defer d.mu.Unlock()
	if known := d.known[v]; known != "" {
		return known, nil
	}
	digest, err := digestOf(f)
	if err == nil {
		if d.known == nil {
			d.known = map[version]string{}
		}
		d.known[v] = digest
	}
	return digest, err
}

func digestOf(r io.Reader) (string, error) {
	h := sha256.New()
	_, err := io.Copy(h, r)
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), err
}
