package policy_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
)

// TestConformanceConftest runs the Rego of the corpus through the real
// conftest: what is written for one program must mean the same in the other.
// Where conftest cannot, a case says why in cannot.conftest.
func TestConformanceConftest(t *testing.T) {
	t.Parallel()
	var cases, cannot []conformanceCase
	for _, c := range readCases(t) {
		switch {
		case c.files["policy.rego"] == "" || c.files["want"] == "errored\n":
		case c.files["cannot.conftest"] != "":
			cannot = append(cannot, c)
		default:
			cases = append(cases, c)
		}
	}
	// A process takes a third of a second to start, and then judges every plan
	// by every policy that it was given.
	for chunk := range slices.Chunk(cases, 10) {
		t.Run(chunk[0].name, func(t *testing.T) {
			t.Parallel()
			got, err := conftest(t, chunk)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range chunk {
				if diff := gocmp.Diff(c.want(api.Rego), got[c.name]); diff != "" {
					t.Errorf("%s (-want +conftest):\n%s", c.name, diff)
				}
			}
		})
	}
	for _, c := range cannot {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := conftest(t, []conformanceCase{c})
			if err == nil && gocmp.Equal(c.want(api.Rego), got[c.name]) {
				t.Errorf("conftest can: remove cannot.conftest, which says %s", c.files["cannot.conftest"])
			}
		})
	}
}

// conftest returns what it says of each case: of the case's plan by the case's
// policy, which is put into a package of its own.
func conftest(t *testing.T, cases []conformanceCase) (map[string][]string, error) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("lib.rego", cases[0].files["lib.rego"])
	args := []string{"test", "--policy", ".", "--parser", "json", "--output", "json", "--all-namespaces"}
	for _, c := range cases {
		write(c.name+".rego", strings.Replace(c.files["policy.rego"], "package main\n", "package case_"+c.name+"\n", 1))
		write(c.name+".json", string(c.plan(t)))
		args = append(args, c.name+".json")
	}
	results, err := runConftest(t, dir, args)
	out := map[string][]string{}
	for _, r := range results {
		name := strings.TrimSuffix(r.Filename, ".json")
		if r.Namespace != "case_"+name {
			continue // another case's policy
		}
		said := []string{}
		for level, list := range map[api.Level][]statement{api.Deny: r.Failures, api.Warn: r.Warnings} {
			for _, s := range list {
				said = append(said, s.line(level))
			}
		}
		out[name] = tidy(said)
	}
	return out, err
}

// A result is what conftest prints for one plan and one package.
type result struct {
	Filename  string
	Namespace string
	Failures  []statement
	Warnings  []statement
}

type statement struct {
	Metadata struct{ Rule, Address, Deposed string }
}

// line writes a statement as want does.
func (s statement) line(level api.Level) string {
	line := string(level) + " " + s.Metadata.Rule + " " + cmp.Or(s.Metadata.Address, "-")
	if s.Metadata.Deposed != "" {
		line += " (deposed " + s.Metadata.Deposed + ")"
	}
	return line
}

// runConftest returns an error where conftest cannot even read a plan.
func runConftest(t *testing.T, dir string, args []string) (results []result, err error) {
	t.Helper()
	bin, err := filepath.Abs(cmp.Or(os.Getenv("ASSIZE_CONFTEST"), filepath.Join("..", "..", ".bin", "conftest")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(bin); err != nil {
		t.Fatalf("no conftest at %s: run make tools", bin)
	}
	cmd := exec.CommandContext(t.Context(), bin, args...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &stderr
	stdout, err := cmd.Output()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	if err := json.Unmarshal(stdout, &results); err != nil {
		return nil, fmt.Errorf("conftest printed no results: %s", stderr.Bytes())
	}
	return results, nil
}
