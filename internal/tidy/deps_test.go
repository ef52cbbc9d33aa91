package tidy

import (
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/assize-iac/assize"

// imports is the architecture: every package of this module and exactly the
// packages of this module that it may import. Reading it top to bottom is
// reading the design from the inside out; a package may only name packages
// above it, so the table cannot describe a cycle.
//
// Do not edit a line to make a build pass. A new line is a design decision and
// wants a sentence in the commit message.
var imports = []struct {
	pkg string
	may string
}{
	{"api", ""},
	{"api/v1", "api"},
	{"internal/problem", "api"},
	{"internal/strict", "api problem"},
	{"internal/redact", ""},
	// Runs what somebody else wrote in a bounded process; knows nothing of what it runs.
	{"internal/confine", "api problem"},

	// Nouns: no I/O, no clock, no randomness.
	{"internal/spec/naming", ""},
	{"internal/plan/planjson", "api problem"},
	{"internal/plan/mark", ""},
	{"internal/plan/secret", "plan/mark plan/planjson"},
	{"internal/plan", "api plan/mark plan/planjson plan/secret problem spec/naming"},
	{"internal/plan/compare", "api plan plan/mark"},
	{"internal/policy/input", "api problem plan plan/mark plan/planjson"},
	{"internal/policy", "api problem plan policy/input"},
	{"internal/policy/decision", "api problem"},
	{"internal/policy/except", "api problem plan policy strict"},
	{"internal/policy/suite", "api policy problem"},
	{"internal/gate", "api problem policy"},
	{"internal/identity", "api problem"},
	{"internal/state", "api problem"},
	// How a request of the native API is a Go value: the server reads by it, the
	// client writes by it.
	{"internal/binding", "api problem strict"},
	// Asks a server. Others may import it, so it stands beside the documents.
	{"api/client", "api api/v1 binding problem"},
	{"internal/credentials", "api problem"},
	{"internal/state/document", "api plan/planjson plan/secret problem spec/naming"},
	{"internal/stack", "api problem"},
	{"internal/settings/template", "stack strict"},
	{"internal/settings/shape", ""},
	{"internal/settings", "api problem settings/shape settings/template stack strict"},

	// How a result looks: report joins the formats, show is the summary of one
	// plan, contrast the difference of two, graph draws stacks, board a rollout of them, page is how text of unknown origin is made safe to
	// print.
	{"internal/report/page", "api"},
	{"internal/report/show", "plan report/page"},
	{"internal/report/contrast", "api report/page"},
	{"internal/report/trial", "api report/page"},
	{"internal/report/inforce", "api report/page settings stack"},
	{"internal/report/parcel", "api policy report/page"},
	{"internal/report/graph", "api report/page"},
	{"internal/report/board", "api report/page"},
	{"internal/report", "api plan policy report/page report/show"},

	// Policy engines: pure evaluators of one language each, and the process
	// that confines them. The child decodes the plan again, so it needs plan.
	{"internal/policy/rules", "api plan plan/planjson policy strict"},
	{"internal/policy/regoengine/builtins", "api problem"},
	{"internal/policy/regoengine/opabundle", "api problem policy"},
	{"internal/policy/regoengine/reach", ""},
	{"internal/policy/regoengine/document", "api problem plan policy policy/regoengine/reach"},
	{"internal/policy/regoengine", "api problem plan policy policy/decision policy/input policy/regoengine/builtins policy/regoengine/document policy/regoengine/opabundle policy/regoengine/reach"},
	{"internal/policy/regotest", "api plan policy policy/regoengine"},
	{"internal/policy/cuefile", "api problem policy"},
	{"internal/policy/cueengine", "api problem plan policy policy/cuefile"},
	{"internal/policy/confine", "api confine plan policy problem"},

	// Says the rules in another language; what they mean is in rules.
	{"internal/policy/translate", "api problem plan policy/rules"},

	// Changes the text of policies; what they mean is for the engines.
	{"internal/policy/mutate", "api plan policy policy/rules"},

	// What one file that holds a whole policy looks like, bytes in and out.
	{"internal/policy/bundle", "api problem policy"},

	// Time and goroutines, and nothing else of the machine: in which order stacks go.
	{"internal/rollout", "api problem stack"},

	// The machine around us: files, processes. What a checkout holds is found
	// without running any of it: scan reads configuration of the tools, for which
	// estate reads the text of specifications; git asks git. repo reads policies, so it
	// needs the form in which they are handed to an engine, and what a bundle is;
	// it tells scan what assize.yaml says.
	{"internal/repo/estate", "api problem"},
	{"internal/repo/scan", "api problem repo/estate settings stack"},
	{"internal/repo/git", "api problem"},
	{"internal/repo", "api problem policy policy/bundle repo/scan settings stack"},
	{"internal/tofu", "api problem redact"},

	// Specifications in CUE: what providers have, said in CUE, and what becomes of a
	// specification. It evaluates and runs nothing; the runner hands it schemas.
	{"internal/spec/schema", "api problem"},
	{"internal/spec", "api confine problem spec/naming spec/schema"},

	// Turns a plan in the tools' own language into a specification; its files tell what no plan prints.
	{"internal/spec/convert/native", "api problem spec/schema"},
	{"internal/spec/convert/cuetext", ""},
	{"internal/spec/convert", "api problem spec/convert/cuetext spec/convert/native spec/naming spec/schema"},
	{"internal/runner", "api identity plan problem redact settings spec spec/convert stack state/document tofu"},

	// Bytes that are kept, and the one kind of place whose client is so large that
	// only what serves may link it.
	{"internal/artifact", "api problem"},
	{"internal/artifact/s3", "api problem"},

	// Small secrets for a column of the database, with the keys that artifacts have.
	{"internal/sealed", "api artifact problem"},

	// Makes a stack read what others will put out: it is handed plans, and what
	// scan has found.
	{"internal/preview", "api problem plan repo/scan stack"},

	// A private Postgres as processes and files; all SQL, with who may do what asked
	// beside it, so that no caller can forget to.
	{"internal/postgres/cluster", "api problem"},
	{"internal/postgres", "api identity problem state"},

	// What a server does, and the protocols in which it is asked. control joins what is
	// more than one guarded method; what is only stored a protocol asks of the store
	// through it, because permission and audit are in there.
	{"internal/control", "api artifact identity postgres problem sealed state"},
	{"internal/tfc", "api control identity postgres problem state"},
	{"internal/server", "api api/v1 artifact binding control identity postgres problem state"},

	{"internal/signin", "api control postgres problem"},

	// The process of a server: joins the protocols with what they stand on.
	{"internal/serve", "api artifact artifact/s3 control identity postgres postgres/cluster problem server signin tfc"},

	// Where states come from that are to be imported.
	{"internal/origin", "api artifact/s3 problem"},

	// Serves agents through commands of ours, in processes of their own.
	{"internal/mcp", "api problem"},

	{"internal/cli", "api api/client api/v1 artifact binding credentials gate identity mcp origin plan plan/compare policy policy/bundle policy/except policy/input policy/mutate policy/rules policy/suite policy/translate preview problem repo repo/git repo/scan report report/board report/contrast report/graph report/inforce report/page report/parcel report/trial rollout runner serve settings spec stack state state/document strict tofu"},
	// Where states come from that are to be imported.

	{"cmd/assize", "*"},

	// Runs the programs that people run, ours among them, and knows none of them.
	{"internal/bench", ""},
}

// impurePackages touch the machine, or join what does. All others are nouns and
// evaluators: values in, values out. They do no I/O, read no clock and draw no
// lots, and stay small enough to be held in a head.
var impurePackages = []string{
	"api/client",
	"internal/credentials",
	"internal/origin",
	"internal/confine",
	"internal/repo",
	"internal/repo/scan",
	"internal/repo/git",
	"internal/tofu",
	"internal/tofu/tofutest",
	"internal/runner",
	"internal/spec",
	"internal/artifact",
	"internal/artifact/s3",
	"internal/sealed",
	"internal/rollout",
	"internal/preview",
	"internal/postgres",
	"internal/postgres/cluster",
	"internal/postgres/postgrestest",
	"internal/control",
	"internal/tfc",
	"internal/signin",
	"internal/server",
	"internal/serve",
	"internal/serve/servetest",
	"internal/mcp",
	"internal/cli",
	"internal/tidy",
	"internal/bench",
	"cmd/assize",
}

const (
	pureFilesMax = 12
	pureLinesMax = 1500
)

// impure are the standard packages that a pure one may not import.
var impure = []string{"os", "os/exec", "os/signal", "net", "net/http", "math/rand", "math/rand/v2", "crypto/rand", "log/slog", "io/ioutil"}

// TestPure checks what pure promises. The evaluator of Rego and the runner of
// its tests need a context to stop OPA; nobody else does.
func TestPure(t *testing.T) {
	got := packages(t)
	files, lines := sizes(t)
	for pkg := range got {
		if slices.Contains(impurePackages, pkg) {
			continue
		}
		for imp := range got[pkg] {
			if slices.Contains(impure, imp) || imp == "context" && pkg != "internal/policy/regoengine" && pkg != "internal/policy/regotest" {
				t.Errorf("%s is pure and imports %s", pkg, imp)
			}
		}
		if files[pkg] > pureFilesMax || lines[pkg] > pureLinesMax {
			t.Errorf("%s: %d files and %d lines, want at most %d and %d: split it by noun",
				pkg, files[pkg], lines[pkg], pureFilesMax, pureLinesMax)
		}
	}
}

// homes names, for each third-party module or sensitive standard package, the
// only packages that may import it.
var homes = map[string]string{
	"github.com/open-policy-agent/opa/":     "internal/policy/regoengine internal/policy/regoengine/builtins internal/policy/regoengine/document internal/policy/regoengine/opabundle internal/policy/regoengine/reach internal/policy/regotest internal/policy/mutate",
	"cuelang.org/go/":                       "internal/policy/cueengine internal/policy/cuefile internal/policy/mutate internal/repo/estate internal/spec internal/spec/convert internal/spec/convert/cuetext",
	"github.com/go-json-experiment/":        "api/client internal/binding internal/plan/planjson internal/policy/input internal/policy/regoengine/document internal/server internal/state",
	"go.yaml.in/yaml/":                      "internal/strict internal/policy/regoengine internal/server",
	"github.com/bmatcuk/doublestar/":        "internal/repo internal/repo/scan internal/settings",
	"github.com/hashicorp/hcl/":             "internal/repo/scan internal/spec/convert/native",
	"github.com/zclconf/go-cty/":            "internal/repo/scan",
	"github.com/robfig/cron/":               "internal/settings",
	"github.com/gowebpki/jcs":               "internal/gate internal/identity",
	"github.com/rivo/uniseg":                "internal/report/board",
	"github.com/spf13/cobra":                "internal/cli cmd/assize",
	"github.com/jackc/pgx/":                 "internal/postgres internal/postgres/postgrestest internal/bench",
	"github.com/golang-migrate/":            "internal/postgres",
	"github.com/riverqueue/":                "internal/postgres",
	"github.com/hashicorp/jsonapi":          "internal/tfc",
	"github.com/prometheus/":                "internal/serve",
	"go.opentelemetry.io/":                  "internal/serve",
	"github.com/coreos/go-oidc/":            "internal/signin",
	"golang.org/x/oauth2":                   "internal/signin",
	"golang.org/x/sys/":                     "internal/confine internal/tofu",
	"golang.org/x/term":                     "internal/cli",
	"gocloud.dev/":                          "internal/artifact internal/artifact/s3 internal/origin",
	"github.com/tink-crypto/":               "internal/artifact",
	"github.com/aws/":                       "internal/artifact/s3",
	"github.com/modelcontextprotocol/":      "internal/mcp",
	"os/exec":                               "internal/mcp internal/repo/git internal/tofu internal/runner internal/confine internal/bench internal/postgres/cluster",
	"google.golang.org/protobuf/":           "internal/preview",
	"log":                                   "",
	"github.com/hashicorp/go-retryablehttp": "internal/origin",
}

func TestImports(t *testing.T) {
	got := packages(t)
	seen := map[string]bool{}
	for i, row := range imports {
		seen[row.pkg] = true
		have, ok := got[row.pkg]
		if !ok {
			t.Errorf("%s: listed but does not exist", row.pkg)
			continue
		}
		if row.may == "*" {
			continue
		}
		var may []string
		for _, name := range strings.Fields(row.may) {
			j := slices.IndexFunc(imports[:i], func(r struct{ pkg, may string }) bool {
				return r.pkg == name || r.pkg == "internal/"+name
			})
			if j < 0 {
				t.Errorf("%s: may import %q, which is not above it", row.pkg, name)
				continue
			}
			may = append(may, imports[j].pkg)
		}
		for _, imp := range slices.Sorted(maps.Keys(have)) {
			if rel, ok := strings.CutPrefix(imp, module+"/"); ok && !slices.Contains(may, rel) {
				t.Errorf("%s imports %s, which its line does not allow", row.pkg, rel)
			}
		}
		for _, rel := range may {
			if !have[module+"/"+rel] {
				t.Errorf("%s: may import %s but does not; narrow its line", row.pkg, rel)
			}
		}
	}
	for pkg := range got {
		if !seen[pkg] && pkg != "internal/tidy" && !strings.HasSuffix(pkg, "test") {
			t.Errorf("%s: add a line to imports", pkg)
		}
	}
}

func TestHomes(t *testing.T) {
	for pkg, have := range packages(t) {
		for imp := range have {
			for prefix, allowed := range homes {
				if imp != prefix && !(strings.HasSuffix(prefix, "/") && strings.HasPrefix(imp, prefix)) {
					continue
				}
				if !slices.Contains(strings.Fields(allowed), pkg) {
					t.Errorf("%s imports %s; only %s may", pkg, imp, allowed)
				}
			}
		}
	}
}

// sizes returns the number of non-test files and lines of every package.
func sizes(t *testing.T) (files, lines map[string]int) {
	t.Helper()
	files, lines = map[string]int{}, map[string]int{}
	err := walk(func(path string) error {
		if strings.HasSuffix(path, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(filepath.Join("..", ".."), filepath.Dir(path))
		if err != nil {
			return err
		}
		files[filepath.ToSlash(rel)]++
		lines[filepath.ToSlash(rel)] += strings.Count(string(src), "\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, lines
}

// packages returns the imports of the non-test files of every package.
func packages(t *testing.T) map[string]map[string]bool {
	t.Helper()
	pkgs := map[string]map[string]bool{}
	err := walk(func(path string) error {
		if strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(filepath.Join("..", ".."), filepath.Dir(path))
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if pkgs[rel] == nil {
			pkgs[rel] = map[string]bool{}
		}
		for _, spec := range f.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			pkgs[rel][imp] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pkgs
}
