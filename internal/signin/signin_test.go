package signin_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/oauth2-proxy/mockoidc"

	"github.com/assize-iac/assize/internal/serve"
	"github.com/assize-iac/assize/internal/serve/servetest"
	"github.com/assize-iac/assize/internal/signin"
)

// A browser keeps cookies, follows links within the server and the provider, and
// stops where a program on its own machine would answer.
type browser struct {
	*http.Client
	t *testing.T
}

func newBrowser(t *testing.T, s *servetest.Server) browser {
	t.Helper()
	client := s.Client(t)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client.Jar = jar
	client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == "/login" {
			return http.ErrUseLastResponse
		}
		return nil
	}
	return browser{client, t}
}

// A page is what the browser shows, or where it was sent.
type page struct {
	status   int
	text     string
	header   http.Header
	location *url.URL
}

func (b browser) open(method, address string, form url.Values) page {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := b.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	p := page{status: res.StatusCode, text: string(text), header: res.Header}
	if to := res.Header.Get("Location"); to != "" {
		if p.location, err = url.Parse(to); err != nil {
			b.t.Fatal(err)
		}
	}
	return p
}

var link = regexp.MustCompile(`<a class="yes" href="([^"]*)"`)

// link is where the page's button leads.
func (p page) link(t *testing.T) string {
	t.Helper()
	found := link.FindStringSubmatch(p.text)
	if found == nil {
		t.Fatalf("%d, no link in\n%s", p.status, p.text)
	}
	return html.UnescapeString(found[1])
}

const (
	verifier = "a-verifier-that-only-the-command-line-knows-0123456789"
	back     = "http://localhost:10003/login"
)

// request is what tofu asks, with some of it changed: name, value, name, value.
func request(changes ...string) url.Values {
	sum := sha256.Sum256([]byte(verifier))
	q := url.Values{"client_id": {"tofu"}, "redirect_uri": {back}, "response_type": {"code"}, "state": {"the state"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}}
	for i := 0; i < len(changes); i += 2 {
		q.Set(changes[i], changes[i+1])
	}
	return q
}

// exchange is what tofu makes of a code.
func exchange(b browser, s *servetest.Server, code string, changes ...string) (status int, token, failure string) {
	b.t.Helper()
	form := url.Values{"client_id": {"tofu"}, "code": {code}, "code_verifier": {verifier}, "grant_type": {"authorization_code"}, "redirect_uri": {back}}
	for i := 0; i < len(changes); i += 2 {
		form.Set(changes[i], changes[i+1])
	}
	p := b.open("POST", s.URL+"/oauth/token", form)
	var body struct {
		Token   string `json:"access_token"`
		Kind    string `json:"token_type"`
		Expires int    `json:"expires_in"`
		Error   string `json:"error"`
	}
	if err := json.Unmarshal([]byte(p.text), &body); err != nil {
		b.t.Fatalf("%d %s: %v", p.status, p.text, err)
	}
	if p.status == 200 && (body.Kind != "bearer" || body.Expires < 29*86400 || body.Expires > 30*86400) {
		b.t.Errorf("%+v", body)
	}
	return p.status, body.Token, body.Error
}

// name is whose a token is.
func name(b browser, s *servetest.Server, token string) string {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), "GET", s.URL+"/api/v2/organizations", nil)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := b.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	return res.Status
}

// TestPaste: who has a token logs in with it, and the code that comes of it is good
// once, for the program that began, and for nobody else.
func TestPaste(t *testing.T) {
	t.Parallel()
	s := servetest.Start(t, servetest.Options{})
	b := newBrowser(t, s)
	here := s.URL + "/oauth/authorize?" + request().Encode()
	form := b.open("GET", here, nil)
	if form.status != 200 || !strings.Contains(form.text, `name="token"`) {
		t.Fatalf("%d %s", form.status, form.text)
	}
	for name, want := range map[string]string{"X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"} {
		if got := form.header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := form.header.Get("Content-Security-Policy"); !strings.Contains(got, "frame-ancestors 'none'") || strings.Contains(got, "unsafe") {
		t.Errorf("%s", got)
	}
	code := func() string {
		t.Helper()
		sent := b.open("POST", here, url.Values{"token": {" " + s.Token + "\n"}})
		if sent.status != 303 || !strings.HasPrefix(sent.location.String(), back+"?") || sent.location.Query().Get("state") != "the state" {
			t.Fatalf("%d %v %s", sent.status, sent.location, sent.text)
		}
		return sent.location.Query().Get("code")
	}
	first := code()
	status, token, _ := exchange(b, s, first)
	if status != 200 || name(b, s, token) != "200 OK" || token == s.Token {
		t.Errorf("%d, and the token is not a new one that is good", status)
	}
	if status, token, failure := exchange(b, s, first); status != 400 || token != "" || failure != "invalid_grant" {
		t.Errorf("a second time: %d %s", status, failure)
	}
	for _, change := range [][]string{
		{"code_verifier", "another"}, {"client_id", "another"}, {"redirect_uri", "http://localhost:10004/login"}, {"code", "nonsense"}, {"code", ""},
	} {
		right := code()
		if status, token, failure := exchange(b, s, right, change...); status != 400 || token != "" || failure != "invalid_grant" {
			t.Errorf("%v: %d %s", change, status, failure)
		}
		if change[0] == "code" {
			continue
		}
		if status, _, _ := exchange(b, s, right); status != 400 {
			t.Errorf("%v: after it the code was still good", change)
		}
	}
	if status, _, failure := exchange(b, s, code(), "grant_type", "password"); status != 400 || failure != "unsupported_grant_type" {
		t.Errorf("%d %s", status, failure)
	}
	wrong := b.open("POST", here, url.Values{"token": {"assize_u_nonsense"}})
	if wrong.status != 403 || strings.Contains(wrong.text, "nonsense") || !strings.Contains(wrong.text, `name="token"`) {
		t.Errorf("%d %s", wrong.status, wrong.text)
	}
}

// TestRequests: what would send a code elsewhere, or let anybody use it, is refused
// before anything is shown to sign in with, and the browser is sent nowhere.
func TestRequests(t *testing.T) {
	t.Parallel()
	s := servetest.Start(t, servetest.Options{})
	b := newBrowser(t, s)
	for _, change := range [][]string{
		{"client_id", "evil"}, {"response_type", "token"}, {"code_challenge_method", "plain"}, {"code_challenge", ""}, {"code_challenge", "short"},
		{"redirect_uri", "https://evil.example.com/login"}, {"redirect_uri", "http://localhost:80/login"}, {"redirect_uri", "http://localhost:10011/login"},
		{"redirect_uri", "http://localhost:10003/login/../x"}, {"redirect_uri", "http://localhost:10003@evil.example.com/login"},
		{"redirect_uri", "http://127.0.0.1:10003/login"}, {"redirect_uri", "http://localhost:10003/login?x"}, {"redirect_uri", "http://localhost:10003/login\n"},
		{"redirect_uri", ""}, {"state", strings.Repeat("x", 1000)}, {"state", "\x00"},
	} {
		for _, method := range []string{"GET", "POST"} {
			p := b.open(method, s.URL+"/oauth/authorize?"+request(change...).Encode(), url.Values{"token": {s.Token}})
			if p.status != 400 || p.location != nil || strings.Contains(p.text, "<form") || strings.Contains(p.text, "evil") {
				t.Errorf("%s %q: %d %v %s", method, change, p.status, p.location, p.text)
			}
		}
	}
	// What is repeated on a page is text.
	p := b.open("GET", s.URL+"/oauth/authorize?"+request("state", `"><script>alert(1)</script>`).Encode(), nil)
	if p.status != 200 || strings.Contains(p.text, "<script") {
		t.Errorf("%d %s", p.status, p.text)
	}
	// A form of somebody else's page.
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.URL+"/oauth/authorize?"+request().Encode(), strings.NewReader("token="+s.Token))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	res, err := b.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 403 {
		t.Errorf("a form of another site: %d", res.StatusCode)
	}
}

// provider is one that people sign in with, and a server that trusts it.
func provider(t *testing.T, domains string) (*mockoidc.MockOIDC, *servetest.Server) {
	t.Helper()
	m, err := mockoidc.Run()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Shutdown() })
	s := servetest.Start(t, servetest.Options{Settings: func(s *serve.Settings) {
		s.OIDCIssuer, s.OIDCClient, s.OIDCSecret, s.OIDCDomains = m.Issuer(), m.ClientID, m.ClientSecret, domains
	}})
	return m, s
}

// signIn goes all the way through the provider, to the page where somebody says yes.
func signIn(b browser, s *servetest.Server) page {
	b.t.Helper()
	ask := b.open("GET", s.URL+"/oauth/authorize?"+request().Encode(), nil)
	return b.open("GET", s.URL+ask.link(b.t), nil)
}

// TestProvider: with an identity provider, who may sign in gets a token of their own,
// as the same user each time, and nobody else gets anything.
func TestProvider(t *testing.T) {
	t.Parallel()
	m, s := provider(t, "example.com, example.org")
	for _, c := range []struct {
		user mockoidc.MockUser
		want string // on the page that refuses; "" for one that lets in
	}{
		{mockoidc.MockUser{Subject: "1", Email: "Ann@Example.com", EmailVerified: true}, ""},
		{mockoidc.MockUser{Subject: "1", Email: "ann@example.com", EmailVerified: true}, ""},
		{mockoidc.MockUser{Subject: "2", Email: "bob@example.org", EmailVerified: true}, ""},
		{mockoidc.MockUser{Subject: "3", Email: "eve@example.com", EmailVerified: false}, "has verified"},
		{mockoidc.MockUser{Subject: "4", EmailVerified: true}, "has verified"},
		{mockoidc.MockUser{Subject: "5", Email: "eve@evil.com", EmailVerified: true}, "nobody has invited"},
		{mockoidc.MockUser{Subject: "6", Email: "eve@example.com@evil.com", EmailVerified: true}, "nobody has invited"},
		{mockoidc.MockUser{Subject: "7", Email: "eve@sub.example.com", EmailVerified: true}, "nobody has invited"},
		{mockoidc.MockUser{Subject: "8", Email: "ann@example.com", EmailVerified: true}, "already one"},
	} {
		b := newBrowser(t, s)
		m.QueueUser(&c.user)
		p := signIn(b, s)
		if c.want != "" {
			if p.status < 400 || !strings.Contains(p.text, c.want) || strings.Contains(p.text, "code=") {
				t.Errorf("%+v: %d %s", c.user, p.status, p.text)
			}
			continue
		}
		to, err := url.Parse(p.link(t))
		if err != nil || !strings.HasPrefix(to.String(), back+"?") || !strings.Contains(p.text, strings.ToLower(c.user.Email)) {
			t.Errorf("%+v: %v %s", c.user, to, p.text)
			continue
		}
		status, token, _ := exchange(b, s, to.Query().Get("code"))
		if status != 200 || name(b, s, token) != "200 OK" {
			t.Errorf("%+v: %d", c.user, status)
		}
	}
	// A token is no way around the provider.
	b := newBrowser(t, s)
	if p := b.open("POST", s.URL+"/oauth/authorize?"+request().Encode(), url.Values{"token": {s.Token}}); p.status != 403 {
		t.Errorf("a pasted token: %d", p.status)
	}
}

// TestVisit: what comes back from the provider must belong to what this browser has
// begun, and is good once.
func TestVisit(t *testing.T) {
	t.Parallel()
	m, s := provider(t, "example.com")
	m.QueueUser(&mockoidc.MockUser{Subject: "1", Email: "ann@example.com", EmailVerified: true})
	b := newBrowser(t, s)
	var came *url.URL
	b.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == "/oauth/callback" {
			came = r.URL
			return http.ErrUseLastResponse
		}
		return nil
	}
	signIn(b, s)
	refused := func(b browser, address string) {
		t.Helper()
		if p := b.open("GET", address, nil); p.status != 400 || strings.Contains(p.text, "code=") {
			t.Errorf("%s: %d %s", address, p.status, p.text)
		}
	}
	other := newBrowser(t, s)
	refused(other, came.String()) // one that has begun nothing
	other.CheckRedirect = b.CheckRedirect
	mine := *came
	signIn(other, s)
	refused(other, mine.String()) // one that has begun another
	query := mine.Query()
	query.Del("state")
	refused(newBrowser(t, s), s.URL+"/oauth/callback?"+query.Encode())
	if p := b.open("GET", mine.String(), nil); p.status != 200 {
		t.Fatalf("%d %s", p.status, p.text)
	}
	refused(b, mine.String()) // a second time
}

// TestDiscovery: clients are told what is answered here.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	s := servetest.Start(t, servetest.Options{})
	b := newBrowser(t, s)
	var found struct {
		Login struct {
			Client       string
			Authz, Token string
			Ports        [2]int
			Grants       []string `json:"grant_types"`
		} `json:"login.v1"`
	}
	if err := json.Unmarshal([]byte(b.open("GET", s.URL+"/.well-known/terraform.json", nil).text), &found); err != nil {
		t.Fatal(err)
	}
	if l := found.Login; l.Client != signin.Client || l.Ports != [2]int{signin.FirstPort, signin.LastPort} {
		t.Errorf("%+v", l)
	}
	if p := b.open("GET", s.URL+found.Login.Authz+"?"+request().Encode(), nil); p.status != 200 {
		t.Errorf("%d", p.status)
	}
	if p := b.open("POST", s.URL+found.Login.Token, url.Values{"grant_type": {"authorization_code"}}); p.status != 400 || !strings.Contains(p.text, "invalid_grant") {
		t.Errorf("%d %s", p.status, p.text)
	}
}

// TestLogHasNoSecret logs in by both ways, rightly and wrongly, with a log of
// everything: no token, code, verifier, state or cookie is in it, nor a whole one in
// what the page of a mistake says.
func TestLogHasNoSecret(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	level := &slog.HandlerOptions{Level: slog.LevelDebug}
	m, err := mockoidc.Run()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Shutdown() })
	s := servetest.Start(t, servetest.Options{Log: slog.New(slog.NewTextHandler(&log, level)), Settings: func(s *serve.Settings) {
		s.OIDCIssuer, s.OIDCClient, s.OIDCSecret, s.OIDCDomains = m.Issuer(), m.ClientID, m.ClientSecret, "example.com"
	}})
	b := newBrowser(t, s)
	m.QueueUser(&mockoidc.MockUser{Subject: "1", Email: "ann@example.com", EmailVerified: true})
	to, err := url.Parse(signIn(b, s).link(t))
	if err != nil {
		t.Fatal(err)
	}
	code := to.Query().Get("code")
	_, token, _ := exchange(b, s, code)
	exchange(b, s, code)
	name(b, s, token)
	name(b, s, token[:len(token)-1])
	b.open("POST", s.URL+"/oauth/authorize?"+request().Encode(), url.Values{"token": {s.Token}})
	b.open("GET", s.URL+"/oauth/callback?code=canary-4f1e&state=canary-4f1e", nil)
	b.open("GET", s.URL+"/oauth/authorize?"+request("redirect_uri", "http://canary-4f1e/").Encode(), nil)
	if err := s.Stop(t.Context()); err != nil { // after which nothing is logged
		t.Fatal(err)
	}
	for _, secret := range []string{token, token[:20], s.Token, code, verifier, m.ClientSecret, "canary-4f1e", request().Get("code_challenge"), "__Host-"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("%q is in the log:\n%s", secret, log.String())
		}
	}
	if !strings.Contains(log.String(), "path=/oauth/callback status=400") || !strings.Contains(log.String(), "msg=failed") {
		t.Errorf("%s", log.String())
	}
}
