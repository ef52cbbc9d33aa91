package postgres

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
)

// The outcomes of an entry.
const (
	done      = "done"
	forbidden = "forbidden"
)

// A call is one thing that somebody wants to do. Every exported method of [View]
// and [Update] is one, and goes through guard or permit.
type call struct {
	who    identity.Principal
	action string              // what the audit log calls it
	needs  identity.Permission // "" for what somebody does with what is their own
	at     identity.Scope
	object string
	detail map[string]string
}

// entry is the line of the audit log about c.
func (c call) entry(outcome string) identity.Entry {
	detail := map[string]string{}
	for name, text := range c.detail {
		detail[name] = short(text)
	}
	if c.needs != "" && outcome == forbidden {
		detail["permission"] = string(c.needs)
	}
	e := identity.Entry{Principal: c.who, Scope: c.at, Action: c.action, Object: c.object, Outcome: outcome, Detail: detail}
	for _, text := range []*string{&e.Principal.ID, &e.Principal.Name, &e.Principal.Organisation,
		&e.Scope.Organisation, &e.Scope.Project, &e.Scope.Stack, &e.Object} {
		*text = short(*text)
	}
	return e
}

// short is text that somebody sent, cut so that nobody can fill the log with one call.
func short(text string) string {
	const most = 300
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// permit lets c happen, or writes down that it was forbidden. Who is no member of
// the organisation is told that there is no such thing: that it exists is not for
// strangers to know.
func (v *View) permit(ctx context.Context, c call) error {
	grants, err := v.grantsOf(ctx, c.who)
	if err != nil {
		return err
	}
	if identity.Allowed(grants, c.needs, c.at) {
		return nil
	}
	if identity.Member(grants, c.at.Organisation) {
		return v.refuse(c, identity.Sees(grants, c.at))
	}
	return v.refuseStranger(ctx, c)
}

const sqlShut = `
	SELECT EXISTS (SELECT FROM organisations o JOIN memberships m ON m.organisation = o.id
		WHERE o.id = @organisation AND NOT o.user_tokens AND m.user_id = @user)`

// refuseStranger refuses c to somebody without a role in the organisation. Its
// members are told when it is their token that it does not take.
func (v *View) refuseStranger(ctx context.Context, c call) error {
	if !identity.IsID(identity.OrganisationID, c.at.Organisation) || !identity.IsID(identity.UserID, c.who.ID) {
		return v.refuse(c, false)
	}
	var shut bool
	args := pgx.NamedArgs{"organisation": c.at.Organisation, "user": c.who.ID}
	if err := v.tx.QueryRow(ctx, sqlShut, args).Scan(&shut); err != nil {
		return err
	}
	refused := v.refuse(c, false)
	if shut {
		return problem.New(api.Unauthenticated, "the organisation takes no tokens of users").
			WithHint("use a token of a team, or of the organisation")
	}
	return refused
}

// refuse writes down that c was forbidden, and says so.
func (v *View) refuse(c call, sees bool) error {
	v.entries = append(v.entries, c.entry(forbidden))
	if !sees {
		return notFound()
	}
	return problem.New(api.Forbidden, "you may not do this (%s): it needs the permission %s", c.action, c.needs).
		WithHint("ask an owner of the organisation for a role that has it; docs/identity.md lists them")
}

func notFound() *problem.Error {
	return problem.New(api.NotFound, "there is no such thing, or you may not see it")
}

// guard does what c is about if it is permitted, and writes it down in the same
// transaction.
func (u *Update) guard(ctx context.Context, c call, do func() error) error {
	if err := u.permit(ctx, c); err != nil {
		return err
	}
	// The chain's lock comes before those of any rows, so that no transaction that
	// has it waits for one that wants it; and a try that is bound to fail ends here.
	if _, _, err := u.head(ctx, c.at.Organisation); err != nil {
		return err
	}
	return u.record(ctx, c, do)
}

// guardOwn is guard for what a person does with what is their own.
func (u *Update) guardOwn(ctx context.Context, c call, user string, do func() error) error {
	if err := u.permitOwn(ctx, c, user); err != nil {
		return err
	}
	return u.record(ctx, c, do)
}

const sqlUserExists = `
	SELECT EXISTS (SELECT FROM users WHERE id = @id)`

// permitOwn lets c happen when the principal is this user and there is such a one.
func (v *View) permitOwn(ctx context.Context, c call, user string) error {
	var exists bool
	if err := v.tx.QueryRow(ctx, sqlUserExists, pgx.NamedArgs{"id": user}).Scan(&exists); err != nil {
		return err
	}
	if exists && c.who.Kind == identity.Person && c.who.ID == user {
		return nil
	}
	return v.refuse(c, false)
}

// record does what c is about and writes it down.
func (u *Update) record(ctx context.Context, c call, do func() error) error {
	u.grants, u.changing = nil, true
	err := do()
	u.changing = false
	if err != nil {
		return err
	}
	u.entries = append(u.entries, c.entry(done))
	return u.seal(ctx)
}

// forbidden are the entries that stay when the rest of a transaction does not.
func (v *View) forbidden() []identity.Entry {
	return slices.DeleteFunc(slices.Clone(v.entries), func(e identity.Entry) bool { return e.Outcome != forbidden })
}

const sqlGrantsOfUser = `
	SELECT g.role, g.organisation, coalesce(g.project, ''), coalesce(g.stack, '')
	FROM grants g JOIN organisations o ON o.id = g.organisation
	WHERE o.user_tokens AND role IS NOT NULL AND (user_id = @id OR team_id IN (
		SELECT t.team_id FROM team_memberships t JOIN memberships m ON m.id = t.membership WHERE m.user_id = @id))`

const sqlGrantsOfToken = `
	SELECT role, organisation, coalesce(project, ''), coalesce(stack, '')
	FROM grants
	WHERE role IS NOT NULL AND (token_id = @id OR team_id = (SELECT team_id FROM tokens WHERE id = @id))
		AND EXISTS (SELECT FROM tokens WHERE id = @id AND (expires_at IS NULL OR expires_at > @at))`

// grantsOf is all that a principal may do. That a team's lie in its organisation
// is a constraint of the table. A person has none where the tokens of users count
// for nothing (docs/protocol.md, rule 17), and a token none that has expired: addresses
// that it has asked for may still be shown. They are asked for once in a transaction,
// which sees the database at one moment, and anew after each change that it makes.
func (v *View) grantsOf(ctx context.Context, who identity.Principal) ([]identity.Grant, error) {
	query := grantsQuery(who)
	if query == "" {
		return nil, nil
	}
	if known, ok := v.grants[holderOf(who)]; ok {
		return slices.Clone(known), nil
	}
	grants, err := v.collectGrants(ctx, query, who.ID)
	if err == nil && !v.changing {
		v.knowGrants(who, slices.Clone(grants))
	}
	return grants, err
}

// grantsQuery asks for all that a principal may do; "" for who may nothing.
func grantsQuery(who identity.Principal) string {
	switch who.Kind {
	case identity.Person:
		return sqlGrantsOfUser
	case identity.Bearer:
		return sqlGrantsOfToken
	}
	return ""
}

// askGrants asks for them with other things, so that grantsOf need not.
func (v *View) askGrants(b *pgx.Batch, who identity.Principal) {
	query := grantsQuery(who)
	if _, known := v.grants[holderOf(who)]; query == "" || known || v.changing {
		return
	}
	b.Queue(query, pgx.NamedArgs{"id": who.ID, "at": v.at}).Query(func(rows pgx.Rows) error {
		grants, err := scanGrants(rows)
		if err == nil {
			v.knowGrants(who, grants)
		}
		return err
	})
}

func (v *View) knowGrants(who identity.Principal, grants []identity.Grant) {
	if v.grants == nil {
		v.grants = map[[2]string][]identity.Grant{}
	}
	v.grants[holderOf(who)] = grants
}

func holderOf(who identity.Principal) [2]string { return [2]string{string(who.Kind), who.ID} }

const sqlGrantsOfTeam = `
	SELECT role, organisation, coalesce(project, ''), coalesce(stack, '')
	FROM grants WHERE role IS NOT NULL AND team_id = @id`

func (v *View) collectGrants(ctx context.Context, query, id string) ([]identity.Grant, error) {
	rows, err := v.tx.Query(ctx, query, pgx.NamedArgs{"id": id, "at": v.at})
	if err != nil {
		return nil, err
	}
	return scanGrants(rows)
}

func scanGrants(rows pgx.Rows) ([]identity.Grant, error) {
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (identity.Grant, error) {
		var g identity.Grant
		err := row.Scan(&g.Role, &g.Scope.Organisation, &g.Scope.Project, &g.Scope.Stack)
		return g, err
	})
}
