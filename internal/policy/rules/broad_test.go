package rules_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
)

// broadRules use every operator and every check.
func broadRules(t testing.TB) policy.Source {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "broad.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return policy.Source{Path: "broad.yaml", Language: api.Rules, Files: []policy.File{{Name: "broad.yaml", Data: raw}}}
}
