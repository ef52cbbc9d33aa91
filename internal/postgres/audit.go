package postgres

import (
	"context"
	"errors"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/internal/identity"
)

// errChainBusy is that of a try which somebody else's entry would make fail in the
// end: it does not wait for that, and the next try has the lock before it begins.
var errChainBusy = errors.New("somebody else writes to the chain")

// A session that has the lock already gets it again. Where somebody else has it the row
// is not waited for.
const sqlHead = `
	SELECT free, head.sequence, head.digest FROM pg_try_advisory_xact_lock(hashtextextended('assize audit ' || @chain, 0)) AS free
	LEFT JOIN LATERAL (SELECT coalesce(sequence, 0) AS sequence, coalesce(digest, '') AS digest
		FROM audit_heads WHERE chain = @chain AND free FOR UPDATE) AS head ON true`

const sqlAppend = `
	WITH moved AS (UPDATE audit_heads SET sequence = @sequence, digest = @digest WHERE chain = @chain RETURNING chain)
	INSERT INTO audit_entries (chain, sequence, at, principal_kind, principal_id, principal_name, principal_organisation,
		scope_organisation, scope_project, scope_stack, action, object, outcome, detail, previous, digest)
	SELECT chain, @sequence, @at, @kind, @id, @name, @principal_organisation,
		@organisation, @project, @stack, @action, @object, @outcome, @detail, @previous, @digest FROM moved`

// head is where a chain ends, with the lock of the chain until the transaction
// does. Each organisation has a chain of its own, for an export of it must verify
// without the entries of others; what somebody asked of an organisation that
// there is not is in the server's chain, "" (docs/database.md, rule 8).
func (u *Update) head(ctx context.Context, chain string) (string, *identity.Entry, error) {
	if !identity.IsID(identity.OrganisationID, chain) {
		chain = ""
	}
	if head := u.heads[chain]; head != nil {
		return chain, head, nil
	}
	var b pgx.Batch
	u.askHead(&b, chain)
	if err := u.tx.ask(ctx, &b); err != nil {
		return "", nil, err
	}
	if head := u.heads[chain]; head != nil {
		return chain, head, nil
	}
	if chain == "" {
		return "", nil, pgx.ErrNoRows
	}
	return u.head(ctx, "")
}

// askHead asks for the end of a chain with other things, so that head need not. There
// is none afterwards if there is no such chain.
func (u *Update) askHead(b *pgx.Batch, chain string) {
	if u.heads[chain] != nil {
		return
	}
	u.wants = append(u.wants, chain)
	b.Queue(sqlHead, pgx.NamedArgs{"chain": chain}).QueryRow(func(row pgx.Row) error {
		var free bool
		var sequence *int64
		var digest *string
		if err := row.Scan(&free, &sequence, &digest); err != nil {
			return err
		}
		if !free {
			return errChainBusy
		}
		if sequence != nil {
			u.heads[chain] = &identity.Entry{Sequence: *sequence, Digest: *digest}
		}
		return nil
	})
}

// seal sends the entries of a transaction that were not sent yet, with the next question
// or as the last thing before its commit.
func (u *Update) seal(ctx context.Context) error {
	for ; u.sealed < len(u.entries); u.sealed++ {
		e := u.entries[u.sealed]
		chain, head, err := u.head(ctx, e.Scope.Organisation)
		if err != nil {
			return err
		}
		e.At = u.at
		*head = identity.Chain(*head, e)
		u.tx.send(sqlAppend, entryArgs(chain, *head))
	}
	return nil
}

func entryArgs(chain string, e identity.Entry) pgx.NamedArgs {
	if e.Detail == nil {
		e.Detail = map[string]string{} // the column is an object, also where there is nothing to say
	}
	return pgx.NamedArgs{
		"chain": chain, "sequence": e.Sequence, "at": e.At,
		"kind": string(e.Principal.Kind), "id": e.Principal.ID, "name": e.Principal.Name, "principal_organisation": e.Principal.Organisation,
		"organisation": e.Scope.Organisation, "project": e.Scope.Project, "stack": e.Scope.Stack,
		"action": e.Action, "object": e.Object, "outcome": e.Outcome, "detail": e.Detail,
		"previous": e.Previous, "digest": e.Digest,
	}
}

const sqlEntries = `
	SELECT sequence, at, principal_kind, principal_id, principal_name, principal_organisation,
		scope_organisation, scope_project, scope_stack, action, object, outcome, detail, previous, digest
	FROM audit_entries WHERE chain = @chain ORDER BY sequence`

// Audit is the audit log of an organisation from its first entry, as it is at the
// moment of the view; "" is that of the server, for a site administrator. Ranging over it ends with the first error; until it ends
// nothing else can be read in the same view.
func (v *View) Audit(ctx context.Context, who identity.Principal, organisation string) iter.Seq2[identity.Entry, error] {
	return func(yield func(identity.Entry, error) bool) {
		if err := v.permitAudit(ctx, who, organisation); err != nil {
			yield(identity.Entry{}, err)
			return
		}
		rows, err := v.tx.Query(ctx, sqlEntries, pgx.NamedArgs{"chain": organisation})
		if err != nil {
			yield(identity.Entry{}, err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			e, err := scanEntry(rows)
			if !yield(e, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(identity.Entry{}, err)
		}
	}
}

// permitAudit lets a chain be read.
func (v *View) permitAudit(ctx context.Context, who identity.Principal, organisation string) error {
	c := call{who: who, action: "audit:read", needs: identity.AuditRead,
		at: identity.Scope{Organisation: organisation}, object: organisation}
	if organisation == "" {
		return v.permitSite(ctx, c)
	}
	return v.permit(ctx, c)
}

func scanEntry(row pgx.Row) (identity.Entry, error) {
	var e identity.Entry
	err := row.Scan(&e.Sequence, &e.At, &e.Principal.Kind, &e.Principal.ID, &e.Principal.Name, &e.Principal.Organisation,
		&e.Scope.Organisation, &e.Scope.Project, &e.Scope.Stack, &e.Action, &e.Object, &e.Outcome, &e.Detail, &e.Previous, &e.Digest)
	e.At = e.At.UTC()
	return e, err
}
