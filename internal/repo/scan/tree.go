package scan

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// fileSizeMax bounds one file that is read; whatever a stack is made of is
// written by people and far smaller.
const fileSizeMax = 16 << 20

// linksMax bounds a chain of links, as file systems do.
const linksMax = 40

// A tree is what the walk has seen of a checkout. Paths are slash-separated and
// relative to the root, which is ".".
type tree struct {
	files    fs.FS
	verbatim bool                   // expressions are kept as they are written
	dirs     map[string][]string    // every directory that was walked: the names in it that matter, sorted
	odd      map[string]fs.FileMode // what is neither a directory nor a regular file: links, pipes
	links    []string               // those of odd that are links, sorted
	warnings []string
	problems []*problem.Error
	foreign  []string // directories with an assize.yaml of their own

	configured map[string]bool // directories with configuration in them or below
}

// walk lists the directories of files that may hold configuration. It follows
// no link: what a link inside leads to is walked where it is, so that one
// directory has one place (docs/scan.md, rule 3).
func walk(files fs.FS, rules Rules) (*tree, error) {
	t := &tree{files: files, dirs: map[string][]string{}, odd: map[string]fs.FileMode{}, configured: map[string]bool{}}
	for level := []string{"."}; len(level) > 0; {
		seen, errs := make([][]fs.DirEntry, len(level)), make([]error, len(level))
		parallel(len(level), func(i int) { seen[i], errs[i] = fs.ReadDir(files, level[i]) })
		var next []string
		for i, dir := range level {
			if errs[i] != nil {
				return nil, problem.New(api.Invalid, "%s cannot be listed: %w", quote(dir), errs[i])
			}
			next = append(next, t.visit(dir, seen[i], rules)...)
		}
		level = next
	}
	slices.Sort(t.links)
	slices.Sort(t.foreign)
	for _, name := range t.links {
		if _, _, err := t.resolve(name); !matters(path.Base(name)) && errors.Is(err, errOutside) {
			t.warnings = append(t.warnings, err.Error()+"; it is not followed")
		}
	}
	t.mark()
	return t, nil
}

// visit notes what is in a directory, and returns the directories that are to be
// visited next.
func (t *tree) visit(dir string, entries []fs.DirEntry, rules Rules) (next []string) {
	if dir != "." && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == rootName }) {
		t.warnings = append(t.warnings, quote(path.Join(dir, rootName))+" governs its directory, which is not looked into from here; ask there, with -C")
		t.foreign = append(t.foreign, dir)
		return nil
	}
	names := []string{}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if !e.IsDir() && !e.Type().IsRegular() {
			t.odd[name] = e.Type()
		}
		if e.Type()&fs.ModeSymlink != 0 {
			t.links = append(t.links, name)
		}
		switch {
		case e.IsDir() && !utf8.ValidString(e.Name()): // Go cannot open it below a root
			if rules.enters(name) && !matches(rules.Exclude, name) {
				t.problems = append(t.problems, problem.New(api.Invalid, "%s has a name that is no UTF-8, and cannot be looked into", quote(name)).
					WithHint("rename the directory, or exclude it with stacks.exclude"))
			}
		case e.IsDir():
			if rules.enters(name) {
				next = append(next, name)
			}
		case matters(e.Name()):
			names = append(names, e.Name())
		}
	}
	t.dirs[dir] = names
	return next
}

// enters reports whether the walk goes into dir. Hidden directories and those
// of other package managers hold copies, unless a pattern names them.
func (r Rules) enters(dir string) bool {
	name := path.Base(dir)
	if name == ".git" || name == ".terraform" || name == "cue.mod" {
		return false
	}
	if name != "node_modules" && !strings.HasPrefix(name, ".") {
		return true
	}
	depth := strings.Count(dir, "/")
	for _, pattern := range slices.Concat(r.Discover, r.Include, r.Modules) {
		segments := strings.Split(clean(pattern), "/")
		if depth < len(segments) && strings.Join(segments[:depth+1], "/") == dir {
			return true
		}
	}
	return false
}

// Matters reports whether the scan would read the file of that path, were it in
// a stack or a module.
func Matters(name string) bool { return matters(path.Base(name)) }

// Configures reports whether a tool would read the file of that name as
// configuration.
func Configures(name string) bool { return isConfiguration(name) }

// matters reports whether a file of that name is part of a stack.
func matters(name string) bool {
	return isConfiguration(name) || isVariables(name) || name == lockName || name == settingsName || path.Ext(name) == ".cue"
}

const (
	lockName     = ".terraform.lock.hcl"
	rootName     = "assize.yaml"
	settingsName = ".assize.yaml"
)

// isConfiguration reports whether a tool reads a file of that name as
// configuration: editors' leavings and hidden files are not.
func isConfiguration(name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#") {
		return false
	}
	return extension(name) != ""
}

// extension is what a configuration file's name ends in, "" for any other.
func extension(name string) string {
	for _, ext := range []string{".tf", ".tf.json", ".tofu", ".tofu.json"} {
		if strings.HasSuffix(name, ext) {
			return ext
		}
	}
	return ""
}

func isVariables(name string) bool {
	return strings.HasSuffix(name, ".tfvars") || strings.HasSuffix(name, ".tfvars.json") || strings.HasSuffix(name, ".tfbackend")
}

// errOutside is the cause of every refusal to leave the repository.
var errOutside = errors.New("outside the repository")

// resolve returns the path of name with every link in it followed, and the paths
// that it had on the way, which differ when a link is changed. A link that
// leaves the repository, or is absolute, is refused: what it leads to differs
// from machine to machine, and nobody reviews it (docs/scan.md, rule 4).
func (t *tree) resolve(name string) (real string, via []string, err error) {
	if t.plain(name) {
		return name, nil, nil
	}
	rest, done := strings.Split(path.Clean(name), "/"), "."
	for len(rest) > 0 {
		if rest[0] == ".." {
			return "", nil, outside(name)
		}
		at := path.Join(done, rest[0])
		if _, walked := t.dirs[done]; walked && t.odd[at]&fs.ModeSymlink == 0 {
			done, rest = at, rest[1:]
			continue
		}
		target, err := fs.ReadLink(t.files, at)
		if err != nil { // no link, or not there: whoever opens it will say so
			done, rest = at, rest[1:]
			continue
		}
		if via = append(via, path.Join(append([]string{done}, rest...)...)); len(via) > linksMax {
			return "", nil, problem.New(api.Invalid, "%s is a link that leads to itself", quote(name))
		}
		if path.IsAbs(target) || escapes(path.Join(done, target)) {
			return "", nil, problem.New(api.Invalid, "%s is a link that leaves the repository%w", quote(at), silent{errOutside}).
				WithHint("put what it leads to into the repository, or remove the link")
		}
		rest, done = append(strings.Split(path.Join(done, target), "/"), rest[1:]...), "."
	}
	return done, via, nil
}

// plain reports whether the walk has passed name and no link on the way.
func (t *tree) plain(name string) bool {
	if _, walked := t.dirs[name]; walked {
		return true
	}
	i := strings.LastIndexByte(name, '/')
	if i < 0 || strings.HasPrefix(name[i:], "/.") && strings.Trim(name[i:], "/.") == "" {
		return false
	}
	_, walked := t.dirs[name[:i]]
	return walked && i+1 < len(name) && t.odd[name]&fs.ModeSymlink == 0
}

func outside(name string) error {
	return problem.New(api.Invalid, "%s is outside the repository%w", quote(name), silent{errOutside})
}

// silent is a cause that a message does not repeat.
type silent struct{ error }

func (silent) Error() string { return "" }

func (s silent) Unwrap() error { return s.error }

func escapes(name string) bool { return name == ".." || strings.HasPrefix(name, "../") }

// A file is one that was read, with the digest of its content.
type file struct {
	name string   // relative to the root
	also []string // the other paths that it has, where links lead to it
	sum  [32]byte
}

// read returns the bytes of a file.
func (t *tree) read(name string) ([]byte, file, error) { return t.readFrom(standpoint{}, name) }

// A standpoint is an open directory, or none.
type standpoint struct {
	dir  string
	root *os.Root
}

// stand opens a directory of many files to read. Where that is not possible,
// they are read all the same.
func (t *tree) stand(dir string) standpoint {
	if c, ok := t.files.(checkout); ok {
		if root, err := c.openDir(dir); err == nil {
			return standpoint{dir, root}
		}
	}
	return standpoint{}
}

func (s standpoint) close() {
	if s.root != nil {
		s.root.Close()
	}
}

// open opens a file, whose path has no links in it.
func (s standpoint) open(files fs.FS, real string) (fs.File, error) {
	if s.root != nil && path.Dir(real) == s.dir {
		return s.root.Open(path.Base(real))
	}
	return files.Open(real)
}

// readFrom is read for somebody who stands somewhere.
func (t *tree) readFrom(from standpoint, name string) ([]byte, file, error) {
	real, via, err := t.resolve(name)
	if err != nil {
		return nil, file{}, err
	}
	if err := t.check(name, real); err != nil {
		return nil, file{}, err
	}
	f, err := from.open(t.files, real)
	if err != nil {
		return nil, file{}, unreadable(name, err)
	}
	defer f.Close()
	data := bytes.NewBuffer(make([]byte, 0, 4<<10)) // few files are larger
	_, err = data.ReadFrom(io.LimitReader(f, fileSizeMax+1))
	switch {
	case err != nil:
		return nil, file{}, unreadable(name, err)
	case data.Len() > fileSizeMax:
		return nil, file{}, problem.New(api.TooLarge, "%s is larger than %d MiB", quote(name), fileSizeMax>>20)
	}
	if len(via) > 0 {
		via = append(via, real)
	}
	return data.Bytes(), file{name, via, sha256.Sum256(data.Bytes())}, nil
}

// check refuses what must not even be opened, such as a pipe.
func (t *tree) check(name, real string) error {
	mode, odd := t.odd[real]
	if _, walked := t.dirs[path.Dir(real)]; !walked {
		info, err := fs.Stat(t.files, real)
		if err != nil {
			return unreadable(name, err)
		}
		mode, odd = info.Mode(), !info.Mode().IsRegular()
	}
	if _, dir := t.dirs[real]; dir || odd {
		return problem.New(api.Invalid, "%s is no regular file (%s)", quote(name), mode.Type())
	}
	return nil
}

func unreadable(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return problem.New(api.NotFound, "%s does not exist%w", quote(name), silent{fs.ErrNotExist})
	}
	return problem.New(api.Invalid, "%s cannot be read: %w", quote(name), err)
}

// quote makes a path fit for a message: one with odd characters is quoted.
func quote(name string) string {
	if q := strconv.Quote(name); q != `"`+name+`"` {
		return q
	}
	return name
}

// clean is a path or pattern as the scan compares it.
func clean(name string) string { return path.Clean(strings.TrimPrefix(name, "./")) }
