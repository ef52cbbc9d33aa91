package server

import (
	"context"
	"time"

	"github.com/assize-iac/assize/api"
	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

func (s *server) tokens() []endpoint {
	return []endpoint{
		answering("The tokens of a user, a team or an organisation, without what would let anybody use them", "", s.listTokens),
		making("Make a token; the answer shows it, and nothing ever does again", "", s.createToken),
		answering("Revoke a token", "", s.revokeToken),
	}
}

func token(c identity.Credential) v1.Token {
	return v1.Token{ID: c.ID, Kind: string(c.Kind), Owner: c.Owner, Description: c.Description, Created: c.Created, Expires: c.Expires}
}

func (s *server) listTokens(ctx context.Context, who identity.Principal, in v1.ListTokens) (v1.Page[v1.Token], error) {
	c, err := paging(in.Paging)
	if err != nil {
		return v1.Page[v1.Token]{}, err
	}
	whose, err := owner(in.Owner, who)
	if err != nil {
		return v1.Page[v1.Token]{}, err
	}
	var all []identity.Credential
	err = s.control.View(ctx, func(v *postgres.View) (err error) {
		all, err = v.Tokens(ctx, who, whose)
		return err
	})
	// The order of the list is that of creation, and then of ids.
	key := func(t identity.Credential) string { return t.Created.Format(fixedTime) + t.ID }
	return page(c, after(c, all, key), key, token), err
}

// fixedTime is a moment as text whose order is that of time.
const fixedTime = "2006-01-02T15:04:05.000000Z"

// owner is whom a request about tokens is about: a user who names nobody means
// themselves. The token of a team or an organisation owns none.
func owner(named string, who identity.Principal) (string, error) {
	if named == "" && who.Kind != identity.Person {
		return "", problem.New(api.Invalid, "this token is no user's, so it has to be said whose tokens are meant").
			WithHint("name as owner the id of a team or of the organisation")
	}
	if named == "" {
		return who.ID, nil
	}
	return named, nil
}

func (s *server) createToken(ctx context.Context, who identity.Principal, in v1.CreateToken) (v1.Token, error) {
	whose, err := owner(in.Owner, who)
	if err != nil {
		return v1.Token{}, err
	}
	var shown identity.Token
	var made identity.Credential
	err = s.control.Update(ctx, func(u *postgres.Update) (err error) {
		shown, made, err = u.CreateToken(ctx, who, postgres.TokenRequest{Owner: whose,
			Description: in.Description, Expires: in.Expires.Truncate(time.Microsecond), Role: identity.Role(in.Role)})
		return err
	})
	doc := token(made)
	doc.Token = shown.Reveal()
	return doc, err
}

func (s *server) revokeToken(ctx context.Context, who identity.Principal, in v1.RevokeToken) (nothing, error) {
	return nothing{}, s.control.Update(ctx, func(u *postgres.Update) error { return u.RevokeToken(ctx, who, in.Token) })
}
