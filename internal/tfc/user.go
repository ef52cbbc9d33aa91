package tfc

import (
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
)

func users() []route {
	return []route{
		{pattern: "GET /api/v2/account/details", do: readAccount},
		{pattern: "PATCH /api/v2/account/update", do: updateAccount},
	}
}

// A userDoc is a user. What only they themselves see is left out for others.
type userDoc struct {
	ID          string           `jsonapi:"primary,users"`
	Username    string           `jsonapi:"attr,username"`
	Email       string           `jsonapi:"attr,email"`
	Avatar      string           `jsonapi:"attr,avatar-url"`
	Service     bool             `jsonapi:"attr,is-service-account"`
	Unconfirmed string           `jsonapi:"attr,unconfirmed-email,omitempty"`
	TwoFactor   *twoFactor       `jsonapi:"attr,two-factor,omitempty"`
	SiteAdmin   *bool            `jsonapi:"attr,is-site-admin,omitempty"`
	Permissions *userPermissions `jsonapi:"attr,permissions,omitempty"`
}

// twoFactor is how a user proves who they are, which is between them and whoever
// signs them in.
type twoFactor struct {
	Enabled  bool `json:"enabled"`
	Verified bool `json:"verified"`
}

// userPermissions are what users may do about themselves and the server.
type userPermissions struct {
	CreateOrganisations bool `json:"can-create-organizations"`
	ChangeEmail         bool `json:"can-change-email"`
	ChangeUsername      bool `json:"can-change-username"`
	ManageTokens        bool `json:"can-manage-user-tokens"`
}

// avatar is an empty picture: clients want an address, and one elsewhere would tell
// somebody who looks at whom.
const avatar = "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'/%3E"

// newAccountDoc is a user as they see themselves.
func newAccountDoc(u postgres.User) *userDoc {
	return &userDoc{ID: u.ID, Username: u.Name, Email: u.Email, Avatar: avatar, Unconfirmed: u.Unconfirmed, TwoFactor: &twoFactor{},
		SiteAdmin: &u.SiteAdmin, Permissions: &userPermissions{CreateOrganisations: u.SiteAdmin, ChangeEmail: true, ChangeUsername: true, ManageTokens: true}}
}

// newServiceDoc is who acts with a token that is no user's.
func newServiceDoc(who identity.Principal) *userDoc {
	return &userDoc{ID: who.ID, Username: who.Name, Avatar: avatar, Service: true, TwoFactor: &twoFactor{}, Permissions: &userPermissions{}}
}

func readAccount(r *request) (answer, error) {
	if r.who.Kind != identity.Person {
		return ok(newServiceDoc(r.who)), nil
	}
	var doc *userDoc
	err := r.view(func(v *postgres.View) error {
		u, err := v.User(r.Context(), r.who)
		doc = newAccountDoc(u)
		return err
	})
	return ok(doc), err
}

// updateAccount changes what somebody is called, and an address that stays what
// they only say (docs/identity.md, rule 12).
func updateAccount(r *request) (answer, error) {
	var wanted struct {
		ID       string  `jsonapi:"primary,users"`
		Username *string `jsonapi:"attr,username"`
		Email    *string `jsonapi:"attr,email"`
	}
	if err := r.decode(&wanted); err != nil {
		return answer{}, err
	}
	var doc *userDoc
	err := r.update(func(u *postgres.Update) error {
		user, err := u.User(r.Context(), r.who)
		if err != nil {
			return err
		}
		name, email := user.Name, user.Unconfirmed
		if wanted.Username != nil {
			name = *wanted.Username
		}
		if wanted.Email != nil {
			email = *wanted.Email
		}
		if email == user.Email {
			email = "" // there is nothing to confirm
		}
		if err := u.ChangeUser(r.Context(), r.who, name, email); err != nil {
			return err
		}
		user, err = u.User(r.Context(), r.who)
		doc = newAccountDoc(user)
		return err
	})
	return ok(doc), err
}
