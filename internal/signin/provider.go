package signin

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

// A provider signs people in. What it says of itself is asked when the first of them
// comes: a server must start while its provider is down.
type provider struct {
	settings Settings
	client   *http.Client

	mu    sync.Mutex
	known *oidc.Provider
}

func newProvider(s Settings) *provider {
	return &provider{settings: s, client: &http.Client{Timeout: 15 * time.Second}}
}

// discovered is what the provider says of itself.
func (p *provider) discovered(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known != nil {
		return p.known, nil
	}
	// The keys are fetched with this context later on, when the request has ended.
	known, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.client), p.settings.Issuer)
	if err != nil {
		return nil, unavailable(err)
	}
	p.known = known
	return known, nil
}

func unavailable(cause error) *problem.Error {
	e := problem.New(api.Unavailable, "the identity provider does not answer, or not as it should").WithHint("try again; the log of the server says more")
	e.Cause = cause
	return e
}

func (p *provider) oauth(known *oidc.Provider) oauth2.Config {
	return oauth2.Config{ClientID: p.settings.Client, ClientSecret: p.settings.Secret, Endpoint: known.Endpoint(),
		RedirectURL: p.settings.URL + "/oauth/callback", Scopes: []string{oidc.ScopeOpenID, "email"}}
}

// A visit is one way to the provider and back. It is kept in a cookie of the browser
// that makes it, and nowhere else: any replica can take it up.
type visit struct {
	Secret [32]byte
	Query  string // of the login that it is for
}

// derive is a value that only this visit has, for one purpose.
func (v visit) derive(purpose string) string {
	mac := hmac.New(sha256.New, v.Secret[:])
	mac.Write([]byte(purpose))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// cookieName has a prefix that has browsers take it from this very host over TLS only.
const (
	cookieName = "__Host-assize-sign-in"
	visitLife  = 10 * time.Minute
)

// cookie is the visit for as long as it may take, or its end.
func (v *visit) cookie() *http.Cookie {
	c := &http.Cookie{Name: cookieName, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: -1}
	if v == nil {
		return c
	}
	text, err := json.Marshal(v)
	if err != nil {
		return c
	}
	c.Value, c.MaxAge = base64.RawURLEncoding.EncodeToString(text), int(visitLife.Seconds())
	return c
}

// visitOf is the visit that a browser is on.
func visitOf(r *http.Request) (visit, error) {
	lost := problem.New(api.Invalid, "this browser has begun no sign-in, or too long ago").WithHint("run tofu login again, and allow cookies")
	c, err := r.Cookie(cookieName)
	if err != nil {
		return visit{}, lost
	}
	text, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil {
		return visit{}, lost
	}
	var v visit
	if err := json.Unmarshal(text, &v); err != nil {
		return visit{}, lost
	}
	return v, nil
}

// start sends a browser to the provider.
func (h *handler) start(w http.ResponseWriter, r *http.Request) {
	l, err := loginOf(r.URL.Query())
	if err == nil && h.provider == nil {
		err = problem.New(api.NotFound, "there is no identity provider here")
	}
	var known *oidc.Provider
	if err == nil {
		known, err = h.provider.discovered(r.Context())
	}
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	v := &visit{Query: l.query()}
	_, _ = rand.Read(v.Secret[:]) // never fails
	config := h.provider.oauth(known)
	http.SetCookie(w, v.cookie())
	http.Redirect(w, r, config.AuthCodeURL(v.derive("state"), oidc.Nonce(v.derive("nonce")), oauth2.S256ChallengeOption(v.derive("verifier"))), http.StatusSeeOther)
}

// callback is where the provider sends the browser. What follows is the person's to
// say: a page that sent them through all of this unseen gets nothing.
func (h *handler) callback(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, (*visit)(nil).cookie())
	l, code, name, err := h.arrive(r)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	h.show(w, http.StatusOK, view{Login: &l, Name: name, Back: l.back(code)})
}

// arrive finds out who has come, and makes a code for them.
func (h *handler) arrive(r *http.Request) (l login, code, name string, err error) {
	if h.provider == nil {
		return l, "", "", problem.New(api.NotFound, "there is no identity provider here")
	}
	v, err := visitOf(r)
	if err != nil {
		return l, "", "", err
	}
	query, err := url.ParseQuery(v.Query)
	if err != nil {
		return l, "", "", problem.New(api.Invalid, "this is no login that can be made safely here")
	}
	if l, err = loginOf(query); err != nil {
		return l, "", "", err
	}
	vouched, err := h.provider.vouch(r, v)
	if err != nil {
		return l, "", "", err
	}
	domains := h.provider.settings.Domains
	who, err := h.control.SignIn(r.Context(), vouched, func(email string) bool { return inDomains(email, domains) })
	if err != nil {
		return l, "", "", err
	}
	code, err = h.control.AllowLogin(r.Context(), who, l.LoginRequest)
	return l, code, who.Name, err
}

// vouch is what the provider says of whoever it has sent here (OpenID Connect Core
// 1.0, section 3.1.3): signed by it, for us, for this visit.
func (p *provider) vouch(r *http.Request, v visit) (postgres.Vouched, error) {
	query := r.URL.Query()
	if subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(v.derive("state"))) != 1 {
		return postgres.Vouched{}, problem.New(api.Invalid, "this is the end of another sign-in than the one that this browser has begun").WithHint("run tofu login again")
	}
	if query.Get("error") != "" {
		return postgres.Vouched{}, problem.New(api.Forbidden, "the identity provider did not sign you in")
	}
	known, err := p.discovered(r.Context())
	if err != nil {
		return postgres.Vouched{}, err
	}
	ctx := oidc.ClientContext(r.Context(), p.client)
	config := p.oauth(known)
	answer, err := config.Exchange(ctx, query.Get("code"), oauth2.VerifierOption(v.derive("verifier")))
	if err != nil {
		return postgres.Vouched{}, unavailable(err)
	}
	raw, _ := answer.Extra("id_token").(string) // what is none does not verify
	token, err := known.Verifier(&oidc.Config{ClientID: p.settings.Client}).Verify(ctx, raw)
	if err != nil {
		return postgres.Vouched{}, unavailable(err)
	}
	if subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(v.derive("nonce"))) != 1 {
		return postgres.Vouched{}, problem.New(api.Invalid, "the identity provider answered another question").WithHint("run tofu login again")
	}
	var claims struct {
		Email    string `json:"email"`
		Verified truth  `json:"email_verified"`
	}
	if err := token.Claims(&claims); err != nil {
		return postgres.Vouched{}, unavailable(err)
	}
	return postgres.Vouched{Issuer: token.Issuer, Subject: token.Subject, Email: claims.Email, Verified: bool(claims.Verified)}, nil
}

// A truth is true or "true", as some providers have it; everything else is not.
type truth bool

func (t *truth) UnmarshalJSON(text []byte) error {
	*t = string(text) == "true" || string(text) == `"true"`
	return nil
}
