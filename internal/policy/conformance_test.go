package policy_test

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
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
// A case is a txtar archive; it begins with what it pins and why, and holds:
//
//   - changes.json, the entries of resource_changes, or plan.json, a whole
//     plan; flags.json, where the caller knows how the plan was made;
//   - rules.json, policy.rego and policy.cue, which say the same thing. A
//     language that cannot has a file cannot.LANGUAGE with the reason. lib.rego
//     beside the cases is part of every Rego policy;
//   - want: a line "LEVEL RULE ADDRESS" for each finding, nothing for a plan
//     that passes, "errored" where no policy can judge, "refused" where the plan
//     is none, which needs no policies. The address is "-" for the whole plan,
//     and is followed by " (deposed KEY)" and by " @ PATH" where there are such;
//   - secret: texts, one a line, that no verdict may hold.
//
// Rego has no paths, and CUE neither rule ids nor warnings, so these are not
// compared there.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, c := range readCases(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, err := plan.Decode(c.plan(t))
			if refused := c.files["want"] == "refused\n"; refused || err != nil {
				if refused != (err != nil) {
					t.Fatalf("decoding the plan: %v", err)
				}
				return
			}
			c.setFlags(t, p)
			for _, src := range c.sources(t) {
				v := policy.Judge(engines, src, p)
				if diff := gocmp.Diff(c.want(src.Language), said(v)); diff != "" {
					t.Errorf("%s (-want +got):\n%s%s", src.Language, diff, explain(v))
				}
				c.keepsSecrets(t, v)
			}
		})
	}
}

var engines = []policy.Engine{rules.Engine{}, regoengine.New(), cueengine.New()}

// policyFiles names what a case says in each language.
var policyFiles = map[api.Language]string{api.Rules: "rules.json", api.Rego: "policy.rego", api.CUE: "policy.cue"}

// A conformanceCase is one archive of the corpus.
type conformanceCase struct {
	name    string
	comment string
	files   map[string]string
}

func corpus(elem ...string) string {
	return filepath.Join(append([]string{"testdata", "conformance"}, elem...)...)
}

func readCases(t *testing.T) []conformanceCase {
	t.Helper()
	lib, err := os.ReadFile(corpus("lib.rego"))
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(corpus("*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	var out []conformanceCase
	for _, path := range paths {
		ar, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c := conformanceCase{strings.TrimSuffix(filepath.Base(path), ".txtar"), string(ar.Comment), map[string]string{}}
		for _, f := range ar.Files {
			c.files[f.Name] = string(f.Data)
		}
		c.files["lib.rego"] = string(lib)
		out = append(out, c)
	}
	return out
}

func (c conformanceCase) plan(t *testing.T) []byte {
	t.Helper()
	if raw, ok := c.files["plan.json"]; ok {
		return []byte(raw)
	}
	// Not by way of encoding/json, which would repair what is malformed.
	return []byte(`{"format_version": "1.2", "terraform_version": "1.12.6", "resource_changes": ` + c.files["changes.json"] + `}`)
}

func (c conformanceCase) setFlags(t *testing.T, p *plan.Plan) {
	t.Helper()
	if raw, ok := c.files["flags.json"]; ok {
		if err := json.Unmarshal([]byte(raw), &p.Flags); err != nil {
			t.Fatal(err)
		}
	}
}

// sources are the case's policies. To leave a language out takes a reason.
func (c conformanceCase) sources(t *testing.T) []policy.Source {
	t.Helper()
	var out []policy.Source
	for lang, name := range policyFiles {
		text, ok := c.files[name]
		if reason := strings.TrimSpace(c.files["cannot."+string(lang)]); ok == (reason != "") {
			t.Errorf("want %s, or the reason why not in cannot.%s", name, lang)
		}
		if !ok {
			continue
		}
		src := policy.Source{Path: name, Language: lang, Files: []policy.File{{Name: name, Data: []byte(text)}}}
		if lang == api.Rego {
			src.Files = append(src.Files, policy.File{Name: "lib.rego", Data: []byte(c.files["lib.rego"])})
		}
		out = append(out, src)
	}
	return out
}

var (
	wantForm = regexp.MustCompile(`^(deny|warn) (\S+) (.+)$`)
	pathForm = regexp.MustCompile(` @ .+$`)
)

// want is what a language has to say: less than all, where it has no words.
func (c conformanceCase) want(lang api.Language) []string {
	out := []string{}
	for line := range strings.Lines(c.files["want"]) {
		line = strings.TrimSuffix(line, "\n")
		if lang != api.Rules {
			line = pathForm.ReplaceAllString(line, "")
		}
		if lang == api.CUE {
			if strings.HasPrefix(line, "warn ") {
				continue
			}
			line = wantForm.ReplaceAllString(line, "$1 - $3")
		}
		out = append(out, line)
	}
	return tidy(out)
}

// said writes a verdict as want does.
func said(v api.Verdict) []string {
	if v.Outcome == api.Errored {
		return []string{"errored"}
	}
	out := []string{}
	for _, f := range v.Findings {
		line := string(f.Level) + " " + f.Rule + " " + cmp.Or(f.Address, "-")
		if v.Engine == api.CUE {
			line = string(f.Level) + " - " + cmp.Or(f.Address, "-")
		}
		if f.Deposed != "" {
			line += " (deposed " + f.Deposed + ")"
		}
		if v.Engine == api.Rules && f.Path != "" {
			line += " @ " + f.Path
		}
		out = append(out, line)
	}
	return tidy(out)
}

// tidy sorts, and drops repetitions: engines may make two findings of one
// address.
func tidy(lines []string) []string {
	slices.Sort(lines)
	return slices.Compact(lines)
}

// explain is what a person needs to see of a verdict that was not wanted.
func explain(v api.Verdict) string {
	text := v.Error
	for _, f := range v.Findings {
		text += "\n\t" + f.Address + ": " + f.Path + ": " + f.Message
	}
	return strings.TrimSpace(text)
}

func (c conformanceCase) keepsSecrets(t *testing.T, v api.Verdict) {
	t.Helper()
	text, err := json.Marshal([]any{v, v.Findings})
	if err != nil {
		t.Fatal(err)
	}
	for secret := range strings.Lines(c.files["secret"]) {
		if secret = strings.TrimSuffix(secret, "\n"); strings.Contains(string(text), secret) {
			t.Errorf("%s: the verdict holds %s:\n%s", v.Engine, secret, text)
		}
	}
}
