package postgres

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
)

// NewUser is the principal of somebody who is not known yet; [Update.Register]
// makes the user of it.
func NewUser(name string) identity.Principal {
	return identity.Principal{Kind: identity.Person, ID: newID(identity.UserID), Name: name}
}

const sqlInsertUser = `
	INSERT INTO users (id, name, created_at) VALUES (@id, @name, @at)`

// Register makes a person a user, who may nothing yet. Whether a stranger may
// become one is for whoever signs people in to decide; nobody can register
// somebody else.
func (u *Update) Register(ctx context.Context, who identity.Principal) error {
	c := call{who: who, action: "user:register", object: who.ID, detail: map[string]string{"name": who.Name}}
	if who.Kind != identity.Person || !identity.IsID(identity.UserID, who.ID) {
		return u.refuse(c, false)
	}
	if who.Name == "" || len(who.Name) > 255 || !utf8.ValidString(who.Name) || strings.ContainsFunc(who.Name, unicode.IsControl) {
		return problem.New(api.Invalid, "the name of a user is empty, too long, or no text").WithHint("at most 255 bytes of one line")
	}
	return u.record(c, func() error {
		_, err := u.tx.Exec(ctx, sqlInsertUser, pgx.NamedArgs{"id": who.ID, "name": who.Name, "at": u.at})
		return err
	})
}
