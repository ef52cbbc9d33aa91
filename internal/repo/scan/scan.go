// Package scan reads the configuration in a checkout and says which stacks are
// there, what they call, which states they read and which files they are made
// of. It runs no tool and evaluates nothing but constants; what depends on what
// is for package stack (docs/scan.md).
package scan

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/settings"
	"github.com/assize-iac/assize/internal/stack"
)

// Rules say which directories are stacks, as assize.yaml does. Globs match
// directories, relative to the root.
type Rules struct {
	Discover []string // where stacks are looked for; none is everywhere
	Include  []string // paths that are stacks, whatever they hold
	Exclude  []string // never stacks; beats the two above
	Modules  []string // modules, and no stacks even with a backend
}

// Options are what a scan is told.
type Options struct {
	Rules
	Repo string // owner/repo; "" is unknown
	Tool string // for which a directory is read that nothing else is said of; "" is tofu

	// Instances are the stacks of a directory, at least one, and warnings. It is
	// called from several goroutines. nil is one stack a directory.
	Instances func(dir string) (all []settings.Effective, warnings []string, err error)

	Cache *Cache // what earlier scans know; nil is nothing
}

// A Result is what a scan found. It is complete only if Problems is empty: a
// directory that cannot be read may be a stack, and may lead to others.
type Result struct {
	stack.Scanned
	Broken    []string         // directories that are or may be stacks and could not be read, sorted
	Called    []string         // directories that would be stacks if no stack called them as modules, sorted
	Stateless []string         // directories that hold resources and are no stacks, for they have neither backend nor lock file; no modules; sorted
	Foreign   []string         // directories that another assize.yaml governs, which were not looked into
	Problems  []*problem.Error // with file, line and column where there are some; sorted
}

// Checkout is the tree of files below root. Nothing in it leads out of root.
func Checkout(root string) (fs.FS, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, problem.New(api.Invalid, "%s cannot be opened: %w", quote(root), err)
	}
	return checkout{dir.FS().(rootFS), dir}, nil // package os promises all of these methods
}

// A checkout also opens a directory itself: a file is found from there without
// looking up all that is above it.
type checkout struct {
	rootFS
	root *os.Root
}

// rootFS is what [os.Root.FS] returns.
type rootFS interface {
	fs.ReadDirFS
	fs.ReadFileFS
	fs.StatFS
	fs.ReadLinkFS
}

// ReadDir lists a directory. Below an os.Root, each entry would be looked at as
// well; here a directory that becomes a link while it is listed could at most
// show names, of which none can be opened.
func (c checkout) ReadDir(name string) ([]fs.DirEntry, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	return os.ReadDir(filepath.Join(c.root.Name(), filepath.FromSlash(name)))
}

func (c checkout) openDir(name string) (*os.Root, error) {
	return c.root.OpenRoot(filepath.FromSlash(name))
}

// Scan reads a tree. Its error is of the tree itself; what is wrong in a stack
// is in the result, beside the stacks that are well (docs/scan.md, rule 8).
func Scan(files fs.FS, o Options) (Result, error) {
	s, err := newScanner(files, o)
	if err != nil {
		return Result{}, err
	}
	s.readAll()
	s.choose()
	return s.result(), nil
}

func newScanner(files fs.FS, o Options) (*scanner, error) {
	if o.Tool == "" {
		o.Tool = "tofu"
	}
	for i, patterns := range []*[]string{&o.Discover, &o.Include, &o.Exclude, &o.Modules} {
		cleaned := make([]string, 0, len(*patterns))
		for _, p := range *patterns {
			if !doublestar.ValidatePattern(p) {
				name := []string{"discover", "include", "exclude", "modules.paths"}[i]
				return nil, problem.New(api.Invalid, "%s: %q is no valid pattern", name, p)
			}
			cleaned = append(cleaned, clean(p))
		}
		*patterns = cleaned
	}
	t, err := walk(files, o.Rules)
	if err != nil {
		return nil, err
	}
	return &scanner{Options: o, tree: t, read: map[reading]*directory{}, called: map[string][]string{}}, nil
}

// A scanner holds one scan. It reads everything first, then decides which
// directories are stacks, then builds them.
type scanner struct {
	Options
	*tree
	read      map[reading]*directory
	called    map[string][]string // by whom a local module is called, sorted
	stacks    []string            // directories, sorted
	demoted   []string            // would be stacks, and are called as modules
	stateless []string            // hold resources, and are neither stacks nor modules
	broken    []string
	configs   sync.Map // files of backend_config, by path
	values    sync.Map // var files that were asked for a variable, by path
}

// A reading is a directory as one tool reads it.
type reading struct{ dir, tool string }

// readAll reads every directory that may be a stack or holds a module, and the
// modules that those call, however deep.
func (s *scanner) readAll() {
	var next []string
	for dir, names := range s.dirs {
		if len(names) > 0 && !s.excluded(dir) && (s.discovered(dir) || matches(s.Include, dir) || matches(s.Modules, dir)) {
			next = append(next, dir)
		}
	}
	for len(next) > 0 {
		fresh := make([]*directory, len(next))
		parallel(len(next), func(i int) {
			fresh[i] = s.readDirectory(next[i], s.Tool, s.Cache)
			s.resolveCalls(fresh[i])
		})
		for _, d := range fresh {
			s.read[reading{d.path, s.Tool}] = d
		}
		next = nil
		for _, d := range fresh {
			for _, callee := range d.callees() {
				if s.called[callee] = append(s.called[callee], d.path); s.read[reading{callee, s.Tool}] == nil {
					next = append(next, callee)
				}
			}
		}
		slices.Sort(next)
		next = slices.Compact(next)
	}
	for callee := range s.called {
		slices.Sort(s.called[callee])
	}
}

func (s *scanner) excluded(dir string) bool { return matches(s.Exclude, dir) }

func (s *scanner) discovered(dir string) bool {
	return (len(s.Discover) == 0 || matches(s.Discover, dir)) && !matches(s.Modules, dir)
}

func matches(patterns []string, dir string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return doublestar.MatchUnvalidated(p, dir) })
}

// choose decides which directories are stacks (docs/scan.md, rules 1 and 2).
func (s *scanner) choose() {
	circular := s.refuseCycles()
	live := map[string]bool{}
	for _, dir := range slices.Sorted(maps.Keys(s.dirs)) {
		d := s.read[reading{dir, s.Tool}]
		included := matches(s.Include, dir) && !s.excluded(dir)
		switch {
		case d == nil:
		case included && len(d.files) == 0 && !d.estate && len(d.problems) == 0:
			d.problems = append(d.problems, problem.New(api.Invalid, "stacks.include names %s, which holds no configuration", quote(dir)))
			s.broken = append(s.broken, dir)
		case !included && !s.candidate(d):
			s.warnings = append(s.warnings, idle(d)...)
			if s.loose(d) {
				s.stateless = append(s.stateless, dir)
			}
		case circular[dir]:
			s.broken = append(s.broken, dir)
		case !included && s.callers(dir, live):
			s.demoted = append(s.demoted, dir)
			if d.backend != nil {
				s.warnings = append(s.warnings, position(d.backend.at)+": "+quote(dir)+" is called as a module, so it is no stack; its backend counts for nothing")
			}
		case len(d.problems) > 0:
			s.broken = append(s.broken, dir)
		default:
			s.stacks = append(s.stacks, dir)
		}
	}
	s.warnMissing()
	for _, include := range s.Include {
		if _, walked := s.dirs[include]; !walked && !strings.ContainsAny(include, "*?[{") {
			s.warnings = append(s.warnings, "stacks.include names "+quote(include)+", which is no directory")
		}
	}
}

// warnMissing warns of calls of modules that are not there. The tool refuses
// them; they may be in a submodule that is not checked out, or be generated.
func (s *scanner) warnMissing() {
	for _, d := range s.read {
		for _, c := range d.known {
			if c.Kind != stack.LocalModule {
				continue
			}
			if m := s.read[reading{c.Key, s.Tool}]; len(m.files) == 0 && len(m.problems) == 0 {
				d.warnings = append(d.warnings, quote(d.path)+": module "+quote(c.Name)+": "+quote(c.Key)+" holds no configuration")
			}
		}
	}
}

// idle warns of settings that hold for nothing.
func idle(d *directory) []string {
	for _, f := range d.extra {
		if path.Base(f.name) == settingsName {
			return []string{quote(f.name) + " holds for nothing: its directory is no stack"}
		}
	}
	return nil
}

// candidate reports whether a directory is a stack if nobody calls it. One that
// does not parse may be one.
func (s *scanner) candidate(d *directory) bool {
	if s.excluded(d.path) || !s.discovered(d.path) {
		return false
	}
	return d.backend != nil || d.estate || d.locked && len(d.files) > 0 || len(d.problems) > 0
}

// loose reports whether a directory that is no stack holds resources all the
// same, and is nobody's module: people may take it for a stack (docs/scan.md,
// rule 38).
func (s *scanner) loose(d *directory) bool {
	return d.resources && s.discovered(d.path) && !s.excluded(d.path) && len(s.called[d.path]) == 0 &&
		!slices.Contains(strings.Split(d.path, "/"), "modules")
}

// callers reports whether a stack calls dir, itself or through modules. A call
// from a directory that is neither, such as an example, makes nothing a module.
func (s *scanner) callers(dir string, seen map[string]bool) bool {
	if answer, ok := seen[dir]; ok {
		return answer
	}
	seen[dir] = false // for calls that lead back
	answer := slices.ContainsFunc(s.called[dir], func(caller string) bool {
		d := s.read[reading{caller, s.Tool}]
		return caller != dir && (s.callers(caller, seen) || s.candidate(d) || matches(s.Include, caller) && !s.excluded(caller))
	})
	seen[dir] = answer
	return answer
}

// refuseCycles finds modules that call themselves, which no tool can load, and
// returns the directories on the way.
func (s *scanner) refuseCycles() map[string]bool {
	done, circular := map[string]bool{}, map[string]bool{}
	var trail []string
	var visit func(dir string)
	visit = func(dir string) {
		if i := slices.Index(trail, dir); i >= 0 {
			cycle := append(slices.Clone(trail[i:]), dir)
			for _, on := range cycle {
				circular[on] = true
			}
			d := s.read[reading{dir, s.Tool}]
			d.problems = append(d.problems, problem.New(api.Invalid, "%s: modules call each other in a circle: %s",
				quote(dir), strings.Join(quoted(cycle), " -> ")))
			return
		}
		d := s.read[reading{dir, s.Tool}]
		if done[dir] || d == nil {
			return
		}
		trail = append(trail, dir)
		for _, callee := range d.callees() {
			visit(callee)
		}
		trail, done[dir] = trail[:len(trail)-1], true
	}
	for _, dir := range slices.Sorted(maps.Keys(s.dirs)) {
		visit(dir)
	}
	return circular
}

func quoted(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = quote(name)
	}
	return all
}

// result builds every stack and module, and puts everything in order.
func (s *scanner) result() Result {
	built := make([]building, len(s.stacks))
	parallel(len(s.stacks), func(i int) { built[i] = s.build(s.stacks[i]) })

	r := Result{Scanned: stack.Scanned{Repo: s.Repo, Warnings: s.warnings}, Broken: s.broken, Called: s.demoted, Stateless: s.stateless, Foreign: s.foreign, Problems: s.problems}
	modules, packages := map[string]bool{}, map[string][]stack.Call{}
	for i, b := range built {
		r.Warnings = append(r.Warnings, b.warnings...)
		r.Problems = append(append(r.Problems, b.problems...), b.elsewhere...)
		if len(b.problems) > 0 {
			r.Broken = append(r.Broken, s.stacks[i])
			continue
		}
		r.Stacks = append(r.Stacks, b.stacks...)
		for dir := range b.modules {
			modules[dir] = true
		}
		for dir, uses := range b.packages {
			modules[dir] = true
			for _, call := range uses {
				if !slices.Contains(packages[dir], call) {
					packages[dir] = append(packages[dir], call)
				}
			}
		}
	}
	for at, d := range s.read {
		_, isStack := slices.BinarySearch(s.stacks, at.dir)
		if matches(s.Modules, at.dir) && len(d.files) > 0 && !isStack {
			modules[at.dir] = true
		}
		r.Problems = append(r.Problems, d.problems...)
		if isStack || modules[at.dir] { // what is neither is nobody's concern
			r.Warnings = append(r.Warnings, d.warnings...)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(modules)) {
		m := s.module(dir)
		m.Calls = slices.Concat(m.Calls, packages[dir])
		r.Modules = append(r.Modules, m)
	}
	r.Warnings = append(r.Warnings, s.unkept(built, r)...)
	slices.Sort(r.Broken)
	slices.Sort(r.Warnings)
	r.Warnings = slices.Compact(r.Warnings)
	sort.Slice(r.Problems, func(i, j int) bool { return r.Problems[i].Message < r.Problems[j].Message })
	r.Problems = slices.CompactFunc(r.Problems, func(a, b *problem.Error) bool { return a.Message == b.Message })
	return r
}

// parallel calls do for every index, on all cores.
func parallel(n int, do func(i int)) {
	var group sync.WaitGroup
	var next atomic.Int64
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	group.Wait()
}
