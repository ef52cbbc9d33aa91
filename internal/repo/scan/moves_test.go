package scan_test

import (
	"testing"

	"github.com/assize-iac/assize/internal/repo/scan"
)

func TestOnlyMoves(t *testing.T) {
	const resource = "resource \"x\" \"new\" {\n  a = 1\n}\n"
	const moved = "moved {\n  from = x.old\n  to   = x.new\n}\n"
	for name, c := range map[string]struct {
		file, before, after string
		want                bool
	}{
		"moved":            {"a.tf", resource, resource + moved, true},
		"removed":          {"a.tf", "removed {\n  from = x.y\n}\n" + resource, resource, true},
		"another move":     {"a.tf", moved, "moved {\n  from = x.older\n  to = x.new\n}\n", true},
		"layout as well":   {"a.tf", "# a\n" + resource, moved + "\n\n" + resource, true},
		"only layout":      {"a.tf", "# a\n" + resource, resource, false},
		"and more":         {"a.tf", resource, "resource \"x\" \"new\" {\n  a = 2\n}\n" + moved, false},
		"in a string":      {"a.tf", "locals {\n  a = \"\"\n}\n", "locals {\n  a = \"moved {}\"\n}\n", false},
		"new file":         {"a.tf", "", moved, true},
		"nested":           {"a.tf", "a {\n}\n", "a {\n  moved {\n  }\n}\n", false},
		"broken":           {"a.tf", "x {", "x {\n" + moved, false},
		"JSON":             {"a.tf.json", `{"a": 1}`, `{"moved": [{"from": "x.a", "to": "x.b"}], "a":1}`, true},
		"JSON and more":    {"a.tf.json", `{"a": 1}`, `{"moved": [], "a": 2}`, false},
		"JSON array":       {"a.tf.json", `{}`, `[{"moved": []}]`, false},
		"no configuration": {"a.tfvars", "a = 1", "a = 1\n" + moved, false},
	} {
		if got := scan.OnlyMoves(c.file, []byte(c.before), []byte(c.after)); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
