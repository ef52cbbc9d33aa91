package repo

import (
	"os"
	"path/filepath"
	"regexp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
)

// specification matches the clause of a CUE file that describes an estate.
var specification = regexp.MustCompile(`(?m)^\s*package\s+estate\b`)

// outsideSpecification refuses a CUE policy, in the directory home, among the
// files of a specification: it would be part of what it judges (docs/policy.md,
// rule 31). It does not matter whose stack is judged, nor who names the policy.
func outsideSpecification(src policy.Source, home string) error {
	if src.Language != api.CUE {
		return nil
	}
	seen := map[string]bool{}
	for _, f := range src.Files {
		dir := filepath.Join(home, filepath.Dir(filepath.FromSlash(f.Name)))
		if !seen[dir] && specified(dir) {
			return problem.New(api.Invalid, "policy %s sits in the root directory, whose .cue files are the specification; keep policies outside it", src.Path)
		}
		seen[dir] = true
	}
	return nil
}

// specified reports whether the CUE files right in dir are a specification.
func specified(dir string) bool {
	entries, _ := os.ReadDir(dir) // the policy in it has been read; no pattern, for brackets in dir would be one
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".cue" {
			continue
		}
		if data, err := readRegular(filepath.Join(dir, e.Name())); err == nil && specification.Match(data) {
			return true
		}
	}
	return false
}
