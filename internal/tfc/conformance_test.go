package tfc

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/template"
	"time"
)

var update = flag.Bool("update", false, "rewrite docs/conformance.md, and with CONFORMANCE=all what it is made of")

// A suite is what we say about the tests of go-tfe that are for us: the files of
// testdata/gotfe.
type suite struct {
	tiers   [2][]string         // names: what the clients need, and what teams need
	failing map[string]string   // those that do not pass, and why
	runs    map[string]string   // of them, those that need remote runs
	skipped map[string][]string // the subtests that a test leaves out here
}

// needsRuns is why a test of runs.txt fails.
const needsRuns = "needs remote runs (next step)"

func readSuite(t *testing.T) suite {
	t.Helper()
	s := suite{failing: map[string]string{}, runs: map[string]string{}, skipped: map[string][]string{}}
	s.tiers = [2][]string{lines(t, "tier1.txt"), lines(t, "tier2.txt")}
	for _, name := range lines(t, "runs.txt") {
		s.runs[name], s.failing[name] = needsRuns, needsRuns
	}
	for _, line := range lines(t, "failing.txt") {
		name, reason, _ := strings.Cut(line, ": ")
		if (reason == "" || s.failing[name] != "") && !*update {
			t.Errorf("failing.txt: %s has no reason, or two", name)
		}
		s.failing[name] = cmp.Or(s.failing[name], reason)
	}
	for _, line := range lines(t, "skipped.txt") {
		name, sub, _ := strings.Cut(line, "/")
		s.skipped[name] = append(s.skipped[name], sub)
	}
	for name := range s.failing {
		if !slices.Contains(s.names(), name) {
			t.Errorf("%s is in no tier", name)
		}
	}
	return s
}

// lines are those of a file of testdata/gotfe.
func lines(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "gotfe", file))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool { return line == "" })
}

func (s suite) names() []string { return slices.Concat(s.tiers[0], s.tiers[1]) }

// TestConformance runs the tests that go-tfe, the client library of Terraform
// Cloud, has of its server, against ours: each name of the two tiers is a subtest,
// which passes when that test passed.
//
// What stands in failing.txt or runs.txt is left out, but for two cases. `make
// conformance` runs it too, and wants it to fail, so that the lists stay true; with
// -update they become what is so. Who names a test, -run TestConformance/TestSSHKeys,
// sees how it ends.
func TestConformance(t *testing.T) {
	t.Parallel()
	s := readSuite(t)
	c := newClient(t)
	all := os.Getenv("CONFORMANCE") == "all"
	named := strings.Contains(flag.Lookup("test.run").Value.String(), "TestConformance/")
	seen := seen{outcomes: map[string]outcome{}}
	if all && !named && *update {
		t.Cleanup(func() { seen.rewrite(t, s) })
	}
	for _, name := range s.names() {
		reason := s.failing[name]
		if reason != "" && !all && !named {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := c.run(t, name)
			seen.note(name, got)
			switch {
			case all && !named && *update:
			case got.passed && reason != "":
				t.Errorf("it passes; take it off the list that says: %s", reason)
			case got.passed && !slices.Equal(got.skipped, s.skipped[name]):
				t.Errorf("it left out %q, and skipped.txt says %q", got.skipped, s.skipped[name])
			case !got.passed && (reason == "" || named):
				t.Errorf("%s\n%s", reason, got.output)
			}
		})
	}
}

// A seen is how tests ended.
type seen struct {
	mu       sync.Mutex
	outcomes map[string]outcome
}

func (s *seen) note(name string, o outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcomes[name] = o
}

// rewrite makes the lists say what was seen. Why a test fails that did not before is
// for somebody to find out.
func (s *seen) rewrite(t *testing.T, was suite) {
	var failing, runs, skipped strings.Builder
	for _, name := range was.names() {
		switch o := s.outcomes[name]; {
		case o.passed:
			for _, sub := range o.skipped {
				fmt.Fprintf(&skipped, "%s/%s\n", name, sub)
			}
		case was.runs[name] != "":
			fmt.Fprintln(&runs, name)
		default:
			fmt.Fprintf(&failing, "%s: %s\n", name, cmp.Or(was.failing[name], "nobody knows yet"))
		}
	}
	for file, text := range map[string]string{"failing.txt": failing.String(), "runs.txt": runs.String(), "skipped.txt": skipped.String()} {
		if err := os.WriteFile(filepath.Join("testdata", "gotfe", file), []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
	writePage(t)
}

// A client is the program that holds all tests of go-tfe, and our server.
type client struct {
	server
	url string
	dir string // where the program runs: it reads and writes fixtures there
	bin string
}

func newClient(t *testing.T) client {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join("..", "..", ".bin", "go-tfe"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "test-fixtures"), os.DirFS(filepath.Join(bin, "test-fixtures"))); err != nil {
		t.Fatalf("the tests of go-tfe are not there; run `tools/build go-tfe` (%v)", err)
	}
	s := start(t)
	front := httptest.NewServer(subscribed(s.Config.Handler))
	t.Cleanup(front.Close)
	return client{server: s, url: front.URL, dir: dir, bin: filepath.Join(bin, "go-tfe.test")}
}

// subscribed answers beside next what the suite asks of an administrator of
// Terraform Cloud before it uses what costs extra there: that an organisation gets
// it. Here nothing costs extra and nobody subscribes.
func subscribed(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v2/admin/feature-sets", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		_, _ = w.Write([]byte(`{"data":[{"id":"fs-all","type":"feature-sets","attributes":{"name":"all"}}]}`))
	})
	mux.HandleFunc("POST /api/v2/admin/organizations/{organisation}/subscription", func(http.ResponseWriter, *http.Request) {})
	mux.Handle("/", next)
	return mux
}

// An outcome is how a test of the suite ended.
type outcome struct {
	passed  bool     // it ran, and passed
	skipped []string // the subtests that it left out
	output  string
}

// patience is how long one test may take. The library tries again and again when a
// server does not answer as it should.
const patience = time.Minute

// run runs one test, as a user of its own.
func (c client) run(t *testing.T, name string) outcome {
	t.Helper()
	token := c.user(t, strings.ToLower(name))
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.bin, "-test.run", "^"+name+"$", "-test.v", "-test.timeout", patience.String())
	home := t.TempDir()
	cmd.Dir = c.dir
	cmd.Env = []string{
		"HOME=" + home, "TMPDIR=" + home, "PATH=" + os.Getenv("PATH"),
		"TFE_ADDRESS=" + c.url, "TFE_TOKEN=" + token, "TFE_ADMIN_PROVISION_LICENSES_TOKEN=" + token,
		"ENABLE_BETA=1", "OAUTH_CLIENT_GITHUB_TOKEN=none", "TFC_RUN_TASK_URL=" + c.url + "/api/v2/ping",
	}
	output, err := cmd.CombinedOutput()
	got := outcome{output: string(output)}
	got.passed = err == nil && bytes.Contains(output, []byte("\n--- PASS: "+name+" ("))
	for _, m := range skippedLine.FindAllStringSubmatch(got.output, -1) {
		got.skipped = append(got.skipped, m[1])
	}
	return got
}

var skippedLine = regexp.MustCompile(`(?m)^ +--- SKIP: [^/]+/(.*) \(`)

const pagePath = "../../docs/conformance.md"

// conformancePage is docs/conformance.md as the lists make it.
func conformancePage(t *testing.T) []byte {
	t.Helper()
	text := template.Must(template.ParseFiles(filepath.Join("testdata", "gotfe", "page.md")))
	var b bytes.Buffer
	if err := text.Execute(&b, newConformance(readSuite(t))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func writePage(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.FromSlash(pagePath), conformancePage(t), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestConformancePage holds docs/conformance.md, which -update writes, to the lists.
func TestConformancePage(t *testing.T) {
	if *update {
		writePage(t)
	}
	got, err := os.ReadFile(filepath.FromSlash(pagePath))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, conformancePage(t)) {
		t.Error("docs/conformance.md does not say what the lists say; run: go test ./internal/tfc -run TestConformancePage -update")
	}
}

// A conformance is what the page says.
type conformance struct {
	Tiers   []tierCount
	Failing []failure
	Runs    []string
	Skipped []string
}

// A tierCount is a row of the table.
type tierCount struct {
	Number, Tests, Passing, Failing, Runs int
}

// A failure is a test and why it fails.
type failure struct{ Name, Reason string }

func newConformance(s suite) conformance {
	var c conformance
	for i, names := range s.tiers {
		row := tierCount{Number: i + 1, Tests: len(names)}
		for _, name := range names {
			reason := s.failing[name]
			switch {
			case s.runs[name] != "":
				row.Runs++
				c.Runs = append(c.Runs, name)
			case reason != "":
				row.Failing++
				c.Failing = append(c.Failing, failure{name, reason})
			default:
				row.Passing++
				for _, sub := range s.skipped[name] {
					c.Skipped = append(c.Skipped, fmt.Sprintf("%s/%s", name, sub))
				}
			}
		}
		c.Tiers = append(c.Tiers, row)
	}
	return c
}
