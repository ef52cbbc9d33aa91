package git

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// A Tree is the files of one commit, as a file system that is only read. It
// runs a git that hands out their content; Close ends it.
type Tree struct {
	dirs  map[string][]fs.DirEntry
	files map[string]*entry

	mu     sync.Mutex
	cmd    *exec.Cmd
	asks   io.WriteCloser
	answer *bufio.Reader
}

// An entry is one file, link, directory or submodule of a tree.
type entry struct {
	name   string
	mode   fs.FileMode
	object string
	size   int64
}

func (e *entry) Name() string               { return e.name }
func (e *entry) IsDir() bool                { return e.mode.IsDir() }
func (e *entry) Type() fs.FileMode          { return e.mode.Type() }
func (e *entry) Mode() fs.FileMode          { return e.mode }
func (e *entry) Size() int64                { return e.size }
func (e *entry) ModTime() time.Time         { return time.Time{} }
func (e *entry) Sys() any                   { return nil }
func (e *entry) Info() (fs.FileInfo, error) { return e, nil }

// Tree opens the files of a commit below the checkout's directory. Submodules
// are empty directories.
func (c *Checkout) Tree(ctx context.Context, commit string) (*Tree, error) {
	if !isCommit(commit) {
		return nil, problem.New(api.Invalid, "%q is no commit", commit)
	}
	out, err := c.git(ctx, "ls-tree", "-r", "-z", "-l", commit)
	if err != nil {
		return nil, err
	}
	t := &Tree{dirs: map[string][]fs.DirEntry{".": nil}, files: map[string]*entry{}}
	t.files["."] = &entry{name: ".", mode: fs.ModeDir | 0o755}
	for line := range strings.SplitSeq(out, "\x00") {
		if line == "" {
			continue
		}
		if err := t.add(line); err != nil {
			return nil, err
		}
	}
	for _, entries := range t.dirs {
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
	t.cmd = c.command(ctx, "cat-file", "--batch")
	t.asks, err = t.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	pipe, err := t.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	t.answer = bufio.NewReader(pipe)
	return t, t.cmd.Start()
}

// add reads one entry of ls-tree -l: mode, type, object and size, then a tab
// and the path.
func (t *Tree) add(line string) error {
	head, name, ok := strings.Cut(line, "\t")
	words := strings.Fields(head)
	if !ok || len(words) != 4 || !fs.ValidPath(name) {
		return problem.New(api.Internal, "git ls-tree printed what is no entry: %q", line)
	}
	e := &entry{name: path.Base(name), mode: 0o644, object: words[2]}
	switch words[0] {
	case "120000":
		e.mode = fs.ModeSymlink | 0o777
	case "160000":
		e.mode = fs.ModeDir | 0o755
		t.dirs[name] = nil
	}
	e.size, _ = strconv.ParseInt(words[3], 10, 64) // a submodule has none
	for t.files[name] == nil {
		t.files[name] = e
		name = path.Dir(name)
		t.dirs[name] = append(t.dirs[name], e)
		e = &entry{name: path.Base(name), mode: fs.ModeDir | 0o755}
	}
	return nil
}

// Close ends the git behind the tree.
func (t *Tree) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.asks.Close() // the end of its questions ends it
	return t.cmd.Wait()
}

// Open opens a file; links are not followed.
func (t *Tree) Open(name string) (fs.File, error) {
	e, ok := t.files[name]
	switch {
	case !fs.ValidPath(name):
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	case !ok:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	case e.IsDir():
		return &openDir{entry: e, rest: t.dirs[name]}, nil
	case e.mode&fs.ModeSymlink != 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	data, err := t.blob(e)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &openFile{e, bytes.NewReader(data)}, nil
}

// ReadDir lists a directory.
func (t *Tree) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, ok := t.dirs[name]
	if !ok {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	return slices.Clone(entries), nil
}

// ReadLink returns what a link leads to.
func (t *Tree) ReadLink(name string) (string, error) {
	e, ok := t.files[name]
	if !ok || e.mode&fs.ModeSymlink == 0 {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	data, err := t.blob(e)
	return string(data), err
}

// Lstat describes an entry itself.
func (t *Tree) Lstat(name string) (fs.FileInfo, error) {
	if e, ok := t.files[name]; ok {
		return e, nil
	}
	return nil, &fs.PathError{Op: "lstat", Path: name, Err: fs.ErrNotExist}
}

// blob asks for the content of an object.
func (t *Tree) blob(e *entry) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, err := fmt.Fprintln(t.asks, e.object); err != nil {
		return nil, err
	}
	head, err := t.answer.ReadString('\n')
	if err != nil {
		return nil, err
	}
	words := strings.Fields(head)
	if len(words) != 3 || words[1] != "blob" || words[2] != strconv.FormatInt(e.size, 10) {
		return nil, problem.New(api.Unavailable, "git does not have the content of %s", e.name)
	}
	data := make([]byte, e.size+1) // a line break follows
	if _, err := io.ReadFull(t.answer, data); err != nil {
		return nil, err
	}
	return data[:e.size], nil
}

type openFile struct {
	*entry
	*bytes.Reader
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.entry, nil }
func (f *openFile) Close() error               { return nil }
func (f *openFile) Size() int64                { return f.entry.size }

type openDir struct {
	*entry
	rest []fs.DirEntry
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.entry, nil }
func (d *openDir) Close() error               { return nil }
func (d *openDir) Read([]byte) (int, error)   { return 0, fs.ErrInvalid }

func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 || n > len(d.rest) {
		if n > 0 && len(d.rest) == 0 {
			return nil, io.EOF
		}
		n = len(d.rest)
	}
	entries := d.rest[:n]
	d.rest = d.rest[n:]
	return entries, nil
}
