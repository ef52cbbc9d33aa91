package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/internal/identity"
)

// A Standing is a role that somebody has somewhere, with what these are called.
type Standing struct {
	Holding
	Called       string // the user or the team; of a token, what it is for
	Organisation string // name
	Project      string // name; "" for a role in the whole organisation
	Stack        string // name; "" for a role in more than one
}

const sqlGrants = `
	SELECT coalesce(g.user_id, g.team_id, g.token_id), g.role, g.organisation, coalesce(g.project, ''), coalesce(g.stack, ''),
		coalesce(u.name, t.name, k.description), o.name, coalesce(p.name, ''), coalesce(s.name, '')
	FROM grants g JOIN organisations o ON o.id = g.organisation
		LEFT JOIN users u ON u.id = g.user_id LEFT JOIN teams t ON t.id = g.team_id LEFT JOIN tokens k ON k.id = g.token_id
		LEFT JOIN projects p ON p.id = g.project LEFT JOIN stacks s ON s.id = g.stack
	WHERE g.organisation = @organisation AND g.role IS NOT NULL
		AND (@project = '' OR g.project IS NULL OR g.project = @project)
		AND (@stack = '' OR g.stack IS NULL OR g.stack = @stack)`

// Grants are the roles that anybody has at a scope: given there, above, where they
// hold as well, or below. Of places that the principal may not see there are none.
func (v *View) Grants(ctx context.Context, who identity.Principal, at identity.Scope) ([]Standing, error) {
	if err := v.permit(ctx, readCall(who, at, "")); err != nil {
		return nil, err
	}
	own, err := v.grantsOf(ctx, who)
	if err != nil {
		return nil, err
	}
	all, err := v.standings(ctx, sqlGrants, pgx.NamedArgs{"organisation": at.Organisation, "project": at.Project, "stack": at.Stack})
	return slices.DeleteFunc(all, func(s Standing) bool { return !identity.Allowed(own, readCall(who, s.Scope, "").needs, s.Scope) }), err
}

const sqlStandingOfUser = `
	SELECT coalesce(g.user_id, g.team_id), g.role, g.organisation, coalesce(g.project, ''), coalesce(g.stack, ''),
		coalesce(u.name, t.name), o.name, coalesce(p.name, ''), coalesce(s.name, '')
	FROM grants g JOIN organisations o ON o.id = g.organisation
		LEFT JOIN users u ON u.id = g.user_id LEFT JOIN teams t ON t.id = g.team_id
		LEFT JOIN projects p ON p.id = g.project LEFT JOIN stacks s ON s.id = g.stack
	WHERE o.user_tokens AND g.role IS NOT NULL AND (g.user_id = @id OR g.team_id IN (
		SELECT x.team_id FROM team_memberships x JOIN memberships m ON m.id = x.membership WHERE m.user_id = @id))`

const sqlStandingOfToken = `
	SELECT coalesce(g.team_id, g.token_id), g.role, g.organisation, coalesce(g.project, ''), coalesce(g.stack, ''),
		coalesce(t.name, k.description), o.name, coalesce(p.name, ''), coalesce(s.name, '')
	FROM grants g JOIN organisations o ON o.id = g.organisation
		LEFT JOIN teams t ON t.id = g.team_id LEFT JOIN tokens k ON k.id = g.token_id
		LEFT JOIN projects p ON p.id = g.project LEFT JOIN stacks s ON s.id = g.stack
	WHERE g.role IS NOT NULL AND (g.token_id = @id OR g.team_id = (SELECT team_id FROM tokens WHERE id = @id))
		AND EXISTS (SELECT FROM tokens WHERE id = @id AND (expires_at IS NULL OR expires_at > @at))`

// Standing is all that the principal may, with whom they have it from: themselves or a
// team of theirs. Where a token of a user counts for nothing there is nothing. It is what
// [View.OwnGrants] is, with names: of each place where somebody has a role, they know the
// name, and that of its organisation (docs/identity.md, rule 3).
func (v *View) Standing(ctx context.Context, who identity.Principal) ([]Standing, error) {
	query := sqlStandingOfUser
	switch who.Kind {
	case identity.Person:
	case identity.Bearer:
		query = sqlStandingOfToken
	default:
		return nil, nil
	}
	return v.standings(ctx, query, pgx.NamedArgs{"id": who.ID, "at": v.at})
}

func (v *View) standings(ctx context.Context, query string, args pgx.NamedArgs) ([]Standing, error) {
	rows, err := v.tx.Query(ctx, query, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Standing, error) {
		var s Standing
		err := row.Scan(&s.Holder, &s.Role, &s.Scope.Organisation, &s.Scope.Project, &s.Scope.Stack, &s.Called, &s.Organisation, &s.Project, &s.Stack)
		return s, err
	})
}
