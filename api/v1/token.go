package v1

import "time"

// A Token is what is known of a token: all but the token itself.
type Token struct {
	ID          string    `json:"id"`
	Kind        string    `json:"kind" doc:"user, team or organisation"`
	Owner       string    `json:"owner" doc:"id of the user, team or organisation"`
	Description string    `json:"description"`
	Created     time.Time `json:"created"`
	Expires     time.Time `json:"expires,omitzero" doc:"left out for one that does not"`
	Token       string    `json:"token,omitempty" doc:"the token itself, in the answer to its creation and never again"`
}

// ListTokens asks for the tokens of one owner.
type ListTokens struct {
	Owner string `query:"owner" json:"-" doc:"id of a user, a team or an organisation; without it the caller's own"`
	Paging
}

// Route is where the request goes.
func (ListTokens) Route() string { return "GET /v1/tokens" }

// CreateToken asks for a new token.
type CreateToken struct {
	Owner       string    `json:"owner,omitempty" doc:"id of a user, a team or an organisation; without it the caller's own"`
	Description string    `json:"description" doc:"what the token is for"`
	Expires     time.Time `json:"expires,omitzero" doc:"when it ends; without it, it does not"`
	Role        string    `json:"role,omitempty" doc:"of the token of an organisation: reader, planner, applier, maintainer or owner"`
}

// Route is where the request goes.
func (CreateToken) Route() string { return "POST /v1/tokens" }

// RevokeToken asks that a token is of no use from now on.
type RevokeToken struct {
	Token string `path:"token" json:"-" doc:"id of the token"`
}

// Route is where the request goes.
func (RevokeToken) Route() string { return "DELETE /v1/tokens/{token}" }
