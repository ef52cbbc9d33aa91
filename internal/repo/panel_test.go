package repo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/internal/repo"
)

// panelText is who judges the stack in dir: a line for each assize.yaml.
func panelText(t *testing.T, dir string) string {
	t.Helper()
	cfg, err := repo.Settings(dir)
	if err != nil {
		return err.Error()
	}
	place, err := cfg.Place(dir)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, panel := range cfg.Panels(place) {
		words := []string{panel.Place + ":"}
		for _, p := range panel.Policies {
			words = append(words, p.Path, string(p.Enforcement), p.At.String())
		}
		if panel.Exceptions.Value != "" {
			words = append(words, "but", panel.Exceptions.Value)
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return strings.Join(lines, "\n")
}

// TestPanels: a nearer assize.yaml takes no policy away (docs/configuration.md,
// rule 23).
func TestPanels(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"assize.yaml":     "policies: [{path: above.json}]", // of no checkout below it
		"r/.git/HEAD":     "",
		"r/assize.yaml":   "policies: [{path: ./p.json, stacks: ['a/b/**']}, {path: /etc/q.cue, enforcement: advisory}]\nexceptions: e.json",
		"r/a/assize.yaml": "policies: [{path: ../p.json, enforcement: soft_mandatory, stacks: [b/*]}]\ntool: tofu",
		"r/a/b/c/main.tf": "", "r/a/b/assize.yaml": "policies: [{path: ./p.json, stacks: [c]}]\nexceptions: /etc/e.json",
		"r/a/sub/.git": "gitdir: elsewhere", "r/a/sub/s/main.tf": "",
		"r/plain/main.tf": "",
		"x/assize.yaml":   "policies: [{path: x.json}]", "x/y/assize.yaml": "", // in no checkout
	})
	for place, want := range map[string]string{
		"r/a/b/c": `../..: ../../p.json hard_mandatory ../../assize.yaml:1 /etc/q.cue advisory ../../assize.yaml:1 but ../../e.json
..: ../../p.json soft_mandatory ../assize.yaml:1
: ./p.json hard_mandatory assize.yaml:1 but /etc/e.json`,
		"r/a":     "..: /etc/q.cue advisory ../assize.yaml:1 but ../e.json\n:",
		"r/plain": ": /etc/q.cue advisory assize.yaml:1 but e.json",
		"r/a/sub": ":", "r/a/sub/s": ":",
		"x/y": "../..: ../../above.json hard_mandatory ../../assize.yaml:1\n..: ../x.json hard_mandatory ../assize.yaml:1\n:",
	} {
		if diff := cmp.Diff(want, panelText(t, filepath.Join(dir, place))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", place, diff)
		}
	}
}

// TestOuterFailsClosed: an outer file that cannot be understood does not count as
// one that lists nothing, and no link leads around one.
func TestOuterFailsClosed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ file, text, want string }{
		"unknown key": {"r/a/assize.yaml", "polices: []", `../assize.yaml:1:1: unknown field "polices"`},
		"misnamed":    {"r/assize.yml", "", "assize.yml is not read"},
		"directory":   {"r/assize.yaml/x", "", "no regular file"},
		"behind link": {"other/assize.yaml", "policies: []", "leads out of the directory of assize.yaml"},
	} {
		dir := tree(t, map[string]string{"r/.git/HEAD": "", "r/a/b/assize.yaml": "", "other/x": "", tt.file: tt.text})
		if err := os.Symlink("../r/a", filepath.Join(dir, "other/link")); err != nil {
			t.Fatal(err)
		}
		stack := "r/a/b"
		if name == "behind link" {
			stack = "other/link/b"
		}
		if got := panelText(t, filepath.Join(dir, stack)); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s; want an error that says %s", name, got, tt.want)
		}
	}
}
