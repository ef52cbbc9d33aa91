package postgres

import (
	"context"
	"errors"
	"net/mail"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
)

// A Membership is somebody's place in an organisation. It gives nothing by itself:
// roles do, and teams.
type Membership struct {
	ID           string
	Organisation string // id
	User         string // id; "" while nobody has taken the invitation over
	Name         string // of the user
	Email        string // of the user, or to which the invitation went; "" when none is known
	Teams        []string
	Created      time.Time
}

// Invited reports whether nobody has taken the membership over yet.
func (m Membership) Invited() bool { return m.User == "" }

func (m Membership) in(team string) bool { return slices.Contains(m.Teams, team) }

// membershipCall is a call about a membership.
func membershipCall(who identity.Principal, action string, needs identity.Permission, m Membership) call {
	return call{who: who, action: action, needs: needs, at: identity.Scope{Organisation: m.Organisation}, object: m.ID,
		detail: map[string]string{"user": m.User, "email": m.Email}}
}

// address is an e-mail address as it is kept: what identity providers and people
// write in different cases is one. It is of ASCII, because other letters become one
// of ours in lower case, such as the sign for kelvin, and would take over what was
// sent to somebody else.
func address(text string) (string, error) {
	foreign := func(r rune) bool { return r >= utf8.RuneSelf }
	parsed, err := mail.ParseAddress(text)
	if err != nil || parsed.Address != text || len(text) > 254 || strings.ContainsFunc(text, foreign) {
		return "", problem.New(api.Invalid, "this is no e-mail address").WithHint("it looks like ann@example.com")
	}
	return strings.ToLower(text), nil
}

const sqlInvite = `
	INSERT INTO memberships (id, organisation, email, created_at) VALUES (@id, @organisation, @email, @at)`

// Invite makes a membership for whoever proves that an address is theirs, in these
// teams. Whether somebody with that address is known here already, nobody learns
// from it (docs/identity.md, rule 12).
func (u *Update) Invite(ctx context.Context, who identity.Principal, organisation, email string, teams []string) (Membership, error) {
	m := Membership{ID: newID(identity.MembershipID), Organisation: organisation, Email: email, Created: u.at}
	err := u.guard(ctx, membershipCall(who, "membership:invite", identity.OrganisationAdmin, m), func() (err error) {
		if m.Email, err = address(email); err != nil {
			return err
		}
		if err := u.notInvited(ctx, m); err != nil {
			return err
		}
		_, err = u.tx.Exec(ctx, sqlInvite, pgx.NamedArgs{"id": m.ID, "organisation": organisation, "email": m.Email, "at": u.at})
		return err
	})
	if err != nil {
		return Membership{}, err
	}
	for _, team := range teams {
		if err := u.AddMemberships(ctx, who, team, []string{m.ID}); err != nil {
			return Membership{}, err
		}
	}
	return u.membership(ctx, m.ID)
}

const sqlIsInvited = `
	SELECT EXISTS (SELECT FROM memberships WHERE organisation = @organisation AND lower(email) = @email AND user_id IS NULL)`

// notInvited refuses a second invitation to an address.
func (u *Update) notInvited(ctx context.Context, m Membership) error {
	var invited bool
	err := u.tx.QueryRow(ctx, sqlIsInvited, pgx.NamedArgs{"organisation": m.Organisation, "email": m.Email}).Scan(&invited)
	if err == nil && invited {
		return problem.New(api.Conflict, "this address is invited already").WithHint("change the teams of that membership, or remove it first")
	}
	return err
}

// A NewMember is somebody whom the server shall know from now on, without that an
// identity provider has vouched for them.
type NewMember struct {
	Name    string
	Teams   []string  // ids
	Expires time.Time // of the token; zero: it does not
}

// firstToken is what the token of a [NewMember] is called.
const firstToken = "the first one, made with the user"

// CreateMember makes a user who is a member of an organisation, with a token to begin
// with, which is shown this once: where nobody signs in with a provider, there is no
// other way to become a user. Whoever has made a user has had their token, so that needs
// a site administrator, whom all organisations have to trust; and that gives nothing in
// an organisation, so it needs an owner of it, too (docs/identity.md, rule 18).
func (u *Update) CreateMember(ctx context.Context, who identity.Principal, organisation string, n NewMember) (Membership, identity.Token, error) {
	user := NewUser(n.Name)
	m := Membership{Organisation: organisation, User: user.ID}
	c := membershipCall(who, "membership:create", identity.OrganisationAdmin, m)
	c.object, c.detail = user.ID, map[string]string{"name": n.Name}
	var token identity.Token
	err := u.guard(ctx, c, func() (err error) {
		if err := u.permitSite(ctx, c); err != nil {
			return err
		}
		if err := checkNewName(n.Name); err != nil {
			return err
		}
		if _, err := u.tx.Exec(ctx, sqlInsertUser, pgx.NamedArgs{"id": user.ID, "name": n.Name, "at": u.at}); err != nil {
			return err
		}
		if m.ID, err = u.putMember(ctx, organisation, user.ID); err != nil {
			return err
		}
		token, err = u.putFirstToken(ctx, who, user, n.Expires)
		return err
	})
	if err != nil {
		return Membership{}, identity.Token{}, err
	}
	for _, team := range n.Teams {
		if err := u.AddMemberships(ctx, who, team, []string{m.ID}); err != nil {
			return Membership{}, identity.Token{}, err
		}
	}
	m, err = u.membership(ctx, m.ID)
	return m, token, err
}

// checkNewName refuses the name of a user that could be taken for an address: those are
// for whoever proves that it is theirs (docs/identity.md, rule 12).
func checkNewName(name string) error {
	if err := checkUserName(name); err != nil {
		return err
	}
	if strings.Contains(name, "@") {
		return problem.New(api.Invalid, "a name with @ in it is an e-mail address, which nobody has proved to be theirs").
			WithHint("choose a name without @; an address is invited")
	}
	return nil
}

// putFirstToken writes the token that a user begins with.
func (u *Update) putFirstToken(ctx context.Context, who, user identity.Principal, expires time.Time) (identity.Token, error) {
	r := TokenRequest{Owner: user.ID, Description: firstToken, Expires: expires}
	token, made := u.draw(r, identity.Credential{Kind: identity.UserToken, Owner: user.ID})
	made.CreatedBy = who.ID
	if err := u.checkRequest(r, made); err != nil {
		return identity.Token{}, err
	}
	return token, u.putToken(ctx, made, "")
}

const sqlDeleteMembership = `
	DELETE FROM memberships WHERE id = @id`

// RemoveMembership ends a membership, and with it every role of that user in the
// organisation and their places in its teams.
func (u *Update) RemoveMembership(ctx context.Context, who identity.Principal, id string) error {
	m, err := u.membership(ctx, id)
	if err != nil {
		return err
	}
	return u.guard(ctx, membershipCall(who, "membership:remove", identity.OrganisationAdmin, m), func() error {
		if _, err := u.tx.Exec(ctx, sqlDeleteMembership, pgx.NamedArgs{"id": id}); err != nil {
			return err
		}
		return u.stillOwned(ctx, m.Organisation)
	})
}

const sqlPutMember = `
	INSERT INTO memberships (id, organisation, user_id, created_at) VALUES (@id, @organisation, @user, @at)
	ON CONFLICT ON CONSTRAINT memberships_once DO NOTHING`

// putMember is the membership of a user, made where there was none.
func (u *Update) putMember(ctx context.Context, organisation, user string) (string, error) {
	args := pgx.NamedArgs{"id": newID(identity.MembershipID), "organisation": organisation, "user": user, "at": u.at}
	if _, err := u.tx.Exec(ctx, sqlPutMember, args); err != nil {
		return "", err
	}
	return u.memberOf(ctx, organisation, user)
}

const sqlMemberOf = `
	SELECT id FROM memberships WHERE organisation = @organisation AND user_id = @user`

// memberOf is the id of a user's membership, "" without one.
func (v *View) memberOf(ctx context.Context, organisation, user string) (string, error) {
	var id string
	err := v.tx.QueryRow(ctx, sqlMemberOf, pgx.NamedArgs{"organisation": organisation, "user": user}).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return id, err
}

const sqlMemberships = `
	SELECT m.id, m.organisation, coalesce(m.user_id, ''), coalesce(u.name, ''), coalesce(u.email, m.email, ''), m.created_at,
		ARRAY(SELECT t.team_id FROM team_memberships t WHERE t.membership = m.id ORDER BY t.team_id)
	FROM memberships m LEFT JOIN users u ON u.id = m.user_id
	WHERE m.organisation = @organisation AND (@id = '' OR m.id = @id)
	ORDER BY m.created_at, m.id`

// memberships are those of an organisation, or the one of them with this id.
func (v *View) memberships(ctx context.Context, organisation, id string) ([]Membership, error) {
	rows, err := v.tx.Query(ctx, sqlMemberships, pgx.NamedArgs{"organisation": organisation, "id": id})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Membership, error) {
		var m Membership
		err := row.Scan(&m.ID, &m.Organisation, &m.User, &m.Name, &m.Email, &m.Created, &m.Teams)
		m.Created = m.Created.UTC()
		return m, err
	})
}

const sqlMembershipPlace = `
	SELECT organisation FROM memberships WHERE id = @id`

// membership is the one with this id, for the guard to ask about.
func (v *View) membership(ctx context.Context, id string) (Membership, error) {
	var organisation string
	if err := v.tx.QueryRow(ctx, sqlMembershipPlace, pgx.NamedArgs{"id": id}).Scan(&organisation); err != nil {
		return Membership{}, err
	}
	found, err := v.memberships(ctx, organisation, id)
	if err != nil {
		return Membership{}, err
	}
	return found[0], nil
}

// Membership is the one with this id.
func (v *View) Membership(ctx context.Context, who identity.Principal, id string) (Membership, error) {
	m, err := v.membership(ctx, id)
	if err != nil {
		return Membership{}, err
	}
	if err := v.permit(ctx, membershipCall(who, "membership:read", identity.OrganisationRead, m)); err != nil {
		return Membership{}, err
	}
	return m, nil
}

// Memberships are those of an organisation, in the order in which they were made.
func (v *View) Memberships(ctx context.Context, who identity.Principal, organisation string) ([]Membership, error) {
	c := call{who: who, action: "membership:read", needs: identity.OrganisationRead, at: identity.Scope{Organisation: organisation}, object: organisation}
	if err := v.permit(ctx, c); err != nil {
		return nil, err
	}
	return v.memberships(ctx, organisation, "")
}

const sqlInvitations = `
	SELECT id, organisation FROM memberships WHERE lower(email) = @email AND user_id IS NULL`

const sqlTakeOver = `
	UPDATE memberships SET user_id = @user WHERE id = @id`

const sqlMoveTeams = `
	INSERT INTO team_memberships (organisation, team_id, membership)
	SELECT organisation, team_id, @to FROM team_memberships WHERE membership = @from
	ON CONFLICT DO NOTHING`

// ConfirmEmail keeps an address of which a user has proved that it is theirs, and
// makes the invitations to it theirs. It is for whoever signs people in, after an
// identity provider has vouched for the address, and for nobody else: what somebody
// only says of themselves must not come here (docs/identity.md, rule 12).
func (u *Update) ConfirmEmail(ctx context.Context, who identity.Principal, email string) error {
	c := call{who: who, action: "user:confirm_email", object: who.ID, detail: map[string]string{"email": email}}
	return u.guardOwn(ctx, c, who.ID, func() error {
		email, err := address(email)
		if err != nil {
			return err
		}
		if _, err := u.tx.Exec(ctx, sqlSetEmail, pgx.NamedArgs{"id": who.ID, "email": email}); err != nil {
			return err
		}
		rows, err := u.tx.Query(ctx, sqlInvitations, pgx.NamedArgs{"email": email})
		if err != nil {
			return err
		}
		invitations, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ ID, Organisation string }])
		if err != nil {
			return err
		}
		for _, i := range invitations {
			if err := u.takeOver(ctx, who, Membership{ID: i.ID, Organisation: i.Organisation}); err != nil {
				return err
			}
		}
		return nil
	})
}

// takeOver makes an invitation the membership of a user. Who is a member already
// gets the teams of it.
func (u *Update) takeOver(ctx context.Context, who identity.Principal, invitation Membership) error {
	c := membershipCall(who, "membership:take_over", "", invitation)
	if _, _, err := u.head(ctx, invitation.Organisation); err != nil {
		return err
	}
	return u.record(ctx, c, func() error {
		had, err := u.memberOf(ctx, invitation.Organisation, who.ID)
		if err != nil {
			return err
		}
		if had == "" {
			_, err := u.tx.Exec(ctx, sqlTakeOver, pgx.NamedArgs{"id": invitation.ID, "user": who.ID})
			return err
		}
		if _, err := u.tx.Exec(ctx, sqlMoveTeams, pgx.NamedArgs{"from": invitation.ID, "to": had}); err != nil {
			return err
		}
		_, err = u.tx.Exec(ctx, sqlDeleteMembership, pgx.NamedArgs{"id": invitation.ID})
		return err
	})
}
