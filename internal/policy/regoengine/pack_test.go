package regoengine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/regoengine"
)

// packable is a policy with files in both versions of Rego and with documents.
func packable() policy.Source {
	file := func(name, data string) policy.File { return policy.File{Name: name, Data: []byte(data)} }
	return policy.Source{
		Path: "p", Language: api.Rego,
		Files: []policy.File{
			file("lib [old].rego", "package main.lib\n\nlimit = n { n := data.teams.limit }\n"),
			file("main.rego", "package main\n\ndeny contains \"no\" if data.main.lib.limit > 9007199254740993\n"),
			file("main_test.rego", "package main_test\n\ntest_x if true\n"),
		},
		Rego: policy.RegoOptions{Data: []policy.File{
			file("teams/a.yaml", "limit: 9007199254740994\n"), file("b.json", `{"<>": null, "teams": {"names": ["x"]}}`),
		}},
	}
}

func packed(t *testing.T) policy.Source {
	t.Helper()
	src, err := policy.Checked([]policy.Engine{regoengine.New()}, packable())
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// TestPack is what OPA is told: every package and document is below a root, no
// root below another, numbers are exact, and the file in v0 is named by a glob
// that matches nothing else.
func TestPack(t *testing.T) {
	t.Parallel()
	got := packed(t).Bundle.OPA
	if !strings.HasPrefix(got.Capabilities, "sha256:") || len(got.Capabilities) != 71 || *got.RegoVersion != 1 {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff([]string{"<>", "main", "main_test", "teams"}, got.Roots); diff != "" {
		t.Errorf("roots (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{`lib \[old\].rego`: 0}, got.FileRegoVersions); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(`{"<>":null,"teams":{"limit":9007199254740994,"names":["x"]}}`+"\n", string(got.Data)); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	if err := regoengine.New().Check(packed(t)); err != nil {
		t.Error(err)
	}
}

// TestRootsThatCannotBeSpelt: a key with a slash is no step of a root.
func TestRootsThatCannotBeSpelt(t *testing.T) {
	t.Parallel()
	for _, pkg := range []string{`main["a/b"]`, `main[""]`} {
		src := packable()
		src.Files[2].Data = []byte("package " + pkg + "\n\nx := 1\n")
		opa, err := regoengine.New().Pack(src)
		if err != nil || !slices.Equal(opa.Roots, []string{""}) {
			t.Errorf("%s: %+v, %v", pkg, opa, err)
		}
	}
}

// TestContradictions: a bundle out of which OPA would read another policy is
// judged by nobody (docs/bundle.md, rules 8 to 10).
func TestContradictions(t *testing.T) {
	t.Parallel()
	zero, one := 0, 1
	opaBuilt := func(o policy.OPA) func(*policy.Source) {
		return func(s *policy.Source) { s.Bundle = &policy.Bundle{OPA: &o} }
	}
	for name, c := range map[string]struct {
		change func(*policy.Source)
		want   string // "" when it can be judged
	}{
		"capabilities": {func(s *policy.Source) { s.Bundle.OPA.Capabilities = "sha256:0123456789abcdef" }, "checked with the built-ins 0123456789ab"},
		"roots":        {func(s *policy.Source) { s.Bundle.OPA.Roots = []string{""} }, "states other roots"},
		"fewer roots":  {func(s *policy.Source) { s.Bundle.OPA.Roots = s.Bundle.OPA.Roots[1:] }, "states other roots"},
		"version":      {func(s *policy.Source) { s.Bundle.OPA.RegoVersion = &zero }, "versions of Rego"},
		"no version":   {func(s *policy.Source) { s.Bundle.OPA.FileRegoVersions = nil }, "versions of Rego"},
		"documents":    {func(s *policy.Source) { s.Bundle.OPA.Data = []byte("{}\n") }, "data.json does not hold"},
		"no documents": {func(s *policy.Source) { s.Bundle.OPA.Data = nil }, "data.json does not hold"},
		"only data.json": {func(s *policy.Source) {
			s.Rego.Data = nil
		}, "data.json does not hold"},
		"a file more": {func(s *policy.Source) {
			s.Files = append(s.Files, policy.File{Name: "z.rego", Data: []byte("package z\n\nx := 1\n")})
		}, "states other roots"},

		"OPA's, which says nothing":        {opaBuilt(policy.OPA{}), "lib [old].rego is Rego v0, and its manifest does not say so"},
		"OPA's, v0 and all roots":          {opaBuilt(policy.OPA{RegoVersion: &zero}), ""},
		"OPA's, v0 by a glob":              {opaBuilt(policy.OPA{RegoVersion: &one, FileRegoVersions: map[string]int{"/lib*": 0}}), ""},
		"OPA's, v0 by another glob":        {opaBuilt(policy.OPA{RegoVersion: &one, FileRegoVersions: map[string]int{"/main*": 0}}), "is Rego v0"},
		"OPA's, a glob that is none":       {opaBuilt(policy.OPA{FileRegoVersions: map[string]int{"[": 0}}), "its manifest says of lib [old].rego"},
		"OPA's, a version that is none":    {opaBuilt(policy.OPA{RegoVersion: new(int), FileRegoVersions: map[string]int{"/main.rego": 7}}), "its manifest says of main.rego"},
		"OPA's, roots":                     {opaBuilt(policy.OPA{RegoVersion: &zero, Roots: []string{"/main", "main_test", "teams", "<>"}}), ""},
		"OPA's, roots inside of documents": {opaBuilt(policy.OPA{RegoVersion: &zero, Roots: []string{"main", "main_test", "teams/limit", "teams/names", "<>"}}), ""},
		"OPA's, without a package":         {opaBuilt(policy.OPA{RegoVersion: &zero, Roots: []string{"main/lib", "main_test", "teams", "<>"}}), `do not cover package main`},
		"OPA's, without a document":        {opaBuilt(policy.OPA{RegoVersion: &zero, Roots: []string{"main", "main_test", "teams/limit", "<>"}}), "do not cover the document teams/names"},
		"OPA's, without any root":          {opaBuilt(policy.OPA{RegoVersion: &zero, Roots: []string{}}), "do not cover package main"},
	} {
		src := packed(t)
		c.change(&src)
		err := regoengine.New().Check(src)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
