package spec

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// The text of a specification is all in memory at once.
const (
	textMax       = 64 << 20 // bytes
	filesMax      = 5000
	moduleFileMax = 64 << 10 // bytes: a name and a version are in it
)

// home is where the module of a specification is, as far as CUE knows. It is on no
// disk: no error, and nothing that is evaluated, tells one machine from another.
const home = "/specification"

// A script is what a specification is written in. It is read here, and understood only
// in a confined process: also what parses it has no bound.
type script struct {
	Name   string            // that people know the directory by
	Dir    string            // below home, with slashes
	Module string            // its path
	Files  map[string][]byte // of CUE, by path below home
}

// A reader reads the script of a specification: its own files, those of the packages of
// its module that it imports, and the files of the same packages in the directories
// above them, which belong to a package in CUE.
type reader struct {
	script
	root string // of the module, absolute on this machine; the specification's, where there is no cue.mod
	size int    // of all files, in bytes
}

// read reads a specification's text, and says what it imports from elsewhere, and where.
// What is wrong with the text is not said here.
func read(r Root, imported func(string, token.Pos)) (*reader, error) {
	dir, err := filepath.Abs(r.Dir)
	if err != nil {
		return nil, problem.New(api.Internal, "%w", err)
	}
	t := &reader{script: script{Name: r.Name, Dir: home, Module: module, Files: map[string][]byte{}}, root: dir}
	if err := t.findModule(dir); err != nil {
		return nil, err
	}
	if rel, err := filepath.Rel(t.root, dir); err == nil {
		t.Dir = path.Join(home, filepath.ToSlash(rel))
	}
	w := &walker{script: &t.script, load: t.load, ahead: true, follow: imported}
	return t, w.walk()
}

// findModule looks for the module that a directory is in. One that nothing is in, as
// far as the root of the file system, is one of its own.
func (t *reader) findModule(dir string) error {
	for ; ; dir = filepath.Dir(dir) {
		data, err := readFile(filepath.Join(dir, "cue.mod", "module.cue"), moduleFileMax)
		if len(data) > moduleFileMax {
			return invalid("%s is too large for what it is: more than %d KiB", filepath.Join(dir, "cue.mod", "module.cue"), moduleFileMax>>10).
				WithHint("a module has a name and a version of the language; nothing else there counts")
		}
		if err == nil {
			if name := moduleName(data); name != "" {
				t.root, t.Module = dir, name
				t.Files[moduleFile] = data
			}
			return nil
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// moduleName is the path in a module.cue, without its version.
func moduleName(data []byte) string {
	f, err := parser.ParseFile("module.cue", data)
	if err != nil {
		return ""
	}
	for _, d := range f.Decls {
		field, ok := d.(*ast.Field)
		if !ok {
			continue
		}
		if name, _, err := ast.LabelName(field.Label); err != nil || name != "module" {
			continue
		}
		if lit, ok := field.Value.(*ast.BasicLit); ok {
			name, _ := literal.Unquote(lit.Value)
			name, _, _ = strings.Cut(name, "@")
			return name
		}
	}
	return ""
}

// load reads the CUE files of a directory of the module.
func (t *reader) load(dir string) error {
	entries, err := os.ReadDir(t.path(dir))
	if err != nil {
		return problem.New(api.NotFound, "%s cannot be read: %w", t.shown(dir), err)
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if _, is := t.Files[name]; is || e.IsDir() || !ofCUE(e.Name()) {
			continue
		}
		data, err := readFile(t.path(name), textMax-t.size)
		if err != nil {
			return invalid("%s cannot be read: %v", t.shown(name), cause(err)).WithHint("a specification consists of files of text: remove it, or put what it leads to in its place")
		}
		t.Files[name], t.size = data, t.size+len(data)
		if t.size >= textMax || len(t.Files) > filesMax {
			return invalid("the files of %s are more than a specification may have: %d files, or %d MiB", t.Name, filesMax, textMax>>20).
				WithHint("what is not configuration does not belong in a package of CUE; let the tool read it")
		}
	}
	return nil
}

// path is a place of the module on this machine.
func (t *reader) path(name string) string {
	return filepath.Join(t.root, filepath.FromSlash(strings.TrimPrefix(name, home)))
}

// ofCUE reports whether CUE reads a file of this name.
func ofCUE(name string) bool {
	return path.Ext(name) == ".cue" && !strings.HasPrefix(name, "_") && !strings.HasPrefix(name, ".")
}

// shown is a file as a person knows it: relative to the specification.
func (s *script) shown(file string) string {
	rel, err := filepath.Rel(s.Dir, file)
	if err != nil {
		return file
	}
	return filepath.ToSlash(rel)
}
