package repo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/repo"
)

// tree writes files, by slash-separated name, below a new directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func names(src policy.Source) []string {
	var out []string
	for _, f := range src.Files {
		out = append(out, f.Name)
	}
	return out
}

// policiesFor reads the policies that bind the stack in dir.
func policiesFor(cfg repo.Config, dir string) (sources []policy.Source, err error) {
	place, err := cfg.Place(dir)
	if err != nil {
		return nil, err
	}
	for _, panel := range cfg.Panels(place) {
		for _, p := range panel.Policies {
			src, err := cfg.Policy(p)
			if err != nil {
				return nil, err
			}
			sources = append(sources, src)
		}
	}
	return sources, nil
}

func TestReadPolicy(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"rules.json": "[]", "limit.cue": "x: 1",
		"rego/b.rego": "", "rego/sub/a.rego": "", "rego/README.md": "", "rego/.hidden.rego": "",
		"mixed/a.rego": "", "mixed/b.json": "", "none/README.md": "",
	})
	tests := map[string]struct {
		path  string
		as    api.Language
		lang  api.Language
		files []string
		fails string
	}{
		"rules":                 {path: "rules.json", lang: api.Rules, files: []string{"rules.json"}},
		"cue":                   {path: "limit.cue", lang: api.CUE, files: []string{"limit.cue"}},
		"rego, nested, sorted":  {path: "rego", lang: api.Rego, files: []string{".hidden.rego", "b.rego", "sub/a.rego"}},
		"mixed, language said":  {path: "mixed", as: api.Rego, lang: api.Rego, files: []string{"a.rego"}},
		"mixed":                 {path: "mixed", fails: "several languages (rego, rules)"},
		"holds none":            {path: "none", fails: "holds no policy"},
		"holds none of those":   {path: "rego", as: api.CUE, fails: "holds no cue file"},
		"missing":               {path: "gone.cue", fails: "gone.cue does not exist"},
		"empty":                 {path: "", fails: "empty path"},
		"unknown extension":     {path: "none/README.md", fails: "does not say the language"},
		"extension of another":  {path: "rules.json", as: api.CUE, fails: "is no cue policy"},
		"a file as a directory": {path: "rules.json/x.cue", fails: "rules.json/x.cue cannot be read"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src, err := repo.ReadPolicyAs(dir, tt.path, tt.as)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) || problem.Code(err) == api.Internal {
					t.Fatalf("error %v, want one that says %q", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if src.Language != tt.lang || src.Path != tt.path {
				t.Errorf("%s %s, want %s %s", src.Language, src.Path, tt.lang, tt.path)
			}
			if diff := cmp.Diff(tt.files, names(src)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	const good = `
policies:
  - path: policy/all.json
  - path: policy/prod.cue
    enforcement: advisory
    stacks: ["infra/prod/**"]
`
	dir := tree(t, map[string]string{
		"assize.yaml": good, "policy/all.json": "[]", "policy/prod.cue": "x: 1",
		"infra/prod/net/main.tf": "", "infra/dev/main.tf": "",
	})
	for stack, want := range map[string][]string{
		".":              {"policy/all.json hard_mandatory"},
		"infra/dev":      {"policy/all.json hard_mandatory"},
		"infra/prod":     {"policy/all.json hard_mandatory", "policy/prod.cue advisory"},
		"infra/prod/net": {"policy/all.json hard_mandatory", "policy/prod.cue advisory"},
	} {
		cfg, ok, err := repo.FindConfig(filepath.Join(dir, stack))
		if err != nil || !ok {
			t.Fatalf("%s: %v, %v", stack, ok, err)
		}
		sources, err := policiesFor(cfg, filepath.Join(dir, stack))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range sources {
			got = append(got, s.Path+" "+string(s.Enforcement))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", stack, diff)
		}
	}
}

// TestConfigFailsClosed: a configuration that cannot be understood must not
// count as one that names no policy.
func TestConfigFailsClosed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"unknown key":         {"polices: []", "polices"},
		"unknown field":       {"policies: [{path: a.json, enforce: hard}]", "enforce"},
		"duplicate key":       {"policies: []\npolicies: []", "policies"},
		"no path":             {"policies: [{enforcement: advisory}]", "no path"},
		"unknown enforcement": {"policies: [{path: a.json, enforcement: mandatory}]", `"mandatory"`},
		"empty pattern":       {"policies: [{path: a.json, stacks: ['']}]", "never matches"},
		"trailing slash":      {"policies: [{path: a.json, stacks: [infra/prod/]}]", "never matches"},
		"leading dot":         {"policies: [{path: a.json, stacks: [./infra]}]", "never matches"},
		"absolute":            {"policies: [{path: a.json, stacks: [/infra]}]", "never matches"},
		"outside":             {"policies: [{path: a.json, stacks: [../infra]}]", "never matches"},
		"null pattern":        {"policies: [{path: a.json, stacks: [~]}]", "never matches"},
		"null policy":         {"policies: [~]", "no path"},
		"bad pattern":         {"policies: [{path: a.json, stacks: ['[']}]", "no valid pattern"},
		"not YAML":            {"policies: [", "assize.yaml"},
	} {
		dir := tree(t, map[string]string{"assize.yaml": tt.text})
		_, ok, err := repo.FindConfig(dir)
		if err == nil || ok || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, %v; want an error that says %s", name, ok, err, tt.want)
		}
	}
	dir := tree(t, map[string]string{"assize.yaml/x": ""}) // a directory of that name
	if _, ok, err := repo.FindConfig(dir); err == nil || ok {
		t.Errorf("an assize.yaml that cannot be read counts as none")
	}
}

// TestConfigStopsAtCheckout: what lies above the checkout does not govern it.
func TestConfigStopsAtCheckout(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"assize.yaml": "policies: []", "repo/.git/HEAD": "", "repo/a/main.tf": ""})
	_, ok, err := repo.FindConfig(filepath.Join(dir, "repo", "a"))
	if err != nil || ok {
		t.Errorf("found %v, %v; want none", ok, err)
	}
}

// TestLinks: neither a policy nor a stack behind a link may be overlooked.
func TestLinks(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"assize.yaml":   "policies: [{path: policy/p.cue, stacks: [infra/prod]}]",
		"policy/p.cue":  "x: 1",
		"shared/a.rego": "", "rego/b.rego": "", "infra/prod/main.tf": "",
	})
	for link, to := range map[string]string{"rego/link": "../shared", "rego/loop": "..", "alias": "rego", "prodlink": "infra/prod"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"rego", "alias"} {
		src, err := repo.ReadPolicyAs(dir, path, api.Rego)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(names(src), " "); !strings.Contains(got, "link/a.rego") || !strings.Contains(got, "b.rego") {
			t.Errorf("%s: read %s", path, got)
		}
	}
	cfg, _, err := repo.FindConfig(filepath.Join(dir, "prodlink"))
	if err != nil {
		t.Fatal(err)
	}
	if sources, err := policiesFor(cfg, filepath.Join(dir, "prodlink")); err != nil || len(sources) != 1 {
		t.Errorf("%d policies through a link, %v; want the one that binds what it leads to", len(sources), err)
	}
	if _, err := repo.ReadData(dir, ""); err == nil {
		t.Error("an empty path reads the current directory as data")
	}
	if _, err := repo.ReadData(dir, "infra"); err == nil {
		t.Error("a directory without documents counts as data")
	}
}

// TestDeadLink: what a link led to may have been a directory of policies, of a
// volume that is not mounted or a submodule that was not checked out.
func TestDeadLink(t *testing.T) {
	t.Parallel()
	for _, link := range []string{"team", "team.d", "sub/gone.md", "gone.json"} {
		dir := tree(t, map[string]string{"policy/p.json": "[]", "policy/sub/q.json": "[]"})
		if err := os.Symlink("nowhere", filepath.Join(dir, "policy", link)); err != nil {
			t.Fatal(err)
		}
		if src, err := repo.ReadPolicy(dir, "policy"); err == nil || !strings.Contains(err.Error(), link+" is a link that leads nowhere") {
			t.Errorf("%s: %v, read %q", link, err, names(src))
		}
	}
}

// TestLargePolicy: a file that is too large is not read to find that out.
func TestLargePolicy(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"policy/p.json": "[]", "policy/large.json": ""})
	if err := os.Truncate(filepath.Join(dir, "policy/large.json"), 1<<40); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"policy", "policy/large.json"} {
		if _, err := repo.ReadPolicy(dir, path); problem.Code(err) != api.TooLarge {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := repo.ReadData(dir, "policy"); problem.Code(err) != api.TooLarge {
		t.Errorf("data: %v", err)
	}
}

// TestSpecification: a policy is none of a specification's files, whatever the
// directory is called.
func TestSpecification(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"spec", "spec[1]", "a*"} {
		dir := tree(t, map[string]string{name + "/estate.cue": "package estate\n", name + "/limits.cue": "x: 1", name + "/sub/limits.cue": "x: 1"})
		if _, err := repo.ReadPolicy(dir, name+"/limits.cue"); err == nil || !strings.Contains(err.Error(), "sits in the root directory") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := repo.ReadPolicy(dir, name+"/sub/limits.cue"); err != nil {
			t.Errorf("%s: below it: %v", name, err)
		}
	}
}
