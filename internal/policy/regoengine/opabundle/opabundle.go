// Package opabundle decides what the manifest of an OPA bundle has to say of a
// Rego policy, so that OPA reads out of the bundle what Assize judges, and
// whether a manifest says so. It must not know how a bundle is packed, nor what
// the rules of a policy mean.
package opabundle

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/storage"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
)

// A Policy is what was read of a policy before it was compiled.
type Policy struct {
	Modules      map[string]*ast.Module // by the file's name
	Data         map[string]any         // below data; nil when no file of data was given
	Capabilities string                 // digest of the built-ins that it may call
}

// Of returns what OPA has to be told.
func (p Policy) Of() (*policy.OPA, error) {
	version := ast.RegoV1.Int()
	out := &policy.OPA{Capabilities: p.Capabilities, RegoVersion: &version}
	var paths [][]string
	for name, m := range p.Modules {
		paths = append(paths, packagePath(m))
		if isV0(m) {
			if out.FileRegoVersions == nil {
				out.FileRegoVersions = map[string]int{}
			}
			out.FileRegoVersions[literalGlob.Replace(name)] = ast.RegoV0.Int()
		}
	}
	for key := range p.Data {
		paths = append(paths, []string{key})
	}
	out.Roots = roots(paths)
	if p.Data == nil {
		return out, nil
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(p.Data); err != nil {
		return nil, problem.New(api.Invalid, "could not judge: the documents below data are no JSON: %w", err)
	}
	out.Data = text.Bytes()
	return out, nil
}

// literalGlob makes a file's name the glob that matches nothing else.
var literalGlob = strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`, `,`, `\,`)

// isV0 is whether the file was read as v0, which is done only when it is no v1.
func isV0(m *ast.Module) bool { return m.RegoVersionSpan().Min() == ast.RegoV0 }

// packagePath is the package as OPA's roots are spelt, nil where they cannot
// spell it.
func packagePath(m *ast.Module) []string {
	path, err := storage.NewPathForRef(m.Package.Path)
	if err != nil {
		return nil
	}
	return path
}

// roots are the shortest paths that hold all of the others: OPA refuses roots
// of which one lies in another. A key that is empty or has a slash in it cannot
// be spelt as part of a root, so such a policy claims all of data.
func roots(paths [][]string) []string {
	slices.SortFunc(paths, slices.Compare)
	var out []string
	var last []string
	for _, path := range paths {
		if len(path) == 0 || slices.ContainsFunc(path, func(s string) bool { return s == "" || strings.Contains(s, "/") }) {
			return []string{""}
		}
		if last == nil || !slices.Equal(last, path[:min(len(last), len(path))]) {
			last = path
			out = append(out, strings.Join(path, "/"))
		}
	}
	return out
}

// Agrees compares what a bundle says with its files, so that OPA cannot read
// another policy out of it than the one that is judged here (docs/bundle.md,
// rules 9 and 10). Bundles of Assize say exactly what [Policy.Of] says; those of
// OPA must hold to what they say. A policy of plain files has nothing to say.
func (p Policy) Agrees(b *policy.Bundle) error {
	if b == nil || b.OPA == nil {
		return nil
	}
	if b.Evaluator == "" {
		return p.holds(b.OPA)
	}
	if b.OPA.Capabilities != p.Capabilities {
		return problem.New(api.Invalid, "could not judge: the bundle was checked with the built-ins %s, and this build allows others (%s)",
			policy.Short(b.OPA.Capabilities), policy.Short(p.Capabilities)).
			WithHint("build the bundle again with this version of assize, which checks the policy anew")
	}
	truth, err := p.Of()
	if err != nil {
		return err
	}
	if !bytes.Equal(b.OPA.Data, truth.Data) {
		return contradiction("data.json does not hold what the bundle's files of --data hold")
	}
	if !reflect.DeepEqual(b.OPA, truth) {
		return contradiction("its manifest states other roots or versions of Rego than its files have")
	}
	return nil
}

// holds checks what OPA itself refuses: a package or document outside of the
// roots, and a file that is not in the version of Rego that was said.
func (p Policy) holds(claim *policy.OPA) error {
	owned := []string{""}
	if claim.Roots != nil {
		owned = nil
		for _, root := range claim.Roots {
			owned = append(owned, strings.Trim(root, "/"))
		}
	}
	m := bundle.Manifest{RegoVersion: claim.RegoVersion, FileRegoVersions: claim.FileRegoVersions}
	for _, name := range slices.Sorted(maps.Keys(p.Modules)) {
		module := p.Modules[name]
		if path := packagePath(module); path == nil || !bundle.RootPathsContain(owned, strings.Join(path, "/")) {
			return contradiction("its roots %q do not cover %s (%s)", owned, module.Package, name)
		}
		said, err := m.RegoVersionForFile("/" + name)
		if err != nil {
			return contradiction("its manifest says of %s: %v", name, err)
		}
		// A file that was read as v1 means the same in v0, if it is one at all.
		if isV0(module) && said != ast.RegoV0 {
			return contradiction("%s is Rego v0, and its manifest does not say so", name)
		}
	}
	return within(owned, "", p.Data)
}

// within checks the documents below path, as far down as roots lie inside.
func within(owned []string, path string, node map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(node)) {
		at := strings.TrimPrefix(path+"/"+key, "/")
		if bundle.RootPathsContain(owned, at) {
			continue
		}
		below, isObject := node[key].(map[string]any)
		holdsRoot := slices.ContainsFunc(owned, func(root string) bool { return bundle.RootPathsContain([]string{at}, root) })
		if !isObject || !holdsRoot {
			return contradiction("its roots %q do not cover the document %s", owned, at)
		}
		if err := within(owned, at, below); err != nil {
			return err
		}
	}
	return nil
}

func contradiction(format string, args ...any) error {
	return problem.New(api.Invalid, "could not judge: the bundle contradicts itself: "+format, args...).
		WithHint("it was changed or badly made; build it again from its sources")
}
