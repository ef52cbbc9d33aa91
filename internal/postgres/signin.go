package postgres

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
)

// This file is where principals come from. Its methods are those of a Store where a
// caller is nobody yet: no handler holds one, so none can reach them but through
// what signs people in.

// administratorName is what the user is called that a new database begins with.
const administratorName = "admin"

const sqlAdministrator = `
	SELECT u.id, u.name FROM installation i JOIN users u ON u.id = i.administrator`

const sqlInstall = `
	INSERT INTO installation (administrator, created_at) VALUES (@administrator, @at)`

// Administrator is the user whom the server makes for whoever runs it, a site
// administrator with an organisation of theirs to begin with; made says that there
// was none yet.
func (s *Store) Administrator(ctx context.Context, organisation string) (who identity.Principal, made bool, err error) {
	who, err = s.administrator(ctx)
	if problem.Code(err) != api.NotFound {
		return who, false, err
	}
	who, err = s.install(ctx, organisation)
	if problem.Code(err) != api.Conflict {
		return who, err == nil, err
	}
	who, err = s.administrator(ctx) // another process was faster
	return who, false, err
}

// Installed is the id of the user that a database began with, by which other places
// know that they belong to it. There is none before a server has run on it.
func (s *Store) Installed(ctx context.Context) (string, error) {
	who, err := s.administrator(ctx)
	return who.ID, err
}

func (s *Store) administrator(ctx context.Context) (identity.Principal, error) {
	who := identity.Principal{Kind: identity.Person}
	err := s.View(ctx, func(v *View) error { return v.tx.QueryRow(ctx, sqlAdministrator).Scan(&who.ID, &who.Name) })
	return who, err
}

// install makes the administrator of a new database.
func (s *Store) install(ctx context.Context, organisation string) (who identity.Principal, err error) {
	err = s.Update(ctx, func(u *Update) error {
		who = NewUser(administratorName)
		if err := u.Register(ctx, who); err != nil {
			return err
		}
		if err := u.Appoint(ctx, Server(), who.ID, true); err != nil {
			return err
		}
		if _, err := u.tx.Exec(ctx, sqlInstall, pgx.NamedArgs{"administrator": who.ID, "at": u.at}); err != nil {
			return err
		}
		_, err := u.CreateOrganisation(ctx, who, organisation)
		return err
	})
	return who, err
}

// Vouched is what an identity provider says of somebody who has signed in there.
type Vouched struct {
	Issuer   string
	Subject  string // by which the issuer knows them, for ever
	Email    string
	Verified bool // the issuer has seen that the address is theirs
}

const sqlSignedIn = `
	SELECT u.id, u.name FROM sign_ins s JOIN users u ON u.id = s.user_id WHERE s.issuer = @issuer AND s.subject = @subject`

// SignIn is the user for whom a provider vouches. Who comes for the first time
// becomes one if somebody has invited their address, or if open says that everybody
// with such an address may; an address that the provider has not verified is nobody's
// (docs/server.md, rule 15).
func (s *Store) SignIn(ctx context.Context, v Vouched, open func(email string) bool) (who identity.Principal, err error) {
	err = s.Update(ctx, func(u *Update) error {
		who = identity.Principal{Kind: identity.Person}
		err := u.tx.QueryRow(ctx, sqlSignedIn, pgx.NamedArgs{"issuer": v.Issuer, "subject": v.Subject}).Scan(&who.ID, &who.Name)
		if errors.Is(err, pgx.ErrNoRows) {
			who, err = u.welcome(ctx, v, open)
		}
		if err != nil || !v.Verified {
			return err
		}
		return u.confirmAnew(ctx, who, v.Email)
	})
	if err != nil {
		return identity.Principal{}, err
	}
	return who, nil
}

const sqlInvited = `
	SELECT EXISTS (SELECT FROM memberships WHERE lower(email) = lower(@email) AND user_id IS NULL)`

const sqlInsertSignIn = `
	INSERT INTO sign_ins (issuer, subject, user_id, created_at) VALUES (@issuer, @subject, @user, @at)`

// welcome makes a user of somebody who comes for the first time, if they may be one.
func (u *Update) welcome(ctx context.Context, v Vouched, open func(email string) bool) (identity.Principal, error) {
	if !v.Verified || v.Email == "" {
		return identity.Principal{}, problem.New(api.Forbidden, "your identity provider does not say that it has verified your e-mail address").
			WithHint("have it verified there; without that nobody knows whose it is")
	}
	var invited bool
	if err := u.tx.QueryRow(ctx, sqlInvited, pgx.NamedArgs{"email": v.Email}).Scan(&invited); err != nil {
		return identity.Principal{}, err
	}
	if !invited && !open(v.Email) {
		return identity.Principal{}, problem.New(api.Forbidden, "nobody has invited this e-mail address").
			WithHint("ask an owner of your organisation to invite it")
	}
	who := NewUser(strings.ToLower(v.Email))
	if err := u.Register(ctx, who); err != nil {
		return identity.Principal{}, err
	}
	c := call{who: who, action: "user:link", object: who.ID, detail: map[string]string{"issuer": v.Issuer, "subject": v.Subject}}
	return who, u.guardOwn(ctx, c, who.ID, func() error {
		_, err := u.tx.Exec(ctx, sqlInsertSignIn, pgx.NamedArgs{"issuer": v.Issuer, "subject": v.Subject, "user": who.ID, "at": u.at})
		return err
	})
}

// confirmAnew takes over what was sent to an address since its owner was here last.
// That is nothing most of the time, and then nothing is written.
func (u *Update) confirmAnew(ctx context.Context, who identity.Principal, email string) error {
	known, err := u.User(ctx, who)
	if err != nil {
		return err
	}
	var invited bool
	if err := u.tx.QueryRow(ctx, sqlInvited, pgx.NamedArgs{"email": email}).Scan(&invited); err != nil {
		return err
	}
	if !invited && strings.EqualFold(known.Email, email) {
		return nil
	}
	return u.ConfirmEmail(ctx, who, email)
}

// A LoginCode is what a browser takes to the command line (docs/server.md, rule 14).
type LoginCode struct {
	Digest    string // of the code, as artifact.Digest has it
	Client    string
	Redirect  string // where the browser takes it
	Challenge string // the digest, in base64url, of what only the command line knows
	Expires   time.Time
}

const sqlInsertLoginCode = `
	INSERT INTO login_codes (digest, user_id, client, redirect, challenge, expires_at)
	VALUES (@digest, @user, @client, @redirect, @challenge, @expires)`

const sqlDeleteOldLoginCodes = `
	DELETE FROM login_codes WHERE expires_at <= @at`

// PutLoginCode keeps a code with which somebody gets a token of the user's, and
// removes those that nobody came with in time.
func (u *Update) PutLoginCode(ctx context.Context, who identity.Principal, c LoginCode) error {
	asked := call{who: who, action: "login:allow", object: who.ID, detail: map[string]string{"client": c.Client}}
	return u.guardOwn(ctx, asked, who.ID, func() error {
		if _, err := u.tx.Exec(ctx, sqlDeleteOldLoginCodes, pgx.NamedArgs{"at": u.at}); err != nil {
			return err
		}
		_, err := u.tx.Exec(ctx, sqlInsertLoginCode, pgx.NamedArgs{"digest": c.Digest, "user": who.ID, "client": c.Client,
			"redirect": c.Redirect, "challenge": c.Challenge, "expires": c.Expires})
		return err
	})
}

const sqlTakeLoginCode = `
	DELETE FROM login_codes l USING users u WHERE l.digest = @digest AND u.id = l.user_id
	RETURNING u.id, u.name, l.client, l.redirect, l.challenge, l.expires_at`

// TakeLoginCode is the code with this digest and whose it is. It is gone from then
// on, whatever the caller makes of it.
func (s *Store) TakeLoginCode(ctx context.Context, digest string) (who identity.Principal, code LoginCode, err error) {
	err = s.Update(ctx, func(u *Update) error {
		who, code = identity.Principal{Kind: identity.Person}, LoginCode{Digest: digest}
		row := u.tx.QueryRow(ctx, sqlTakeLoginCode, pgx.NamedArgs{"digest": digest})
		return row.Scan(&who.ID, &who.Name, &code.Client, &code.Redirect, &code.Challenge, &code.Expires)
	})
	if err != nil {
		return identity.Principal{}, LoginCode{}, err
	}
	return who, code, nil
}
