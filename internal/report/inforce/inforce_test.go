package inforce_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/inforce"
	"github.com/assize-iac/assize/internal/settings"
)

func list(t *testing.T, root, dir string, getenv func(string) string) api.Config {
	t.Helper()
	r, err := settings.ParseRoot("assize.yaml", []byte(root))
	if err != nil {
		t.Fatal(err)
	}
	d, err := settings.ParseDirectory("a/.assize.yaml", []byte(dir))
	if err != nil {
		t.Fatal(err)
	}
	e, err := settings.Resolve(r, "a", d, "", "")
	if err == nil {
		err = e.Override(getenv)
	}
	if err != nil {
		t.Fatal(err)
	}
	return inforce.List(r, nil, e, nil)
}

// TestNoSecret: what is called like a secret is shown nowhere, in no form
// (docs/configuration.md, rule 22).
func TestNoSecret(t *testing.T) {
	t.Parallel()
	c := list(t, `
backend_config: [secret_key=canary-1, "conn_str=postgres://u:canary-2@h", empty_token=]
env:
  DB_PASSWORD: canary-2
  APP_TOKEN: {plan: canary-3, apply: canary-31}
  api_key: "canary-4"
  URL: "https://canary-3/canary-31/canary-2"
`, "workspace: x-canary-2\nenvironment: 'y {{ .Name }} canary-4'\n", func(name string) string {
		return map[string]string{"ASSIZE_BACKEND_CONFIG": "sas_token=canary-5,access_key=canary-6"}[name]
	})
	var text strings.Builder
	if err := inforce.Text(&text, c); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{text.String(), string(data)} {
		if strings.Contains(out, "canary") {
			t.Error(out)
		}
		for _, want := range []string{"sas_token=(sensitive)", "postgres://u:(sensitive)@h", "https://(sensitive)/(sensitive)/(sensitive)", "x-(sensitive)", "empty_token="} {
			if !strings.Contains(out, want) {
				t.Errorf("no %s in\n%s", want, out)
			}
		}
	}
}

// TestHarmless: a value acts on no terminal, and makes no line of its own.
func TestHarmless(t *testing.T) {
	t.Parallel()
	c := list(t, `env: {A: "\e[31m\n::error::x"}`, "", func(string) string { return "" })
	var text strings.Builder
	if err := inforce.Text(&text, c); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "\x1b") || strings.Contains(text.String(), "\n::") {
		t.Errorf("%q", text.String())
	}
}
