package bundle_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/bundle"
	"github.com/assize-iac/assize/internal/problem"
)

func file(name, data string) policy.File { return policy.File{Name: name, Data: []byte(data)} }

// one and zero are versions of Rego.
var one, zero = 1, 0

// rules, rego and cue are policies as an engine hands them over.
func rules() policy.Source {
	return policy.Source{
		Language: api.Rules,
		Files:    []policy.File{file("a.json", "[]"), file("sub/b.yaml", "[]\n")},
		Bundle:   &policy.Bundle{Evaluator: "assize-rules/1"},
	}
}

func rego() policy.Source {
	return policy.Source{
		Language: api.Rego,
		Files:    []policy.File{file("lib/v0.rego", "package lib\n"), file("main.rego", "package main\n")},
		Rego: policy.RegoOptions{
			Namespaces: []string{"main", "lib"}, InputShape: "tfplan",
			Data: []policy.File{file("teams/b.yml", "x: 1\n"), file("a.json", `{"y": 2}`)},
		},
		Bundle: &policy.Bundle{Evaluator: "opa/1.22.3 capabilities sha256:0123", OPA: &policy.OPA{
			Capabilities: "sha256:0123", Roots: []string{"lib", "main", "teams", "y"},
			RegoVersion: &one, FileRegoVersions: map[string]int{"lib/v0.rego": 0},
			Data: []byte(`{"teams":{"x":1},"y":2}` + "\n"),
		}},
	}
}

func cue() policy.Source {
	name := strings.Repeat("very/", 60) + "lång.cue" // more than the plain form of tar has room for
	return policy.Source{
		Language: api.CUE,
		Files:    []policy.File{file(name, strings.Repeat("summary: destroy: 0\n", 9000))}, // more than one stored block
		Bundle:   &policy.Bundle{Evaluator: "cue/0.17.1"},
	}
}

func build(t interface {
	Helper()
	Fatal(...any)
}, src policy.Source) []byte {
	t.Helper()
	data, err := bundle.Build(src)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func sha(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// TestGolden pins the bytes of bundles: a digest that moves with a version of
// Go, or with a change here, would be another policy version to everybody who
// has pinned one (docs/bundle.md, rule 4). A change needs another format.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		src  policy.Source
		want string
	}{
		{"rules", rules(), "sha256:c1141a2cbf7084fec1e02544316bdc1dd0c7320d51a7f144c3cdca21f2d8c13d"},
		{"rego", rego(), "sha256:aa366ef7a125bb3a9d41e42b7fa94d814b2ab1e7ca49c635d45e8456aed931ca"},
		{"cue", cue(), "sha256:9cc5f72c71a6b02a8d81b976930b9fa94517986897973eed371a55a35e61b7ae"},
	} {
		if got := sha(build(t, c.src)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestOpen: what goes in comes out, with what the bundle says of itself.
func TestOpen(t *testing.T) {
	t.Parallel()
	for _, src := range []policy.Source{rules(), rego(), cue()} {
		data := build(t, src)
		got, about, err := bundle.Open(data)
		if err != nil {
			t.Fatal(err)
		}
		src.Bundle.Digest = sha(data)
		if diff := cmp.Diff(src, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", src.Language, diff)
		}
		if about.Policy != src.Digest() || about.Revision != src.Digest() || about.Digest != sha(data) || about.Size != len(data) {
			t.Errorf("%s: %+v", src.Language, about)
		}
	}
}

// TestRoundTrip: any policy survives, its digest is the same, and the bundle
// does not depend on where the policy was or how it weighs.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		src := policies().Draw(t, "policy")
		data := build(t, src)
		got, _, err := bundle.Open(data)
		if err != nil {
			t.Fatal(err)
		}
		want := src
		want.Bundle = got.Bundle
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(src.Bundle.OPA, got.Bundle.OPA); diff != "" {
			t.Fatalf("OPA (-want +got):\n%s", diff)
		}
		if got.Digest() != src.Digest() {
			t.Fatal("another digest")
		}
		src.Path, src.Enforcement = "elsewhere/policy", api.Advisory
		if string(build(t, src)) != string(data) {
			t.Fatal("the path or the enforcement is part of the bundle")
		}
	})
}

// TestDamage: a bundle in which any one byte differs, or which ends early, is
// none.
func TestDamage(t *testing.T) {
	t.Parallel()
	for _, src := range []policy.Source{rules(), rego()} {
		data := build(t, src)
		for i := range data {
			bad := slices.Clone(data)
			bad[i] ^= 1 << (i % 8)
			if _, _, err := bundle.Open(bad); err == nil {
				t.Errorf("%s opens with another byte %d", src.Language, i)
			}
			if _, _, err := bundle.Open(data[:i]); err == nil {
				t.Errorf("%s opens with %d bytes", src.Language, i)
			}
		}
	}
}

// TestBuildRefuses: what could not be opened, or what OPA would not read, is
// not built.
func TestBuildRefuses(t *testing.T) {
	t.Parallel()
	many := rules()
	many.Files = nil
	for i := range 5_000 {
		many.Files = append(many.Files, file(fmt.Sprintf("%04d.json", i), "[]"))
	}
	for name, c := range map[string]struct {
		change func(*policy.Source)
		want   string
	}{
		"unchecked":         {func(s *policy.Source) { s.Bundle = nil }, "an engine has accepted"},
		"empty":             {func(s *policy.Source) { s.Files = nil }, "an engine has accepted"},
		"another language":  {func(s *policy.Source) { s.Files[0].Name = "a.cue" }, `cannot hold the file "a.cue"`},
		"OPA wants .rego":   {func(s *policy.Source) { *s = rego(); s.Files[0].Name = "A.REGO" }, `cannot hold the file "A.REGO"`},
		"kept for data":     {func(s *policy.Source) { *s = rego(); s.Files[0].Name = ".assize/data/0000.rego" }, "cannot hold the file"},
		"escape":            {func(s *policy.Source) { s.Files[0].Name = "../a.json" }, "whose name has an empty step"},
		"newline":           {func(s *policy.Source) { s.Files[0].Name = "a\n.json" }, "cannot be seen"},
		"twice":             {func(s *policy.Source) { s.Files[0].Name = s.Files[1].Name }, `holds "sub/b.yaml" twice`},
		"data without name": {func(s *policy.Source) { *s = rego(); s.Rego.Data[0].Name = "" }, "without a name"},
		"options":           {func(s *policy.Source) { s.Rego.AllNamespaces = true }, "an engine has accepted"},
		"too many files":    {func(s *policy.Source) { *s = many }, "more than 5000 files"},
		"too large":         {func(s *policy.Source) { s.Files[0].Data = make([]byte, 64<<20) }, "larger than 64 MiB"},
	} {
		src := rules()
		c.change(&src)
		if _, err := bundle.Build(src); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	many.Files = many.Files[1:]
	if _, _, err := bundle.Open(build(t, many)); err != nil {
		t.Errorf("the most files that can be built do not open: %v", err)
	}
}

// TestOptions fails when Rego gets an option that bundles do not know: it
// would be lost, and the policy judged otherwise (docs/bundle.md, rule 12).
func TestOptions(t *testing.T) {
	t.Parallel()
	options := reflect.TypeFor[policy.RegoOptions]()
	kept := reflect.TypeFor[api.BundleOptions]()
	for i := range options.NumField() {
		name := options.Field(i).Name
		if _, ok := kept.FieldByName(name); !ok && name != "Data" {
			t.Errorf("a bundle does not keep RegoOptions.%s", name)
		}
	}
}

// TestHints: who is refused a bundle is told what to do.
func TestHints(t *testing.T) {
	t.Parallel()
	data := build(t, rules())
	for _, bad := range [][]byte{nil, []byte("{}"), data[:100], append(slices.Clone(data[:len(data)-1]), 'x')} {
		if _, _, err := bundle.Open(bad); problem.Hint(err) == "" {
			t.Errorf("no hint with: %v", err)
		}
	}
}

// policies draws policies as an engine might hand them over.
func policies() *rapid.Generator[policy.Source] {
	return rapid.Custom(func(t *rapid.T) policy.Source {
		lang := rapid.SampledFrom([]api.Language{api.Rules, api.Rego, api.CUE}).Draw(t, "language")
		ext := map[api.Language]string{api.Rules: ".json", api.Rego: ".rego", api.CUE: ".cue"}[lang]
		src := policy.Source{Language: lang, Bundle: &policy.Bundle{Evaluator: rapid.StringN(1, 40, 80).Draw(t, "evaluator")}}
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`([a-zé]{1,9}/){0,3}[a-z .*\[\]{},?-]{1,9}x`), 1, 6, rapid.ID[string]).Draw(t, "names")
		slices.Sort(names)
		for _, name := range names {
			src.Files = append(src.Files, policy.File{Name: name + ext, Data: content().Draw(t, "data")})
		}
		slices.SortFunc(src.Files, func(a, b policy.File) int { return strings.Compare(a.Name, b.Name) })
		if lang == api.Rego {
			src.Rego, src.Bundle.OPA = regoParts(t)
		}
		return src
	})
}

func content() *rapid.Generator[[]byte] { return rapid.SliceOfN(rapid.Byte(), 0, 2000) }

func regoParts(t *rapid.T) (o policy.RegoOptions, opa *policy.OPA) {
	text := rapid.StringN(0, 12, 40)
	opa = &policy.OPA{
		Capabilities: "sha256:" + text.Draw(t, "capabilities"),
		RegoVersion:  rapid.SampledFrom([]*int{nil, &zero, &one}).Draw(t, "version"),
	}
	opa.Roots = append(opa.Roots, rapid.SliceOfN(text, 0, 3).Draw(t, "roots")...) // nil when there is none
	if versions := rapid.MapOfN(text, rapid.IntRange(0, 1), 0, 2).Draw(t, "versions"); len(versions) > 0 {
		opa.FileRegoVersions = versions
	}
	o.Namespaces = append(o.Namespaces, rapid.SliceOfN(text, 0, 3).Draw(t, "namespaces")...)
	o.AllNamespaces = rapid.Bool().Draw(t, "all")
	o.InputShape = rapid.SampledFrom([]string{"", "plan", "tfplan"}).Draw(t, "shape")
	for range rapid.IntRange(0, 3).Draw(t, "data") {
		name := rapid.SampledFrom([]string{"data.json", "a/data.yaml", ".manifest", "policy.wasm"}).Draw(t, "name")
		o.Data = append(o.Data, policy.File{Name: name, Data: content().Draw(t, "document")})
		opa.Data = []byte(`{"some": "object"}`)
	}
	return o, opa
}
