package postgres

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/internal/identity"
)

const sqlChainsThatExist = `
	SELECT chain FROM audit_heads WHERE chain = ANY(@chains)`

const sqlLockChainInTransaction = `
	SELECT pg_advisory_xact_lock(hashtextextended('assize audit ' || @chain, 0))`

const sqlHead = `
	SELECT coalesce(sequence, 0), coalesce(digest, '') FROM audit_heads WHERE chain = @chain FOR UPDATE`

const sqlInsertEntry = `
	INSERT INTO audit_entries (chain, sequence, at, principal_kind, principal_id, principal_name, principal_organisation,
		scope_organisation, scope_project, scope_stack, action, object, outcome, detail, previous, digest)
	VALUES (@chain, @sequence, @at, @kind, @id, @name, @principal_organisation,
		@organisation, @project, @stack, @action, @object, @outcome, @detail, @previous, @digest)`

const sqlMoveHead = `
	UPDATE audit_heads SET sequence = @sequence, digest = @digest WHERE chain = @chain`

// seal writes the entries of a transaction, as the last thing before its commit,
// so that the chain's lock is held as short as can be. Each organisation has a
// chain of its own, for an export of it must verify without the entries of others
// (docs/database.md, rule 8).
func (u *Update) seal(ctx context.Context) error {
	if len(u.entries) == 0 {
		return nil
	}
	rows, err := u.tx.Query(ctx, sqlChainsThatExist, pgx.NamedArgs{"chains": u.chains()})
	if err != nil {
		return err
	}
	exist, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	chains := map[string][]identity.Entry{}
	for _, e := range u.entries {
		chain := e.Scope.Organisation
		if !slices.Contains(exist, chain) {
			chain = "" // somebody asked for what there is not
		}
		chains[chain] = append(chains[chain], e)
	}
	for _, chain := range slices.Sorted(maps.Keys(chains)) { // in one order, so that no two wait for each other
		if err := u.extend(ctx, chain, chains[chain]); err != nil {
			return err
		}
	}
	return nil
}

// chains are those that the entries belong to.
func (u *Update) chains() []string {
	var chains []string
	for _, e := range u.entries {
		chains = append(chains, e.Scope.Organisation)
	}
	return chains
}

// extend adds entries to one chain.
func (u *Update) extend(ctx context.Context, chain string, entries []identity.Entry) error {
	if _, err := u.tx.Exec(ctx, sqlLockChainInTransaction, pgx.NamedArgs{"chain": chain}); err != nil {
		return err
	}
	var head identity.Entry
	if err := u.tx.QueryRow(ctx, sqlHead, pgx.NamedArgs{"chain": chain}).Scan(&head.Sequence, &head.Digest); err != nil {
		return err
	}
	for _, e := range entries {
		e.At = u.at
		head = identity.Chain(head, e)
		if _, err := u.tx.Exec(ctx, sqlInsertEntry, entryArgs(chain, head)); err != nil {
			return err
		}
	}
	_, err := u.tx.Exec(ctx, sqlMoveHead, pgx.NamedArgs{"chain": chain, "sequence": head.Sequence, "digest": head.Digest})
	return err
}

func entryArgs(chain string, e identity.Entry) pgx.NamedArgs {
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
// moment of the view. Ranging over it ends with the first error.
func (v *View) Audit(ctx context.Context, who identity.Principal, organisation string) iter.Seq2[identity.Entry, error] {
	return func(yield func(identity.Entry, error) bool) {
		err := v.permit(ctx, call{who: who, action: "audit:read", needs: identity.AuditRead,
			at: identity.Scope{Organisation: organisation}, object: organisation})
		if err != nil {
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

func scanEntry(row pgx.Row) (identity.Entry, error) {
	var e identity.Entry
	err := row.Scan(&e.Sequence, &e.At, &e.Principal.Kind, &e.Principal.ID, &e.Principal.Name, &e.Principal.Organisation,
		&e.Scope.Organisation, &e.Scope.Project, &e.Scope.Stack, &e.Action, &e.Object, &e.Outcome, &e.Detail, &e.Previous, &e.Digest)
	e.At = e.At.UTC()
	return e, err
}
