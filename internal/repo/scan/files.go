package scan

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/settings"
)

// This file is about the files that a stack is made of besides its directory:
// what it is given, what it watches, and the digest of all of them.

// A config is a file of backend_config.
type config struct {
	file
	said said
	err  error
}

// backendConfig reads the entries of backend_config: the files they name, and
// what each lays over the backend, in order (seed 004, "Scan and graph").
func (s *scanner) backendConfig(e settings.Effective, b *building, dir string) (files []file, overlays []func(place)) {
	for _, entry := range e.BackendConfig {
		if name, value, ok := strings.Cut(entry, "="); ok {
			overlays = append(overlays, func(p place) { p.set(name, value, true) })
			continue
		}
		once, _ := s.configs.LoadOrStore(entry, sync.OnceValue(func() config { return s.config(entry) }))
		c := once.(func() config)()
		if c.err != nil {
			b.problems = append(b.problems, problem.New(api.Invalid, "%s: backend_config: %w", quote(dir), c.err))
			continue
		}
		files = append(files, c.file)
		overlays = append(overlays, func(p place) { p.overlay(c.said, new(directory).scope("", "")) })
	}
	return files, overlays
}

func (s *scanner) config(entry string) config {
	name := clean(entry)
	if path.IsAbs(entry) || escapes(name) {
		return config{err: outside(entry)}
	}
	data, f, err := s.tree.read(name)
	if err != nil {
		return config{err: err}
	}
	body, diags := parse(data, name)
	if diags.HasErrors() {
		// Only the position: such a file may hold credentials.
		return config{err: problem.New(api.Invalid, "%s does not parse", position(*diags[0].Subject))}
	}
	return config{file: f, said: identifies(body)}
}

// varFiles are those that a plan is given. One that is missing is the tool's
// error at plan time; it is watched all the same, for adding it changes the plan.
func (s *scanner) varFiles(e settings.Effective, b *building, dir string) []file {
	var files []file
	for _, entry := range e.VarFiles {
		name := path.Join(dir, entry)
		if path.IsAbs(entry) || escapes(name) {
			b.problems = append(b.problems, problem.New(api.Invalid, "%s: var_files: %w", quote(dir), outside(entry)))
			continue
		}
		_, f, err := s.tree.read(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			b.warnings = append(b.warnings, fmt.Sprintf("%s: var_files: %s does not exist", quote(dir), quote(name)))
			files = append(files, file{name: name})
		case err != nil:
			b.problems = append(b.problems, problem.New(api.Invalid, "%s: var_files: %w", quote(dir), err))
		default:
			files = append(files, f)
		}
	}
	return files
}

// watched are the files that a stack is made of and its own directory does not
// own: a path belongs to the deepest stack around it. Files in the directories of
// modules are theirs; links are watched wherever they are passed (docs/scan.md,
// rules 20 and 21).
func (s *scanner) watched(d *directory, modules []*directory, files []file) []string {
	seen, home := map[string]bool{}, map[string]bool{}
	watch := func(name string) {
		if s.owner(name) != d.path {
			seen[name] = true
		}
	}
	if d.spec != nil {
		for _, f := range d.spec.files { // in the directories of its packages, and in cue.mod
			home[path.Dir(f.name)] = true
		}
	}
	for _, name := range slices.Concat(d.through, s.data(d, modules), d.watchedBy()) {
		watch(name)
	}
	for _, m := range modules {
		home[m.path] = true
		for _, name := range m.through {
			watch(name)
		}
	}
	for _, f := range files {
		if !home[path.Dir(f.name)] {
			watch(f.name)
		}
		for _, name := range f.also {
			watch(name)
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// owner is the deepest stack directory around name, "" when there is none.
func (s *scanner) owner(name string) string {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if _, found := slices.BinarySearch(s.stacks, dir); found {
			return dir
		}
		if dir == "." {
			return ""
		}
	}
}

// treeHash is a digest of everything a stack is made of: the settings that the
// tool is run with, and each file by its path and content.
func treeHash(e settings.Effective, tool string, files []file) string {
	lines := make([]string, 0, len(files))
	for _, f := range files {
		line := strconv.AppendQuote(append(make([]byte, 0, len(f.name)+80), "file "...), f.name)
		lines = append(lines, string(hex.AppendEncode(append(line, ' '), f.sum[:])))
	}
	slices.Sort(lines)
	h := sha256.New()
	fmt.Fprintf(h, "assize tree 1\n%q %q %q %q %q\n", tool, e.ToolVersion, e.Workspace, e.BackendConfig, e.VarFiles)
	for _, line := range slices.Compact(lines) {
		io.WriteString(h, line+"\n")
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
