package preview

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/repo/scan"
)

// Of what a module gets, override is the name of the file that says what is read, and
// preset of the one that holds defaults; prefix is how both begin.
const (
	prefix   = "assize_preview_"
	override = "assize_preview_override.tf"
	preset   = "assize_preview_defaults.tf.json"
)

// private is the directory in which assize keeps what is its own. Of what is in it,
// the mirror has the place where the tool works for a specification, and nothing else.
const private = ".assize"

// A Mirroring is one stack that is to be planned, and against what.
type Mirroring struct {
	Root      string // absolute: everything below it can be reached from the mirror
	Into      string // absolute: a directory that is not there yet, which the caller removes
	Path      string // of the stack, relative to the root, with slashes
	Tool      string // tofu or terraform
	DataDir   string // absolute: that of the stack, initialised; the tool must be told of it as TF_DATA_DIR
	Reading   scan.Reading
	Upstreams Upstreams
}

// Mirror makes a tree of links that looks like the root, in which the stack reads
// the given outputs instead of the states that are there, and returns the
// directory to run the tool in. Nothing outside of m.Into is touched. What the
// stack reads as it is, though a change of it is planned or may be, is in the
// warnings (docs/preview.md, rules 7 and 8).
//
// The tool plans there with -lock=false, for the state is the real one, and needs
// [Provider.Environ] to plan and to show the plan. Nothing of the mirror may be
// kept: its files hold secrets, and only this user can read them.
func Mirror(m Mirroring) (dir string, warnings []string, err error) {
	additions, warnings, err := m.overrides()
	if err != nil {
		return "", nil, err
	}
	fetched, err := m.fetched()
	if err != nil {
		return "", nil, err
	}
	b := mirror{root: m.Root, into: m.Into, opened: map[string]bool{}}
	b.open(m.Path)
	for module := range additions {
		b.open(module)
	}
	for _, link := range m.Reading.Links { // so that it leads to the mirror's module
		b.open(path.Dir(link))
	}
	if err := b.refuseItself(); err != nil {
		return "", nil, err
	}
	if err := b.copy("."); err != nil {
		return "", nil, failed(err)
	}
	if err := b.linkData(m.Path, m.DataDir); err != nil {
		return "", nil, failed(err)
	}
	for module, a := range additions {
		if err := b.write(module, a); err != nil {
			return "", nil, err
		}
	}
	return filepath.Join(m.Into, filepath.FromSlash(m.Path)), append(warnings, fetched...), nil
}

func failed(err error) error {
	return problem.New(api.Unavailable, "the mirror for a preview cannot be made: %w", err)
}

// A mirror is the tree that is made. Its paths are relative to the root.
type mirror struct {
	root, into string
	opened     map[string]bool // those that become directories; all others are links
}

// open makes dir, and every directory on the way to it, one of the mirror's own.
func (b *mirror) open(dir string) {
	for ; !b.opened[dir]; dir = path.Dir(dir) {
		b.opened[dir] = true
	}
}

// refuseItself refuses a mirror that could be reached from inside of it: a tool
// that lists files would never come to an end.
func (b *mirror) refuseItself() error {
	rel, err := filepath.Rel(b.root, b.into)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return err
	}
	home, _, hidden := strings.Cut("/"+rel+"/", "/"+private+"/")
	if !hidden || !b.opened[path.Join(".", home)] {
		return problem.New(api.Internal, "a mirror of %s cannot be made in %s", b.root, b.into)
	}
	return nil
}

// copy makes one directory: opened ones in it are made too, the rest is linked.
func (b *mirror) copy(dir string) error {
	if err := os.MkdirAll(b.at(dir), 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Join(b.root, dir))
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case !b.opened[name] && (e.Name() == private || path.Base(dir) == private), e.Name() == ".terraform":
		case e.IsDir() && b.opened[name]:
			err = b.copy(name)
		default:
			err = b.link(name, e.Type())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// link links one entry. A relative link keeps its target, for that may be
// something which the mirror has of its own.
func (b *mirror) link(name string, mode fs.FileMode) error {
	target := filepath.Join(b.root, name)
	if mode&fs.ModeSymlink != 0 {
		text, err := os.Readlink(target)
		if err != nil {
			return err
		}
		if inside := path.Join(path.Dir(name), filepath.ToSlash(text)); !filepath.IsAbs(text) && inside != ".." && !strings.HasPrefix(inside, "../") {
			target = text
		}
	}
	return os.Symlink(target, b.at(name))
}

// linkData puts the data directory where the stack has it: the tool notes the
// modules that it has fetched by paths that may lead there.
func (b *mirror) linkData(dir, data string) error {
	rel, err := filepath.Rel(filepath.Join(b.root, dir), data)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(b.at(path.Join(dir, rel))), 0o700); err != nil {
		return err
	}
	return os.Symlink(data, b.at(path.Join(dir, rel)))
}

// write adds to a module what it gets.
func (b *mirror) write(module string, a addition) error {
	entries, err := os.ReadDir(b.at(module))
	if err != nil {
		return failed(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			return problem.New(api.Invalid, "%s has a file %s of its own", module, e.Name()).WithHint("rename it")
		}
	}
	for name, text := range map[string]string{override: a.override, preset: a.locals} {
		if text == "" {
			continue
		}
		f, err := os.OpenFile(b.at(path.Join(module, name)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return failed(err)
		}
		_, err = f.WriteString(text)
		if err = errors.Join(err, f.Close()); err != nil {
			return failed(err)
		}
	}
	return nil
}

func (b *mirror) at(name string) string { return filepath.Join(b.into, filepath.FromSlash(name)) }
