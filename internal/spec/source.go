package spec

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
)

// Functions is the import path of the tool's own functions. It stands beside the
// source address of what is built into the tools, terraform.io/builtin/terraform.
const Functions = "terraform.io/builtin/functions"

// module is the module of a specification that has no cue.mod of its own.
const module = "estate.local"

// A source is the script of a specification, parsed.
type source struct {
	script
	imports map[string]token.Pos // of what is in no file of the script
	words   map[string]bool      // every identifier and every string in the text
	heavy   []token.Pos          // of what makes much of little
	tops    map[string]token.Pos // of the fields of the specification's own package
	definitions
	found *found // by the survey; nil before it
}

// parse parses a script. Its error is that of the first file that is no CUE.
func parse(t script) (*source, error) {
	s := &source{script: t, imports: map[string]token.Pos{}, words: map[string]bool{}, tops: map[string]token.Pos{}, definitions: definitions{taken: map[string]bool{}}}
	w := &walker{script: &s.script, load: func(string) error { return nil }, visit: s.note,
		follow: func(full string, at token.Pos) { s.imports[full] = at }}
	if err := w.walk(); err != nil {
		return nil, s.refuse(err).WithHint("in CUE a field is name: value, and one struct is built from another with &, as in web: $random.#Resource.random_pet & {length: 2}")
	}
	if w.own == 0 {
		return nil, invalid("%s holds no CUE file of the package %s", s.Name, Package).
			WithHint("a specification begins with: package %s", Package)
	}
	return s, nil
}

// note notes what a file names and holds.
func (s *source) note(f *ast.File) {
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
	if path.Dir(f.Filename) == s.Dir {
		for _, d := range f.Decls {
			if field, is := d.(*ast.Field); is {
				name, _, _ := ast.LabelName(labelOf(field))
				s.tops[name] = field.Pos()
			}
		}
	}
	s.definitions.note(f)
	s.heavy = append(s.heavy, heavy(f)...)
}

// A walker goes through the packages of a script, the specification's own first, and what
// they import.
type walker struct {
	*script
	load   func(dir string) error  // has the files of a directory put into the script
	visit  func(*ast.File)         // is told each file of a package; nil for nobody
	follow func(string, token.Pos) // is told what is imported from elsewhere
	ahead  bool                    // only imports count; what is wrong is for another to say
	seen   map[string]bool
	own    int // files of the specification's own package
}

func (w *walker) walk() error {
	w.seen = map[string]bool{}
	return w.pkg(w.Dir, Package)
}

// pkg goes through one package: its files in a directory and, of the same name, in
// those above it.
func (w *walker) pkg(dir, name string) error {
	if w.seen[dir+":"+name] {
		return nil
	}
	w.seen[dir+":"+name] = true
	for at := dir; ; at = path.Dir(at) {
		if err := w.load(at); err != nil {
			return err
		}
		for _, file := range w.in(at) {
			if err := w.file(file, name, at != dir); err != nil {
				return err
			}
		}
		if at == home {
			return nil
		}
	}
}

// in are the files in a directory.
func (s *script) in(dir string) []string {
	return slices.Sorted(func(yield func(string) bool) {
		for name := range maps.Keys(s.Files) {
			if path.Dir(name) == dir && ofCUE(path.Base(name)) && !yield(name) {
				return
			}
		}
	})
}

// file goes through a file of a package; others are passed over, above the package's
// directory also those that are no CUE.
func (w *walker) file(name, pkg string, above bool) error {
	f, _ := parser.ParseFile(name, w.Files[name], parser.ImportsOnly) // what is wrong with it is said below
	if above && (f == nil || f.PackageName() != pkg) {
		return nil
	}
	if !w.ahead {
		var err error
		if f, err = parser.ParseFile(name, w.Files[name]); err != nil {
			return err
		}
	}
	if f == nil || f.PackageName() != pkg {
		return nil
	}
	if w.visit != nil {
		w.visit(f)
	}
	if path.Dir(name) == w.Dir && pkg == Package {
		w.own++
	}
	return w.imports(f)
}

// imports goes through what a file imports.
func (w *walker) imports(f *ast.File) error {
	for spec := range f.ImportSpecs() {
		text, err := literal.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		full, name, _ := strings.Cut(text, ":")
		full, _, _ = strings.Cut(full, "@")
		name = cmp.Or(name, path.Base(full))
		rel, own := strings.CutPrefix(full+"/", w.Module+"/")
		if first, _, _ := strings.Cut(full, "/"); !own && !strings.Contains(first, ".") {
			continue // CUE's own
		}
		if !own {
			w.follow(full, spec.Pos())
			continue
		}
		dir := path.Join(home, rel)
		err = w.pkg(dir, name)
		if errors.Is(err, fs.ErrNotExist) {
			return invalid("%s", located(fmt.Sprintf("import failed: there is no directory %s for %q", w.shown(dir), text), []string{w.at(spec.Pos())})).
				WithHint("the module %s begins in %s: correct the path, or make the directory", w.Module, w.shown(home))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
