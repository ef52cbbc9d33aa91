package repo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/bundle"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/repo"
)

// TestReadBundle: a bundle is known by its name, keeps the name it was given,
// and a directory of that name is a directory (docs/bundle.md, rules 1 and 13).
func TestReadBundle(t *testing.T) {
	t.Parallel()
	data, err := bundle.Build(policy.Source{
		Language: api.Rules, Files: []policy.File{{Name: "r.json", Data: []byte("[]")}},
		Bundle: &policy.Bundle{Evaluator: "assize-rules/1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := tree(t, map[string]string{
		"b.tar.gz": string(data), "B.TGZ": string(data), "b.gz": string(data), "none.tgz": "[]",
		"dir.tar.gz/r.json": "[]", "only/b.tar.gz": string(data),
	})
	if err := os.Truncate(filepath.Join(dir, "none.tgz"), 0); err != nil {
		t.Fatal(err)
	}
	large, err := os.Create(filepath.Join(dir, "large.tgz"))
	if err == nil {
		err = large.Truncate(bundle.MaxBytes + 1)
		_ = large.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("b.tar.gz", filepath.Join(dir, "link.tgz")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path  string
		as    api.Language
		fails string
	}{
		"a bundle":             {path: "b.tar.gz"},
		"its language":         {path: "b.tar.gz", as: api.Rules},
		"another language":     {path: "b.tar.gz", as: api.Rego, fails: "policy b.tar.gz is a bundle of rules, not of rego"},
		"short, in capitals":   {path: "B.TGZ"},
		"by a link":            {path: "link.tgz"},
		"gzip only":            {path: "b.gz", fails: "its name does not say the language"},
		"empty":                {path: "none.tgz", fails: "policy none.tgz: the bundle is damaged"},
		"large":                {path: "large.tgz", fails: "large.tgz is larger than 64 MiB"},
		"missing":              {path: "missing.tgz", fails: "missing.tgz does not exist"},
		"a directory":          {path: "dir.tar.gz"},
		"a directory with one": {path: "only", fails: "holds no policy"},
	} {
		src, err := repo.ReadPolicyAs(dir, c.path, c.as)
		switch {
		case c.fails != "":
			if err == nil || !strings.Contains(err.Error(), c.fails) || problem.Hint(err) == "" && name != "large" {
				t.Errorf("%s: %v (%s), want %q", name, err, problem.Hint(err), c.fails)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case src.Path != c.path || src.Language != api.Rules || (src.Bundle != nil) != (name != "a directory"):
			t.Errorf("%s: %+v", name, src)
		}
	}
}
