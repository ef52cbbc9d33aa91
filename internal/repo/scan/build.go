package scan

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/settings"
	"github.com/assize-iac/assize/internal/stack"
)

// resolveCalls says what the calls of a directory mean. A local module outside
// the repository is refused: nobody can say what it holds (docs/scan.md, rule 17).
func (s *scanner) resolveCalls(d *directory) {
	if d.estate {
		s.specify(d)
	}
	sc := d.scope("", ".")
	for _, c := range d.calls {
		text, ok := sc.text(c.source)
		if !ok {
			if c.source != nil { // without one, the tool says so
				d.warnings = append(d.warnings, position(c.at)+": the source of module "+quote(c.name)+" is not constant, so changes to it go unseen")
			}
			continue
		}
		version, _ := sc.text(c.version)
		call := source(text, version)
		call.Name = c.name
		if call.Kind == stack.LocalModule {
			real, via, err := s.local(d.path, call.Key)
			if err != nil {
				d.problems = append(d.problems, problem.New(api.Invalid, "%s: module %s: %w", position(c.at), quote(c.name), err).
					WithHint("keep local modules in the repository, or name a Git or registry source"))
				continue
			}
			call.Key = real
			d.through = append(d.through, via...)
		}
		d.known = append(d.known, call)
	}
	s.fix(d)
}

// local is the directory that the source of a module in dir means, and what its
// path was before links were followed.
func (s *scanner) local(dir, text string) (real string, via []string, err error) {
	at := path.Join(dir, text)
	if path.IsAbs(text) || escapes(at) {
		return "", nil, outside(text)
	}
	return s.resolve(at)
}

// callees are the local modules that are called, by path.
func (d *directory) callees() []string {
	var all []string
	for _, c := range d.known {
		if c.Kind == stack.LocalModule {
			all = append(all, c.Key)
		}
	}
	return all
}

// fix separates the reads of a module that are the same for whoever calls it
// from those that are not.
func (s *scanner) fix(d *directory) {
	for _, r := range d.reads {
		states, ok := d.states(r, d.scope("", ""), "")
		if relative := func(st stack.State) bool { return st.Type == "local" && !path.IsAbs(st.ID) }; !ok || slices.ContainsFunc(states, relative) {
			d.floating = append(d.floating, r)
			continue
		}
		d.fixed = append(d.fixed, states...)
	}
}

// states are those that r reads, one for each element of its for_each. dir is
// where the tool runs.
func (d *directory) states(r *read, sc scope, dir string) ([]stack.State, bool) {
	elements, ok := sc.elements(r.forEach)
	if !ok {
		return nil, false
	}
	var all []stack.State
	for _, each := range elements {
		sc.each = each
		state := d.state(r, sc, dir)
		if state == (stack.State{}) {
			return nil, false
		}
		all = append(all, state)
	}
	return all, true
}

func (d *directory) state(r *read, sc scope, dir string) stack.State {
	workspace, ok := "default", true
	if r.workspace != nil {
		workspace, ok = sc.text(r.workspace)
	}
	if r.kind == "tfe_outputs" {
		p := newPlace("remote")
		for _, name := range []string{"hostname", "organization"} {
			if d.cloud[name] != nil {
				text, known := sc.text(d.cloud[name])
				p.set(name, text, known)
			}
		}
		if r.organization != nil {
			text, known := sc.text(r.organization)
			p.set("organization", text, known)
		}
		p.set("workspaces.name", workspace, ok && r.workspace != nil)
		return p.state("", dir)
	}
	kind, known := sc.text(r.backend)
	if !ok || !known {
		return stack.State{}
	}
	p := newPlace(kind)
	if r.config != nil {
		p.overlayObject(r.config, sc)
	}
	return p.state(workspace, dir)
}

// A building is what becomes of one directory.
type building struct {
	stacks    []stack.Stack
	modules   map[string]bool
	packages  map[string][]stack.Call // of CUE, by directory: what they import
	warnings  []string
	problems  []*problem.Error // of the directory: it is broken
	elsewhere []*problem.Error // of modules that only its tool reads so
	claimed   []claim          // the states in the repository that it reads
	vague     bool             // its state may be anywhere in the repository
}

// build makes the stacks of one directory, one for each instance.
func (s *scanner) build(dir string) building {
	b := building{modules: map[string]bool{}}
	instances := []settings.Effective{{Path: dir}}
	if s.Instances != nil {
		var err error
		if instances, b.warnings, err = s.Instances(dir); err != nil {
			b.fail(dir, err)
			return b
		}
	}
	if len(instances) == 0 { // it must not vanish
		b.fail(dir, problem.New(api.Internal, "%s: nobody says which instances it has", quote(dir)))
	}
	for _, e := range instances {
		s.buildInstance(dir, e, &b)
	}
	return b
}

func (b *building) fail(dir string, err error) {
	var p *problem.Error
	if !errors.As(err, &p) {
		p = problem.New(api.Invalid, "%s: %w", quote(dir), err)
	}
	b.problems = append(b.problems, p)
}

// buildInstance makes one stack of a directory.
func (s *scanner) buildInstance(dir string, e settings.Effective, b *building) {
	tool := cmp.Or(e.Tool, s.Tool)
	d := s.as(dir, tool)
	b.problems = append(b.problems, d.problems...)
	b.warnings = append(b.warnings, d.warnings...)
	workspace := cmp.Or(e.Workspace, "default")
	st := stack.Stack{
		Key:       stack.Key{Path: dir, Instance: e.Instance},
		Workspace: e.Workspace, Environment: e.Environment, Tool: tool, ToolVersion: e.ToolVersion,
		DependsOn: e.DependsOn, Ignore: e.IgnoreInferred,
		Calls: d.known, Position: d.position(),
	}

	// Where its state is, and what it is made of.
	files := slices.Concat(d.files, d.extra)
	configs, overlays := s.backendConfig(e, b, dir)
	files = append(files, configs...)
	own := d.scope(workspace, ".")
	own.given = s.assign(d, e)
	if p, ok := d.place(own, overlays); ok {
		st.State = p.state(workspace, dir)
		b.vague = b.vague || p.kind == "local" && st.State == (stack.State{})
	}
	if p, ok := d.stated(overlays); ok {
		st.State = p.state(workspace, path.Join(dir, workplace))
		b.vague = b.vague || p.kind == "local" && st.State == (stack.State{})
	}
	files = append(files, s.varFiles(e, b, dir)...)

	// What it reads, itself and through the modules it calls.
	modules := s.reached(d, tool)
	for _, m := range append([]*directory{d}, modules...) {
		sc := own
		if m != d {
			sc = m.scope(workspace, relative(dir, m.path))
		}
		if m == d || tool != s.Tool { // else the module says so itself
			st.Reads = append(st.Reads, m.fixed...)
		}
		if m != d {
			b.modules[m.path] = true
			b.elsewhere = append(b.elsewhere, m.problems...)
			files = append(files, m.files...)
			if m != s.read[reading{m.path, s.Tool}] { // the module of the graph calls what the other tool reads
				st.Calls = append(slices.Clip(st.Calls), m.known...)
			}
		}
		for _, r := range m.floating {
			states, ok := m.states(r, sc, dir)
			st.Reads = append(st.Reads, states...)
			b.claims(st.Key, fmt.Sprintf("%s:%d", quote(r.at.Filename), r.at.Start.Line), states...)
			if !ok {
				b.warnings = append(b.warnings, fmt.Sprintf("%s: data.%s.%s: which state it reads cannot be known from the code; say depends_on", position(r.at), r.kind, quote(r.name)))
			}
		}
	}
	if d.spec != nil {
		st.Calls = slices.Concat(st.Calls, d.spec.calls)
		files = append(files, d.spec.files...)
		b.packages = d.spec.uses
	}
	b.warnings = append(b.warnings, own.given.warnings...)
	st.Reads = sortedStates(append(st.Reads, s.readsOf(d, st.Key, b)...))
	st.WatchPaths = s.watched(d, modules, files)
	st.TreeHash = treeHash(e, tool, files)
	b.stacks = append(b.stacks, st)
}

// as is the directory as tool reads it. Only a directory with files of both
// kinds is read twice.
func (s *scanner) as(dir, tool string) *directory {
	d := s.read[reading{dir, s.Tool}]
	other := func(name string) bool { return strings.HasPrefix(extension(name), ".tofu") }
	if tool == s.Tool || d != nil && !slices.ContainsFunc(s.dirs[dir], other) {
		return d
	}
	d = s.readDirectory(dir, tool, s.Cache)
	s.resolveCalls(d)
	return d
}

// reached are the directories of the local modules that d calls, however deep.
func (s *scanner) reached(d *directory, tool string) []*directory {
	var all []*directory
	seen := map[string]bool{d.path: true}
	for next := []*directory{d}; len(next) > 0; {
		first := next[0]
		next = next[1:]
		for _, callee := range first.callees() {
			if m := s.as(callee, tool); m != nil && !seen[callee] {
				seen[callee] = true
				all, next = append(all, m), append(next, m)
			}
		}
	}
	return all
}

// module is a local module, with what it says to everybody. What it says only
// to another tool, the stacks of that tool say themselves.
func (s *scanner) module(dir string) stack.Module {
	d := s.as(dir, s.Tool)
	if d == nil {
		return stack.Module{Path: dir}
	}
	return stack.Module{Path: dir, Calls: d.known, Reads: sortedStates(d.fixed)}
}

func sortedStates(states []stack.State) []stack.State {
	states = slices.Clone(states)
	slices.SortFunc(states, func(a, b stack.State) int {
		return cmp.Or(strings.Compare(a.Type, b.Type), strings.Compare(a.ID, b.ID))
	})
	return slices.Compact(states)
}

// position is what makes the directory a stack.
func (d *directory) position() string {
	switch {
	case d.backend != nil:
		return fmt.Sprintf("%s:%d", quote(d.backend.at.Filename), d.backend.at.Start.Line)
	case d.locked:
		return quote(path.Join(d.path, lockName)) + ":1"
	}
	for _, f := range slices.Concat(d.files, d.extra) {
		return quote(f.name) + ":1"
	}
	return quote(d.path)
}

// relative is the path of a module as the tool that runs in dir writes it.
func relative(dir, module string) string {
	up := strings.Split(dir, "/")
	to := strings.Split(module, "/")
	if dir == "." {
		up = nil
	}
	if module == "." {
		to = nil
	}
	for len(up) > 0 && len(to) > 0 && up[0] == to[0] {
		up, to = up[1:], to[1:]
	}
	return cmp.Or(path.Join(strings.Repeat("../", len(up)), path.Join(to...)), ".")
}

// place is where the backend keeps states, with partial configuration laid over
// it. A directory without a backend keeps its state beside its files; ok is
// false where that is not known.
func (d *directory) place(sc scope, overlays []func(place)) (place, bool) {
	if d.backend == nil {
		return newPlace("local"), len(d.files) > 0
	}
	p := newPlace(d.backend.kind)
	p.overlay(d.backend.said, sc)
	for _, overlay := range overlays {
		overlay(p)
	}
	return p, true
}
