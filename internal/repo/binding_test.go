package repo_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/internal/repo"
)

// A glob that binds no directory is told from one that does, whatever its form.
func TestMisfits(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, dir := range []string{"infra/prod/db", "infra/dev", ".terraform/modules/net"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const config = `policies:
  - path: p.json
    stacks: [., infra/prod, infra/**, "**/db", "infra/*/db", "{infra,other}/dev"]
  - path: q.json
    stacks: [infra/prdo, "prod/**", "**/net", "infra/*/db/*", infra/main.tf, "infra/dev/*"]
  - path: r.json
`
	for name, text := range map[string]string{"assize.yaml": config, "infra/main.tf": ""} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, ok, err := repo.FindConfig(root)
	if err != nil || !ok {
		t.Fatalf("ok %t: %v", ok, err)
	}
	var want []repo.Misfit
	for _, glob := range []string{"infra/prdo", "prod/**", "**/net", "infra/*/db/*", "infra/main.tf", "infra/dev/*"} {
		want = append(want, repo.Misfit{File: "assize.yaml", Policy: "q.json", Glob: glob})
	}
	if diff := cmp.Diff(want, cfg.Misfits()); diff != "" {
		t.Error(diff)
	}
}
