package control

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"regexp"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

const (
	codeLife  = 2 * time.Minute
	tokenLife = 30 * 24 * time.Hour
)

// SignIn is the user for whom an identity provider vouches; see [postgres.Store.SignIn].
func (c *Control) SignIn(ctx context.Context, v postgres.Vouched, open func(email string) bool) (identity.Principal, error) {
	return c.store.SignIn(ctx, v, open)
}

// A LoginRequest is what a command line asks of somebody in their browser: to act
// as them (RFC 6749 and 7636).
type LoginRequest struct {
	Client    string
	Redirect  string // where the browser takes the code
	Challenge string // S256 of a verifier that only the command line knows
}

var challenge = regexp.MustCompile(`^[0-9A-Za-z_-]{43}$`)

// AllowLogin is a code with which the one who knows the verifier gets a token of
// the user's, once and soon (docs/server.md, rule 14).
func (c *Control) AllowLogin(ctx context.Context, who identity.Principal, r LoginRequest) (code string, err error) {
	switch {
	case who.Kind != identity.Person:
		return "", problem.New(api.Forbidden, "this is the token of a team or an organisation, and only a person can log in").
			WithHint("paste a token of your own; the other one can be used as it is, without a login")
	case !challenge.MatchString(r.Challenge):
		return "", problem.New(api.Invalid, "the login has no challenge, so anybody could use its code")
	}
	code = rand.Text() + rand.Text()
	kept := postgres.LoginCode{Digest: artifact.Digest([]byte(code)), Client: r.Client, Redirect: r.Redirect, Challenge: r.Challenge,
		Expires: time.Now().Add(codeLife)}
	return code, c.Update(ctx, func(u *postgres.Update) error { return u.PutLoginCode(ctx, who, kept) })
}

// Login makes a token for the command line that comes with a code and the verifier
// that belongs to it. A code is good for one try, whatever comes of it.
func (c *Control) Login(ctx context.Context, r LoginRequest, code, verifier string) (identity.Token, identity.Credential, error) {
	no := problem.New(api.Unauthenticated, "the code of this login is not one, or was used, or is too old").WithHint("run tofu login again")
	who, kept, err := c.store.TakeLoginCode(ctx, artifact.Digest([]byte(code)))
	if problem.Code(err) == api.NotFound {
		return identity.Token{}, identity.Credential{}, no
	}
	if err != nil {
		return identity.Token{}, identity.Credential{}, err
	}
	sum := sha256.Sum256([]byte(verifier))
	shown := base64.RawURLEncoding.EncodeToString(sum[:])
	if subtle.ConstantTimeCompare([]byte(shown), []byte(kept.Challenge)) != 1 || r.Client != kept.Client || r.Redirect != kept.Redirect || !time.Now().Before(kept.Expires) {
		return identity.Token{}, identity.Credential{}, no
	}
	var token identity.Token
	var made identity.Credential
	err = c.Update(ctx, func(u *postgres.Update) (err error) {
		token, made, err = u.CreateToken(ctx, who, postgres.TokenRequest{
			Owner: who.ID, Description: "tofu login, " + time.Now().UTC().Format(time.DateOnly), Expires: time.Now().Add(tokenLife)})
		return err
	})
	return token, made, err
}
