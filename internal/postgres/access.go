package postgres

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
)

// An Access is what a team may somewhere, with the words in which it was said. The
// role is all that acts; with flags that come to none it is "".
type Access struct {
	ID string
	Holding
	Level string          // such as "write" and "custom"; "" for a role that was given as such
	Flags json.RawMessage // of "custom": an object; what is in it is for the caller
}

// accessCall is the call that changes what a team may.
func accessCall(who identity.Principal, action string, a Access) call {
	c := grantCall(who, action, a.Holder, a.Grant)
	c.detail["level"] = a.Level
	return c
}

// AddAccess gives a team access somewhere, where it had none by name.
func (u *Update) AddAccess(ctx context.Context, who identity.Principal, a Access) (Access, error) {
	err := u.changeAccess(ctx, who, a, func(had Access) error {
		if had.ID != "" {
			return problem.New(api.Invalid, "the team already has access there").WithHint("change that, or remove it first")
		}
		var err error
		a.ID, err = u.putAccess(ctx, a)
		return err
	})
	return a, err
}

// PutAccess gives a team access somewhere in place of what it had there.
func (u *Update) PutAccess(ctx context.Context, who identity.Principal, a Access) (Access, error) {
	err := u.changeAccess(ctx, who, a, func(Access) (err error) {
		a.ID, err = u.putAccess(ctx, a)
		return err
	})
	return a, err
}

// changeAccess guards a change of what a team may. Nobody can give more than they
// have, nor put less in the place of what is more (docs/identity.md, rule 4).
func (u *Update) changeAccess(ctx context.Context, who identity.Principal, a Access, do func(had Access) error) error {
	t, err := u.team(ctx, a.Holder)
	if err != nil {
		return err
	}
	had, err := u.accessAt(ctx, a.Holder, a.Scope)
	if err != nil {
		return err
	}
	return u.guardGrants(ctx, accessCall(who, "role:grant", a), []identity.Grant{a.Grant, had.Grant}, func() error {
		if t.Organisation != a.Scope.Organisation {
			return notFound()
		}
		return do(had)
	})
}

// accessAt is what a team may at exactly this scope; without an id if nothing.
func (v *View) accessAt(ctx context.Context, team string, at identity.Scope) (Access, error) {
	all, err := v.accesses(ctx, at)
	if err != nil {
		return Access{}, err
	}
	for _, a := range all {
		if a.Holder == team {
			return a, nil
		}
	}
	return Access{}, nil
}

const sqlDeleteAccess = `
	DELETE FROM grants WHERE id = @id`

// RemoveAccess takes from a team what it may somewhere.
func (u *Update) RemoveAccess(ctx context.Context, who identity.Principal, id string) error {
	a, err := u.access(ctx, id)
	if err != nil {
		return err
	}
	return u.guardGrants(ctx, accessCall(who, "role:revoke", a), []identity.Grant{a.Grant}, func() error {
		_, err := u.tx.Exec(ctx, sqlDeleteAccess, pgx.NamedArgs{"id": id})
		return err
	})
}

const sqlAccess = `
	SELECT id, team_id, coalesce(role, ''), organisation, coalesce(project, ''), coalesce(stack, ''), coalesce(level, ''), flags
	FROM grants WHERE id = @id AND team_id IS NOT NULL`

// access is the one with this id, for the guard to ask about.
func (v *View) access(ctx context.Context, id string) (Access, error) {
	return scanAccess(v.tx.QueryRow(ctx, sqlAccess, pgx.NamedArgs{"id": id}))
}

func scanAccess(row pgx.Row) (Access, error) {
	var a Access
	err := row.Scan(&a.ID, &a.Holder, &a.Role, &a.Scope.Organisation, &a.Scope.Project, &a.Scope.Stack, &a.Level, &a.Flags)
	return a, err
}

// readCall is the call that reads what teams may at a scope: who sees the place may.
func readCall(who identity.Principal, at identity.Scope, object string) call {
	needs := map[identity.Level]identity.Permission{identity.Project: identity.ProjectRead, identity.Stack: identity.StackRead}[at.Level()]
	if needs == "" {
		needs = identity.OrganisationRead
	}
	return call{who: who, action: "role:read", needs: needs, at: at, object: object}
}

// Access is the one with this id.
func (v *View) Access(ctx context.Context, who identity.Principal, id string) (Access, error) {
	a, err := v.access(ctx, id)
	if err != nil {
		return Access{}, err
	}
	if err := v.permit(ctx, readCall(who, a.Scope, id)); err != nil {
		return Access{}, err
	}
	return a, nil
}

const sqlAccesses = `
	SELECT id, team_id, coalesce(role, ''), organisation, coalesce(project, ''), coalesce(stack, ''), coalesce(level, ''), flags
	FROM grants WHERE team_id IS NOT NULL AND organisation = @organisation
		AND project IS NOT DISTINCT FROM @project AND stack IS NOT DISTINCT FROM @stack
	ORDER BY id`

func (v *View) accesses(ctx context.Context, at identity.Scope) ([]Access, error) {
	rows, err := v.tx.Query(ctx, sqlAccesses, pgx.NamedArgs{"organisation": at.Organisation, "project": null(at.Project), "stack": null(at.Stack)})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Access, error) { return scanAccess(row) })
}

// Accesses are what teams may at exactly this scope, not what they may there
// because of what is above it.
func (v *View) Accesses(ctx context.Context, who identity.Principal, at identity.Scope) ([]Access, error) {
	if err := v.permit(ctx, readCall(who, at, "")); err != nil {
		return nil, err
	}
	return v.accesses(ctx, at)
}
