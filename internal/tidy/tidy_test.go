// Package tidy checks properties of the source tree that no compiler checks.
// It holds tests only.
package tidy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	funcLinesMax = 70  // one screen
	fileLinesMax = 600 // one sitting
)

// bannedFiles are names that say what kind of Go a file holds rather than what
// it is about.
var bannedFiles = regexp.MustCompile(`^(util|utils|helper|helpers|common|misc|types|interfaces|constants|service|manager)\.go$`)

// todo matches a marker of unfinished work and the issue it may name.
var todo = regexp.MustCompile(`\b(TODO|FIXME|XXX)\b(\(#\d+\))?`)

func TestTidy(t *testing.T) {
	docs := map[string]int{} // directory: files with a package comment
	err := walk(func(path string) error {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if ast.IsGenerated(f) {
			return nil
		}
		at := func(p token.Pos) int { return fset.Position(p).Line }
		test := strings.HasSuffix(path, "_test.go")
		if !test {
			docs[filepath.Dir(path)] += 0
			if f.Doc != nil {
				docs[filepath.Dir(path)]++
			}
			if n := at(f.FileEnd); n > fileLinesMax {
				t.Errorf("%s: %d lines, want at most %d", path, n, fileLinesMax)
			}
			if bannedFiles.MatchString(filepath.Base(path)) {
				t.Errorf("%s: name the file after its subject", path)
			}
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || test {
				continue
			}
			if n := at(fn.End()) - at(fn.Pos()) + 1; n > funcLinesMax {
				t.Errorf("%s:%d: %s is %d lines, want at most %d", path, at(fn.Pos()), fn.Name.Name, n, funcLinesMax)
			}
		}
		for _, group := range f.Comments {
			for _, m := range todo.FindAllStringSubmatch(group.Text(), -1) {
				if m[2] == "" {
					t.Errorf("%s:%d: %s without an issue, write %s(#123)", path, at(group.Pos()), m[1], m[1])
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, n := range docs {
		if n != 1 {
			t.Errorf("%s: %d files have a package comment, want exactly one", dir, n)
		}
	}
}

// cite matches what code says about a page of rules: (docs/policy.md, rule 4)
// or (docs/policy.md, rules 1 and 2).
var cite = regexp.MustCompile(`docs/(\w[\w-]*)\.md, rules? (\d+)(?:(?:,| and) (\d+))?`)

// rule matches the start of a numbered rule in such a page.
var rule = regexp.MustCompile(`(?m)^(\d+)\. `)

// TestCitations checks that every rule that code cites is there, so that
// renumbering a page cannot leave a comment pointing at another rule.
func TestCitations(t *testing.T) {
	rules := map[string]map[string]bool{}
	err := walk(func(path string) error {
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range cite.FindAllStringSubmatch(string(src), -1) {
			page := m[1]
			if rules[page] == nil {
				text, err := os.ReadFile(filepath.Join("..", "..", "docs", page+".md"))
				if err != nil {
					return err
				}
				rules[page] = map[string]bool{}
				for _, r := range rule.FindAllStringSubmatch(string(text), -1) {
					if rules[page][r[1]] {
						t.Errorf("docs/%s.md has two rules %s", page, r[1])
					}
					rules[page][r[1]] = true
				}
			}
			for _, n := range m[2:] {
				if n != "" && !rules[page][n] {
					t.Errorf("%s cites docs/%s.md, rule %s, which is not there", path, page, n)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// walk calls fn for every Go file of the module.
func walk(fn func(path string) error) error {
	root := filepath.Join("..", "..")
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path == root {
				return nil
			}
			_, err := os.Stat(filepath.Join(path, "go.mod")) // a module of its own, such as a pinned tool
			if err == nil || name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		return fn(path)
	})
}
