package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/internal/identity"
)

const sqlInsertTeam = `
	INSERT INTO teams (id, organisation, name, created_at) VALUES (@id, @organisation, @name, @at)`

// CreateTeam makes a team of an organisation, with no members and no roles.
func (u *Update) CreateTeam(ctx context.Context, who identity.Principal, organisation, name string) (identity.Team, error) {
	t := identity.Team{ID: newID(identity.TeamID), Organisation: organisation, Name: name}
	c := call{who: who, action: "team:create", needs: identity.TeamAdmin,
		at: identity.Scope{Organisation: organisation}, object: t.ID, detail: map[string]string{"name": name}}
	err := u.guard(ctx, c, func() error {
		if err := identity.TeamName().Check(name); err != nil {
			return err
		}
		_, err := u.tx.Exec(ctx, sqlInsertTeam, pgx.NamedArgs{"id": t.ID, "organisation": organisation, "name": name, "at": u.at})
		return err
	})
	return t, err
}

const sqlDeleteTeam = `
	DELETE FROM teams WHERE id = @id`

// DeleteTeam deletes a team with its roles and its tokens.
func (u *Update) DeleteTeam(ctx context.Context, who identity.Principal, id string) error {
	return u.changeTeam(ctx, who, "team:delete", id, "", func() error {
		if _, err := u.tx.Exec(ctx, sqlDeleteTeam, pgx.NamedArgs{"id": id}); err != nil {
			return err
		}
		return nil
	})
}

const sqlInsertMember = `
	INSERT INTO team_members (team_id, user_id) VALUES (@team, @user) ON CONFLICT DO NOTHING`

// AddMember makes a user a member of a team.
func (u *Update) AddMember(ctx context.Context, who identity.Principal, team, user string) error {
	return u.changeTeam(ctx, who, "team:add_member", team, user, func() error {
		_, err := u.tx.Exec(ctx, sqlInsertMember, pgx.NamedArgs{"team": team, "user": user})
		return err
	})
}

const sqlDeleteMember = `
	DELETE FROM team_members WHERE team_id = @team AND user_id = @user`

// RemoveMember ends a user's membership of a team.
func (u *Update) RemoveMember(ctx context.Context, who identity.Principal, team, user string) error {
	return u.changeTeam(ctx, who, "team:remove_member", team, user, func() error {
		_, err := u.tx.Exec(ctx, sqlDeleteMember, pgx.NamedArgs{"team": team, "user": user})
		return err
	})
}

// changeTeam guards a change of a team, and of a user's place in it. It may not
// leave the organisation without an owner.
func (u *Update) changeTeam(ctx context.Context, who identity.Principal, action, id, user string, do func() error) error {
	t, err := u.team(ctx, id)
	if err != nil {
		return err
	}
	detail := map[string]string{"name": t.Name}
	if user != "" {
		detail["user"] = user
	}
	at := identity.Scope{Organisation: t.Organisation}
	return u.guard(ctx, call{who: who, action: action, needs: identity.TeamAdmin, at: at, object: id, detail: detail}, func() error {
		if err := do(); err != nil {
			return err
		}
		return u.stillOwned(ctx, t.Organisation)
	})
}

const sqlTeam = `
	SELECT id, name, organisation FROM teams WHERE id = @id`

func (v *View) team(ctx context.Context, id string) (identity.Team, error) {
	var t identity.Team
	err := v.tx.QueryRow(ctx, sqlTeam, pgx.NamedArgs{"id": id}).Scan(&t.ID, &t.Name, &t.Organisation)
	return t, err
}

const sqlTeams = `
	SELECT t.id, t.name, t.organisation, coalesce(array_agg(m.user_id ORDER BY m.user_id) FILTER (WHERE m.user_id IS NOT NULL), '{}')
	FROM teams t LEFT JOIN team_members m ON m.team_id = t.id
	WHERE t.organisation = @organisation
	GROUP BY t.id ORDER BY lower(t.name)`

// Teams are those of an organisation with their members; their roles are for
// [View.Grants].
func (v *View) Teams(ctx context.Context, who identity.Principal, organisation string) ([]identity.Team, error) {
	c := call{who: who, action: "team:read", needs: identity.OrganisationRead, at: identity.Scope{Organisation: organisation}, object: organisation}
	if err := v.permit(ctx, c); err != nil {
		return nil, err
	}
	rows, err := v.tx.Query(ctx, sqlTeams, pgx.NamedArgs{"organisation": organisation})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (identity.Team, error) {
		var t identity.Team
		err := row.Scan(&t.ID, &t.Name, &t.Organisation, &t.Members)
		return t, err
	})
}
