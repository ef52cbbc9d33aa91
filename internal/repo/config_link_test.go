package repo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/repo"
)

// TestConfigBehindLinks: no link dodges the configuration that governs a stack.
func TestConfigBehindLinks(t *testing.T) {
	t.Parallel()
	const binds = "policies: [{path: p.json, stacks: ['**']}]"
	for name, tt := range map[string]struct {
		link, to, stack string
		fails           string
	}{
		"link within the checkout":        {link: "a/link", to: "infra/prod", stack: "a/link"},
		"link to the checkout":            {link: "alias", to: "a", stack: "alias/infra/prod"},
		"link from outside":               {link: "out", to: "a/infra/prod", stack: "out"},
		"link past a nearer one":          {link: "a/link", to: "nested/s", stack: "a/link", fails: "nested.json does not exist"},
		"link out of the checkout":        {link: "a/link", to: "../free", stack: "a/link", fails: "leads out of"},
		"link to nowhere as stack":        {link: "a/link", to: "gone", stack: "a/link", fails: "does not exist"},
		"configuration is a dead link":    {link: "a/infra/assize.yaml", to: "gone", stack: "a/infra/prod", fails: "leads nowhere"},
		"configuration links to a device": {link: "a/infra/assize.yaml", to: os.DevNull, stack: "a/infra/prod", fails: "no regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, map[string]string{
				"a/.git/HEAD": "", "a/assize.yaml": binds, "a/p.json": "[]", "a/infra/prod/main.tf": "",
				"a/nested/assize.yaml": "policies: [{path: nested.json}]", "a/nested/s/main.tf": "", "free/main.tf": "",
			})
			if err := os.Symlink(tt.to, filepath.Join(dir, tt.link)); err != nil {
				t.Fatal(err)
			}
			stack := filepath.Join(dir, tt.stack)
			cfg, ok, err := repo.FindConfig(stack)
			n := 0
			if err == nil && ok {
				sources, perr := policiesFor(cfg, stack)
				n, err = len(sources), perr
			}
			switch {
			case tt.fails == "" && (err != nil || n != 1):
				t.Errorf("%d policies, %v; want the one that binds the stack", n, err)
			case tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)):
				t.Errorf("%d policies, error %v; want one that says %q", n, err, tt.fails)
			}
		})
	}
}

// TestMisnamedConfig: a configuration under a name that is not read must not
// look like one that names no policy.
func TestMisnamedConfig(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"a/.git/HEAD": "", "a/assize.yml": "policies: [{path: p.json}]", "a/s/main.tf": "",
		"b/.git/HEAD": "", "b/assize.yaml": "", "b/assize.yml": "", "b/main.tf": "",
	})
	for _, stack := range []string{"a", "a/s", "b"} {
		if _, ok, err := repo.FindConfig(filepath.Join(dir, stack)); err == nil || !strings.Contains(err.Error(), "assize.yml is not read") {
			t.Errorf("%s: %t, %v", stack, ok, err)
		}
	}
}

// TestStackOutsideRoot: a configuration never says of a foreign stack that no
// policy binds it.
func TestStackOutsideRoot(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a/assize.yaml": "policies: []", "b/main.tf": ""})
	cfg, _, err := repo.FindConfig(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := policiesFor(cfg, filepath.Join(dir, "b")); err == nil || problem.Hint(err) == "" {
		t.Errorf("error %v, want one with a hint", err)
	}
}

// TestOnlyRegularFiles: a device, like a pipe, is refused and never read.
func TestOnlyRegularFiles(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"rego/a.rego": "", "data/a.json": "{}"})
	for _, link := range []string{"p.cue", "rego/dev.rego", "data/dev.json", "d.json"} {
		if err := os.Symlink(os.DevNull, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"p.cue", "rego"} {
		if _, err := repo.ReadPolicy(dir, path); err == nil || !strings.Contains(err.Error(), "no regular file") {
			t.Errorf("policy %s: error %v, want a refusal", path, err)
		}
	}
	for _, path := range []string{"d.json", "data"} {
		if _, err := repo.ReadData(dir, path); err == nil || !strings.Contains(err.Error(), "no regular file") {
			t.Errorf("data %s: error %v, want a refusal", path, err)
		}
	}
}

// TestDataBehindLinks: data behind a link is data.
func TestDataBehindLinks(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"real/allow.yaml": "allow: []"})
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	files, err := repo.ReadData(dir, "link")
	if err != nil || len(files) != 1 || files[0].Name != "allow.yaml" {
		t.Errorf("%v, %v; want allow.yaml", files, err)
	}
}
