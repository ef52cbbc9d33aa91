package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
)

// A Holding is a role that somebody has somewhere.
type Holding struct {
	Holder string // id of a user, a team or a token
	identity.Grant
}

// grantCall is the call that changes who may do what at a scope: for an
// organisation that is its owner's, below it that of whoever runs the project.
func grantCall(who identity.Principal, action, holder string, g identity.Grant) call {
	needs := identity.ProjectAdmin
	at := g.Scope
	switch g.Scope.Level() {
	case identity.Organisation:
		needs = identity.OrganisationAdmin
	case identity.Stack:
		at.Stack = ""
	}
	return call{who: who, action: action, needs: needs, at: at, object: holder,
		detail: map[string]string{"role": string(g.Role), "project": g.Scope.Project, "stack": g.Scope.Stack}}
}

// Grant gives a user, a team or a token a role at a scope, in place of the one
// that it had there. Nobody can give more than they have: else whoever runs a
// project could make themselves the owner of it.
func (u *Update) Grant(ctx context.Context, who identity.Principal, holder string, g identity.Grant) error {
	c := grantCall(who, "role:grant", holder, g)
	return u.guard(ctx, c, func() error {
		if len(g.Role.Permissions()) == 0 {
			return problem.New(api.Invalid, "there is no such role").WithHint("roles are reader, planner, applier, maintainer and owner")
		}
		own, err := u.grantsOf(ctx, who)
		if err != nil {
			return err
		}
		for _, m := range identity.Permissions() {
			has := identity.Allowed([]identity.Grant{g}, m.Permission, g.Scope)
			if has && !identity.Allowed(own, m.Permission, g.Scope) {
				c.needs = m.Permission
				return u.refuse(c, true)
			}
		}
		if err := u.putGrant(ctx, holder, g); err != nil {
			return err
		}
		return u.stillOwned(ctx, g.Scope.Organisation)
	})
}

const sqlPutGrant = `
	INSERT INTO grants (user_id, team_id, token_id, role, organisation, project, stack)
	VALUES (@user, @team, @token, @role, @organisation, @project, @stack)
	ON CONFLICT ON CONSTRAINT grants_one DO UPDATE SET role = excluded.role`

// putGrant writes a grant; what a holder is, its id says.
func (u *Update) putGrant(ctx context.Context, holder string, g identity.Grant) error {
	args := holderArgs(holder)
	if args == nil {
		return problem.New(api.Invalid, "a role is for a user, a team or a token")
	}
	args["role"], args["organisation"] = string(g.Role), g.Scope.Organisation
	args["project"], args["stack"] = null(g.Scope.Project), null(g.Scope.Stack)
	_, err := u.tx.Exec(ctx, sqlPutGrant, args)
	return err
}

// holderArgs name a holder in the column for what it is; nil if it is nothing
// that can hold a role.
func holderArgs(holder string) pgx.NamedArgs {
	args := pgx.NamedArgs{"user": nil, "team": nil, "token": nil}
	switch {
	case identity.IsID(identity.UserID, holder):
		args["user"] = holder
	case identity.IsID(identity.TeamID, holder):
		args["team"] = holder
	case identity.IsID(identity.TokenID, holder):
		args["token"] = holder
	default:
		return nil
	}
	return args
}

// null is text, or what Postgres keeps where there is none.
func null(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

const sqlDeleteGrant = `
	DELETE FROM grants
	WHERE coalesce(user_id, team_id, token_id) = @holder AND role = @role AND organisation = @organisation
		AND project IS NOT DISTINCT FROM @project AND stack IS NOT DISTINCT FROM @stack`

// Revoke takes a role away.
func (u *Update) Revoke(ctx context.Context, who identity.Principal, holder string, g identity.Grant) error {
	return u.guard(ctx, grantCall(who, "role:revoke", holder, g), func() error {
		tag, err := u.tx.Exec(ctx, sqlDeleteGrant, pgx.NamedArgs{"holder": holder, "role": string(g.Role),
			"organisation": g.Scope.Organisation, "project": null(g.Scope.Project), "stack": null(g.Scope.Stack)})
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return notFound()
		}
		return u.stillOwned(ctx, g.Scope.Organisation)
	})
}

const sqlOwned = `
	SELECT EXISTS (
		SELECT FROM grants g
		WHERE g.organisation = @organisation AND g.project IS NULL AND g.role = 'owner'
			AND (g.user_id IS NOT NULL OR EXISTS (SELECT FROM team_members m WHERE m.team_id = g.team_id)))`

// stillOwned refuses a change after which nobody owns an organisation: nobody
// could ever give a role in it again. That two such changes cannot pass each
// other, the isolation of the transactions sees to.
func (u *Update) stillOwned(ctx context.Context, organisation string) error {
	var owned bool
	if err := u.tx.QueryRow(ctx, sqlOwned, pgx.NamedArgs{"organisation": organisation}).Scan(&owned); err != nil {
		return err
	}
	if !owned {
		return problem.New(api.Conflict, "nobody would own the organisation any more").
			WithHint("make another user an owner first")
	}
	return nil
}

const sqlHoldings = `
	SELECT coalesce(user_id, team_id, token_id) AS holder, role, organisation, coalesce(project, ''), coalesce(stack, '')
	FROM grants WHERE organisation = @organisation
	ORDER BY project NULLS FIRST, stack NULLS FIRST, holder`

// Grants are all roles that anybody has in an organisation.
func (v *View) Grants(ctx context.Context, who identity.Principal, organisation string) ([]Holding, error) {
	c := call{who: who, action: "role:read", needs: identity.OrganisationRead, at: identity.Scope{Organisation: organisation}, object: organisation}
	if err := v.permit(ctx, c); err != nil {
		return nil, err
	}
	rows, err := v.tx.Query(ctx, sqlHoldings, pgx.NamedArgs{"organisation": organisation})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Holding, error) {
		var h Holding
		err := row.Scan(&h.Holder, &h.Role, &h.Scope.Organisation, &h.Scope.Project, &h.Scope.Stack)
		return h, err
	})
}
