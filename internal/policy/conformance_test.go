package policy_test

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/cueengine"
	"github.com/assize-iac/assize/internal/policy/regoengine"
	"github.com/assize-iac/assize/internal/policy/rules"
)

// TestConformance runs one corpus through all three engines, which must agree.
//
// A case is a txtar archive: plan.json, or changes.json with only the entries
// of resource_changes; one policy for each language; and want, with a line
// "LEVEL RULE ADDRESS" for each finding ("-" for the whole plan), or "errored". lib.rego holds what
// Rego authors need to tell unknown from missing. A CUE policy has neither
// rule ids nor warnings, so only its denied addresses are compared. A language
// that cannot say a case has a file cannot.LANGUAGE with the reason instead.
func TestConformance(t *testing.T) {
	t.Parallel()
	lib, err := os.ReadFile(filepath.Join("testdata", "conformance", "lib.rego"))
	if err != nil {
		t.Fatal(err)
	}
	cases, err := filepath.Glob(filepath.Join("testdata", "conformance", "*.txtar"))
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			files := readCase(t, path)
			p, err := plan.Decode(casePlan(t, files))
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Split(strings.TrimSpace(string(files["want"])), "\n")
			for _, src := range caseSources(t, files, lib) {
				got := lines(policy.Judge(engines, src, p))
				if diff := gocmp.Diff(wantFor(src.Language, want), got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", src.Language, diff)
				}
			}
		})
	}
}

var engines = []policy.Engine{rules.Engine{}, regoengine.New(), cueengine.New()}

func readCase(t *testing.T, path string) map[string][]byte {
	t.Helper()
	ar, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, f := range ar.Files {
		files[f.Name] = f.Data
	}
	return files
}

func casePlan(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	if raw, ok := files["plan.json"]; ok {
		return raw
	}
	raw, err := json.Marshal(map[string]any{
		"format_version": "1.2", "terraform_version": "1.12.6",
		"resource_changes": json.RawMessage(files["changes.json"]),
	})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func caseSources(t *testing.T, files map[string][]byte, lib []byte) []policy.Source {
	t.Helper()
	var out []policy.Source
	for lang, name := range map[api.Language]string{api.Rules: "rules.json", api.Rego: "policy.rego", api.CUE: "policy.cue"} {
		data, ok := files[name]
		if !ok {
			if len(files["cannot."+string(lang)]) == 0 {
				t.Errorf("no %s, and no reason in cannot.%s", name, lang)
			}
			continue
		}
		src := policy.Source{Path: name, Language: lang, Files: []policy.File{{Name: name, Data: data}}}
		if lang == api.Rego {
			src.Files = []policy.File{{Name: "lib.rego", Data: lib}, src.Files[0]}
		}
		out = append(out, src)
	}
	return out
}

// lines writes a verdict as a case's want does.
func lines(v api.Verdict) []string {
	if v.Outcome == api.Errored {
		return []string{"errored"}
	}
	out := []string{}
	for _, f := range v.Findings {
		address := cmp.Or(f.Address, "-")
		line := strings.Join([]string{string(f.Level), f.Rule, address}, " ")
		if v.Engine == api.CUE {
			line = "deny " + address
		}
		out = append(out, line)
	}
	return tidyLines(out)
}

func wantFor(lang api.Language, want []string) []string {
	if lang != api.CUE {
		return tidyLines(want)
	}
	out := []string{}
	for _, line := range want {
		if f := strings.SplitN(line, " ", 3); len(f) == 3 && f[0] == "deny" {
			line = "deny " + f[2]
		}
		if !strings.HasPrefix(line, "warn ") {
			out = append(out, line)
		}
	}
	return tidyLines(out)
}

// tidyLines sorts, and drops repetitions and blank lines: engines may make two
// findings of one address.
func tidyLines(in []string) []string {
	out := slices.DeleteFunc(slices.Clone(in), func(s string) bool { return s == "" })
	slices.Sort(out)
	return slices.Compact(out)
}
