// Package signin is how a person gets a token through a browser: `tofu login` sends
// them here, they sign in with an OpenID Connect provider or paste a token, and a
// code goes back to the command line (RFC 6749, 7636 and 8252). It translates;
// what a code is worth is decided in package control.
package signin

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/control"
	"github.com/assize-iac/assize/internal/problem"
)

// What discovery tells clients: who they are, and on which ports they may wait for
// the browser.
const (
	Client    = "tofu"
	FirstPort = 10000
	LastPort  = 10010
)

// Settings say with what people sign in. Without an issuer they paste a token.
type Settings struct {
	URL     string // of this server, as browsers see it
	Issuer  string
	Client  string
	Secret  string
	Domains []string // of the addresses that may become users without an invitation
}

// A handler answers browsers, and the command lines that sent them.
type handler struct {
	control  *control.Control
	provider *provider // nil: people paste a token
	failed   func(*http.Request, error)
}

// Handler answers everything below /oauth/. What goes wrong it tells failed as well.
func Handler(c *control.Control, s Settings, failed func(*http.Request, error)) http.Handler {
	h := &handler{control: c, failed: failed}
	if s.Issuer != "" {
		h.provider = newProvider(s)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /oauth/authorize", h.authorize)
	mux.HandleFunc("POST /oauth/authorize", h.paste)
	mux.HandleFunc("GET /oauth/start", h.start)
	mux.HandleFunc("GET /oauth/callback", h.callback)
	mux.HandleFunc("POST /oauth/token", h.token)
	return http.NewCrossOriginProtection().Handler(mux)
}

// A login is what a command line has asked for.
type login struct {
	control.LoginRequest
	State string // the command line's own
}

var (
	redirect = regexp.MustCompile(`^http://localhost:([0-9]{5})/login$`)
	visible  = regexp.MustCompile(`^[ -~]*$`)
)

// loginOf reads a request. A code goes nowhere but to a program on the browser's own
// machine, on a port that was announced (docs/server.md, rule 14).
func loginOf(query url.Values) (login, error) {
	l := login{State: query.Get("state"), LoginRequest: control.LoginRequest{
		Client: query.Get("client_id"), Redirect: query.Get("redirect_uri"), Challenge: query.Get("code_challenge")}}
	port := 0
	if found := redirect.FindStringSubmatch(l.Redirect); found != nil {
		port, _ = strconv.Atoi(found[1]) // 0 is none of ours
	}
	switch {
	case l.Client != Client:
		return login{}, problem.New(api.Invalid, "this is no program that can log in here")
	case port < FirstPort || port > LastPort:
		return login{}, problem.New(api.Invalid, "the login would lead to another place than a program on your own computer")
	case query.Get("response_type") != "code" || query.Get("code_challenge_method") != "S256" || len(l.Challenge) != 43 || len(l.State) > 512 || !visible.MatchString(l.State):
		return login{}, problem.New(api.Invalid, "this is no login that can be made safely here")
	}
	return l, nil
}

// query is the request again, as a client would send it.
func (l login) query() string {
	return url.Values{"client_id": {l.Client}, "redirect_uri": {l.Redirect}, "code_challenge": {l.Challenge},
		"code_challenge_method": {"S256"}, "response_type": {"code"}, "state": {l.State}}.Encode()
}

// back is where the browser takes a code.
func (l login) back(code string) string {
	return l.Redirect + "?" + url.Values{"code": {code}, "state": {l.State}}.Encode()
}

// authorize shows somebody what is asked of them, and how they can sign in.
func (h *handler) authorize(w http.ResponseWriter, r *http.Request) {
	l, err := loginOf(r.URL.Query())
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	h.show(w, http.StatusOK, view{Login: &l, Provider: h.provider != nil})
}

// paste takes a token that somebody has, and sends them back with a code. There is
// no way around the provider where there is one.
func (h *handler) paste(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, bodyMax)
	l, err := loginOf(r.URL.Query())
	if err == nil && h.provider != nil {
		err = problem.New(api.Forbidden, "people sign in with the identity provider here, and not with a token")
	}
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	who, err := h.control.Authenticate(r.Context(), strings.TrimSpace(r.PostFormValue("token")))
	var code string
	if err == nil {
		code, err = h.control.AllowLogin(r.Context(), who, l.LoginRequest)
	}
	if err != nil {
		h.failed(r, err)
		h.show(w, status(err), view{Login: &l, Problem: said(err)})
		return
	}
	http.Redirect(w, r, l.back(code), http.StatusSeeOther)
}

// bodyMax is the size of a form, in bytes.
const bodyMax = 16 << 10

// token is where the command line comes with the code (RFC 6749, section 4.1.3).
func (h *handler) token(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, bodyMax)
	w.Header().Set("Content-Type", "application/json")
	if err := r.ParseForm(); err != nil || r.PostForm.Get("grant_type") != "authorization_code" {
		writeJSON(w, http.StatusBadRequest, map[string]any{"error": "unsupported_grant_type", "error_description": "only authorization_code is known here"})
		return
	}
	form := r.PostForm
	made, kept, err := h.control.Login(r.Context(), control.LoginRequest{Client: form.Get("client_id"), Redirect: form.Get("redirect_uri")},
		form.Get("code"), form.Get("code_verifier"))
	switch {
	case err == nil:
		left := int(time.Until(kept.Expires).Seconds())
		writeJSON(w, http.StatusOK, map[string]any{"access_token": made.Reveal(), "token_type": "bearer", "expires_in": left})
	case problem.Code(err) == api.Unauthenticated:
		h.failed(r, err)
		writeJSON(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant", "error_description": said(err)})
	default:
		h.failed(r, err)
		writeJSON(w, status(err), map[string]any{"error": "server_error", "error_description": said(err)})
	}
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // nobody is left to be told
}

// refuse shows why nothing comes of this. The browser is sent nowhere: where it would
// go is as doubtful as the rest.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	h.failed(r, err)
	h.show(w, status(err), view{Problem: said(err)})
}

// status is what HTTP calls an error, for browsers.
func status(err error) int {
	switch problem.Code(err) {
	case api.Invalid:
		return http.StatusBadRequest
	case api.Unauthenticated, api.Forbidden, api.NotFound:
		return http.StatusForbidden
	case api.Conflict:
		return http.StatusConflict
	case api.Unavailable, api.Limited:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// inDomains reports whether an address is in one of these domains. Its last @ is the
// one that counts.
func inDomains(email string, domains []string) bool {
	at := strings.LastIndexByte(email, '@')
	return at > 0 && slices.ContainsFunc(domains, func(d string) bool { return strings.EqualFold(d, email[at+1:]) })
}
