package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
)

// A TokenRequest says what a token shall be.
type TokenRequest struct {
	Owner       string // id of the user, team or organisation
	Description string
	Expires     time.Time     // zero: it does not
	Role        identity.Role // of an organisation's token, in all of it; a user's or a team's has those of its owner
	Single      bool          // it has no name, and replaces the one of its team or organisation that has none either
}

// CreateToken makes a token and shows it, the one time that anybody can: only its
// digest is kept. A user makes their own; those of teams and of the organisation
// need a permission.
func (u *Update) CreateToken(ctx context.Context, who identity.Principal, r TokenRequest) (identity.Token, identity.Credential, error) {
	owner, err := u.tokenOwner(ctx, r.Owner)
	if err != nil {
		return identity.Token{}, identity.Credential{}, err
	}
	token, made := u.draw(r, owner)
	if made.CreatedBy, err = u.actsFor(ctx, who); err != nil {
		return identity.Token{}, identity.Credential{}, err
	}
	c := tokenCall(who, "token:create", made)
	if r.Role != "" {
		c.detail["role"] = string(r.Role)
	}
	if !made.Expires.IsZero() {
		c.detail["expires"] = made.Expires.Format(time.RFC3339)
	}
	err = u.guardToken(ctx, c, made, func() error {
		if err := u.checkRequest(r, made); err != nil {
			return err
		}
		if err := u.mayGiveToken(ctx, who, r.Role, made); err != nil {
			return err
		}
		if r.Single {
			if _, err := u.tx.Exec(ctx, sqlDeleteSingle, pgx.NamedArgs{"owner": r.Owner}); err != nil {
				return err
			}
		}
		return u.putToken(ctx, made, r.Role)
	})
	if err != nil {
		return identity.Token{}, identity.Credential{}, err
	}
	return token, made, nil
}

// draw makes up a token of an owner, and what is kept of it.
func (u *Update) draw(r TokenRequest, owner identity.Credential) (identity.Token, identity.Credential) {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	token := identity.NewToken(owner.Kind, random)
	made := owner
	made.ID, made.Description, made.Created, made.Digest = newID(identity.TokenID), r.Description, u.at, token.Digest()
	if !r.Expires.IsZero() {
		made.Expires = r.Expires.UTC().Truncate(time.Microsecond)
	}
	made.Single = r.Single
	return token, made
}

const sqlDeleteSingle = `
	DELETE FROM tokens WHERE single AND coalesce(team_id, organisation) = @owner`

// actsFor is the id of the user, the team or the organisation for which a principal
// acts; "" for the server.
func (v *View) actsFor(ctx context.Context, who identity.Principal) (string, error) {
	if who.Kind != identity.Bearer {
		return who.ID, nil
	}
	t, err := v.token(ctx, sqlTokenByID, pgx.NamedArgs{"id": who.ID})
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil // it may nothing, which the guard says
	}
	return t.Owner, err
}

// mayGiveToken refuses a token that could do more than who asks for it
// (docs/identity.md, rule 4).
func (u *Update) mayGiveToken(ctx context.Context, who identity.Principal, role identity.Role, t identity.Credential) error {
	var gives []identity.Grant
	switch t.Kind {
	case identity.OrganisationToken:
		gives = []identity.Grant{{Role: role, Scope: identity.Scope{Organisation: t.Organisation}}}
	case identity.TeamToken:
		var err error
		if gives, err = u.collectGrants(ctx, sqlGrantsOfTeam, t.Owner); err != nil {
			return err
		}
	}
	own, err := u.grantsOf(ctx, who)
	if err != nil {
		return err
	}
	for _, g := range gives {
		if !identity.MayGrant(own, g) {
			return u.refuseMore(tokenCall(who, "token:create", t), g.Role)
		}
	}
	return nil
}

// checkRequest refuses what the table would refuse less politely.
func (u *Update) checkRequest(r TokenRequest, made identity.Credential) error {
	switch {
	case len(r.Description) > 255:
		return problem.New(api.Invalid, "the description of the token is too long").WithHint("at most 255 bytes")
	case !made.Expires.IsZero() && !made.Expires.After(u.at):
		return problem.New(api.Invalid, "the token would have expired already").WithHint("choose a time to come, or none")
	case r.Single && (made.Kind == identity.UserToken || r.Description != ""):
		return problem.New(api.Invalid, "the single token is one of a team or an organisation, and has no description")
	case r.Role != "" && len(r.Role.Permissions()) == 0:
		return problem.New(api.Invalid, "there is no such role").WithHint("a role is one of %v", identity.Roles())
	case (made.Kind == identity.OrganisationToken) != (len(r.Role.Permissions()) > 0):
		return problem.New(api.Invalid, "the token of an organisation has a role, and no other token has one of its own")
	}
	return nil
}

const sqlInsertToken = `
	INSERT INTO tokens (id, kind, user_id, team_id, organisation, description, digest, created_at, expires_at, single, created_by)
	VALUES (@id, @kind, @user, @team, @organisation, @description, @digest, @created, @expires, @single, @by)`

// putToken writes a token, its role, and the job that ends it.
func (u *Update) putToken(ctx context.Context, t identity.Credential, role identity.Role) error {
	args := holderArgs(t.Owner)
	if args == nil {
		args = pgx.NamedArgs{"user": nil, "team": nil} // the organisation's own
	}
	args["id"], args["kind"], args["organisation"] = t.ID, string(t.Kind), null(t.Organisation)
	args["description"], args["digest"], args["created"] = t.Description, t.Digest, t.Created
	args["single"], args["by"], args["expires"] = t.Single, t.CreatedBy, any(nil)
	if !t.Expires.IsZero() {
		args["expires"] = t.Expires
	}
	if _, err := u.tx.Exec(ctx, sqlInsertToken, args); err != nil {
		return err
	}
	if t.Kind == identity.OrganisationToken {
		if err := u.putGrant(ctx, t.ID, identity.Grant{Role: role, Scope: identity.Scope{Organisation: t.Organisation}}); err != nil {
			return err
		}
	}
	if t.Expires.IsZero() {
		return nil
	}
	return u.later(ctx, expire{Token: t.ID}, t.Expires)
}

// tokenOwner is a credential with nothing but whose it is.
func (v *View) tokenOwner(ctx context.Context, owner string) (identity.Credential, error) {
	switch {
	case identity.IsID(identity.UserID, owner):
		return identity.Credential{Kind: identity.UserToken, Owner: owner}, nil
	case identity.IsID(identity.TeamID, owner):
		t, err := v.team(ctx, owner)
		return identity.Credential{Kind: identity.TeamToken, Owner: owner, Organisation: t.Organisation}, err
	case identity.IsID(identity.OrganisationID, owner):
		return identity.Credential{Kind: identity.OrganisationToken, Owner: owner, Organisation: owner}, nil
	}
	return identity.Credential{}, notFound()
}

// tokenCall is a call about a token.
func tokenCall(who identity.Principal, action string, t identity.Credential) call {
	c := call{who: who, action: action, object: t.ID, detail: map[string]string{"owner": t.Owner, "description": t.Description}}
	if t.Kind != identity.UserToken {
		c.needs, c.at = identity.TokenAdmin, identity.Scope{Organisation: t.Organisation}
	}
	return c
}

// guardToken guards a change of a token: the user's own, or one that needs a
// permission.
func (u *Update) guardToken(ctx context.Context, c call, t identity.Credential, do func() error) error {
	if t.Kind == identity.UserToken {
		return u.guardOwn(ctx, c, t.Owner, do)
	}
	return u.guard(ctx, c, do)
}

const sqlDeleteToken = `
	DELETE FROM tokens WHERE id = @id`

// RevokeToken deletes a token: from then on it is one that nobody knows.
func (u *Update) RevokeToken(ctx context.Context, who identity.Principal, id string) error {
	t, err := u.token(ctx, sqlTokenByID, pgx.NamedArgs{"id": id})
	if err != nil {
		return err
	}
	return u.guardToken(ctx, tokenCall(who, "token:revoke", t), t, func() error {
		_, err := u.tx.Exec(ctx, sqlDeleteToken, pgx.NamedArgs{"id": id})
		return err
	})
}

// expireToken deletes a token whose time is over. Nobody asks for it, so it needs
// no permission; it is not exported, so nobody can.
func (u *Update) expireToken(ctx context.Context, id string) error {
	t, err := u.token(ctx, sqlTokenByID, pgx.NamedArgs{"id": id})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil // it was revoked
	}
	if err != nil {
		return err
	}
	if t.Expires.IsZero() || u.at.Before(t.Expires) {
		return nil
	}
	return u.record(ctx, tokenCall(Server(), "token:expire", t), func() error {
		_, err := u.tx.Exec(ctx, sqlDeleteToken, pgx.NamedArgs{"id": id})
		return err
	})
}

const sqlTokenByID = `
	SELECT id, kind, coalesce(user_id, team_id, organisation), coalesce(organisation, ''), description,
		created_at, expires_at, last_used_at, created_by, single, digest
	FROM tokens WHERE id = @id`

const sqlTokenByDigest = `
	SELECT t.id, t.kind, coalesce(t.user_id, t.team_id, t.organisation), coalesce(t.organisation, ''), t.description,
		t.created_at, t.expires_at, t.last_used_at, t.created_by, t.single, t.digest, coalesce(u.name, '')
	FROM tokens t LEFT JOIN users u ON u.id = t.user_id WHERE t.digest = @digest`

func (v *View) token(ctx context.Context, query string, args pgx.NamedArgs) (identity.Credential, error) {
	return scanCredential(v.tx.QueryRow(ctx, query, args))
}

// scanCredential reads a token, and what else is in its row after it.
func scanCredential(row pgx.Row, more ...any) (identity.Credential, error) {
	var t identity.Credential
	var expires, used *time.Time
	err := row.Scan(append([]any{&t.ID, &t.Kind, &t.Owner, &t.Organisation, &t.Description, &t.Created, &expires, &used, &t.CreatedBy, &t.Single, &t.Digest}, more...)...)
	t.Created = t.Created.UTC()
	if expires != nil {
		t.Expires = expires.UTC()
	}
	if used != nil {
		t.Used = used.UTC()
	}
	return t, err
}

// Authenticate is who shows a token. It takes no principal, because it is where they
// come from, and is one statement, because it comes before everything else. A token
// that is none is not written down: anybody could fill the log with them.
func (s *Store) Authenticate(ctx context.Context, shown identity.Token) (identity.Principal, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return identity.Principal{}, translate(unreachable(err))
	}
	var name string
	at := now()
	kept, err := scanCredential(conn.QueryRow(ctx, sqlTokenByDigest, pgx.NamedArgs{"digest": shown.Digest()}), &name)
	err = broken(ctx, conn, err)
	conn.Release()
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return identity.Principal{}, translate(err)
	}
	if err := kept.Check(shown, at); err != nil { // of no row, it is unknown
		return identity.Principal{}, err
	}
	if at.Sub(kept.Used) >= useGrain {
		s.noteUse(ctx, kept.ID, at)
	}
	return kept.Principal(name), nil
}

// useGrain is how exactly it is known when a token was used last.
const useGrain = time.Minute

const sqlUsed = `
	UPDATE tokens SET last_used_at = @at WHERE id = (
		SELECT id FROM tokens WHERE id = @id AND (last_used_at IS NULL OR last_used_at <= @before)
		FOR NO KEY UPDATE SKIP LOCKED)`

// noteUse keeps when a token was used. It is a statement of its own, no part of what
// the token is used for, and rare: a request must neither wait for another one with
// the same token, nor be tried again because of it. That it fails is no reason to
// refuse anything: the next request tries again (docs/identity.md, rule 16).
func (s *Store) noteUse(ctx context.Context, token string, at time.Time) {
	_, _ = s.pool.Exec(ctx, sqlUsed, pgx.NamedArgs{"id": token, "at": at, "before": at.Add(-useGrain)})
}

const sqlTokens = `
	SELECT id, kind, coalesce(user_id, team_id, organisation), coalesce(organisation, ''), description,
		created_at, expires_at, last_used_at, created_by, single, digest
	FROM tokens WHERE coalesce(user_id, team_id, organisation) = @owner ORDER BY created_at, id`

// Tokens are those of a user, a team or an organisation, without what would let
// anybody use them.
func (v *View) Tokens(ctx context.Context, who identity.Principal, owner string) ([]identity.Credential, error) {
	whose, err := v.tokenOwner(ctx, owner)
	if err != nil {
		return nil, err
	}
	c := tokenCall(who, "token:read", whose)
	if whose.Kind == identity.UserToken {
		err = v.permitOwn(ctx, c, owner)
	} else {
		err = v.permit(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	rows, err := v.tx.Query(ctx, sqlTokens, pgx.NamedArgs{"owner": owner})
	if err != nil {
		return nil, err
	}
	return collectCredentials(rows)
}

// Token is the one with this id, without what would let anybody use it.
func (v *View) Token(ctx context.Context, who identity.Principal, id string) (identity.Credential, error) {
	t, err := v.token(ctx, sqlTokenByID, pgx.NamedArgs{"id": id})
	if err != nil {
		return identity.Credential{}, err
	}
	c := tokenCall(who, "token:read", t)
	if t.Kind == identity.UserToken {
		err = v.permitOwn(ctx, c, t.Owner)
	} else {
		err = v.permit(ctx, c)
	}
	t.Digest = ""
	return t, err
}

const sqlTeamTokens = `
	SELECT id, kind, coalesce(user_id, team_id, organisation), coalesce(organisation, ''), description,
		created_at, expires_at, last_used_at, created_by, single, digest
	FROM tokens WHERE organisation = @organisation AND team_id IS NOT NULL ORDER BY created_at, id`

// TeamTokens are those of all teams of an organisation.
func (v *View) TeamTokens(ctx context.Context, who identity.Principal, organisation string) ([]identity.Credential, error) {
	c := call{who: who, action: "token:read", needs: identity.TokenAdmin, at: identity.Scope{Organisation: organisation}, object: organisation}
	if err := v.permit(ctx, c); err != nil {
		return nil, err
	}
	rows, err := v.tx.Query(ctx, sqlTeamTokens, pgx.NamedArgs{"organisation": organisation})
	if err != nil {
		return nil, err
	}
	return collectCredentials(rows)
}

// collectCredentials are tokens without their digests.
func collectCredentials(rows pgx.Rows) ([]identity.Credential, error) {
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (identity.Credential, error) {
		t, err := scanCredential(row)
		t.Digest = ""
		return t, err
	})
}
