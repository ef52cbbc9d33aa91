// Package bundle decides what one file that holds a whole policy looks like: a
// tar archive in gzip, with a manifest, in OPA's bundle format where the policy
// is Rego. The same policy always gives the same bytes, and only those bytes
// are a bundle of Assize (docs/bundle.md).
//
// It is bytes in and a policy out. It must not know where bundles lie, what a
// language means, or whether what a manifest says of Rego is true: that last
// question is for the engine, in its confinement.
package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
)

// Bounds of a bundle (docs/bundle.md, rule 7). They hold for building as well,
// so what was built can be opened.
const (
	MaxBytes   = 64 << 20 // of the archive, packed and unpacked
	maxEntries = 5_000    // the manifest is one of them
)

// Names in a bundle that are no file of the policy.
const (
	manifestName = ".manifest"
	dataName     = "data.json"     // what OPA reads below data
	keptDir      = ".assize/data/" // the files of --data that it was made from, by number
)

// An entry is one file of a bundle.
type entry struct {
	path string // in the bundle
	name string // of a file of --data, as it was before
	data []byte
}

// Build writes the bundle of a policy that an engine has accepted: src.Bundle
// holds what that engine had to say ([policy.Checked]).
func Build(src policy.Source) ([]byte, error) {
	entries, err := contents(src)
	if err != nil {
		return nil, err
	}
	text, err := manifestText(src, entries)
	if err != nil {
		return nil, err
	}
	entries = append(entries, entry{path: manifestName, data: text})
	sortEntries(entries)
	if err := checkEntries(entries); err != nil {
		return nil, err
	}
	return pack(entries)
}

// Open reads a bundle. It returns the policy that went into it and what the
// bundle is, both with an empty path, or an error: a bundle that is damaged in
// any place is none.
func Open(data []byte) (policy.Source, api.Bundle, error) {
	src, m, err := open(data)
	if err != nil {
		return policy.Source{}, api.Bundle{}, err
	}
	src.Bundle.Digest = digest(data)
	return src, api.Bundle{
		Size: len(data), Digest: src.Bundle.Digest,
		Revision: m.Revision, Roots: m.Roots, BundleFacts: m.Metadata.Assize,
	}, nil
}

func open(data []byte) (src policy.Source, m api.BundleManifest, err error) {
	if len(data) > MaxBytes {
		return src, m, tooLarge()
	}
	files, err := unpack(data)
	if err != nil {
		return src, m, err
	}
	var text []byte
	if i := slices.IndexFunc(files, func(e entry) bool { return e.path == manifestName }); i >= 0 {
		text = files[i].data
		files = slices.Delete(files, i, i+1)
	}
	sortEntries(files)
	if text == nil || !isOurs(text) {
		return openOPA(text, files)
	}
	if src, m, err = openOurs(text, files); err != nil {
		return src, m, err
	}
	return src, m, spelled(src, data)
}

// spelled compares the archive with the one that Build makes of what was read
// from it. What the other checks might let through, another order, mode, time,
// compression or spelling, ends here: one policy version has one digest.
func spelled(src policy.Source, data []byte) error {
	again, err := Build(src)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, data) {
		return problem.New(api.Invalid, "this is not how assize writes a bundle: it was packed again, or changed").
			WithHint("use the file that `assize policy build` wrote, or build it again from its sources")
	}
	return nil
}

// contents lists the files of a bundle but its manifest, sorted by path.
func contents(src policy.Source) ([]entry, error) {
	isRego := src.Language == api.Rego
	if len(src.Files) == 0 || src.Bundle == nil || (src.Bundle.OPA != nil) != isRego || !isRego && !src.Rego.IsZero() {
		return nil, problem.New(api.Internal, "a bundle is built from a policy that an engine has accepted")
	}
	var out []entry
	for _, f := range src.Files {
		if !holds(src.Language, f.Name) {
			return nil, problem.New(api.Invalid, "a %s bundle cannot hold the file %q", src.Language, f.Name).
				WithHint("%s policies end in %s, in lower case", src.Language, strings.Join(extensions(src.Language), ", "))
		}
		out = append(out, entry{path: f.Name, data: f.Data})
	}
	for i, f := range src.Rego.Data {
		if err := checkName(f.Name); err != nil {
			return nil, err
		}
		out = append(out, entry{path: fmt.Sprintf("%s%04d", keptDir, i), name: f.Name, data: f.Data})
	}
	if src.Bundle.OPA != nil && src.Bundle.OPA.Data != nil {
		out = append(out, entry{path: dataName, data: src.Bundle.OPA.Data})
	}
	sortEntries(out)
	return out, nil
}

func checkEntries(entries []entry) error {
	if len(entries) > maxEntries {
		return tooMany()
	}
	for i, e := range entries {
		if err := checkName(e.path); err != nil {
			return err
		}
		if i > 0 && entries[i-1].path == e.path {
			return problem.New(api.Invalid, "the bundle holds %q twice", e.path)
		}
	}
	return nil
}

// extensions are how files of a language end. OPA knows no others, nor
// another case of them.
func extensions(lang api.Language) []string {
	switch lang {
	case api.Rules:
		return []string{".json", ".yaml", ".yml"}
	case api.Rego:
		return []string{".rego"}
	case api.CUE:
		return []string{".cue"}
	}
	return nil
}

// holds reports whether a file is one of the language's, and not one of ours.
func holds(lang api.Language, name string) bool {
	return slices.Contains(extensions(lang), path.Ext(name)) && !strings.HasPrefix(name, ".assize/")
}

func sortEntries(entries []entry) {
	slices.SortStableFunc(entries, func(a, b entry) int { return strings.Compare(a.path, b.path) })
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func tooLarge() error {
	return problem.New(api.TooLarge, "the bundle is larger than %d MiB", MaxBytes>>20)
}

func tooMany() error {
	return problem.New(api.TooLarge, "the bundle holds more than %d files", maxEntries)
}
