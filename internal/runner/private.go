package runner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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

// placedPrefix is that of a file on its way to its place, which may be in a
// directory that is not ours.
const placedPrefix = ".assize-tmp-"

// A private is a directory of one process. It is locked while it is in use, so
// that what a killed process left behind can be told from what is in use.
type private struct {
	path string
	lock *os.File
}

func (s *Stack) newPrivate() (*private, error) {
	home, err := s.prepare()
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

// home is where what belongs to this stack is kept: instances share a directory,
// and nothing else.
func (s *Stack) home() string {
	home := filepath.Join(s.Dir(), dirName)
	if name := s.settings.Instance; name != "" {
		home = filepath.Join(home, instancesName, name)
	}
	return home
}

// instancesName is where each instance has its home, called like it.
const instancesName = "instances"

// prepare makes the stack's home, private.
func (s *Stack) prepare() (string, error) {
	home, err := Private(s.Dir())
	if err != nil || s.settings.Instance == "" {
		return home, err
	}
	for _, dir := range []string{filepath.Dir(s.home()), s.home()} {
		if err := makePrivate(dir); err != nil {
			return "", err
		}
	}
	return s.home(), nil
}

// Private makes the private directory of dir, which is that of a stack or the
// root, and returns it.
func Private(dir string) (string, error) {
	home := filepath.Join(dir, dirName)
	if err := makePrivate(home); err != nil {
		return "", err
	}
	return home, keepFromGit(filepath.Join(home, ".gitignore"))
}

func makePrivate(home string) error {
	if err := os.Mkdir(home, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return unwritable(home, err)
	}
	if err := refuseLink(home); err != nil {
		return err
	}
	if err := os.Chmod(home, 0o700); err != nil {
		return unwritable(home, err)
	}
	return nil
}

// refuseLinks looks at every directory down to the stack's home.
func (s *Stack) refuseLinks() error {
	for _, dir := range []string{filepath.Join(s.Dir(), dirName), filepath.Dir(s.home()), s.home()} {
		if dir == s.Dir() {
			continue // it may well be a link
		}
		if err := refuseLink(dir); err != nil {
			return err
		}
	}
	return nil
}

// refuseLink refuses a directory that leads elsewhere: a checkout could carry a
// link that has plans written where others read, or removed where they are not ours.
func refuseLink(home string) error {
	info, err := os.Lstat(home)
	if err == nil && !info.IsDir() {
		return problem.New(api.Conflict, "%s is no directory; what belongs there would be written elsewhere", home).WithHint("remove it")
	}
	return nil
}

// keepFromGit writes the file anew unless it says what it must, for one that
// was cut short or came with a checkout would let git have the plans. What it
// says is complete or not there, and a link is replaced, never followed.
func keepFromGit(path string) error {
	info, err := os.Lstat(path)
	if err == nil && info.Mode().IsRegular() {
		if data, err := os.ReadFile(path); err == nil && string(data) == ignoreText {
			return nil
		}
	}
	return place(strings.NewReader(ignoreText), path)
}

// ignoreText leaves the hooks to git: a stack may be the root.
const ignoreText = "*\n!/hooks/\n!/hooks/*\n"

// claimedName is the name that [Saved.Claim] gives a warrant for a moment.
var claimedName = regexp.MustCompile(`\.warrant\.json\.[A-Z2-7]{26}$`)

// sweep removes what processes that were killed have left behind in our own
// directory, where every such name is ours.
func sweep(home string) {
	sweepNamed(home, func(name string) bool {
		return strings.HasPrefix(name, temporaryPrefix) || strings.HasPrefix(name, placedPrefix) || claimedName.MatchString(name)
	})
}

// sweepBeside does so where --out has a plan saved; the directory is the
// user's, so only names that nobody else gives are touched.
func sweepBeside(warrant string) {
	base := filepath.Base(warrant)
	sweepNamed(filepath.Dir(warrant), func(name string) bool {
		return strings.HasPrefix(name, placedPrefix) || strings.HasPrefix(name, base+".") && claimedName.MatchString(name)
	})
}

// sweepNamed leaves alone what is locked: its process lives.
func sweepNamed(dir string, ours func(name string) bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !ours(e.Name()) || !e.IsDir() && !e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(dir, e.Name())
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
	var le *os.LinkError
	if errors.As(err, &le) {
		err = le.Err // nor are its names, one of which is temporary
	}
	return problem.New(api.Unavailable, "%s cannot be written: %w", path, err)
}
