package spec_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assize-iac/assize/internal/spec"
)

// large is a provider with 1,103 types of 30 attributes and three blocks, as
// azurerm has them.
func large(tb testing.TB) []byte {
	tb.Helper()
	var attributes []string
	for i := range 24 {
		attributes = append(attributes, fmt.Sprintf(`"setting_%d": {"type": "string", "optional": true, "description": "Says what %d is."}`, i, i))
	}
	attributes = append(attributes, `"id": {"type": "string", "computed": true}`, `"name": {"type": "string", "required": true}`,
		`"zones": {"type": ["list", "string"], "computed": true}`, `"tags": {"type": ["map", "string"], "optional": true}`,
		`"size": {"type": "number", "optional": true, "computed": true}`, `"key": {"type": "string", "computed": true, "sensitive": true}`)
	inner := `{"attributes": {"port": {"type": "number", "optional": true}, "address": {"type": "string", "optional": true, "computed": true}}}`
	block := fmt.Sprintf(`{"block": {"attributes": {%s}, "block_types": {
		"network": {"nesting_mode": "list", "max_items": 1, "block": %[2]s}, "rule": {"nesting_mode": "list", "block": %[2]s}, "filter": {"nesting_mode": "set", "block": %[2]s}}}}`,
		strings.Join(attributes, ","), inner)
	var types []string
	for i := range 1103 {
		types = append(types, fmt.Sprintf(`"big_type_%d": %s`, i, block))
	}
	schemas := `{"format_version": "1.0", "provider_schemas": {"registry.opentofu.org/example/big": {"resource_schemas": {` + strings.Join(types, ",") + `}}}}`
	return packed(tb, spec.Tools{Schemas: []byte(schemas), Functions: []byte("{}")})
}

// estate is a specification of n resources of 20 types, each of which refers to the
// one before it.
func estate(tb testing.TB, n int) spec.Root {
	tb.Helper()
	var b strings.Builder
	b.WriteString("package estate\n\nimport big \"registry.opentofu.org/example/big\"\n\n$big: big.#Provider\n\n")
	for i := range n {
		fmt.Fprintf(&b, "r%d: $big.#Resource.big_type_%d & {\n\tname: \"r%d\"\n\tsetting_1: \"x-\\(%s)\"\n\ttags: {a: \"b\", c: \"d\"}\n\tnetwork: port: %d\n\trule: [{port: 1}, {port: 2}]\n}\n",
			i, i%20, i, map[bool]string{true: `"first"`, false: fmt.Sprintf("r%d.id", i-1)}[i == 0], i)
	}
	dir := tb.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "estate.cue"), []byte(b.String()), 0o644); err != nil {
		tb.Fatal(err)
	}
	return spec.Root{Dir: dir, Name: "."}
}

// BenchmarkCompile: 1,000 resources of a provider with 1,103 types are to take less
// than 3 seconds of CPU and 300 MB, and 100 less than half a second.
func BenchmarkCompile(b *testing.B) {
	tools := large(b)
	for _, n := range []int{100, 1000} {
		root := estate(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if _, err := compile(root, spec.Limits{}, tools); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
