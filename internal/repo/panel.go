package repo

import (
	"path"
	"path/filepath"

	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/settings"
)

// Panels are those that judge the stack at place, which is slash-separated and
// relative to the root: that of the outermost assize.yaml first, that of the one
// that governs last (docs/configuration.md, rule 33).
func (c Config) Panels(place string) (panels []settings.Panel) {
	for _, file := range c.files() {
		panels = append(panels, file.Settings.Panel(file.from(c), path.Join(c.from(file), place)))
	}
	return panels
}

// Listed is how many policies the configuration lists, whether they bind or not.
func (c Config) Listed() (n int) {
	for _, file := range c.files() {
		n += len(file.Settings.Policies)
	}
	return n
}

// Policy reads a policy of one of the panels.
func (c Config) Policy(p settings.Policy) (policy.Source, error) {
	src, err := ReadPolicy(c.Root, p.Path)
	src.Enforcement = p.Enforcement
	return src, err
}

// files are the configurations whose policies bind: the outermost first.
func (c Config) files() []Config { return append(c.Outer[:len(c.Outer):len(c.Outer)], c) }

// from is where the root of c is, as one finds it from that of another on the
// same way up: slash-separated, "" where it is the same.
func (c Config) from(other Config) string {
	rel, err := filepath.Rel(other.Root, c.Root)
	if err != nil || rel == "." { // both are absolute, so there is always a way
		return ""
	}
	return filepath.ToSlash(rel)
}
