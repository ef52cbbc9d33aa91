package settings_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/assize-iac/assize/internal/settings"
)

// object is the part of a schema that is looked at.
type object struct {
	Description string
	Properties  map[string]object
	Items       *object
}

func parse(t *testing.T, data []byte) object {
	t.Helper()
	var o object
	if err := json.Unmarshal(data, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// allowed matches what is said of a key that is unknown.
var allowed = regexp.MustCompile(`unknown field "zzz"; allowed: ([a-z_, ]+)`)

// TestSchemaHasEveryKey asks each reader which keys there are, by a key that is none.
func TestSchemaHasEveryKey(t *testing.T) {
	t.Parallel()
	root, directory := parse(t, settings.RootSchema()), parse(t, settings.DirectorySchema())
	readRoot := func(text string) error { _, err := settings.ParseRoot("assize.yaml", []byte(text)); return err }
	readDirectory := func(text string) error {
		_, err := settings.ParseDirectory("assize.yaml", []byte(text))
		return err
	}
	for text, c := range map[string]struct {
		read func(string) error
		o    object
	}{
		"zzz: 1":                               {readRoot, root},
		"stacks: {zzz: 1}":                     {readRoot, root.Properties["stacks"]},
		"stacks: {instances: {zzz: 1}}":        {readRoot, root.Properties["stacks"].Properties["instances"]},
		"modules: {zzz: 1}":                    {readRoot, root.Properties["modules"]},
		"apply: {zzz: 1}":                      {readRoot, root.Properties["apply"]},
		"propagate: {zzz: 1}":                  {readRoot, root.Properties["propagate"]},
		"drift: {zzz: 1}":                      {readRoot, root.Properties["drift"]},
		"policies: [{path: a, zzz: 1}]":        {readRoot, *root.Properties["policies"].Items},
		"{zzz: 1, depends_on: []}":             {readDirectory, directory},
		"{depends_on: [], apply: {zzz: true}}": {readDirectory, directory.Properties["apply"]},
	} {
		m := allowed.FindStringSubmatch(fmt.Sprint(c.read(text)))
		if m == nil {
			t.Errorf("%s: %v", text, c.read(text))
			continue
		}
		want := slices.Sorted(slices.Values(strings.Split(strings.TrimSpace(m[1]), ", ")))
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(c.o.Properties))); diff != "" {
			t.Errorf("%s (-read +in the schema)\n%s", text, diff)
		}
	}
}

// TestSchemaSaysWhatThePageSays holds what an editor shows to the tables of the page.
func TestSchemaSaysWhatThePageSays(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	root, directory := parse(t, settings.RootSchema()), parse(t, settings.DirectorySchema())
	link := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	rows := regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\|.*\\| ([^|]+) \\|$").FindAllSubmatch(page, -1)
	if len(rows) < 30 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		o, key, want := root, string(row[1]), link.ReplaceAllString(string(row[2]), "$1")
		if strings.HasPrefix(want, "in place of the root's") {
			continue
		}
		if _, there := root.Properties[strings.Split(key, ".")[0]]; !there {
			o = directory
		}
		for _, name := range strings.Split(key, ".") {
			o = o.Properties[name]
		}
		if o.Description != want {
			t.Errorf("%s is %q, and the page says %q", key, o.Description, want)
		}
	}
}

// TestSchemaJudges compiles both schemas and judges files that are read, and some that
// are not.
func TestSchemaJudges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		schema     []byte
		right, not []string
	}{
		"assize.yaml": {settings.RootSchema(), []string{
			`{}`, `{"version": 1, "tool": "tofu", "env": {"A": "b", "C": {"plan": "d"}}, "environments": {":prod": "p"}}`,
			`{"policies": [{"path": "p", "enforcement": "advisory", "stacks": ["a/**"]}], "apply": {"max_parallel": 2}}`,
		}, []string{
			`{"polices": []}`, `{"version": 2}`, `{"tool": "pulumi"}`, `{"env": {"A-B": "x"}}`, `{"env": {"A": {"plna": "x"}}}`,
			`{"policies": [{"stacks": []}]}`, `{"apply": {"max_parallel": 0}}`, `{"tool_version": 1.10}`, `{"stacks": null}`,
		}},
		".assize.yaml": {settings.DirectorySchema(), []string{
			`{"instances": ["a", "b"]}`, `{"instances": {"a": null, "b": {"workspace": "w"}}}`, `{"depends_on": ["x:y"]}`,
		}, []string{
			`{"instances": []}`, `{"instances": {"a": {"tool": "tofu"}}}`, `{"instances": ["-a"]}`, `{"policies": []}`,
		}},
	} {
		compiled := compile(t, name, c.schema)
		for _, text := range c.right {
			if err := compiled.Validate(value(t, text)); err != nil {
				t.Errorf("%s: %s: %v", name, text, err)
			}
		}
		for _, text := range c.not {
			if compiled.Validate(value(t, text)) == nil {
				t.Errorf("%s: %s is right", name, text)
			}
		}
	}
}

func compile(t *testing.T, name string, schema []byte) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, value(t, string(schema))); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func value(t *testing.T, text string) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
