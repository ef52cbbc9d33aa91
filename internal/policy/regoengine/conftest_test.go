package regoengine_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/regoengine"
)

var root = filepath.Join("..", "..", "..", "testdata")

// TestConftestAgrees runs the real conftest with every policy of the test data
// on every real plan, and wants the same findings and the same pass or fail.
func TestConftestAgrees(t *testing.T) {
	t.Parallel()
	dirs, err := filepath.Glob(filepath.Join(root, "rego", "*"))
	if err != nil || len(dirs) < 12 {
		t.Fatalf("%d policies: %v", len(dirs), err)
	}
	plans := realPlans(t)
	for _, dir := range append(dirs, filepath.Join(root, "lesson", "policy")) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			src, flags := readPolicy(t, dir)
			want := conftestVerdicts(t, dir, flags, plans)
			fired := false
			for path, p := range plans {
				v := policy.Judge([]policy.Engine{regoengine.New()}, src, p)
				got := verdict{Outcome: v.Outcome, Error: v.Error, Findings: counted(v.Findings)}
				if diff := cmp.Diff(scrubbed(want[path], p), got); diff != "" {
					t.Errorf("%s (-conftest +assize):\n%s", path, diff)
				}
				fired = fired || len(v.Findings) > 0
			}
			if !fired {
				t.Error("the policy says nothing about any plan, so the comparison shows nothing")
			}
		})
	}
}

// A verdict is what the two programs are compared by.
type verdict struct {
	Outcome  api.Outcome
	Error    string
	Findings []string // sorted
}

// counted writes findings that no exception hides, because conftest does not
// say what an exception hides.
func counted(findings []api.Finding) []string {
	out := []string{}
	for _, f := range findings {
		if !f.Excepted {
			out = append(out, line(f))
		}
	}
	slices.Sort(out)
	return out
}

func line(f api.Finding) string {
	f.Policy, f.Engine, f.Action = "", "", "" // conftest has nothing like them
	text, err := json.Marshal(f)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// scrubbed takes the plan's secrets out of conftest's findings, which quote
// them.
func scrubbed(v verdict, p *plan.Plan) verdict {
	for i := range v.Findings {
		v.Findings[i] = p.Redact(v.Findings[i])
	}
	return v
}

// A result is what conftest prints for one plan and one namespace.
type result struct {
	Filename  string
	Namespace string
	Failures  []statement
	Warnings  []statement
}

type statement struct {
	Msg      string
	Loc      map[string]any
	Metadata map[string]any
}

// conftestVerdicts runs conftest once for all plans.
func conftestVerdicts(t *testing.T, dir string, flags []string, plans map[string]*plan.Plan) map[string]verdict {
	t.Helper()
	args := slices.Concat([]string{"--policy", dir, "--output", "json"}, flags)
	for path := range plans {
		args = append(args, path)
	}
	stdout, _ := conftest(t, args...)
	dec := json.NewDecoder(bytes.NewReader(stdout))
	dec.UseNumber()
	var results []result
	if err := dec.Decode(&results); err != nil {
		t.Fatalf("conftest printed no results: %v\n%s", err, stdout)
	}
	out := map[string]verdict{}
	for _, r := range results {
		v, ok := out[r.Filename]
		if !ok {
			v = verdict{Outcome: api.Passed, Findings: []string{}}
		}
		if len(r.Failures) > 0 {
			v.Outcome = api.Failed
		}
		for level, list := range map[api.Level][]statement{api.Deny: r.Failures, api.Warn: r.Warnings} {
			for _, s := range list {
				v.Findings = append(v.Findings, line(s.finding(level, r.Namespace)))
			}
		}
		slices.Sort(v.Findings)
		out[r.Filename] = v
	}
	return out
}

// finding is what a statement of conftest is in our words.
func (s statement) finding(level api.Level, namespace string) api.Finding {
	f := api.Finding{Level: level, Message: s.Msg}
	query, _ := s.Metadata["query"].(string)
	delete(s.Metadata, "query")
	f.Rule = strings.TrimPrefix(strings.TrimPrefix(query, "data."), "main.")
	for _, from := range []any{s.Metadata["_details"], s.Metadata["details"], s.Metadata} {
		object, _ := from.(map[string]any)
		for name, field := range map[string]*string{"rule": &f.Rule, "address": &f.Address, "deposed": &f.Deposed} {
			if text, ok := object[name].(string); ok {
				*field = text
			}
		}
	}
	for _, name := range []string{"rule", "address", "deposed"} {
		delete(s.Metadata, name)
	}
	if len(s.Metadata) > 0 {
		f.Details = s.Metadata
	}
	if s.Loc != nil {
		f.Positions = []string{s.Loc["file"].(string) + ":" + s.Loc["line"].(json.Number).String()}
	}
	return f
}

// conftest runs the real one and returns its output and exit code.
func conftest(t *testing.T, args ...string) (stdout []byte, exit int) {
	t.Helper()
	bin := os.Getenv("ASSIZE_CONFTEST")
	if bin == "" {
		bin = filepath.Join("..", "..", "..", ".bin", "conftest")
	}
	if _, err := os.Stat(bin); err != nil {
		t.Fatalf("no conftest at %s: run make tools", bin)
	}
	cmd := exec.CommandContext(t.Context(), bin, append([]string{"test", "--parser", "json"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var code *exec.ExitError
	if err != nil && !errors.As(err, &code) {
		t.Fatal(err)
	}
	if stderr.Len() > 0 {
		t.Logf("conftest: %s", stderr.Bytes())
	}
	return out, cmd.ProcessState.ExitCode()
}

// realPlans are those plans of both tools that can be judged.
func realPlans(t *testing.T) map[string]*plan.Plan {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "plans", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	plans := map[string]*plan.Plan{}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := plan.Decode(raw); err == nil {
			plans[path] = p
		}
	}
	if len(plans) < 16 {
		t.Fatalf("only %d plans can be judged", len(plans))
	}
	return plans
}

// readPolicy reads a directory of the test data: modules, documents in data,
// and in flags what conftest needs to be told, a flag a line.
func readPolicy(t testing.TB, dir string) (policy.Source, []string) {
	t.Helper()
	src := policy.Source{Path: dir, Language: api.Rego, Files: readFiles(t, dir)}
	text, err := os.ReadFile(filepath.Join(dir, "flags"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	words := strings.Fields(string(text))
	for i, word := range words {
		switch word {
		case "--namespace":
			src.Rego.Namespaces = append(src.Rego.Namespaces, words[i+1])
		case "--all-namespaces":
			src.Rego.AllNamespaces = true
		case "--data":
			words[i+1] = filepath.Join(dir, words[i+1])
			src.Rego.Data = slices.DeleteFunc(readFiles(t, words[i+1]), func(f policy.File) bool {
				return !slices.Contains([]string{".json", ".yaml", ".yml"}, filepath.Ext(f.Name))
			})
		}
	}
	return src, words
}

func readFiles(t testing.TB, dir string) []policy.File {
	t.Helper()
	var files []policy.File
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		files = append(files, policy.File{Name: filepath.ToSlash(name), Data: data})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
