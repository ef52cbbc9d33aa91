package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
)

// manifestText is the manifest of a bundle with these files.
func manifestText(src policy.Source, entries []entry) ([]byte, error) {
	kept := src
	kept.Rego = restored(options(src.Rego))
	kept.Rego.Data = src.Rego.Data
	if kept.Digest() != src.Digest() {
		return nil, problem.New(api.Internal, "a bundle has no place for an option of this policy")
	}
	m := api.BundleManifest{Revision: src.Digest()}
	facts := &m.Metadata.Assize
	*facts = api.BundleFacts{
		Format: api.BundleFormat, Language: src.Language, Policy: src.Digest(),
		Evaluator: src.Bundle.Evaluator, Options: options(src.Rego), Files: list(entries),
	}
	if o := src.Bundle.OPA; o != nil {
		m.Roots, m.RegoVersion, m.FileRegoVersions = o.Roots, o.RegoVersion, o.FileRegoVersions
		facts.Capabilities = o.Capabilities
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(m); err != nil {
		return nil, problem.New(api.Internal, "the manifest could not be written: %w", err)
	}
	return buf.Bytes(), nil
}

func options(o policy.RegoOptions) *api.BundleOptions {
	out := api.BundleOptions{Namespaces: o.Namespaces, AllNamespaces: o.AllNamespaces, InputShape: o.InputShape, Contract: o.Contract}
	if len(out.Namespaces) == 0 && !out.AllNamespaces && out.InputShape == "" && out.Contract == "" {
		return nil
	}
	return &out
}

func restored(o *api.BundleOptions) policy.RegoOptions {
	if o == nil {
		return policy.RegoOptions{}
	}
	return policy.RegoOptions{Namespaces: o.Namespaces, AllNamespaces: o.AllNamespaces, InputShape: o.InputShape, Contract: o.Contract}
}

func list(entries []entry) []api.BundleFile {
	out := []api.BundleFile{}
	for _, e := range entries {
		out = append(out, api.BundleFile{Path: e.path, Name: e.name, Size: len(e.data), Digest: digest(e.data)})
	}
	return out
}

// isOurs reports whether a manifest has our metadata, whatever else it has.
func isOurs(text []byte) bool {
	var m struct {
		Metadata struct {
			Assize json.RawMessage `json:"assize"`
		} `json:"metadata"`
	}
	return json.Unmarshal(text, &m) == nil && m.Metadata.Assize != nil
}

// decode reads exactly one JSON value without unknown fields.
func decode(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	if err == nil && len(bytes.TrimSpace(text[dec.InputOffset():])) > 0 {
		err = fmt.Errorf("something follows the value")
	}
	if err != nil {
		return problem.New(api.Invalid, "the bundle's manifest cannot be read: %w", err).
			WithHint("a newer version of assize may have written it; see `assize version`")
	}
	return nil
}

// openOurs reads a bundle that says it is one of Assize.
func openOurs(text []byte, files []entry) (src policy.Source, m api.BundleManifest, err error) {
	if err := decode(text, &m); err != nil {
		return src, m, err
	}
	facts := m.Metadata.Assize
	if facts.Format != api.BundleFormat {
		return src, m, problem.New(api.Invalid, "the bundle has the format %q, and this version reads %s", facts.Format, api.BundleFormat).
			WithHint("open it with the version of assize that wrote it, or build it again from its sources")
	}
	if facts.Evaluator == "" {
		return src, m, problem.New(api.Invalid, "the bundle does not say what checked its policy")
	}
	if err := listed(facts.Files, files); err != nil {
		return src, m, err
	}
	src = policy.Source{
		Language: facts.Language, Rego: restored(facts.Options),
		Bundle: &policy.Bundle{Evaluator: facts.Evaluator},
	}
	if facts.Language == api.Rego {
		src.Bundle.OPA = &policy.OPA{
			Capabilities: facts.Capabilities,
			Roots:        m.Roots, RegoVersion: m.RegoVersion, FileRegoVersions: m.FileRegoVersions,
		}
	}
	for i, e := range files {
		switch name := facts.Files[i].Name; {
		case name != "":
			src.Rego.Data = append(src.Rego.Data, policy.File{Name: name, Data: e.data})
		case src.Bundle.OPA != nil && e.path == dataName:
			src.Bundle.OPA.Data = e.data
		default:
			src.Files = append(src.Files, policy.File{Name: e.path, Data: e.data})
		}
	}
	if len(src.Files) == 0 {
		return src, m, problem.New(api.Invalid, "the bundle holds no policy")
	}
	if got := src.Digest(); got != facts.Policy || got != m.Revision {
		return src, m, problem.New(api.Invalid, "the bundle says that its policy is %s, and its files are %s", policy.Short(facts.Policy), policy.Short(got)).
			WithHint("somebody changed it after it was built; build it again from its sources")
	}
	return src, m, nil
}

// listed compares the manifest's list with the files, both sorted by path.
func listed(want []api.BundleFile, files []entry) error {
	have := map[string]entry{}
	for _, e := range files {
		have[e.path] = e
	}
	for _, f := range want {
		e, ok := have[f.Path]
		delete(have, f.Path)
		if !ok {
			return changed("its manifest lists %q, which is not there", f.Path)
		}
		if f.Digest != digest(e.data) || f.Size != len(e.data) {
			return changed("%q is not the file that its manifest lists", f.Path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(have)) {
		return changed("it holds %q, which its manifest does not list", path)
	}
	if !slices.IsSortedFunc(want, func(a, b api.BundleFile) int { return strings.Compare(a.Path, b.Path) }) {
		return changed("its manifest lists the files in another order")
	}
	return nil
}

func changed(format string, args ...any) error {
	return problem.New(api.Invalid, "the bundle was changed after it was built: "+format, args...).
		WithHint("build it again from its sources")
}
