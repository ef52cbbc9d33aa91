package postgres

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
)

// An Organisation is what everything else belongs to.
type Organisation struct {
	ID       string
	Name     string
	Project  string          // id of the one for stacks that name none
	Settings json.RawMessage // an object; what is in it is for the caller
	Created  time.Time

	// UserTokens says that members may act with tokens of their own.
	UserTokens bool
}

func (o Organisation) scope() identity.Scope { return identity.Scope{Organisation: o.ID} }

// organisationCall is a call about an organisation.
func organisationCall(who identity.Principal, action string, needs identity.Permission, o Organisation) call {
	return call{who: who, action: action, needs: needs, at: o.scope(), object: o.ID, detail: map[string]string{"name": o.Name}}
}

// defaultProject is the name of the project that an organisation begins with.
const defaultProject = "Default Project"

const sqlInsertOrganisation = `
	INSERT INTO organisations (id, name, project, created_at) VALUES (@id, @name, @project, @at)`

const sqlInsertHead = `
	INSERT INTO audit_heads (chain) VALUES (@organisation)`

// CreateOrganisation makes an organisation with a project for the stacks that name
// none. A site administrator may, and becomes the first of the team that owns it
// (docs/identity.md, rule 10).
func (u *Update) CreateOrganisation(ctx context.Context, who identity.Principal, name string) (Organisation, error) {
	o := Organisation{ID: newID(identity.OrganisationID), Name: name, Project: newID(identity.ProjectID),
		Settings: json.RawMessage(`{}`), Created: u.at, UserTokens: true}
	if err := identity.OrganisationName().Check(name); err != nil {
		return Organisation{}, err
	}
	c := organisationCall(who, "organisation:create", "", o)
	err := u.guardSite(ctx, c, func() error {
		if _, err := u.tx.Exec(ctx, sqlInsertOrganisation, pgx.NamedArgs{"id": o.ID, "name": name, "project": o.Project, "at": u.at}); err != nil {
			return err
		}
		if _, err := u.tx.Exec(ctx, sqlInsertProject, pgx.NamedArgs{"id": o.Project, "organisation": o.ID, "name": defaultProject, "at": u.at}); err != nil {
			return err
		}
		if _, err := u.tx.Exec(ctx, sqlInsertHead, pgx.NamedArgs{"organisation": o.ID}); err != nil {
			return err
		}
		return u.putOwners(ctx, c)
	})
	return o, err
}

const sqlChangeOrganisation = `
	UPDATE organisations SET name = @name, settings = @settings, user_tokens = @user_tokens WHERE id = @id`

// ChangeOrganisation gives an organisation the name and the settings that o has. Only
// a token that is no user's can shut out those of users: it can let them in again.
func (u *Update) ChangeOrganisation(ctx context.Context, who identity.Principal, o Organisation) error {
	c := organisationCall(who, "organisation:change", identity.OrganisationAdmin, o)
	c.detail["user_tokens"] = strconv.FormatBool(o.UserTokens)
	return u.guard(ctx, c, func() error {
		if !o.UserTokens && who.Kind != identity.Bearer {
			return problem.New(api.Conflict, "you would shut yourself out of the organisation").
				WithHint("do it with a token of the team of owners, or of the organisation")
		}
		if err := identity.OrganisationName().Check(o.Name); err != nil {
			return err
		}
		if err := checkSettings(o.Settings); err != nil {
			return err
		}
		_, err := u.tx.Exec(ctx, sqlChangeOrganisation, pgx.NamedArgs{"id": o.ID, "name": o.Name, "settings": o.Settings, "user_tokens": o.UserTokens})
		return err
	})
}

// settingsMax is how much the settings of one thing may be, in bytes of JSON.
const settingsMax = 64 << 10

// checkSettings keeps lists quick: they hold the settings of all that is in them.
func checkSettings(settings json.RawMessage) error {
	if len(settings) > settingsMax {
		return problem.New(api.TooLarge, "the settings have more than %d bytes", settingsMax).
			WithHint("shorten the longest, such as a description")
	}
	return nil
}

const sqlKeepers = `
	SELECT count(*), coalesce(min(name), '') FROM stacks s
	WHERE organisation = @id AND (EXISTS (SELECT FROM state_versions WHERE stack = s.id)
		OR EXISTS (SELECT FROM state_quarantine WHERE stack = s.id) OR EXISTS (SELECT FROM state_locks WHERE stack = s.id))`

const sqlDeleteOrganisation = `
	WITH s AS (DELETE FROM stacks WHERE organisation = @id),
	     g AS (DELETE FROM grants WHERE organisation = @id),
	     t AS (DELETE FROM tokens WHERE organisation = @id),
	     m AS (DELETE FROM teams WHERE organisation = @id),
	     p AS (DELETE FROM projects WHERE organisation = @id)
	DELETE FROM organisations WHERE id = @id`

// DeleteOrganisation deletes an organisation with all that is in it. It is refused
// while a stack has a state, be it one that was refused, or a lock to write one: no
// state is ever deleted unseen. The audit chain stays, and its last entry is this one
// (docs/protocol.md, rule 12).
func (u *Update) DeleteOrganisation(ctx context.Context, who identity.Principal, id string) error {
	o, err := u.organisation(ctx, sqlOrganisationByID, pgx.NamedArgs{"id": id})
	if err != nil {
		return err
	}
	return u.guard(ctx, organisationCall(who, "organisation:delete", identity.OrganisationAdmin, o), func() error {
		var n int
		var name string
		if err := u.tx.QueryRow(ctx, sqlKeepers, pgx.NamedArgs{"id": id}).Scan(&n, &name); err != nil {
			return err
		}
		if n != 0 {
			return problem.New(api.Refused, "%d stacks of the organisation have a state or a lock, such as %s", n, name).
				WithHint("delete these stacks first, when nobody needs their states any more")
		}
		_, err := u.tx.Exec(ctx, sqlDeleteOrganisation, pgx.NamedArgs{"id": id})
		return err
	})
}

const sqlOrganisation = `
	SELECT id, name, project, settings, created_at, user_tokens FROM organisations WHERE lower(name) = lower(@name)`

const sqlOrganisationByID = `
	SELECT id, name, project, settings, created_at, user_tokens FROM organisations WHERE id = @id`

// organisation is one, for the guard to ask about.
func (v *View) organisation(ctx context.Context, query string, args pgx.NamedArgs) (Organisation, error) {
	return scanOrganisation(v.tx.QueryRow(ctx, query, args))
}

func scanOrganisation(row pgx.Row) (Organisation, error) {
	var o Organisation
	err := row.Scan(&o.ID, &o.Name, &o.Project, &o.Settings, &o.Created, &o.UserTokens)
	o.Created = o.Created.UTC()
	return o, err
}

// Organisation is the one with this name, for those who may see it.
func (v *View) Organisation(ctx context.Context, who identity.Principal, name string) (Organisation, error) {
	o, err := v.organisation(ctx, sqlOrganisation, pgx.NamedArgs{"name": name})
	if err != nil {
		return Organisation{}, err
	}
	if err := v.permit(ctx, organisationCall(who, "organisation:read", identity.OrganisationRead, o)); err != nil {
		return Organisation{}, err
	}
	return o, nil
}

// Home is the organisation with this name, for whoever has any role in it: they may
// see things in it, and of itself its name (docs/identity.md, rule 3).
func (v *View) Home(ctx context.Context, who identity.Principal, name string) (Organisation, error) {
	return v.home(ctx, who, sqlOrganisation, pgx.NamedArgs{"name": name})
}

// HomeOf is the organisation with this id, for whoever has any role in it.
func (v *View) HomeOf(ctx context.Context, who identity.Principal, id string) (Organisation, error) {
	return v.home(ctx, who, sqlOrganisationByID, pgx.NamedArgs{"id": id})
}

func (v *View) home(ctx context.Context, who identity.Principal, query string, args pgx.NamedArgs) (Organisation, error) {
	o, err := v.organisation(ctx, query, args)
	if err != nil {
		return Organisation{}, err
	}
	grants, err := v.grantsOf(ctx, who)
	if err != nil {
		return Organisation{}, err
	}
	if !identity.Member(grants, o.ID) {
		return Organisation{}, v.refuseStranger(ctx, organisationCall(who, "organisation:read", identity.OrganisationRead, o))
	}
	return o, nil
}

const sqlOrganisations = `
	SELECT id, name, project, settings, created_at, user_tokens FROM organisations WHERE id = ANY(@ids) ORDER BY lower(name)`

// Organisations are those into which any role of the principal reaches.
func (v *View) Organisations(ctx context.Context, who identity.Principal) ([]Organisation, error) {
	grants, err := v.grantsOf(ctx, who)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, g := range grants {
		ids = append(ids, g.Scope.Organisation)
	}
	rows, err := v.tx.Query(ctx, sqlOrganisations, pgx.NamedArgs{"ids": ids})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Organisation, error) { return scanOrganisation(row) })
}
