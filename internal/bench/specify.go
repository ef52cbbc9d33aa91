package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// bulkTypes are how many types the provider of the specifications has besides its
// own: as many as azurerm.
const bulkTypes = 1103

// specified makes a specification of n resources and measures what it takes to check it.
func specified(dir, bin string, n, runs int) (_ string, err error) {
	root, cache := filepath.Join(dir, fmt.Sprintf("specification-%d", n)), filepath.Join(dir, "schemas")
	defer func() { err = errors.Join(err, os.RemoveAll(root), os.RemoveAll(cache)) }()
	if err := os.Mkdir(root, 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(root, "estate.cue"), []byte(specification(n)), 0o600); err != nil {
		return "", err
	}
	p := program{name: "assize spec check", args: []string{filepath.Join(bin, "assize"), "spec", "check", "-C", root},
		env: []string{"XDG_CACHE_HOME=" + cache, "TF_CLI_CONFIG_FILE=" + filepath.Join(bin, "tofurc"), fmt.Sprintf("FORGE_BULK=%d", bulkTypes), "ASSIZE_TOFU_BIN=" + filepath.Join(bin, "tofu")},
		found: func(stdout []byte) ([]string, error) {
			if want := fmt.Sprintf("%d resources", n); !strings.Contains(string(stdout), "Success!") || !strings.Contains(string(stdout), want) {
				return nil, fmt.Errorf("it says %q, which is not %q", stdout, want)
			}
			return nil, nil
		},
		before: func() error { return os.MkdirAll(cache, 0o700) }}
	cold := p
	cold.name += ", cold"
	cold.before = func() error { return errors.Join(os.RemoveAll(cache), os.MkdirAll(cache, 0o700)) }
	all := []program{cold, p}
	costs, err := compare(all, runs)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %d resources, a provider with %d types\n\n", n, bulkTypes+1)
	b.WriteString("| | CPU s | wall s | peak MB |\n|---|---:|---:|---:|\n")
	for i, p := range all {
		c := costs[i]
		fmt.Fprintf(&b, "| %s | %.2f | %.2f | %.0f |\n", p.name, c.cpu.Seconds(), c.wall.Seconds(), float64(c.peak)/1e6)
	}
	return b.String(), nil
}

// specification is one of n resources of 20 types, each of which refers to the one
// before it.
func specification(n int) string {
	var b strings.Builder
	b.WriteString("package estate\n\nimport forge \"registry.opentofu.org/example/forge\"\n\n$forge: forge.#Provider\n\n")
	before := `"first"`
	for i := range n {
		fmt.Fprintf(&b, "r%d: $forge.#Resource.forge_bulk_%d & {\n\tname: \"r%d\"\n\tsetting_1: \"x-\\(%s)\"\n\ttags: {a: \"b\", c: \"d\"}\n\tnetwork: port: %d\n\trule: [{port: 1}, {port: 2}]\n}\n",
			i, i%20, i, before, i)
		before = fmt.Sprintf("r%d.id", i)
	}
	return b.String()
}
