// Package estate finds out from the text of a specification in CUE where its state
// is kept, which other states it reads, and of which packages it is made. It knows
// no provider, runs nothing, and works within bounds whatever the text says: it
// evaluates constants, and not CUE (docs/scan.md, rules 39 to 42).
//
// The idea to know: CUE only ever adds. If one of the structs that a field is made
// of says that it is "s3", it is "s3" or there is an error; nothing can make another
// text of it. So what is found is sure, however much of the rest is not understood,
// and only what is not found may be there all the same.
package estate

import (
	"path"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// Name is that of the package that a specification is.
const Name = "estate"

// ownModule is the module of a specification without a cue.mod (docs/spec.md, rule 2).
const ownModule = "estate.local"

// toolFunctions is the import path of the tool's own functions (docs/spec.md, rule 16).
const toolFunctions = "terraform.io/builtin/functions"

// Root is the way from where the tool works to the specification, and so what
// #root of the tool's functions is (docs/spec.md, rule 26).
const Root = "../.."

// Files is the tree that a specification is in. Paths are relative to its root, with
// slashes.
type Files interface {
	List(dir string) []string               // the names of the files in a directory; none where there is no such
	Read(name string) ([]byte, error)       // the bytes of a file
	Real(dir string) (real string, ok bool) // where a directory is once links are followed; false where that is outside
}

// A Specification is what the text of one says.
type Specification struct {
	State    Where     // of its own
	Reads    []Read    // of other states
	Vague    []string  // places, as file:line:column, at which states may be read of which nothing is known
	Packages []Package // that it is made of, its own first
	Imports  []string  // of what is none of its module: providers, and CUE's own packages; sorted
	Modules  []string  // directories that would be its module if they held a cue.mod, and the one that is; nearest first
}

// Where is a place where a state is kept, or what is said of it.
type Where struct {
	Kind   Value            // s3, local, ...
	Values map[string]Value // by attribute; those of workspaces as workspaces.name
	Open   bool             // there may be attributes that are not in Values
}

// A Value is a text that is there. Unless it is Known, nobody can tell which.
type Value struct {
	Text  string
	Known bool
}

// A Read is a data source that reads the state of another stack.
type Read struct {
	Kind string // terraform_remote_state or tfe_outputs
	Path string // in CUE
	At   string // file:line:column

	// Config is what says where. Of tfe_outputs it is organization, and hostname, of
	// the data source or of its provider.
	Config    Where
	Workspace *Value // nil where none is said
}

// A Package is one of those that a specification is made of.
type Package struct {
	Dir  string
	Name string
	Uses []Use
}

// A Use is one package in another.
type Use struct {
	Dir  string // of the package
	Path string // as it is written
}

// kinds are the types of data sources that read states.
var kinds = []string{"terraform_remote_state", "tfe_outputs"}

// Parse reads the specification in dir. Its error has a position, and is of a file
// that cannot be read or does not parse.
func Parse(files Files, dir string) (*Specification, error) {
	r := &reader{files: files, imported: map[string]bool{}, packages: map[string]*pkg{}, indexes: map[ast.Node]*index{}, covered: map[ast.Node]bool{}, gaps: map[ast.Node]bool{}, steps: stepsMax}
	s := &Specification{Modules: r.findModule(dir)}
	own, err := r.load(dir, Name)
	if err != nil {
		return nil, err
	}
	for _, p := range r.order {
		s.Packages = append(s.Packages, Package{p.dir, p.name, p.uses})
	}
	s.Imports = sorted(r.imported)
	s.State = r.state(own.node)
	s.Reads, s.Vague = r.reads(own.node)
	return s, nil
}

// A reader reads one specification.
type reader struct {
	files    Files
	root     string // of the module
	module   string // its path
	packages map[string]*pkg
	order    []*pkg
	imported map[string]bool // what is not of the module
	indexes  map[ast.Node]*index
	steps    int // that are left

	unseen  []string // places that take something of which nothing is known
	items   []item
	gaps    map[ast.Node]bool // what the survey could not look into
	covered map[ast.Node]bool // mentions of a kind that became reads, and loops that were gone through
}

// stepsMax bounds what one specification costs: a few hundred milliseconds.
const stepsMax = 200_000

// step takes a step; it is false when there are none left.
func (r *reader) step() bool {
	r.steps--
	return r.steps > 0
}

// A pkg is a package of CUE.
type pkg struct {
	dir, name string
	files     []*source
	node      *node // what the package is
	uses      []Use
}

// A source is a file.
type source struct {
	name string
	file *ast.File
	pkg  *pkg
	when bool // an attribute says when it counts, and nobody here can tell
	env  *env
}

// findModule looks for the module that the directory is in.
func (r *reader) findModule(dir string) (looked []string) {
	r.root, r.module = dir, ownModule
	for at := dir; ; at = path.Dir(at) {
		looked = append(looked, at)
		if name := path.Join(at, "cue.mod", "module.cue"); slices.Contains(r.files.List(path.Dir(name)), "module.cue") {
			if module := r.moduleName(name); module != "" {
				r.root, r.module = at, module
			}
			return looked
		}
		if at == "." || at == "/" {
			return looked
		}
	}
}

// moduleName is the path in a module.cue, without its version; "" where there is none.
func (r *reader) moduleName(name string) string {
	parsed, err := r.parse(name)
	if err != nil { // CUE's to report
		return ""
	}
	f := &source{name: name, file: parsed, pkg: &pkg{node: &node{r: r}}}
	f.pkg.node.parts = []part{{source: f}}
	if r.imports(f) != nil {
		return ""
	}
	text, _ := f.pkg.node.child("module").text()
	text, _, _ = strings.Cut(text, "@")
	return text
}

// load reads a package, and those that it imports. CUE takes the files of a package
// that lie further up in the module as well, if it is the one that is asked for.
func (r *reader) load(dir, name string) (*pkg, error) {
	if p := r.packages[dir+":"+name]; p != nil {
		return p, nil
	}
	p := &pkg{dir: dir, name: name}
	p.node = &node{r: r}
	r.packages[dir+":"+name] = p
	r.order = append(r.order, p)
	if err := r.loadFiles(p, dir); err != nil {
		return nil, err
	}
	for above := dir; name == Name && len(r.order) == 1 && above != r.root; {
		above = path.Dir(above)
		n := len(p.files)
		if err := r.loadFiles(p, above); err != nil {
			return nil, err
		}
		if len(p.files) > n {
			p.uses = append(p.uses, Use{above, name})
		}
	}
	for _, f := range p.files {
		if err := r.imports(f); err != nil {
			return nil, err
		}
		p.node.parts = append(p.node.parts, part{source: f})
	}
	return p, nil
}

// loadFiles parses the files of a package in one directory.
func (r *reader) loadFiles(p *pkg, dir string) error {
	for _, base := range r.files.List(dir) {
		if path.Ext(base) != ".cue" || strings.HasPrefix(base, "_") || strings.HasPrefix(base, ".") ||
			strings.HasSuffix(base, "_tool.cue") || strings.HasSuffix(base, "_test.cue") {
			continue
		}
		f, err := r.parse(path.Join(dir, base))
		if err != nil {
			return err
		}
		name := f.PackageName()
		if p.name == "" && name != "" {
			p.name = name
		}
		if name != p.name || attribute(f, "ignore") {
			continue
		}
		p.files = append(p.files, &source{name: path.Join(dir, base), file: f, pkg: p, when: attribute(f, "if")})
	}
	return nil
}

func (r *reader) parse(name string) (*ast.File, error) {
	data, err := r.files.Read(name)
	if err != nil {
		return nil, err
	}
	if tooDeep(data) {
		return nil, problem.New(api.Invalid, "%s: nested too deep", shown(name))
	}
	f, err := parser.ParseFile(shown(name), data)
	if err != nil {
		return nil, wrong(name, err)
	}
	return f, nil
}

// attribute reports whether a file has an attribute before its package clause.
func attribute(f *ast.File, name string) bool {
	return slices.ContainsFunc(f.Preamble(), func(d ast.Decl) bool {
		a, ok := d.(*ast.Attribute)
		return ok && strings.HasPrefix(a.Text, "@"+name+"(")
	})
}

// imports resolves the imports of a file: what each name in it stands for.
func (r *reader) imports(f *source) error {
	f.env = &env{node: f.pkg.node, index: r.index(f.file, f.file.Decls), names: map[string]*node{}, source: f}
	f.env.declare()
	for spec := range f.file.ImportSpecs() {
		text, err := literal.Unquote(spec.Path.Value)
		if err != nil {
			return wrong(f.name, err)
		}
		full, name, _ := strings.Cut(text, ":")
		full, _, _ = strings.Cut(full, "@")
		rel, own := strings.CutPrefix(full+"/", r.module+"/")
		stands := &node{r: r}
		if !own {
			stands.parts = []part{{foreign: &foreign{source: full}}}
			r.imported[full] = true
		} else if real, ok := r.files.Real(path.Join(r.root, rel)); ok {
			p, err := r.load(real, name)
			if err != nil {
				return err
			}
			f.pkg.uses = append(f.pkg.uses, Use{p.dir, text})
			stands = p.node
			name = p.name
		}
		if name == "" {
			name = strings.ReplaceAll(path.Base(full), "-", "_")
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		f.env.names[name] = stands
		if first, _, _ := strings.Cut(full, "/"); !own && full != toolFunctions && strings.Contains(first, ".") {
			r.noteUnseen(f.file, spec)
		}
	}
	return nil
}

// noteUnseen notes what a file takes from a package that is none of the module, and
// that providers do not have: one of a module that begins outside of the tree.
func (r *reader) noteUnseen(f *ast.File, of *ast.ImportSpec) {
	ast.Walk(f, func(n ast.Node) bool {
		if x, ok := n.(*ast.SelectorExpr); ok {
			from, isName := x.X.(*ast.Ident)
			if key, _ := keyOf(x.Sel); isName && from.Node == of && key != "#Provider" {
				r.unseen = append(r.unseen, place(x.Pos()))
			}
		}
		return true
	}, nil)
}

// place is a position as people read it.
func place(p token.Pos) string { return p.Position().String() }
