package spec_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/spec"
)

// TestPage compiles the examples of docs/spec.md that are no sessions; those are typed
// with the real tool (cmd/assize, spec_page). An example is a part of a file: what it
// takes for granted is an estate with two providers and a name.
func TestPage(t *testing.T) {
	t.Parallel()
	tools := tools(t)
	page, err := os.ReadFile("../../docs/spec.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := examples(string(page))
	if len(examples) < 5 {
		t.Fatalf("%d examples", len(examples))
	}
	for _, example := range examples {
		dir := t.TempDir()
		text := whole(example)
		if err := os.WriteFile(filepath.Join(dir, "example.cue"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := compile(spec.Root{Dir: dir, Name: "."}, spec.Limits{}, tools); err != nil {
			t.Errorf("%v\nhint: %s\n%s", err, problem.Hint(err), text)
		}
	}
}

var (
	block  = regexp.MustCompile(`(?m)^\n((?:        .*\n|\n)+)`)    // within a rule
	inline = regexp.MustCompile("`([a-z$]+: [^`]*\\.#[A-Z][^`]*)`") // `$random: rnd.#Provider`
)

// examples are the blocks within rules, and what is a field of CUE within a line. What
// is left out of one is nothing. What is typed, and what the tool prints, is no example.
func examples(page string) []string {
	var all []string
	for _, m := range slices.Concat(block.FindAllStringSubmatch(page, -1), inline.FindAllStringSubmatch(page, -1)) {
		if typed := strings.TrimSpace(m[1]); !strings.HasPrefix(typed, "assize ") && !strings.HasPrefix(typed, "Error: ") {
			all = append(all, strings.ReplaceAll(m[1], "{...}", "{}")+"\n")
		}
	}
	return all
}

// whole is an example as a file, with what it takes for granted.
func whole(example string) string {
	imports, fields := "", ""
	for line := range strings.Lines(example) {
		if strings.HasPrefix(strings.TrimSpace(line), "import ") {
			imports += line
		} else {
			fields += line
		}
	}
	for _, given := range []struct{ name, field string }{
		{"name", "name: $random.#Resource.random_pet"},
		{"$random", "$random: rnd.#Provider"},
		{"$forge", `$forge: forge.#Provider & {site: "north"}`},
		{"$tf", "$tf: tf.#Provider"},
	} {
		used := strings.Contains(fields, given.name+".") || given.name[0] == '$' && strings.Contains(fields, " "+given.name)
		if used && !strings.Contains(fields, given.name+": ") {
			fields += given.field + "\n"
		}
	}
	for _, of := range []struct{ name, source string }{
		{"rnd", "registry.opentofu.org/hashicorp/random"}, {"forge", "registry.opentofu.org/example/forge"},
		{"tf", "terraform.io/builtin/terraform"}, {"tofu", spec.Functions},
	} {
		if strings.Contains(fields, of.name+".#") && !strings.Contains(imports, of.source) {
			imports += fmt.Sprintf("import %s %q\n", of.name, of.source)
		}
	}
	return "package " + spec.Package + "\n\n" + imports + "\n" + fields
}
