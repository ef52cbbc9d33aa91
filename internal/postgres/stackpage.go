package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/internal/identity"
)

// A StackPage says which stacks of an organisation are wanted.
type StackPage struct {
	Organisation string // id
	Project      string // id; "" for all
	Search       string // a part of the name, in any case
	After        string // name of the last stack of the page before; "" for the first page
	Limit        int
}

// The inner query asks for nothing that is not in the index by name.
const sqlStackPage = `
	SELECT id, s.organisation, s.project, s.name, s.settings, s.created_at, s.updated_at FROM (SELECT id FROM stacks
	WHERE organisation = @organisation AND lower(name) > lower(@after)
		AND (@whole OR project = ANY(@projects) OR id = ANY(@stacks))
		AND (@project::text IS NULL OR project = @project)
		AND (trigrams(@search) IS NULL OR trigrams(name) @> trigrams(@search))
		AND (@search::text IS NULL OR strpos(lower(name), lower(@search)) > 0)
	ORDER BY lower(name) LIMIT @limit) AS page JOIN stacks s USING (id)
	ORDER BY lower(s.name)`

// StacksAfter are the stacks of a page that the principal may see, by name. To see
// none is no refusal. A stack that is there all the while is on exactly one of the
// pages that follow each other, whatever comes and goes beside it.
func (v *View) StacksAfter(ctx context.Context, who identity.Principal, p StackPage) ([]Stack, error) {
	grants, err := v.grantsOf(ctx, who)
	if err != nil {
		return nil, err
	}
	args := pgx.NamedArgs{"organisation": p.Organisation, "project": null(p.Project), "search": null(p.Search), "after": p.After, "limit": p.Limit}
	reach(grants, p.Organisation, args)
	rows, err := v.tx.Query(ctx, sqlStackPage, planned, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Stack, error) { return scanStack(row) })
}
