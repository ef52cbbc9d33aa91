package postgres

import (
	"context"
	"slices"
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
	if err := checkUserName(who.Name); err != nil {
		return err
	}
	return u.record(ctx, c, func() error {
		_, err := u.tx.Exec(ctx, sqlInsertUser, pgx.NamedArgs{"id": who.ID, "name": who.Name, "at": u.at})
		return err
	})
}

// checkUserName refuses what is no name, and what in a list would look as the name of
// somebody else does, or as an id (docs/identity.md, rule 12).
func checkUserName(name string) error {
	if name == "" || len(name) > 255 || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return problem.New(api.Invalid, "the name of a user is empty, too long, or no text").WithHint("at most 255 bytes of one line")
	}
	if strings.TrimSpace(name) != name || strings.Contains(name, "  ") || strings.ContainsFunc(name, unseen) {
		return problem.New(api.Invalid, "the name of a user has white space at an end or twice, or a sign that nobody sees").
			WithHint("choose words with single spaces between them")
	}
	taken := func(prefix string) bool { return identity.IsID(prefix, name) }
	if slices.ContainsFunc([]string{identity.UserID, identity.MembershipID, identity.TeamID, identity.OrganisationID}, taken) {
		return problem.New(api.Invalid, "a name that looks like an id would be taken for one").WithHint("choose another name")
	}
	return nil
}

func unseen(r rune) bool { return !unicode.IsPrint(r) }

// checkRename refuses a name that a user may not choose. One that looks like an
// address is for whoever proves that it is theirs: who signs in for the first time
// gets theirs as a name, and nobody shall stand in the way, or for them
// (docs/identity.md, rule 12).
func (u *Update) checkRename(ctx context.Context, who identity.Principal, name string) error {
	if err := checkUserName(name); err != nil {
		return err
	}
	is, err := u.User(ctx, who)
	if err != nil {
		return err
	}
	if strings.Contains(name, "@") && name != is.Name && !strings.EqualFold(name, is.Email) {
		return problem.New(api.Invalid, "a name with @ in it is an e-mail address, and this one is not known to be yours").
			WithHint("choose a name without @")
	}
	return nil
}

// A User is a person that the server knows.
type User struct {
	ID          string
	Name        string
	Email       string // which they have proved to be theirs; "" for none
	Unconfirmed string // which they only say is theirs; nothing follows from it
	SiteAdmin   bool
}

const sqlUser = `
	SELECT id, name, coalesce(email, ''), coalesce(unconfirmed_email, ''), site_admin FROM users WHERE id = @id`

// User is the principal as a user.
func (v *View) User(ctx context.Context, who identity.Principal) (User, error) {
	if err := v.permitOwn(ctx, call{who: who, action: "user:read", object: who.ID}, who.ID); err != nil {
		return User{}, err
	}
	var u User
	err := v.tx.QueryRow(ctx, sqlUser, pgx.NamedArgs{"id": who.ID}).Scan(&u.ID, &u.Name, &u.Email, &u.Unconfirmed, &u.SiteAdmin)
	return u, err
}

const sqlChangeUser = `
	UPDATE users SET name = @name, unconfirmed_email = @email WHERE id = @id`

const sqlSetEmail = `
	UPDATE users SET email = @email, unconfirmed_email = NULL WHERE id = @id`

// ChangeUser gives the principal another name, and an address of which nothing
// follows until it is confirmed.
func (u *Update) ChangeUser(ctx context.Context, who identity.Principal, name, email string) error {
	c := call{who: who, action: "user:change", object: who.ID, detail: map[string]string{"name": name}}
	return u.guardOwn(ctx, c, who.ID, func() error {
		if err := u.checkRename(ctx, who, name); err != nil {
			return err
		}
		if email != "" {
			var err error
			if email, err = address(email); err != nil {
				return err
			}
		}
		_, err := u.tx.Exec(ctx, sqlChangeUser, pgx.NamedArgs{"id": who.ID, "name": name, "email": null(email)})
		return err
	})
}
