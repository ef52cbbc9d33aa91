package cli

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/preview"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/repo"
	"github.com/assize-iac/assize/internal/repo/scan"
	"github.com/assize-iac/assize/internal/runner"
	"github.com/assize-iac/assize/internal/stack"
)

// This file is about the stacks that others are planned after.

// An ordering knows where the stacks of a rollout keep their states, and in which
// order they go.
type ordering struct {
	files fs.FS // of the root
	graph stack.Graph
	kept  map[stack.State]stack.Key
}

func newOrdering(root string, g stack.Graph, keys []stack.Key) (*ordering, error) {
	files, err := scan.Checkout(root)
	o := &ordering{files: files, graph: g, kept: map[stack.State]stack.Key{}}
	for _, k := range keys {
		if s, ok := g.Stack(k); ok && s.State != (stack.State{}) {
			o.kept[s.State] = k
		}
	}
	return o, err
}

// An outlook is what the stacks that were planned will be, for those that come
// after them (docs/preview.md).
type outlook struct {
	*ordering
	provider *preview.Provider

	mu      sync.Mutex // guards what follows
	outputs preview.Upstreams
	keys    map[stack.State]string
	changed map[string]bool // by key: its plan changes something
}

func newOutlook(o *ordering) (*outlook, error) {
	p, err := preview.Serve()
	return &outlook{ordering: o, provider: p, outputs: preview.Upstreams{}, keys: map[stack.State]string{}, changed: map[string]bool{}}, err
}

func (l *outlook) close() { _ = l.provider.Close() }

// note remembers what a stack will be. Its outputs are of interest where an apply
// changes one, or makes the first state there is.
func (l *outlook) note(s stack.Stack, m made) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed[s.Key.String()] = m.changes
	moves := slices.ContainsFunc(m.plan.Outputs, func(o plan.Output) bool { return o.Action != plan.NoOp })
	if s.State != (stack.State{}) && (moves || m.changes && m.state.Lineage == "") {
		l.outputs[s.State], l.keys[s.State] = m.plan.OutputsAfter(), s.Key.String()
	}
}

// A foresight is what one stack will read that is not there yet.
type foresight struct {
	path      string // where the tool works, relative to the root
	reading   scan.Reading
	upstreams preview.Upstreams
	keys      []string // of the stacks that it will read from, sorted
	named     map[string]preview.Outputs
}

// reading is how a stack reads the states of others, and where the tool works for it,
// relative to the root. Of a specification it is in what that comes to.
func (o *ordering) reading(j *job) (at string, r scan.Reading, err error) {
	rel, err := filepath.Rel(j.cfg.Root, j.stack.Session.Dir)
	if err != nil {
		return "", r, problem.New(api.Internal, "%w", err)
	}
	e := j.settings
	e.Path = filepath.ToSlash(rel)
	if r, err = scan.Reads(o.files, e, j.stack.Session.Tool.Name); err != nil {
		return "", r, err
	}
	for i, read := range r.Reads { // as whoever wrote it knows it
		if place := j.stack.Places()[read.Block+"."+read.Kind+"."+read.Name]; place.File != "" {
			r.Reads[i].Position = fmt.Sprintf("%s:%d", path.Join(j.key.Path, place.File), place.Line)
		}
	}
	return e.Path, r, nil
}

// ahead is the foresight of a stack that reads so, for which the tool works at a path;
// nil where it reads nothing that will change.
func (l *outlook) ahead(at string, reading scan.Reading) *foresight {
	f := &foresight{path: at, reading: reading, upstreams: preview.Upstreams{}, named: map[string]preview.Outputs{}}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range f.reading.Reads {
		for _, state := range r.States {
			if outputs, ok := l.outputs[state]; ok {
				f.upstreams[state], f.named[l.keys[state]] = outputs, outputs
				f.keys = append(f.keys, l.keys[state])
			}
		}
	}
	slices.Sort(f.keys)
	f.keys = slices.Compact(f.keys)
	if len(f.keys) == 0 {
		return nil
	}
	return f
}

// refuseUnordered refuses a stack that reads the state of another one of this rollout
// which it does not come after. Text that the scan has read says all that it comes to;
// of a specification, more may turn out when it is evaluated (docs/scan.md, rule 41).
func (o *ordering) refuseUnordered(j *job, reading scan.Reading) error {
	s, _ := o.graph.Stack(j.key)
	before := o.graph.Dependencies(j.key)
	for _, r := range reading.Reads {
		for _, state := range r.States {
			other, here := o.kept[state]
			if !here || !j.stack.Specified() || other == j.key || slices.Contains(s.Reads, state) || slices.Contains(before, other) {
				continue
			}
			return problem.New(api.Invalid, "%s: %s reads the state of %s, which the graph could not know", r.Position, j.key, other).
				WithHint("say depends_on: [%s] in %s", other, path.Join(j.key.Path, repo.DirectoryConfigName))
		}
	}
	return nil
}

// unseen warns of stacks that this one is planned after, that change, and of whose
// changes its plan shows nothing.
func (l *outlook) unseen(k stack.Key, reads []string) (warnings []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.graph.Shape().Edges {
		if e.From == k.String() && e.Kind == api.DependsOn && l.changed[e.To] && !slices.Contains(reads, e.To) {
			warnings = append(warnings, fmt.Sprintf("%s changes, and nothing of it is read here: it comes first, and what that does to this stack is not known", e.To))
		}
	}
	return warnings
}

// overlay has the tool plan a stack where it reads what is not there yet.
func (l *outlook) overlay(root string, j *job, f *foresight, warn func(string)) func(string) (*runner.Overlay, error) {
	return func(into string) (*runner.Overlay, error) {
		tool := j.stack.Session.Tool
		environ, err := l.provider.Environ(tool.Name, tool.Getenv)
		if err != nil {
			return nil, err
		}
		dir, warnings, err := preview.Mirror(preview.Mirroring{
			Root: root, Into: into, Path: f.path, Tool: tool.Name, DataDir: j.stack.Session.DataDir(),
			Reading: f.reading, Upstreams: f.upstreams,
		})
		for _, warning := range warnings {
			warn(warning)
		}
		return &runner.Overlay{Dir: dir, Environ: []string{environ}, Native: preview.Native}, err
	}
}

// hidden are the words with which the tools complain of what is not known yet, or
// is sensitive.
var hidden = regexp.MustCompile(`until apply|after apply|not yet known|[Ss]ensitive`)

// explained adds to an error of a conditional plan what could not be known, where
// that is what the tool complains of.
func (f *foresight) explained(err error, said string) error {
	_, complaint, _ := strings.Cut(said, "Error: ")
	why := preview.Explain(f.named)
	if why == "" || err == nil || problem.Hint(err) != "" || !hidden.MatchString(complaint) {
		return err
	}
	return problem.New(problem.Code(err), "%w", err).WithHint("%s", why)
}
