package tfc

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
)

func tokens() []route {
	const ofOrganisation, ofTeam = "/api/v2/organizations/{organisation}/authentication-token", "/api/v2/teams/{team}/authentication-token"
	return []route{
		{pattern: "GET /api/v2/users/{user}/authentication-tokens", do: listUserTokens},
		{pattern: "POST /api/v2/users/{user}/authentication-tokens", do: createUserToken},
		{pattern: "GET /api/v2/authentication-tokens/{token}", do: readToken},
		{pattern: "DELETE /api/v2/authentication-tokens/{token}", do: deleteToken},
		{pattern: "GET " + ofOrganisation, do: readOrganisationToken},
		{pattern: "POST " + ofOrganisation, do: createOrganisationToken},
		{pattern: "DELETE " + ofOrganisation, do: deleteOrganisationToken},
		{pattern: "GET " + ofTeam, do: readTeamToken},
		{pattern: "POST " + ofTeam, do: createTeamToken},
		{pattern: "DELETE " + ofTeam, do: deleteTeamToken},
		{pattern: "GET " + ofTeam + "s", do: listTokensOfTeam},
		{pattern: "POST " + ofTeam + "s", do: createNamedTeamToken},
		{pattern: "GET /api/v2/organizations/{organisation}/team-tokens", do: listTeamTokens},
	}
}

// lifetime is how many years a token lasts when nobody says how long. Clients of
// the protocol count on two; they have no way to ask for one without an end.
const lifetime = 2

// A tokenDoc is a token. The token itself is in the answer that makes it, and in no
// other one.
type tokenDoc struct {
	ID          string        `jsonapi:"primary,authentication-tokens"`
	CreatedAt   time.Time     `jsonapi:"attr,created-at,iso8601"`
	UsedAt      *time.Time    `jsonapi:"attr,last-used-at,iso8601"`
	ExpiredAt   *time.Time    `jsonapi:"attr,expired-at,iso8601"`
	Description *string       `jsonapi:"attr,description"`
	Token       string        `jsonapi:"attr,token,omitempty"`
	CreatedBy   *tokenCreator `jsonapi:"polyrelation,created-by,omitempty"`
	Team        *teamRef      `jsonapi:"relation,team,omitempty"`
}

// A tokenCreator is one of these.
type tokenCreator struct {
	User         *userRef
	Team         *teamRef
	Organisation *organisationRef
}

// A userRef points to a user.
type userRef struct {
	ID string `jsonapi:"primary,users"`
}

// An organisationRef points to an organisation, whose id is its name.
type organisationRef struct {
	ID string `jsonapi:"primary,organizations"`
}

// newTokenDoc is a token; organisation is the name of the one that it is of.
func newTokenDoc(t identity.Credential, organisation string) *tokenDoc {
	d := &tokenDoc{ID: t.ID, CreatedAt: t.Created, UsedAt: moment(t.Used), ExpiredAt: moment(t.Expires)}
	if !t.Single {
		d.Description = &t.Description
	}
	if t.Kind == identity.TeamToken {
		d.Team = &teamRef{t.Owner}
	}
	switch {
	case identity.IsID(identity.UserID, t.CreatedBy):
		d.CreatedBy = &tokenCreator{User: &userRef{t.CreatedBy}}
	case identity.IsID(identity.TeamID, t.CreatedBy):
		d.CreatedBy = &tokenCreator{Team: &teamRef{t.CreatedBy}}
	case identity.IsID(identity.OrganisationID, t.CreatedBy):
		d.CreatedBy = &tokenCreator{Organisation: &organisationRef{organisation}}
	}
	return d
}

// moment is a time, or nothing.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// tokenDoc is a token as the client sees it.
func (r *request) tokenDoc(v *postgres.View, t identity.Credential) (*tokenDoc, error) {
	if t.Organisation == "" {
		return newTokenDoc(t, ""), nil
	}
	o, err := v.HomeOf(r.Context(), r.who, t.Organisation)
	return newTokenDoc(t, o.Name), err
}

// A tokenWish is what a client wants a token to be.
type tokenWish struct {
	Description *string    `json:"description"`
	ExpiredAt   *time.Time `json:"expired-at"`
}

// tokenWish reads one. Clients say no type of it, or send nothing at all.
func (r *request) tokenWish() (tokenWish, error) {
	data, err := r.body(bodyMax)
	if err != nil || len(data) == 0 {
		return tokenWish{}, err
	}
	var body struct {
		Data struct {
			Type       string
			Attributes tokenWish
		}
	}
	if err := json.Unmarshal(data, &body); err != nil {
		return tokenWish{}, notOfType(err, "authentication-tokens")
	}
	if !slices.Contains([]string{"", "authentication-tokens"}, body.Data.Type) {
		return tokenWish{}, notOfType(errors.New("another type"), "authentication-tokens")
	}
	return body.Data.Attributes, nil
}

// request is what is asked of the store.
func (w tokenWish) request(owner string) postgres.TokenRequest {
	asked := postgres.TokenRequest{Owner: owner, Expires: time.Now().UTC().AddDate(lifetime, 0, 0)}
	if w.ExpiredAt != nil {
		asked.Expires = *w.ExpiredAt
	}
	if w.Description != nil {
		asked.Description = *w.Description
	}
	return asked
}

// makeToken makes the token that ask describes, and shows it this once.
func (r *request) makeToken(ask func(*postgres.View) (postgres.TokenRequest, error)) (answer, error) {
	var doc *tokenDoc
	err := r.update(func(u *postgres.Update) error {
		asked, err := ask(&u.View)
		if err != nil {
			return err
		}
		token, made, err := u.CreateToken(r.Context(), r.who, asked)
		if err != nil {
			return err
		}
		if doc, err = r.tokenDoc(&u.View, made); err != nil {
			return err
		}
		doc.Token = token.Reveal()
		return nil
	})
	return created(doc), err
}

// listTokens is a page of tokens.
func (r *request) listTokens(find func(*postgres.View) ([]identity.Credential, error)) (answer, error) {
	p := r.paging()
	var docs []*tokenDoc
	err := r.view(func(v *postgres.View) error {
		all, err := find(v)
		if err != nil {
			return err
		}
		docs, err = each(part(all, &p), func(t identity.Credential) (*tokenDoc, error) { return r.tokenDoc(v, t) })
		return err
	})
	return listed(docs, p), err
}

func listUserTokens(r *request) (answer, error) {
	return r.listTokens(func(v *postgres.View) ([]identity.Credential, error) {
		return v.Tokens(r.Context(), r.who, r.PathValue("user"))
	})
}

func createUserToken(r *request) (answer, error) {
	wish, err := r.tokenWish()
	if err != nil {
		return answer{}, err
	}
	return r.makeToken(func(*postgres.View) (postgres.TokenRequest, error) {
		if !identity.IsID(identity.UserID, r.PathValue("user")) {
			return postgres.TokenRequest{}, noSuchThing()
		}
		return wish.request(r.PathValue("user")), nil
	})
}

// readToken is of one of those who may be here, or of an agent.
func readToken(r *request) (answer, error) {
	if identity.IsID(postgres.AgentTokenID, r.PathValue("token")) {
		return readAgentToken(r)
	}
	var doc *tokenDoc
	err := r.view(func(v *postgres.View) error {
		t, err := v.Token(r.Context(), r.who, r.PathValue("token"))
		if err != nil {
			return err
		}
		doc, err = r.tokenDoc(v, t)
		return err
	})
	return ok(doc), err
}

func deleteToken(r *request) (answer, error) {
	if identity.IsID(postgres.AgentTokenID, r.PathValue("token")) {
		return deleteAgentToken(r)
	}
	return noContent(), r.update(func(u *postgres.Update) error {
		return u.RevokeToken(r.Context(), r.who, r.PathValue("token"))
	})
}

// single is the one token of a team or an organisation that has no name.
func (r *request) single(v *postgres.View, owner string) (identity.Credential, error) {
	all, err := v.Tokens(r.Context(), r.who, owner)
	if err != nil {
		return identity.Credential{}, err
	}
	i := slices.IndexFunc(all, func(t identity.Credential) bool { return t.Single })
	if i < 0 {
		return identity.Credential{}, noSuchThing()
	}
	return all[i], nil
}

func (r *request) readSingle(owner func(*postgres.View) (string, error)) (answer, error) {
	var doc *tokenDoc
	err := r.view(func(v *postgres.View) error {
		of, err := owner(v)
		if err != nil {
			return err
		}
		t, err := r.single(v, of)
		if err != nil {
			return err
		}
		doc, err = r.tokenDoc(v, t)
		return err
	})
	return ok(doc), err
}

func (r *request) deleteSingle(owner func(*postgres.View) (string, error)) (answer, error) {
	return noContent(), r.update(func(u *postgres.Update) error {
		of, err := owner(&u.View)
		if err != nil {
			return err
		}
		t, err := r.single(&u.View, of)
		if err != nil {
			return err
		}
		return u.RevokeToken(r.Context(), r.who, t.ID)
	})
}
