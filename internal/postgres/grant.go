package postgres

import (
	"context"
	"errors"

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

// grantCall is the call that changes who may do what at a scope.
func grantCall(who identity.Principal, action, holder string, g identity.Grant) call {
	needs := map[identity.Level]identity.Permission{identity.Project: identity.ProjectAdmin, identity.Stack: identity.StackAdmin}[g.Scope.Level()]
	if needs == "" {
		needs = identity.OrganisationAdmin
	}
	return call{who: who, action: action, needs: needs, at: g.Scope, object: holder,
		detail: map[string]string{"role": string(g.Role), "project": g.Scope.Project, "stack": g.Scope.Stack}}
}

// guardGrants guards a change of these grants. Nobody can give more than they
// have, nor take it away: else whoever runs a project could make themselves its
// owner (docs/identity.md, rule 4).
func (u *Update) guardGrants(ctx context.Context, c call, change []identity.Grant, do func() error) error {
	return u.guard(ctx, c, func() error {
		own, err := u.grantsOf(ctx, c.who)
		if err != nil {
			return err
		}
		for _, g := range change {
			if g.Role != "" && !identity.MayGrant(own, g) { // flags that come to no role give nothing
				return u.refuseMore(c, g.Role)
			}
		}
		if err := do(); err != nil {
			return err
		}
		return u.stillOwned(ctx, c.at.Organisation)
	})
}

// refuseMore refuses what needs a role that somebody does not have.
func (u *Update) refuseMore(c call, role identity.Role) error {
	u.entries = append(u.entries, c.entry(forbidden))
	return problem.New(api.Forbidden, "you may not do this (%s): you have less there yourself than the role %s", c.action, role).
		WithHint("ask somebody who has that role there")
}

// Grant gives a user, a team or a token a role at a scope, in place of the one
// that it had there.
func (u *Update) Grant(ctx context.Context, who identity.Principal, holder string, g identity.Grant) error {
	if len(g.Role.Permissions()) == 0 || holderArgs(holder) == nil {
		return problem.New(api.Invalid, "a user, a team or a token has a role, and there is no such role or none of these").
			WithHint("roles are reader, planner, applier, maintainer and owner")
	}
	change := []identity.Grant{g}
	if had, err := u.roleAt(ctx, holder, g.Scope); err != nil {
		return err
	} else if had != "" {
		change = append(change, identity.Grant{Role: had, Scope: g.Scope})
	}
	return u.guardGrants(ctx, grantCall(who, "role:grant", holder, g), change, func() error {
		if err := u.mayHold(ctx, holder, g.Scope.Organisation); err != nil {
			return err
		}
		return u.putGrant(ctx, holder, g)
	})
}

const sqlMayHold = `
	SELECT EXISTS (SELECT FROM users WHERE id = @holder)
		OR EXISTS (SELECT FROM teams WHERE id = @holder AND organisation = @organisation)
		OR EXISTS (SELECT FROM tokens WHERE id = @holder AND organisation = @organisation)`

// mayHold refuses a role for who does not exist in an organisation. A team or a token
// of another one does not.
func (v *View) mayHold(ctx context.Context, holder, organisation string) error {
	var exists bool
	err := v.tx.QueryRow(ctx, sqlMayHold, pgx.NamedArgs{"holder": holder, "organisation": organisation}).Scan(&exists)
	if err == nil && !exists {
		return problem.New(api.NotFound, "there is nobody with this id who could have a role there")
	}
	return err
}

const sqlRoleAt = `
	SELECT coalesce(role, '') FROM grants
	WHERE coalesce(user_id, team_id, token_id) = @holder AND organisation = @organisation
		AND project IS NOT DISTINCT FROM @project AND stack IS NOT DISTINCT FROM @stack`

// roleAt is the role that a holder has at exactly this scope, or "".
func (v *View) roleAt(ctx context.Context, holder string, at identity.Scope) (identity.Role, error) {
	var role identity.Role
	err := v.tx.QueryRow(ctx, sqlRoleAt, pgx.NamedArgs{"holder": holder, "organisation": at.Organisation,
		"project": null(at.Project), "stack": null(at.Stack)}).Scan(&role)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return role, err
}

const sqlPutGrant = `
	INSERT INTO grants (id, user_id, team_id, token_id, role, organisation, project, stack, level, flags)
	VALUES (@id, @user, @team, @token, @role, @organisation, @project, @stack, @level, @flags)
	ON CONFLICT ON CONSTRAINT grants_one DO UPDATE SET role = excluded.role, level = excluded.level, flags = excluded.flags
	RETURNING id`

// putGrant writes a grant; what a holder is, its id says. A user with a role in an
// organisation is a member of it.
func (u *Update) putGrant(ctx context.Context, holder string, g identity.Grant) error {
	if identity.IsID(identity.UserID, holder) {
		if _, err := u.putMember(ctx, g.Scope.Organisation, holder); err != nil {
			return err
		}
	}
	_, err := u.putAccess(ctx, Access{Holding: Holding{Holder: holder, Grant: g}})
	return err
}

// putAccess writes a grant with the words in which it was said, and returns its id.
func (u *Update) putAccess(ctx context.Context, a Access) (string, error) {
	args := holderArgs(a.Holder)
	args["id"], args["role"], args["organisation"] = newID(identity.GrantID), null(string(a.Role)), a.Scope.Organisation
	args["project"], args["stack"] = null(a.Scope.Project), null(a.Scope.Stack)
	args["level"], args["flags"] = null(a.Level), a.Flags
	var id string
	err := u.tx.QueryRow(ctx, sqlPutGrant, args).Scan(&id)
	return id, err
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
	c := grantCall(who, "role:revoke", holder, g)
	return u.guardGrants(ctx, c, []identity.Grant{g}, func() error {
		tag, err := u.tx.Exec(ctx, sqlDeleteGrant, pgx.NamedArgs{"holder": holder, "role": string(g.Role),
			"organisation": g.Scope.Organisation, "project": null(g.Scope.Project), "stack": null(g.Scope.Stack)})
		if err == nil && tag.RowsAffected() == 0 {
			return notFound()
		}
		return err
	})
}

const sqlOwned = `
	SELECT EXISTS (
		SELECT FROM grants g
		WHERE g.organisation = @organisation AND g.project IS NULL AND g.role = 'owner'
			AND (g.user_id IS NOT NULL OR EXISTS (
				SELECT FROM team_memberships t JOIN memberships m ON m.id = t.membership
				WHERE t.team_id = g.team_id AND m.user_id IS NOT NULL)))`

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

// OwnGrants are the roles that the principal has, as a person and through teams.
func (v *View) OwnGrants(ctx context.Context, who identity.Principal) ([]identity.Grant, error) {
	return v.grantsOf(ctx, who)
}
