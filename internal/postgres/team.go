package postgres

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/internal/identity"
)

// A Team is people of one organisation, and what they may in all of it.
type Team struct {
	ID           string
	Organisation string // id
	Name         string
	Settings     json.RawMessage // an object; what is in it is for the caller
	Members      []Membership    // the invited ones too
	Access       Access          // at the organisation itself; without an id if there is none
}

func (t Team) scope() identity.Scope { return identity.Scope{Organisation: t.Organisation} }

// teamCall is a call about a team.
func teamCall(who identity.Principal, action string, needs identity.Permission, t Team) call {
	return call{who: who, action: action, needs: needs, at: t.scope(), object: t.ID, detail: map[string]string{"name": t.Name}}
}

const sqlInsertTeam = `
	INSERT INTO teams (id, organisation, name, created_at) VALUES (@id, @organisation, @name, @at)`

// CreateTeam makes a team of an organisation, with no members and no roles.
func (u *Update) CreateTeam(ctx context.Context, who identity.Principal, organisation, name string) (Team, error) {
	t := Team{ID: newID(identity.TeamID), Organisation: organisation, Name: name, Settings: json.RawMessage(`{}`)}
	err := u.guard(ctx, teamCall(who, "team:create", identity.TeamAdmin, t), func() error {
		if err := identity.TeamName().Check(name); err != nil {
			return err
		}
		return u.putTeam(ctx, t)
	})
	return t, err
}

func (u *Update) putTeam(ctx context.Context, t Team) error {
	_, err := u.tx.Exec(ctx, sqlInsertTeam, pgx.NamedArgs{"id": t.ID, "organisation": t.Organisation, "name": t.Name, "at": u.at})
	return err
}

// owners is the name of the team that an organisation begins with. It is a team
// like others: what keeps an organisation owned is that somebody must be.
const owners = "owners"

// putOwners makes the team that owns a new organisation, with who made that in it.
func (u *Update) putOwners(ctx context.Context, c call) error {
	t := Team{ID: newID(identity.TeamID), Organisation: c.at.Organisation, Name: owners}
	if err := u.putTeam(ctx, t); err != nil {
		return err
	}
	if err := u.putGrant(ctx, t.ID, identity.Grant{Role: identity.Owner, Scope: c.at}); err != nil {
		return err
	}
	member, err := u.putMember(ctx, t.Organisation, c.who.ID)
	if err != nil {
		return err
	}
	return u.putInTeam(ctx, t, member)
}

const sqlChangeTeam = `
	UPDATE teams SET name = @name, settings = @settings WHERE id = @id`

// ChangeTeam gives a team another name and other settings.
func (u *Update) ChangeTeam(ctx context.Context, who identity.Principal, id, name string, settings json.RawMessage) error {
	return u.changeTeam(ctx, who, "team:change", id, map[string]string{"now": name}, func(Team) error {
		if err := identity.TeamName().Check(name); err != nil {
			return err
		}
		_, err := u.tx.Exec(ctx, sqlChangeTeam, pgx.NamedArgs{"id": id, "name": name, "settings": settings})
		return err
	})
}

const sqlDeleteTeam = `
	DELETE FROM teams WHERE id = @id`

// DeleteTeam deletes a team with its roles and its tokens.
func (u *Update) DeleteTeam(ctx context.Context, who identity.Principal, id string) error {
	return u.changeTeam(ctx, who, "team:delete", id, nil, func(Team) error {
		_, err := u.tx.Exec(ctx, sqlDeleteTeam, pgx.NamedArgs{"id": id})
		return err
	})
}

// AddMember makes a user a member of a team, and of its organisation.
func (u *Update) AddMember(ctx context.Context, who identity.Principal, team, user string) error {
	return u.changeTeam(ctx, who, "team:add_member", team, map[string]string{"user": user}, func(t Team) error {
		member, err := u.putMember(ctx, t.Organisation, user)
		if err != nil {
			return err
		}
		return u.putInTeam(ctx, t, member)
	})
}

// RemoveMember ends a user's place in a team; of the organisation they stay a member.
func (u *Update) RemoveMember(ctx context.Context, who identity.Principal, team, user string) error {
	return u.changeTeam(ctx, who, "team:remove_member", team, map[string]string{"user": user}, func(t Team) error {
		member, err := u.memberOf(ctx, t.Organisation, user)
		if err != nil || member == "" {
			return err
		}
		return u.takeFromTeam(ctx, t, member)
	})
}

// AddMemberships puts members of the organisation, or who is invited to be one,
// into a team of it.
func (u *Update) AddMemberships(ctx context.Context, who identity.Principal, team string, memberships []string) error {
	return u.changeMemberships(ctx, who, "team:add_member", team, memberships, u.putInTeam)
}

// RemoveMemberships takes members out of a team.
func (u *Update) RemoveMemberships(ctx context.Context, who identity.Principal, team string, memberships []string) error {
	return u.changeMemberships(ctx, who, "team:remove_member", team, memberships, u.takeFromTeam)
}

func (u *Update) changeMemberships(ctx context.Context, who identity.Principal, action, team string, memberships []string,
	do func(context.Context, Team, string) error) error {
	for _, id := range memberships {
		err := u.changeTeam(ctx, who, action, team, map[string]string{"membership": id}, func(t Team) error {
			m, err := u.membership(ctx, id)
			if err != nil {
				return err
			}
			if m.Organisation != t.Organisation {
				return notFound()
			}
			return do(ctx, t, id)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

const sqlPutInTeam = `
	INSERT INTO team_memberships (organisation, team_id, membership) VALUES (@organisation, @team, @membership) ON CONFLICT DO NOTHING`

func (u *Update) putInTeam(ctx context.Context, t Team, membership string) error {
	_, err := u.tx.Exec(ctx, sqlPutInTeam, pgx.NamedArgs{"organisation": t.Organisation, "team": t.ID, "membership": membership})
	return err
}

const sqlTakeFromTeam = `
	DELETE FROM team_memberships WHERE team_id = @team AND membership = @membership`

func (u *Update) takeFromTeam(ctx context.Context, t Team, membership string) error {
	_, err := u.tx.Exec(ctx, sqlTakeFromTeam, pgx.NamedArgs{"team": t.ID, "membership": membership})
	return err
}

// changeTeam guards a change of a team. It may not leave the organisation without
// an owner.
func (u *Update) changeTeam(ctx context.Context, who identity.Principal, action, id string, detail map[string]string, do func(Team) error) error {
	t, err := u.team(ctx, id)
	if err != nil {
		return err
	}
	c := teamCall(who, action, identity.TeamAdmin, t)
	for name, text := range detail {
		c.detail[name] = text
	}
	return u.guard(ctx, c, func() error {
		if err := do(t); err != nil {
			return err
		}
		return u.stillOwned(ctx, t.Organisation)
	})
}

const sqlTeam = `
	SELECT id, organisation, name, settings FROM teams WHERE id = @id`

// team is where a team is, for the guard to ask about.
func (v *View) team(ctx context.Context, id string) (Team, error) {
	return scanTeam(v.tx.QueryRow(ctx, sqlTeam, pgx.NamedArgs{"id": id}))
}

func scanTeam(row pgx.Row) (Team, error) {
	var t Team
	err := row.Scan(&t.ID, &t.Organisation, &t.Name, &t.Settings)
	return t, err
}

// Team is the one with this id, with its members.
func (v *View) Team(ctx context.Context, who identity.Principal, id string) (Team, error) {
	t, err := v.team(ctx, id)
	if err != nil {
		return Team{}, err
	}
	if err := v.permit(ctx, teamCall(who, "team:read", identity.OrganisationRead, t)); err != nil {
		return Team{}, err
	}
	whole, err := v.whole(ctx, t.Organisation, []Team{t})
	if err != nil {
		return Team{}, err
	}
	return whole[0], nil
}

const sqlTeams = `
	SELECT id, organisation, name, settings FROM teams WHERE organisation = @organisation ORDER BY lower(name)`

// Teams are those of an organisation with their members; their roles below it are
// for [View.Grants].
func (v *View) Teams(ctx context.Context, who identity.Principal, organisation string) ([]Team, error) {
	c := call{who: who, action: "team:read", needs: identity.OrganisationRead, at: identity.Scope{Organisation: organisation}, object: organisation}
	if err := v.permit(ctx, c); err != nil {
		return nil, err
	}
	rows, err := v.tx.Query(ctx, sqlTeams, pgx.NamedArgs{"organisation": organisation})
	if err != nil {
		return nil, err
	}
	teams, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Team, error) { return scanTeam(row) })
	if err != nil {
		return nil, err
	}
	return v.whole(ctx, organisation, teams)
}

// whole adds to teams of one organisation who is in them and what they may in it.
func (v *View) whole(ctx context.Context, organisation string, teams []Team) ([]Team, error) {
	members, err := v.memberships(ctx, organisation, "")
	if err != nil {
		return nil, err
	}
	access, err := v.accesses(ctx, identity.Scope{Organisation: organisation})
	if err != nil {
		return nil, err
	}
	for i, t := range teams {
		for _, m := range members {
			if m.in(t.ID) {
				teams[i].Members = append(teams[i].Members, m)
			}
		}
		for _, a := range access {
			if a.Holder == t.ID {
				teams[i].Access = a
			}
		}
	}
	return teams, nil
}
