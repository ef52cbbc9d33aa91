package scan

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/assize-iac/assize/internal/repo/estate"
	"github.com/assize-iac/assize/internal/stack"
)

// This file is about stacks that are specifications in CUE: package estate says what
// their text says (docs/scan.md, rules 39 to 42).

// workplace is where, in the directory of a specification, the tool works.
const workplace = ".assize/spec"

// A specification is what the directory of one says.
type specification struct {
	*estate.Specification
	calls  []stack.Call            // of packages, as of modules
	uses   map[string][]stack.Call // by the directory of a package: those that it imports
	files  []file                  // of its packages, and of its module
	passed []string                // links on the way to packages
}

// specify reads the specification in the directory.
func (s *scanner) specify(d *directory) {
	r := &specReader{tree: s.tree, spec: &specification{uses: map[string][]stack.Call{}}, seen: map[string]bool{}}
	found, err := estate.Parse(r, d.path)
	if err != nil {
		d.fail(err)
		return
	}
	r.spec.Specification = found
	for _, p := range found.Packages {
		for _, u := range p.Uses {
			r.spec.use(p.Dir, d.path, stack.Call{Name: u.Path, Source: u.Path, Kind: stack.LocalModule, Key: u.Dir})
		}
	}
	r.readVendored()
	d.spec = r.spec
}

// use notes that a package in dir imports another one. What is in the directory of
// the stack is the stack's own, and no module.
func (p *specification) use(dir, home string, call stack.Call) {
	if call.Key == home {
		return
	}
	if dir == home {
		p.calls = append(p.calls, call)
	} else {
		p.uses[dir] = append(p.uses[dir], call)
	}
	if p.uses[call.Key] == nil {
		p.uses[call.Key] = []stack.Call{}
	}
}

// A specReader hands the files of a tree to package estate, and keeps account.
type specReader struct {
	*tree
	spec *specification
	seen map[string]bool
}

func (r *specReader) List(dir string) (names []string) {
	entries, err := fs.ReadDir(r.files, dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

func (r *specReader) Read(name string) ([]byte, error) {
	data, f, err := r.tree.read(name)
	if err == nil && !r.seen[name] {
		r.seen[name] = true
		r.spec.files = append(r.spec.files, f)
	}
	return data, err
}

func (r *specReader) Real(dir string) (string, bool) {
	if escapes(path.Clean(dir)) {
		return "", false
	}
	real, via, err := r.resolve(path.Clean(dir))
	r.spec.passed = append(r.spec.passed, via...)
	return real, err == nil
}

// readVendored reads what a module holds of packages that are not its own. CUE takes
// it, but for the text of a provider, which is made anew (docs/spec.md, rule 24).
func (r *specReader) readVendored() {
	home := r.spec.Modules[len(r.spec.Modules)-1]
	for _, source := range r.spec.Imports {
		for _, kind := range []string{"gen", "pkg", "usr"} {
			dir := path.Join(home, "cue.mod", kind, source)
			for _, name := range r.List(dir) {
				if path.Ext(name) == ".cue" && (kind != "gen" || name != "provider.cue") {
					_, _ = r.Read(path.Join(dir, name)) // one that cannot be read is CUE's to report
				}
			}
		}
	}
}

// stated is where the specification keeps its state. The tool works below it, and a
// file is meant from where the specification is (docs/spec.md, rules 20 and 21).
func (d *directory) stated(overlays []func(place)) (place, bool) {
	if d.spec == nil {
		return place{}, false
	}
	said := d.spec.State
	if !said.Kind.Known {
		return place{}, false
	}
	p := newPlace(said.Kind.Text)
	p.said(said)
	for name, usual := range map[string]string{"path": "terraform.tfstate", "workspace_dir": "terraform.tfstate.d"} {
		if file := cmp.Or(p.values[name], usual); p.kind == "local" && !p.unknown[name] && !path.IsAbs(file) {
			p.set(name, path.Join(estate.Root, file), true)
		}
	}
	for _, overlay := range overlays {
		overlay(p)
	}
	return p, true
}

// said adds what a specification says of a place.
func (p place) said(w estate.Where) {
	for name, v := range w.Values {
		p.set(name, v.Text, v.Known || name == "workspaces.tags")
	}
	if !w.Open {
		return
	}
	for _, name := range append([]string{"workspaces.name", "workspaces.prefix"}, identifying...) {
		if _, said := w.Values[name]; !said {
			p.set(name, "", false)
		}
	}
}

// readsOf are the states that a specification reads.
func (s *scanner) readsOf(d *directory, key stack.Key, b *building) (all []stack.State) {
	if d.spec == nil {
		return nil
	}
	dir := path.Join(d.path, workplace)
	for _, r := range d.spec.Reads {
		state := readBy(r, dir)
		if state == (stack.State{}) {
			b.warnings = append(b.warnings, fmt.Sprintf("%s: %s: which state it reads cannot be known from the code; say depends_on", r.At, quote(r.Path)))
			continue
		}
		all = append(all, state)
		at := r.At[:max(strings.LastIndexByte(r.At, ':'), 0)]
		b.claims(key, at, state)
	}
	for _, at := range d.spec.Vague {
		b.warnings = append(b.warnings, at+": which states are read here cannot be known from the code; say depends_on")
	}
	return all
}

// readBy is the state that a data source of a specification reads.
func readBy(r estate.Read, dir string) stack.State {
	workspace := "default"
	if r.Workspace != nil {
		if workspace = r.Workspace.Text; !r.Workspace.Known {
			return stack.State{}
		}
	}
	if !r.Config.Kind.Known {
		return stack.State{}
	}
	p := newPlace(r.Config.Kind.Text)
	p.said(r.Config)
	if r.Kind == "tfe_outputs" {
		p.set("workspaces.name", workspace, r.Workspace != nil)
		workspace = ""
	}
	return p.state(workspace, dir)
}

// watchedBy are the paths outside its directory that a specification is made of, but
// for the directories of its packages, which are modules of the graph: what may be its
// module.
func (d *directory) watchedBy() (names []string) {
	if d.spec == nil {
		return nil
	}
	names = slices.Clone(d.spec.passed)
	for _, dir := range d.spec.Modules {
		names = append(names, path.Join(dir, "cue.mod"))
	}
	return names
}
