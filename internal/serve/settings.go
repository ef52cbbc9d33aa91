package serve

import (
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
)

// Settings are all that somebody can choose about a server. [Settings.Table] says
// by which flag and which variable; docs/server.md holds the same table.
type Settings struct {
	Data      string // directory of what is made when it is not given
	Listen    string // host:port
	PublicURL string // how clients come here, such as "https://assize.example.com"

	Certificate    string // PEM file of the server's certificate and those between it and its root
	CertificateKey string // PEM file
	InsecureHTTP   bool   // no TLS; on loopback only

	Database        string // how to connect to Postgres; empty: a private one in Data
	Artifacts       string // directory, or "s3://bucket/prefix?region=R&endpoint=URL"
	ArtifactKeyFile string
	ArtifactKey     string // the keys themselves

	Organisation  string // to begin with, in a new database
	NewAdminToken bool   // make Data/admin-token anew and revoke the one before

	OIDCIssuer  string
	OIDCClient  string
	OIDCSecret  string
	OIDCDomains string // of e-mail addresses, with commas; who has none of them must be invited

	MetricsToken string
	LogFormat    string // "text" or "json"
	Traces       string // URL of an OTLP collector; empty: none
	Drain        time.Duration
	Grace        time.Duration
}

// Defaults are the settings of a server about which nothing was said, for somebody
// with this environment.
func Defaults(environment func(string) string) Settings {
	return Settings{
		Data: defaultData(environment, os.Geteuid()), Listen: "localhost:8443", Organisation: "default",
		LogFormat: "text", Grace: time.Minute,
	}
}

// defaultData is where the state of programs is kept by the XDG Base Directory
// Specification. Root's own directory is closed to the user as whom Postgres runs.
func defaultData(environment func(string) string, uid int) string {
	if state := environment("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "assize")
	}
	if uid == 0 {
		return "/var/lib/assize"
	}
	return filepath.Join(environment("HOME"), ".local", "state", "assize")
}

// A Value is one of the settings as text, as a flag of the command line needs it.
type Value interface {
	String() string
	Set(text string) error
	Type() string // what stands for the value in help
}

// A Setting is how one field of [Settings] is set.
type Setting struct {
	Flag     string // empty for a secret: everybody on a machine sees its command lines; and for what is OpenTelemetry's
	Variable string
	Meaning  string
	Default  string // what help says of it when it is empty
	Value    Value
	secret   bool
}

// Table is all settings, in the order of the documentation.
func (s *Settings) Table() []Setting {
	text := func(p *string, shape string) Value { return textValue{p, shape} }
	return []Setting{
		{Flag: "data", Variable: "ASSIZE_DATA", Value: text(&s.Data, "DIR"), Meaning: "directory of all that the server makes for itself", Default: "the user's state directory"},
		{Flag: "listen", Variable: "ASSIZE_LISTEN", Value: text(&s.Listen, "HOST:PORT"), Meaning: "where to take connections; only localhost unless you say otherwise"},
		{Flag: "public-url", Variable: "ASSIZE_PUBLIC_URL", Value: text(&s.PublicURL, "URL"), Meaning: "how clients and browsers come here", Default: "https:// and the address of --listen"},
		{Flag: "tls-cert", Variable: "ASSIZE_TLS_CERT", Value: text(&s.Certificate, "FILE"), Meaning: "PEM file of the certificate, read again when it changes", Default: "one of a local authority, DIR/ca.pem"},
		{Flag: "tls-key", Variable: "ASSIZE_TLS_KEY", Value: text(&s.CertificateKey, "FILE"), Meaning: "PEM file of the certificate's key"},
		{Flag: "insecure-http", Variable: "ASSIZE_INSECURE_HTTP", Value: boolValue{&s.InsecureHTTP}, Meaning: "speak HTTP without TLS, on loopback only: for a proxy on the same machine"},
		{Variable: "DATABASE_URL", Value: text(&s.Database, "URL"), secret: true, Meaning: "the Postgres to use", Default: "a private one in DIR/postgres"},
		{Flag: "artifacts", Variable: "ASSIZE_ARTIFACTS", Value: text(&s.Artifacts, "PLACE"), Meaning: "where bytes are kept: a directory, or s3://BUCKET/PREFIX?region=R&endpoint=URL", Default: "DIR/artifacts"},
		{Flag: "artifact-key-file", Variable: "ASSIZE_ARTIFACT_KEY_FILE", Value: text(&s.ArtifactKeyFile, "FILE"), Meaning: "the keys that they are encrypted with", Default: "DIR/artifact-key"},
		{Variable: "ASSIZE_ARTIFACT_KEY", Value: text(&s.ArtifactKey, "KEYS"), secret: true, Meaning: "the keys themselves, instead of a file"},
		{Flag: "organisation", Variable: "ASSIZE_ORGANISATION", Value: text(&s.Organisation, "NAME"), Meaning: "the organisation that a new database begins with"},
		{Flag: "new-admin-token", Variable: "ASSIZE_NEW_ADMIN_TOKEN", Value: boolValue{&s.NewAdminToken}, Meaning: "make DIR/admin-token anew, and revoke the one before"},
		{Flag: "oidc-issuer", Variable: "ASSIZE_OIDC_ISSUER", Value: text(&s.OIDCIssuer, "URL"), Meaning: "the OpenID Connect provider that people sign in with", Default: "they paste a token"},
		{Flag: "oidc-client-id", Variable: "ASSIZE_OIDC_CLIENT_ID", Value: text(&s.OIDCClient, "ID"), Meaning: "how the provider knows this server"},
		{Variable: "ASSIZE_OIDC_CLIENT_SECRET", Value: text(&s.OIDCSecret, "SECRET"), secret: true, Meaning: "and the secret that proves it"},
		{Flag: "oidc-domains", Variable: "ASSIZE_OIDC_DOMAINS", Value: text(&s.OIDCDomains, "DOMAIN,..."), Meaning: "e-mail domains whose people may become users by signing in", Default: "only who was invited"},
		{Variable: "ASSIZE_METRICS_TOKEN", Value: text(&s.MetricsToken, "TOKEN"), secret: true, Meaning: "the bearer token that /metrics wants", Default: "it answers this machine alone"},
		{Flag: "log-format", Variable: "ASSIZE_LOG_FORMAT", Value: text(&s.LogFormat, "FORMAT"), Meaning: "of the log on standard error: text or json"},
		{Variable: "OTEL_EXPORTER_OTLP_ENDPOINT", Value: text(&s.Traces, "URL"), Meaning: "the OTLP collector that traces are sent to, over HTTP; it and its kin are those of OpenTelemetry", Default: "no traces"},
		{Flag: "drain", Variable: "ASSIZE_DRAIN", Value: durationValue{&s.Drain}, Meaning: "how long /readyz says no before a server that stops takes no more connections"},
		{Flag: "grace", Variable: "ASSIZE_GRACE", Value: durationValue{&s.Grace}, Meaning: "how long requests have to end after that"},
	}
}

// ReadEnvironment sets what the variables say and chosen does not: flags are stronger.
func (s *Settings) ReadEnvironment(environment func(string) string, chosen func(flag string) bool) error {
	for _, setting := range s.Table() {
		text := environment(setting.Variable)
		if text == "" || setting.Flag != "" && chosen(setting.Flag) {
			continue
		}
		if err := setting.Value.Set(text); err != nil {
			return problem.New(api.Invalid, "%s cannot be read", setting.Variable).
				WithHint("%s: %s", setting.Variable, setting.Meaning)
		}
	}
	return nil
}

// Variables is the part of help that lists variables, one a line.
func Variables() string {
	var b strings.Builder
	for _, s := range (&Settings{}).Table() {
		what := "--" + s.Flag
		if s.Flag == "" {
			what = s.Meaning
		}
		fmt.Fprintf(&b, "  %-27s  %s\n", s.Variable, what)
	}
	return b.String()
}

// Redacted is what may be shown of a setting's value.
func (s Setting) Redacted() string {
	if text := s.Value.String(); !s.secret || text == "" {
		return text
	}
	return "(set)"
}

// Check refuses settings that cannot work or that would be dangerous, and says
// what to type instead.
func (s *Settings) Check() error {
	for _, check := range []func() error{s.checkAddress, s.checkTransport, s.checkDatabase, s.checkSignIn} {
		if err := check(); err != nil {
			return err
		}
	}
	switch {
	case s.LogFormat != "text" && s.LogFormat != "json":
		return problem.New(api.Invalid, "there is no log format %q", s.LogFormat).WithHint("--log-format text, or --log-format json")
	case s.Drain < 0 || s.Grace < 0:
		return problem.New(api.Invalid, "--drain and --grace are times to wait, and not negative").WithHint("--drain 10s --grace 60s")
	case s.MetricsToken != "" && len(s.MetricsToken) < 16:
		return problem.New(api.Invalid, "ASSIZE_METRICS_TOKEN is too short to keep anybody out").WithHint("for example: ASSIZE_METRICS_TOKEN=$(head -c 24 /dev/urandom | base64)")
	}
	return identity.OrganisationName().Check(s.Organisation)
}

func (s *Settings) checkAddress() error {
	if s.Data == "" || !filepath.IsAbs(s.Data) {
		dir, err := filepath.Abs(s.Data)
		if s.Data == "" || err != nil {
			return problem.New(api.Invalid, "there is no directory for the server's data").WithHint("--data /var/lib/assize")
		}
		s.Data = dir
	}
	if _, _, err := net.SplitHostPort(s.Listen); err != nil {
		return problem.New(api.Invalid, "--listen %s is no host and port", s.Listen).WithHint("--listen localhost:8443, or --listen 0.0.0.0:8443 for all addresses of this machine")
	}
	if s.PublicURL == "" {
		return nil
	}
	u, err := url.Parse(s.PublicURL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
		return problem.New(api.Invalid, "the public URL is not one of a whole host").WithHint("--public-url https://assize.example.com")
	}
	s.PublicURL = u.Scheme + "://" + u.Host
	return nil
}

func (s *Settings) checkTransport() error {
	switch {
	case (s.Certificate == "") != (s.CertificateKey == ""):
		return problem.New(api.Invalid, "a certificate and its key go together").WithHint("--tls-cert server.pem --tls-key server-key.pem")
	case s.InsecureHTTP && s.Certificate != "":
		return problem.New(api.Invalid, "--insecure-http and a certificate contradict each other").WithHint("leave out --insecure-http")
	case s.InsecureHTTP && !loopback(s.Listen):
		return problem.New(api.Invalid, "without TLS, tokens and states could be read on the way: --insecure-http is for localhost").
			WithHint("--listen localhost:8080 --insecure-http behind a proxy on this machine, or --tls-cert and --tls-key")
	case s.Certificate == "" && !s.InsecureHTTP && unspecified(s.Listen):
		return problem.New(api.Invalid, "nobody knows for which name the certificate should be when the server listens on %s", s.Listen).
			WithHint("--tls-cert server.pem --tls-key server-key.pem, or name the host: --listen assize.example.com:8443")
	}
	return nil
}

// checkDatabase wants to be told where everything is as soon as one thing is shared
// with other replicas: a key that each makes for itself opens nothing of the others'.
func (s *Settings) checkDatabase() error {
	if s.ArtifactKey != "" && s.ArtifactKeyFile != "" {
		return problem.New(api.Invalid, "both a key file and ASSIZE_ARTIFACT_KEY are set, and only one can be meant").WithHint("unset ASSIZE_ARTIFACT_KEY")
	}
	if s.Database == "" {
		return nil
	}
	if s.Artifacts == "" {
		return problem.New(api.Invalid, "with DATABASE_URL, the place of the artifacts must be named: all replicas share it").
			WithHint("ASSIZE_ARTIFACTS=s3://bucket/prefix, or --artifacts /srv/assize/artifacts")
	}
	if s.ArtifactKey == "" && s.ArtifactKeyFile == "" {
		return problem.New(api.Invalid, "with DATABASE_URL, the key of the artifacts must be given: all replicas share it").
			WithHint("--artifact-key-file artifacts.key; docs/artifacts.md, rule 8, says how to make one")
	}
	return nil
}

func (s *Settings) checkSignIn() error {
	set := 0
	for _, text := range []string{s.OIDCIssuer, s.OIDCClient, s.OIDCSecret} {
		if text != "" {
			set++
		}
	}
	switch {
	case set == 0 && s.OIDCDomains != "":
		return problem.New(api.Invalid, "--oidc-domains says who may sign in, and there is no provider to sign in with").WithHint("--oidc-issuer https://accounts.example.com")
	case set != 0 && set != 3:
		return problem.New(api.Invalid, "to sign in with OpenID Connect needs an issuer, a client id and a client secret").
			WithHint("set ASSIZE_OIDC_ISSUER, ASSIZE_OIDC_CLIENT_ID and ASSIZE_OIDC_CLIENT_SECRET")
	case set == 0:
		return nil
	}
	issuer, err := url.Parse(s.OIDCIssuer)
	if err != nil || issuer.Host == "" || issuer.Scheme != "https" && (issuer.Scheme != "http" || !localName(issuer.Host)) {
		return problem.New(api.Invalid, "the issuer is no https:// URL, so nobody knows who it is").WithHint("--oidc-issuer https://accounts.example.com")
	}
	for _, d := range s.domains() {
		if !domain.MatchString(d) {
			return problem.New(api.Invalid, "--oidc-domains has something that is no domain of e-mail addresses").
				WithHint("--oidc-domains example.com,example.org: each is meant to the letter, without those below it")
		}
	}
	return nil
}

var domain = regexp.MustCompile(`^[0-9A-Za-z]([0-9A-Za-z-]*[0-9A-Za-z])?(\.[0-9A-Za-z]([0-9A-Za-z-]*[0-9A-Za-z])?)*$`)

// domains are those of OIDCDomains.
func (s *Settings) domains() []string {
	return strings.FieldsFunc(s.OIDCDomains, func(r rune) bool { return r == ',' || r == ' ' })
}

// loopback reports whether an address is one of this machine alone.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// unspecified reports whether an address is all of this machine's.
func unspecified(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return true
	}
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

type textValue struct {
	to    *string
	shape string
}

func (v textValue) String() string        { return *v.to }
func (v textValue) Set(text string) error { *v.to = text; return nil }
func (v textValue) Type() string          { return v.shape }

type boolValue struct{ to *bool }

func (v boolValue) String() string { return strconv.FormatBool(*v.to) }
func (v boolValue) Type() string   { return "bool" }
func (v boolValue) Set(text string) (err error) {
	*v.to, err = strconv.ParseBool(text)
	return err
}

type durationValue struct{ to *time.Duration }

func (v durationValue) String() string { return v.to.String() }
func (v durationValue) Type() string   { return "TIME" }
func (v durationValue) Set(text string) (err error) {
	*v.to, err = time.ParseDuration(text)
	return err
}

// LogValue is what a log shows: no secret.
func (s Settings) LogValue() slog.Value {
	var shown []slog.Attr
	for _, setting := range s.Table() {
		if text := setting.Redacted(); !slices.Contains([]string{"", "false", "0s"}, text) {
			shown = append(shown, slog.String(setting.Variable, text))
		}
	}
	return slog.GroupValue(shown...)
}

// String is the same for whatever prints settings as they are.
func (s Settings) String() string { return s.LogValue().String() }
