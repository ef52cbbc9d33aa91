package serve

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

var update = flag.Bool("update", false, "rewrite the table in docs/server.md")

// table is the settings as the documentation has them.
func table() string {
	s := Defaults(func(string) string { return "" })
	s.Data = ""
	var b strings.Builder
	b.WriteString("| flag | variable | default | meaning |\n|---|---|---|---|\n")
	for _, row := range s.Table() {
		name := func(text string) string {
			if text == "" {
				return ""
			}
			return "`" + text + "`"
		}
		flag := ""
		switch {
		case row.Flag != "" && row.Value.Type() == "bool":
			flag = "--" + row.Flag
		case row.Flag != "":
			flag = "--" + row.Flag + " " + row.Value.Type()
		}
		otherwise := row.Default
		if otherwise == "" && row.Value.Type() != "bool" {
			otherwise = name(row.Value.String())
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name(flag), name(row.Variable), otherwise, row.Meaning)
	}
	return b.String()
}

// TestPageHoldsTheTable: docs/server.md lists all settings, and no other.
func TestPageHoldsTheTable(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "server.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), "<!-- settings -->\n")
	_, after, ok2 := strings.Cut(rest, "<!-- /settings -->")
	if !ok || !ok2 {
		t.Fatal("the page has no place for the table")
	}
	want := before + "<!-- settings -->\n" + table() + "<!-- /settings -->" + after
	if string(text) == want {
		return
	}
	if !*update {
		t.Fatal("the table in docs/server.md is another one; rewrite it with -update")
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// settings are ones that are good.
func settings(change func(*Settings)) Settings {
	s := Defaults(func(string) string { return "" })
	s.Data = "/srv/assize"
	if change != nil {
		change(&s)
	}
	return s
}

func TestCheck(t *testing.T) {
	shared := func(s *Settings) {
		s.Database, s.Artifacts, s.ArtifactKeyFile = "postgres://db/assize", "s3://b/p", "keys"
	}
	oidc := func(s *Settings) { s.OIDCIssuer, s.OIDCClient, s.OIDCSecret = "https://id.example.com", "id", "secret" }
	for name, c := range map[string]struct {
		change func(*Settings)
		want   string // in the message; "" for none
	}{
		"nothing said":       {nil, ""},
		"production":         {func(s *Settings) { shared(s); s.Listen, s.Certificate, s.CertificateKey = ":443", "c", "k" }, ""},
		"no port":            {func(s *Settings) { s.Listen = "localhost" }, "no host and port"},
		"no address":         {func(s *Settings) { s.Listen = "0.0.0.0:443" }, "for which name"},
		"any address":        {func(s *Settings) { s.Listen = ":443" }, "for which name"},
		"http, loopback":     {func(s *Settings) { s.Listen, s.InsecureHTTP = "127.0.0.1:80", true }, ""},
		"http, loopback 6":   {func(s *Settings) { s.Listen, s.InsecureHTTP = "[::1]:80", true }, ""},
		"http, network":      {func(s *Settings) { s.Listen, s.InsecureHTTP = "10.0.0.1:80", true }, "without TLS"},
		"http, like a name":  {func(s *Settings) { s.Listen, s.InsecureHTTP = "localhost.example.com:80", true }, "without TLS"},
		"no key":             {func(s *Settings) { s.Certificate = "c" }, "go together"},
		"shared, no place":   {func(s *Settings) { shared(s); s.Artifacts = "" }, "place of the artifacts"},
		"shared, no key":     {func(s *Settings) { shared(s); s.ArtifactKeyFile = "" }, "key of the artifacts"},
		"two keys":           {func(s *Settings) { s.ArtifactKey, s.ArtifactKeyFile = "a", "b" }, "only one"},
		"a URL with a path":  {func(s *Settings) { s.PublicURL = "https://example.com/assize" }, "whole host"},
		"a URL of a user":    {func(s *Settings) { s.PublicURL = "https://ann@example.com" }, "whole host"},
		"a URL with a slash": {func(s *Settings) { s.PublicURL = "https://example.com/" }, ""},
		"half a provider":    {func(s *Settings) { s.OIDCIssuer = "https://id.example.com" }, "client secret"},
		"http provider":      {func(s *Settings) { oidc(s); s.OIDCIssuer = "http://id.example.com" }, "no https"},
		"a provider":         {func(s *Settings) { oidc(s); s.OIDCDomains = "example.com, example.org" }, ""},
		"all domains":        {func(s *Settings) { oidc(s); s.OIDCDomains = "*" }, "no domain"},
		"an address":         {func(s *Settings) { oidc(s); s.OIDCDomains = "ann@example.com" }, "no domain"},
		"domains alone":      {func(s *Settings) { s.OIDCDomains = "example.com" }, "no provider"},
		"format":             {func(s *Settings) { s.LogFormat = "xml" }, "log format"},
		"organisation":       {func(s *Settings) { s.Organisation = "../etc" }, "organisation"},
		"short token":        {func(s *Settings) { s.MetricsToken = "x" }, "too short"},
		"back in time":       {func(s *Settings) { s.Grace = -1 }, "not negative"},
	} {
		s := settings(c.change)
		err := s.Check()
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v (%s)", name, err, problem.Hint(err))
			}
			continue
		}
		if problem.Code(err) != api.Invalid || !strings.Contains(err.Error(), c.want) || problem.Hint(err) == "" {
			t.Errorf("%s: %v (%s), want %q and a hint", name, err, problem.Hint(err), c.want)
		}
	}
}

// TestNoSecretIsShown sets every setting to a canary that could be shown.
func TestNoSecretIsShown(t *testing.T) {
	var s Settings
	secrets := 0
	for _, row := range s.Table() {
		text := row.Variable
		if row.secret {
			text, secrets = "canary-4f1e", secrets+1
		}
		_ = row.Value.Set(text) // of times and truths it makes nothing
		if row.secret != (row.Flag == "") && row.Variable != "OTEL_EXPORTER_OTLP_ENDPOINT" {
			t.Errorf("%s: a secret has no flag, and everything else has one", row.Variable)
		}
	}
	if secrets != 4 {
		t.Errorf("%d secrets", secrets)
	}
	for _, shown := range []string{fmt.Sprint(s), fmt.Sprintf("%+v", s), s.LogValue().String()} {
		if strings.Contains(shown, "canary") || !strings.Contains(shown, "ASSIZE_LISTEN") {
			t.Errorf("%s", shown)
		}
	}
}

// TestFlagsAreStronger: a variable sets what no flag has.
func TestFlagsAreStronger(t *testing.T) {
	s := settings(nil)
	s.Listen = "localhost:1"
	variables := map[string]string{"ASSIZE_LISTEN": "localhost:2", "ASSIZE_GRACE": "5s", "DATABASE_URL": "postgres://db"}
	err := s.ReadEnvironment(func(name string) string { return variables[name] }, func(flag string) bool { return flag == "listen" })
	if err != nil || s.Listen != "localhost:1" || s.Grace.Seconds() != 5 || s.Database != "postgres://db" {
		t.Errorf("%v: %v", s, err)
	}
	variables["ASSIZE_GRACE"] = "canary"
	if err := s.ReadEnvironment(func(name string) string { return variables[name] }, func(string) bool { return false }); problem.Code(err) != api.Invalid || strings.Contains(err.Error(), "canary") {
		t.Errorf("%v", err)
	}
}

func TestDefaultData(t *testing.T) {
	env := map[string]string{"HOME": "/home/ann"}
	get := func(name string) string { return env[name] }
	for _, c := range []struct {
		state string
		uid   int
		want  string
	}{
		{"", 1000, "/home/ann/.local/state/assize"},
		{"relative", 1000, "/home/ann/.local/state/assize"},
		{"/state", 1000, "/state/assize"},
		{"", 0, "/var/lib/assize"},
	} {
		env["XDG_STATE_HOME"] = c.state
		if got := defaultData(get, c.uid); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
