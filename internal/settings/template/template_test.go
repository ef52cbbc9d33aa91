package template_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assize-iac/assize/internal/settings/template"
	"github.com/assize-iac/assize/internal/stack"
)

// pieces make templates that nearly are some.
func pieces() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{
		"{{", "}}", "{{- ", " -}}", " ", ".Path", ".Name", ".Instance", ".Key", ".", "$", "$x", ":=", "=", "(", ")", "|", `"`, "`a`", "'a'", "if", "with", "else", "end",
		"range", "define", "template", "block", "break", "continue", "nil", "true", "1", "0x1p-2", "1i", ",", "/*", "*/", "and", "or", "not", "eq", "lt", "len", "printf",
		"index", "call", "html", "js", "trimPrefix", "trimSuffix", "base", "dir", "replace", "lower", "upper", `"a"`, `"aaaaaaaaaaaaaaaa"`, "\n", "\x00", "\xff", "é",
		`{{ replace "a" "aaaaaaaaaaaaaaaa" "aaaaaaaaaaaaaaaa" }}`, `{{ $x := "aa" }}`, `{{ $x = replace "a" $x $x }}`, `{{ $x }}`, `{{ if .Path }}`, `{{ end }}`,
	})
}

// TestRenderIsBounded: no template panics, makes more than the limit, or passes
// with a word that loops (docs/configuration.md, rule 13).
func TestRenderIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(pieces(), 0, 40).Draw(t, "pieces"), "")
		if rapid.Bool().Draw(t, "action") {
			text = "{{" + text + "}}"
		}
		bounded(t, text)
	})
}

func bounded(t interface{ Fatalf(string, ...any) }, text string) {
	key := stack.Key{Path: "infra/network", Instance: "production"}
	parsed, err := template.Parse(text)
	out := ""
	if err == nil {
		out, err = parsed.Render(key)
	}
	if template.Is(text) && len(out) > template.Max {
		t.Fatalf("it makes %d bytes", len(out))
	}
	if !template.Is(text) && (out != text || err != nil) {
		t.Fatalf("it is no template, and becomes %q, %v", out, err)
	}
	if err != nil && (strings.ContainsAny(err.Error(), "\n") || out != "") {
		t.Fatalf("an error of several lines, or half an output: %q, %q", err, out)
	}
	if again, _ := parsed.Render(key); again != out {
		t.Fatalf("it renders as %q, and then as %q", out, again)
	}
}

func FuzzRender(f *testing.F) {
	for _, seed := range []string{
		"plain", "{{ .Path }}", `{{ trimPrefix "infra/" .Path }}/{{ .Instance }}`, "{{ range . }}{{ end }}", `{{ define "it" }}x{{ end }}`,
		"{{ if eq .Name `a` }}b{{ else with .Key }}{{ . }}{{ end }}", `{{ printf "%99999d" 1 }}`, "{{/* a */}}", "{{(", strings.Repeat("{{ if .Path }}", 500),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { bounded(t, text) })
}

// TestDeep: a template that is as deep as its length allows is still only a
// template.
func TestDeep(t *testing.T) {
	t.Parallel()
	n := template.Max/len("{{if .Key}}{{end}}") - 1
	for _, text := range []string{
		strings.Repeat("{{if .Key}}", n) + strings.Repeat("{{end}}", n),
		"{{" + strings.Repeat("(", 1000) + ".Key" + strings.Repeat(")", 1000) + "}}",
		"{{ .Key " + strings.Repeat("| lower", 500) + " }}",
		strings.Repeat("x", template.Max+1) + "{{ .Key }}",
	} {
		bounded(t, text)
	}
}
