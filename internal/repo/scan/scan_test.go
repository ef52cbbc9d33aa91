package scan_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/assize-iac/assize/internal/repo/scan"
	"github.com/assize-iac/assize/internal/settings"
	"github.com/assize-iac/assize/internal/stack"
)

var update = flag.Bool("update", false, "rewrite the want of every case")

// A case is a txtar file: why, then the files of a tree, and the sections
// (options), (links) and (want).
type tree struct {
	archive *txtar.Archive
	files   map[string]string
	links   map[string]string
	options scan.Options
	want    string
}

func readTree(t *testing.T, name string) *tree {
	t.Helper()
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	c := &tree{archive: archive, files: map[string]string{}, links: map[string]string{}}
	for _, f := range archive.Files {
		switch f.Name {
		case "(options)":
			c.options = readOptions(t, f.Data)
		case "(links)":
			for line := range strings.Lines(string(f.Data)) {
				link, target, _ := strings.Cut(strings.TrimSpace(line), " -> ")
				c.links[link] = target
			}
		case "(want)":
			c.want = string(f.Data)
		default:
			c.files[f.Name] = string(f.Data)
		}
	}
	return c
}

// readOptions reads the rules, and per directory what settings say of it.
func readOptions(t *testing.T, data []byte) scan.Options {
	t.Helper()
	var text struct {
		scan.Rules
		Repo, Tool string
		Settings   map[string][]settings.Effective
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&text); err != nil {
		t.Fatal(err)
	}
	return scan.Options{Rules: text.Rules, Repo: text.Repo, Tool: text.Tool,
		Instances: func(dir string) ([]settings.Effective, []string, error) {
			if all := text.Settings[dir]; all != nil {
				return all, nil, nil
			}
			return []settings.Effective{{Path: dir}}, nil, nil
		}}
}

func (c *tree) memory() fs.FS {
	files := fstest.MapFS{}
	for name, data := range c.files {
		files[name] = &fstest.MapFile{Data: []byte(data)}
	}
	for name, target := range c.links {
		files[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink}
	}
	return files
}

func (c *tree) disk(t *testing.T) fs.FS {
	t.Helper()
	root := t.TempDir()
	for name, data := range c.files {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(root, name), []byte(data), 0o644))
	}
	for name, target := range c.links {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		must(t, os.Symlink(target, filepath.Join(root, name)))
	}
	files, err := scan.Checkout(root)
	must(t, err)
	return files
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestScan reads every tree from memory and from the disk.
func TestScan(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	must(t, err)
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	for _, name := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			c := readTree(t, name)
			if len(strings.TrimSpace(string(c.archive.Comment))) == 0 {
				t.Error("a case says which rule it shows")
			}
			got := show(t, c.memory(), c.options)
			if again := show(t, c.disk(t), c.options); again != got {
				t.Errorf("from disk it is another:\n%s", cmp.Diff(got, again))
			}
			if *update {
				c.rewrite(t, name, got)
			} else if got != c.want {
				t.Errorf("(-want +got)\n%s", cmp.Diff(c.want, got))
			}
		})
	}
}

func (c *tree) rewrite(t *testing.T, name, got string) {
	t.Helper()
	for i := range c.archive.Files {
		if c.archive.Files[i].Name == "(want)" {
			c.archive.Files = append(c.archive.Files[:i], c.archive.Files[i+1:]...)
			break
		}
	}
	c.archive.Files = append(c.archive.Files, txtar.File{Name: "(want)", Data: []byte(got)})
	must(t, os.WriteFile(name, txtar.Format(c.archive), 0o644))
}

// show is a result as the cases write it.
func show(t *testing.T, files fs.FS, o scan.Options) string {
	t.Helper()
	r, err := scan.Scan(files, o)
	if err != nil {
		return fmt.Sprintf("error %v\n", err)
	}
	var b strings.Builder
	for _, s := range r.Stacks {
		fmt.Fprintf(&b, "stack %s at %s with %s\n", s.Key, s.Position, s.Tool)
		line(&b, "state", s.State)
		calls(&b, s.Calls)
		for _, read := range s.Reads {
			line(&b, "reads", read)
		}
		for _, name := range s.WatchPaths {
			fmt.Fprintf(&b, "  watches %s\n", name)
		}
	}
	for _, m := range r.Modules {
		fmt.Fprintf(&b, "module %s\n", m.Path)
		calls(&b, m.Calls)
		for _, read := range m.Reads {
			line(&b, "reads", read)
		}
	}
	for _, dir := range r.Broken {
		fmt.Fprintf(&b, "broken %s\n", dir)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "problem %s\n", p)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "warning %s\n", w)
	}
	return b.String()
}

func line(b *strings.Builder, what string, s stack.State) {
	if s != (stack.State{}) {
		fmt.Fprintf(b, "  %s %s %s\n", what, s.Type, s.ID)
	}
}

func calls(b *strings.Builder, calls []stack.Call) {
	for _, c := range calls {
		fmt.Fprintf(b, "  calls %s: %s %s", c.Name, c.Kind, c.Key)
		if c.Ref != "" {
			fmt.Fprintf(b, " at %s", c.Ref)
		}
		fmt.Fprintln(b)
	}
}
