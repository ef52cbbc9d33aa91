package spec

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/load"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
	"cuelang.org/go/mod/modfile"
	cuemodule "cuelang.org/go/mod/module"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/spec/schema"
)

// addressFile is the file that tells everything where it is. It is on no disk.
const addressFile = "assize.addresses.cue"

// evaluate evaluates the specification. Without addresses it is a survey.
func (s *source) evaluate(tools Toolbox, addresses []byte) (cue.Value, error) {
	packages, err := s.packages(tools, schema.Package{Survey: addresses == nil, Wanted: func(typ string) bool { return s.words[typ] }})
	if err != nil {
		return cue.Value{}, err
	}
	if addresses != nil {
		packages[path.Join(s.Dir, addressFile)] = addresses
	}
	rewrite := carry
	if addresses == nil {
		rewrite = nil
	}
	instance := s.instance(packages, rewrite)
	if instance.Err != nil {
		return cue.Value{}, s.refuse(instance.Err)
	}
	v := cuecontext.New().BuildInstance(instance)
	if addresses != nil {
		if err := v.Validate(cue.Concrete(false)); err != nil {
			return cue.Value{}, s.refuse(err)
		}
	}
	return v, nil
}

// instance loads the specification with packages that are in none of its files;
// rewrite, if there is one, changes each of the user's files before it is evaluated.
// It touches no disk.
func (s *source) instance(packages map[string][]byte, rewrite func(*ast.File) error) *build.Instance {
	overlay := map[string]load.Source{}
	for _, all := range []map[string][]byte{{moduleFile: []byte(moduleText)}, s.Files, packages} {
		for name, data := range all {
			overlay[name] = load.FromBytes(data)
		}
	}
	return load.Instances([]string{"."}, &load.Config{Dir: s.Dir, Package: Package, Overlay: overlay, Registry: noRegistry{}, Env: []string{},
		ParseFile: func(name string, src any, c parser.Config) (*ast.File, error) {
			f, err := parser.ParseFile(name, src, c)
			if err != nil || rewrite == nil || s.generated(name) {
				return f, err
			}
			return f, rewrite(f)
		}})[0]
}

// moduleText is the module of a specification without one.
const moduleText = "module: \"" + module + "@v0\"\nlanguage: version: \"v0.17.0\"\n"

// modules is the directory of a module in which nothing is the user's, and moduleFile
// the module's own file in it.
const (
	modules    = home + "/cue.mod"
	moduleFile = modules + "/module.cue"
)

// packageFile is where CUE looks for the package of a provider.
func packageFile(source string) string { return path.Join(modules, "gen", source, "provider.cue") }

// generated reports whether a file is none of the user's.
func (s *source) generated(name string) bool {
	return strings.HasPrefix(name, modules+"/") || path.Base(name) == addressFile
}

// packages are the packages of the providers that the specification imports, by the
// file in which CUE looks for them; as says how much of them.
func (s *source) packages(tools Toolbox, as schema.Package) (map[string][]byte, error) {
	files := map[string][]byte{}
	for source := range s.imports {
		as.Name, as.Source = packageName(source), source
		if source == Functions {
			functions := tools.Functions
			if as.Wanted != nil {
				functions = s.used(functions)
			}
			files[packageFile(source)] = []byte(schema.Functions(as, functions))
			continue
		}
		p := tools.Providers[source]
		if p == nil {
			return nil, s.unknownImport(source)
		}
		files[packageFile(source)] = []byte(p.Generate(as))
	}
	return files, nil
}

// Packages are all packages of providers that a specification imports, with all of
// their types, and the module that they belong to, by file: what CUE and its language
// server need to know to make sense of it (docs/spec.md, rule 24). Nothing is
// evaluated for it.
func Packages(root Root, tools Toolbox) (map[string][]byte, error) {
	s := &source{imports: map[string]token.Pos{}}
	r, err := read(root, func(full string, at token.Pos) { s.imports[full] = at })
	if err != nil {
		return nil, err
	}
	s.script = r.script
	files, err := s.packages(tools, schema.Package{Plain: true})
	if err == nil && s.Files[moduleFile] == nil {
		files[moduleFile] = []byte(moduleText)
	}
	placed := map[string][]byte{}
	for name, data := range files {
		placed[r.path(name)] = data
	}
	return placed, err
}

// used are those of the tool's functions that the specification names, as #name.
func (s *source) used(all map[string]*schema.Function) map[string]*schema.Function {
	used := map[string]*schema.Function{}
	for name, f := range all {
		if s.words["#"+name] {
			used[name] = f
		}
	}
	return used
}

// unknownImport refuses an import that leads to no provider there is a schema of.
func (s *source) unknownImport(source string) error {
	p := invalid("%s", located(fmt.Sprintf("import failed: there is no provider %q", source), []string{s.position(s.imports[source])}))
	if strings.Count(source, "/") != 2 {
		return p.WithHint("%s", s.importable())
	}
	return p.WithHint("run: assize spec init")
}

// packageName is what the package of a provider is called: the last word of its
// address, as CUE wants it.
func packageName(source string) string { return strings.ReplaceAll(path.Base(source), "-", "_") }

// noRegistry has no modules: a specification is evaluated without a network.
type noRegistry struct{}

func (noRegistry) ModFile(_ context.Context, m cuemodule.Version) (*modfile.File, error) {
	return nil, noModule(m)
}

func (noRegistry) Fetch(_ context.Context, m cuemodule.Version) (cuemodule.SourceLoc, error) {
	return cuemodule.SourceLoc{}, noModule(m)
}

func (noRegistry) ModuleVersions(context.Context, string) ([]string, error) { return nil, nil }

func noModule(m cuemodule.Version) error {
	return problem.New(api.Invalid, "the module %v is not available: a specification imports providers, CUE's own packages, and packages of its own module", m)
}

// keys are the names of the fields of a struct that are set, in the order of the
// text.
func keys(v cue.Value) []string {
	var names []string
	it, err := v.Fields()
	for err == nil && it.Next() {
		names = append(names, it.Selector().Unquoted())
	}
	return slices.Clip(names)
}

// text is a string in a definition of a value, such as #kind; "" where there is none.
func text(v cue.Value, definition string) string {
	t, _ := v.LookupPath(cue.MakePath(cue.Def(definition))).String()
	return t
}
