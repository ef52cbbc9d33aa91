package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
)

// Server is the server itself, as it acts when nobody asked. It is no user and no
// token is of its kind: only code of the server can be it.
func Server() identity.Principal {
	return identity.Principal{Kind: identity.Server, Name: "assize"}
}

const sqlSiteAdmin = `
	SELECT EXISTS (SELECT FROM users WHERE id = @id AND site_admin)`

// permitSite lets c happen when the principal administers the server, or is it. That
// gives nothing in any organisation (docs/identity.md, rule 10).
func (v *View) permitSite(ctx context.Context, c call) error {
	c.needs = identity.SiteAdmin
	switch c.who.Kind {
	case identity.Server:
		return nil
	case identity.Person:
		var may bool
		if err := v.tx.QueryRow(ctx, sqlSiteAdmin, pgx.NamedArgs{"id": c.who.ID}).Scan(&may); err != nil {
			return err
		}
		if may {
			return nil
		}
	}
	v.entries = append(v.entries, c.entry(forbidden))
	return problem.New(api.Forbidden, "you may not do this (%s): only a site administrator may", c.action).
		WithHint("ask somebody who administers this server; docs/identity.md says who that is")
}

// guardSite is guard for what a site administrator does.
func (u *Update) guardSite(ctx context.Context, c call, do func() error) error {
	if err := u.permitSite(ctx, c); err != nil {
		return err
	}
	return u.record(ctx, c, do)
}

const sqlAppoint = `
	UPDATE users SET site_admin = @admin WHERE id = @id`

// Appoint makes a user a site administrator, or no longer one. The first is
// appointed by the [Server].
func (u *Update) Appoint(ctx context.Context, who identity.Principal, user string, admin bool) error {
	action := map[bool]string{true: "site:appoint", false: "site:dismiss"}[admin]
	return u.guardSite(ctx, call{who: who, action: action, object: user}, func() error {
		tag, err := u.tx.Exec(ctx, sqlAppoint, pgx.NamedArgs{"id": user, "admin": admin})
		if err == nil && tag.RowsAffected() == 0 {
			return notFound()
		}
		if err != nil || admin || who.Kind == identity.Server { // which can appoint another one
			return err
		}
		return u.stillAdministered(ctx)
	})
}

const sqlAdministered = `
	SELECT EXISTS (SELECT FROM users WHERE site_admin)`

// stillAdministered refuses a change after which nobody administers the server.
func (u *Update) stillAdministered(ctx context.Context) error {
	var is bool
	if err := u.tx.QueryRow(ctx, sqlAdministered).Scan(&is); err != nil {
		return err
	}
	if !is {
		return problem.New(api.Conflict, "nobody would administer the server any more").WithHint("appoint another user first")
	}
	return nil
}

const sqlAdministrators = `
	SELECT id, name FROM users WHERE site_admin ORDER BY lower(name)`

// Administrators are the site administrators, for those who are ones.
func (v *View) Administrators(ctx context.Context, who identity.Principal) ([]identity.Principal, error) {
	if err := v.permitSite(ctx, call{who: who, action: "site:read"}); err != nil {
		return nil, err
	}
	rows, err := v.tx.Query(ctx, sqlAdministrators)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (identity.Principal, error) {
		p := identity.Principal{Kind: identity.Person}
		err := row.Scan(&p.ID, &p.Name)
		return p, err
	})
}
