package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/internal/identity"
)

const sqlEntriesAfter = `
	SELECT sequence, at, principal_kind, principal_id, principal_name, principal_organisation,
		scope_organisation, scope_project, scope_stack, action, object, outcome, detail, previous, digest
	FROM audit_entries WHERE chain = @chain AND sequence > @at ORDER BY sequence LIMIT @limit`

const sqlEntriesBefore = `
	SELECT sequence, at, principal_kind, principal_id, principal_name, principal_organisation,
		scope_organisation, scope_project, scope_stack, action, object, outcome, detail, previous, digest
	FROM audit_entries WHERE chain = @chain AND sequence < @at ORDER BY sequence DESC LIMIT @limit`

// AuditAfter are at most so many entries of the audit log of an organisation after
// one, in their order. An export is made of such pages: what is written once stays,
// so they fit together, and no slow reader keeps a transaction open.
func (v *View) AuditAfter(ctx context.Context, who identity.Principal, organisation string, sequence int64, limit int) ([]identity.Entry, error) {
	if err := v.permitAudit(ctx, who, organisation); err != nil {
		return nil, err
	}
	return v.auditPage(ctx, sqlEntriesAfter, pgx.NamedArgs{"chain": organisation, "at": sequence, "limit": limit})
}

// AuditBefore are at most so many entries before one, the newest first.
func (v *View) AuditBefore(ctx context.Context, who identity.Principal, organisation string, sequence int64, limit int) ([]identity.Entry, error) {
	if err := v.permitAudit(ctx, who, organisation); err != nil {
		return nil, err
	}
	return v.auditPage(ctx, sqlEntriesBefore, pgx.NamedArgs{"chain": organisation, "at": sequence, "limit": limit})
}

func (v *View) auditPage(ctx context.Context, query string, args pgx.NamedArgs) ([]identity.Entry, error) {
	rows, err := v.tx.Query(ctx, query, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (identity.Entry, error) { return scanEntry(row) })
}
