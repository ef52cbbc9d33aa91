package postgres_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/internal/postgres/postgrestest"
)

var rewrite = flag.Bool("update", false, "rewrite schema.sql")

// sources parses the files of the package.
func sources(t *testing.T) []*ast.File {
	t.Helper()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// statements are the sql constants of the package by name.
func statements(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, f := range sources(t) {
		ast.Inspect(f, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(v.Names[0].Name, "sql") {
				return true
			}
			text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatalf("%s: %v", v.Names[0].Name, err)
			}
			all[v.Names[0].Name] = text
			return true
		})
	}
	return all
}

// TestStatements has Postgres parse and type-check every sql constant against the
// migrated schema: a column that is misspelt fails here, by the constant's name.
func TestStatements(t *testing.T) {
	t.Parallel()
	conn := connect(t, postgrestest.URL(t))
	all := statements(t)
	if len(all) < 30 {
		t.Fatalf("only %d statements were found", len(all))
	}
	for name, text := range all {
		query, _, err := pgx.NamedArgs{}.RewriteQuery(t.Context(), conn, text, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := conn.Prepare(t.Context(), name, query); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNoOtherSQL: what is sent to the database is a constant, never text that was
// put together.
func TestNoOtherSQL(t *testing.T) {
	t.Parallel()
	passed := 0
	for _, f := range sources(t) {
		ast.Inspect(f, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			s, ok := c.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			place, sends := map[string]int{"Exec": 1, "Query": 1, "QueryRow": 1, "Queue": 0, "send": 0}[s.Sel.Name]
			if !sends || len(c.Args) < 2 {
				return true
			}
			passed++
			name, ok := c.Args[place].(*ast.Ident)
			if !ok || !strings.HasPrefix(name.Name, "sql") && name.Name != "query" {
				t.Errorf("%s: a call of %s has %T for a statement, want a sql constant", f.Name.Name, s.Sel.Name, c.Args[place])
			}
			return true
		})
	}
	if passed < 30 {
		t.Errorf("only %d calls were found", passed)
	}
}

// dump is the schema from what Postgres knows of it, one line a fact and in one
// order. The tables of the job queue and of golang-migrate are theirs.
const dump = `
WITH ours AS (
	SELECT c.oid, c.relname FROM pg_class c
	WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname !~ '^(river_|schema_migrations)'
)
SELECT line FROM (
	SELECT relname AS t, 1 AS part, attnum::text AS k, format('  %s %s%s%s', attname, format_type(atttypid, atttypmod),
		CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END,
		CASE WHEN d.oid IS NOT NULL THEN CASE WHEN attgenerated = '' THEN ' DEFAULT ' ELSE ' GENERATED ' END || pg_get_expr(d.adbin, d.adrelid) ELSE '' END) AS line
	FROM ours JOIN pg_attribute a ON a.attrelid = ours.oid LEFT JOIN pg_attrdef d ON d.adrelid = ours.oid AND d.adnum = a.attnum
	WHERE attnum > 0 AND NOT attisdropped
	UNION ALL SELECT relname, 0, '', 'TABLE ' || relname FROM ours
	UNION ALL SELECT relname, 2, conname, format('  CONSTRAINT %s %s', conname, pg_get_constraintdef(c.oid))
	FROM ours JOIN pg_constraint c ON c.conrelid = ours.oid WHERE contype <> 'n'
	UNION ALL SELECT relname, 3, indexrelid::regclass::text, '  ' || pg_get_indexdef(indexrelid)
	FROM ours JOIN pg_index i ON i.indrelid = ours.oid WHERE NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid)
	UNION ALL SELECT relname, 4, tgname, '  ' || pg_get_triggerdef(g.oid)
	FROM ours JOIN pg_trigger g ON g.tgrelid = ours.oid WHERE NOT tgisinternal
	UNION ALL SELECT '~', 5, proname, pg_get_functiondef(p.oid)
	FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND proname !~ '^river_'
) lines ORDER BY t COLLATE "C", part, CASE WHEN part = 1 THEN lpad(k, 5, '0') ELSE k END COLLATE "C"`

// TestSchema compares the schema that the migrations make with schema.sql, in
// which a reader sees what there is and a review sees what changes.
func TestSchema(t *testing.T) {
	t.Parallel()
	conn := connect(t, postgrestest.URL(t))
	rows, err := conn.Query(t.Context(), dump)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("-- What the migrations come to, as Postgres says it. Written by: go test ./internal/postgres -run TestSchema -update\n\n%s\n",
		strings.TrimSpace(strings.Join(lines, "\n")))
	if *rewrite {
		if err := os.WriteFile("schema.sql", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("schema.sql is not what the migrations make; look at the difference and run with -update (-schema.sql +made)\n%s", diff)
	}
}

// TestEveryMethodIsGuarded: what is exported takes a principal and asks whether
// they may (docs/database.md, rule 7).
func TestEveryMethodIsGuarded(t *testing.T) {
	t.Parallel()
	// Where principals come from; what only lists what somebody's roles reach.
	free := []string{"Authenticate", "AuthenticateUpload", "Uploader", "Organisations", "Projects", "Stacks", "StacksAfter", "OwnGrants", "Standing"}
	guards := []string{"guard", "guardOwn", "guardToken", "guardRecovery", "permit", "permitOwn", "changeTeam", "guardGrants", "refuse", "home", "Stack",
		"changeMemberships", "changeAccess", "guardSite", "permitSite", "permitAudit", "changeTags", "variables"}
	methods := 0
	for _, f := range sources(t) {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || !fn.Name.IsExported() || slices.Contains(free, fn.Name.Name) {
				continue
			}
			if on := fmt.Sprint(fn.Recv.List[0].Type); !strings.HasSuffix(on, " View}") && !strings.HasSuffix(on, " Update}") {
				continue
			}
			methods++
			principal, guarded := false, false
			for _, p := range fn.Type.Params.List {
				s, ok := p.Type.(*ast.SelectorExpr)
				principal = principal || ok && s.Sel.Name == "Principal"
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				if c, ok := n.(*ast.CallExpr); ok {
					if s, ok := c.Fun.(*ast.SelectorExpr); ok && slices.Contains(guards, s.Sel.Name) {
						guarded = true
					}
				}
				return true
			})
			if !principal || !guarded {
				t.Errorf("%s takes a principal: %v; asks whether they may: %v", fn.Name.Name, principal, guarded)
			}
		}
	}
	if methods < 15 {
		t.Errorf("only %d methods were found", methods)
	}
}
