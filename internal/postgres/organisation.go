package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/internal/identity"
)

// An Organisation is what everything else belongs to.
type Organisation struct {
	ID   string
	Name string
}

const sqlInsertOrganisation = `
	INSERT INTO organisations (id, name, created_at) VALUES (@id, @name, @at)`

const sqlInsertHead = `
	INSERT INTO audit_heads (chain) VALUES (@organisation)`

// CreateOrganisation makes an organisation whose owner is the user that asks.
func (u *Update) CreateOrganisation(ctx context.Context, who identity.Principal, name string) (Organisation, error) {
	o := Organisation{ID: newID(identity.OrganisationID), Name: name}
	if err := identity.OrganisationName().Check(name); err != nil {
		return Organisation{}, err
	}
	c := call{who: who, action: "organisation:create", at: identity.Scope{Organisation: o.ID}, object: o.ID, detail: map[string]string{"name": name}}
	err := u.guardOwn(ctx, c, who.ID, func() error {
		if _, err := u.tx.Exec(ctx, sqlInsertOrganisation, pgx.NamedArgs{"id": o.ID, "name": name, "at": u.at}); err != nil {
			return err
		}
		if _, err := u.tx.Exec(ctx, sqlInsertHead, pgx.NamedArgs{"organisation": o.ID}); err != nil {
			return err
		}
		return u.putGrant(ctx, who.ID, identity.Grant{Role: identity.Owner, Scope: c.at})
	})
	return o, err
}

const sqlOrganisation = `
	SELECT id, name FROM organisations WHERE lower(name) = lower(@name)`

// Organisation is the one with this name, for those who may see it.
func (v *View) Organisation(ctx context.Context, who identity.Principal, name string) (Organisation, error) {
	var o Organisation
	if err := v.tx.QueryRow(ctx, sqlOrganisation, pgx.NamedArgs{"name": name}).Scan(&o.ID, &o.Name); err != nil {
		return Organisation{}, err
	}
	err := v.permit(ctx, call{who: who, action: "organisation:read", needs: identity.OrganisationRead, at: identity.Scope{Organisation: o.ID}, object: o.ID})
	if err != nil {
		return Organisation{}, err
	}
	return o, nil
}

const sqlOrganisations = `
	SELECT id, name FROM organisations WHERE id = ANY(@ids) ORDER BY lower(name)`

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
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Organisation])
}
