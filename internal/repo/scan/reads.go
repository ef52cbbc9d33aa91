package scan

import (
	"cmp"
	"io/fs"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/settings"
	"github.com/assize-iac/assize/internal/stack"
)

// Reading is how one stack reads the states of others.
type Reading struct {
	Reads []Read   // by module directory, then as they stand
	Links []string // links on the way to its local modules, relative to the root
}

// A Read is one block of a stack, or of a local module that it calls, that reads
// states.
type Read struct {
	Module   string // its directory, relative to the root
	Block    string // data or ephemeral
	Kind     string // terraform_remote_state or tfe_outputs
	Name     string
	Position string // file:line:column

	// States are those that it reads, by each.key; the one of a block without
	// for_each is at "". None is where the code does not say which.
	States map[string]stack.State
	// Each says that the block has for_each.
	Each bool

	// Defaults is the expression of that argument, as it is written; "" is none.
	Defaults string
	// JSON says that Defaults stand in the JSON syntax of the tools.
	JSON bool
}

// Reads finds the reads of the stack with those settings, as tool sees it. It
// looks at no other directory than those of the stack and of the local modules
// that it calls, and tells states as [Scan] does.
func Reads(files fs.FS, e settings.Effective, tool string) (Reading, error) {
	s := &scanner{Options: Options{Tool: tool}, tree: &tree{files: files, verbatim: true}, read: map[reading]*directory{}}
	d := s.once(e.Path)
	r := Reading{}
	for _, m := range append([]*directory{d}, s.reachedFresh(d)...) {
		if len(m.problems) > 0 {
			return Reading{}, m.problems[0]
		}
		r.Links = append(r.Links, m.through...)
		sc := m.scope(cmp.Or(e.Workspace, "default"), relative(e.Path, m.path))
		if m == d {
			sc.given = s.assign(d, e)
		}
		for _, block := range m.reads {
			found, err := s.found(m, block, sc, e.Path)
			if err != nil {
				return Reading{}, err
			}
			r.Reads = append(r.Reads, found)
		}
	}
	slices.Sort(r.Links)
	r.Links = slices.Compact(r.Links)
	slices.SortStableFunc(r.Reads, func(a, b Read) int { return strings.Compare(a.Module, b.Module) })
	return r, nil
}

// reachedFresh are the local modules that d calls, however deep.
func (s *scanner) reachedFresh(d *directory) (all []*directory) {
	for next := []*directory{d}; len(next) > 0; next = next[1:] {
		for _, callee := range next[0].callees() {
			if s.read[reading{callee, s.Tool}] == nil {
				m := s.once(callee)
				all, next = append(all, m), append(next, m)
			}
		}
	}
	return all
}

// found is what a block of module m says for the stack in dir.
func (s *scanner) found(m *directory, block *read, sc scope, dir string) (Read, error) {
	r := Read{Module: m.path, Block: block.block, Kind: block.kind, Name: block.name, Position: position(block.at), Each: block.forEach != nil}
	var err error
	if r.Defaults, r.JSON, err = s.written(block.defaults); err != nil {
		return Read{}, err
	}
	elements, ok := sc.elements(block.forEach)
	if !ok {
		return r, nil
	}
	states := map[string]stack.State{}
	for _, each := range elements {
		key := ""
		if each != nil {
			if key, ok = asText(each["key"]); !ok {
				return r, nil
			}
		}
		sc.each = each
		if states[key] = m.state(block, sc, dir); states[key] == (stack.State{}) {
			return r, nil
		}
	}
	r.States = states
	return r, nil
}

// written is the source of an expression, and whether that is of the JSON syntax.
func (s *scanner) written(expr hcl.Expression) (text string, isJSON bool, err error) {
	if expr == nil {
		return "", false, nil
	}
	at := expr.Range()
	data, _, err := s.tree.read(at.Filename)
	if err == nil && at.End.Byte > len(data) {
		err = problem.New(api.Unavailable, "%s changes while it is read", quote(at.Filename))
	}
	if err != nil {
		return "", false, err
	}
	return string(at.SliceBytes(data)), strings.HasSuffix(at.Filename, ".json"), nil
}
