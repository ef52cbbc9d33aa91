package bundle

import (
	"path"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
)

// opaManifest is OPA's own manifest, all of its fields.
type opaManifest struct {
	Revision         string         `json:"revision"`
	Roots            []string       `json:"roots"`
	Wasm             []any          `json:"wasm"`
	RegoVersion      *int           `json:"rego_version"`
	FileRegoVersions map[string]int `json:"file_rego_versions"`
	Metadata         map[string]any `json:"metadata"`
}

// openOPA reads what `opa build` writes for Rego: modules, one data.json, and
// a manifest, if there is one (docs/bundle.md, rule 8). The rest of OPA's format
// is refused by name: what Assize does not judge, OPA might.
func openOPA(text []byte, files []entry) (src policy.Source, m api.BundleManifest, err error) {
	var opa opaManifest
	if text != nil {
		if err := decode(text, &opa); err != nil {
			return src, m, err
		}
		if len(opa.Wasm) > 0 {
			return src, m, compiled(".manifest names modules of WebAssembly")
		}
	}
	src = policy.Source{Language: api.Rego, Bundle: &policy.Bundle{
		OPA: &policy.OPA{Roots: opa.Roots, RegoVersion: opa.RegoVersion, FileRegoVersions: opa.FileRegoVersions},
	}}
	for _, e := range files {
		switch {
		case holds(api.Rego, e.path):
			src.Files = append(src.Files, policy.File{Name: e.path, Data: e.data})
		case e.path == dataName:
			src.Rego.Data = []policy.File{{Name: dataName, Data: e.data}}
		default:
			return src, m, foreign(e.path)
		}
	}
	if len(src.Files) == 0 {
		return src, m, problem.New(api.Invalid, "the bundle holds no policy").
			WithHint("`assize policy build` writes bundles of policies in any of the three languages; `opa build` of Rego")
	}
	m = api.BundleManifest{Revision: opa.Revision, Roots: opa.Roots, RegoVersion: opa.RegoVersion, FileRegoVersions: opa.FileRegoVersions}
	m.Metadata.Assize = api.BundleFacts{Language: api.Rego, Policy: src.Digest(), Files: list(files)}
	return src, m, nil
}

// foreign is the error of a file that a bundle of Rego need not have.
func foreign(name string) error {
	switch base := path.Base(name); {
	case strings.HasSuffix(base, "signatures.json"):
		return problem.New(api.Invalid, "the bundle is signed (%q), and signatures are not verified here", name).
			WithHint("compare the bundle's digest, which `assize policy inspect` prints, and build it without --signing-key")
	case base == "policy.wasm", base == "plan.json", base == "plan.pb":
		return compiled(name)
	case base == "patch.json":
		return problem.New(api.Invalid, "the bundle is a delta bundle (%q): it changes a policy and is none", name)
	}
	return problem.New(api.Invalid, "the bundle holds %q, which is no part of a policy", name).
		WithHint("make it with `opa build`, which puts all documents into one data.json, or with `assize policy build`")
}

func compiled(what string) error {
	return problem.New(api.Invalid, "the bundle holds a compiled policy (%s): only Rego is judged", what).
		WithHint("build it with `opa build --target rego`")
}
