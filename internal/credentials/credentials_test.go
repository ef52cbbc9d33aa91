package credentials

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config", "assize", "credentials.json")
	saved, err := Read(path)
	if err != nil || saved.Tokens == nil {
		t.Fatalf("%v %v, want that there is nothing yet", saved, err)
	}
	saved.Default, saved.Tokens["https://a.example"] = "https://a.example", "secret"
	if err := Write(path, saved); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v, want a file for nobody else", info.Mode(), err)
	}
	if again, err := Read(path); err != nil || again.Tokens["https://a.example"] != "secret" || again.Default != saved.Default {
		t.Errorf("%v %v", again, err)
	}
	if err := os.WriteFile(path, []byte(`{"tokens": {"a": "canary-4f1e`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("%v, want an error without what is in the file", err)
	}
}

// TestShare: what others have in the file of OpenTofu stays as it is.
func TestShare(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".terraform.d", "credentials.tfrc.json")
	steps := []struct{ before, token, want string }{
		{"", "", ""},
		{"", "one", `{"credentials":{"localhost:8443":{"token":"one"}}}`},
		{"", "two", `{"credentials":{"localhost:8443":{"token":"two"}}}`},
		{`{"other":[1,2.50],"credentials":{"app.terraform.io":{"token":"x","more":1e3}}}`, "one",
			`{"credentials":{"app.terraform.io":{"token":"x","more":1e3},"localhost:8443":{"token":"one"}},"other":[1,2.50]}`},
		{"", "", `{"credentials":{"app.terraform.io":{"token":"x","more":1e3}},"other":[1,2.50]}`},
	}
	for _, step := range steps {
		if step.before != "" {
			if err := os.WriteFile(path, []byte(step.before), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := Share(path, "https://localhost:8443", step.token); err != nil {
			t.Fatal(err)
		}
		data, _ := os.ReadFile(path)
		if got := strings.Join(strings.Fields(string(data)), ""); got != step.want {
			t.Errorf("%s, want %s", got, step.want)
		}
	}
	for _, bad := range []string{"null", "[]", "{", `{"credentials":null}`, `{"credentials":7}`} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Share(path, "https://localhost:8443", "one"); err == nil {
			t.Errorf("%s was written over", bad)
		}
	}
}
