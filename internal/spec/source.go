package spec

import (
	"io/fs"
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

// Functions is the import path of the tool's own functions. It stands beside the
// source address of what is built into the tools, terraform.io/builtin/terraform.
const Functions = "terraform.io/builtin/functions"

// module is the module of a specification that has no cue.mod of its own.
const module = "estate.local"

// A source is the text of a specification: its own files and those of the packages
// of its module that it imports.
type source struct {
	name    string // that people know the directory by
	dir     string // absolute
	root    string // of the module; dir, where there is no cue.mod
	module  string // its path
	imports map[string]token.Pos
	words   map[string]bool // every identifier and every string in the text
	found   *found          // by the survey; nil before it
}

// read reads a specification's text without evaluating any of it.
func read(r Root) (*source, error) {
	dir, err := filepath.Abs(r.Dir)
	if err != nil {
		return nil, problem.New(api.Internal, "%w", err)
	}
	s := &source{name: r.Name, dir: dir, root: dir, module: module, imports: map[string]token.Pos{}, words: map[string]bool{}}
	s.findModule()
	if err := s.readPackage(dir, Package, map[string]bool{}); err != nil {
		return nil, err
	}
	return s, nil
}

// findModule looks for the module that the directory is in. One that nothing is
// in, as far as the root of the file system, is one of its own.
func (s *source) findModule() {
	for dir := s.dir; ; dir = filepath.Dir(dir) {
		data, err := os.ReadFile(filepath.Join(dir, "cue.mod", "module.cue"))
		if err == nil {
			if name := moduleName(data); name != "" {
				s.root, s.module = dir, name
			}
			return
		}
		if dir == filepath.Dir(dir) {
			return
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

// readPackage reads the files of one package in a directory, and of the packages
// of the same module that it imports.
func (s *source) readPackage(dir, name string, seen map[string]bool) error {
	if seen[dir+":"+name] {
		return nil
	}
	seen[dir+":"+name] = true
	entries, err := os.ReadDir(dir)
	if err != nil {
		return problem.New(api.NotFound, "%s cannot be read: %w", s.shown(dir), err)
	}
	files := 0
	for _, e := range entries {
		f, err := s.parse(filepath.Join(dir, e.Name()), e)
		if err != nil {
			return err
		}
		if f == nil || name != "" && f.PackageName() != name {
			continue
		}
		files++
		if err := s.readFile(f, seen); err != nil {
			return err
		}
	}
	if files == 0 && dir == s.dir {
		return invalid("%s holds no CUE file of the package %s", s.name, Package).
			WithHint("a specification begins with: package %s", Package)
	}
	return nil
}

// parse is a file of CUE, nil for anything else.
func (s *source) parse(name string, e fs.DirEntry) (*ast.File, error) {
	if e.IsDir() || path.Ext(e.Name()) != ".cue" || strings.HasPrefix(e.Name(), "_") || strings.HasPrefix(e.Name(), ".") {
		return nil, nil
	}
	f, err := parser.ParseFile(name, nil)
	if err != nil {
		return nil, s.refuse(err)
	}
	return f, nil
}

// readFile notes what a file names and follows what it imports.
func (s *source) readFile(f *ast.File, seen map[string]bool) error {
	ast.Walk(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			s.words[n.Name] = true
		case *ast.BasicLit:
			if text, err := literal.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				s.words[text] = true
			}
		}
		return true
	}, nil)
	for spec := range f.ImportSpecs() {
		text, err := literal.Unquote(spec.Path.Value)
		if err != nil {
			return s.refuse(err)
		}
		full, name, _ := strings.Cut(text, ":")
		full, _, _ = strings.Cut(full, "@")
		rel, own := strings.CutPrefix(full+"/", s.module+"/")
		if first, _, _ := strings.Cut(full, "/"); !own && !strings.Contains(first, ".") {
			continue // CUE's own
		}
		if !own {
			s.imports[full] = spec.Pos()
			continue
		}
		if err := s.readPackage(filepath.Join(s.root, filepath.FromSlash(rel)), name, seen); err != nil {
			return err
		}
	}
	return nil
}

// shown is a file as a person knows it: relative to the specification.
func (s *source) shown(file string) string {
	rel, err := filepath.Rel(s.dir, file)
	if err != nil {
		return file
	}
	return filepath.ToSlash(rel)
}
