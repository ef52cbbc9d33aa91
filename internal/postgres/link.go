package postgres

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/assize-iac/assize/internal/identity"
)

const sqlLinks = `
	SELECT deposit, relation, leads_to FROM deposit_links WHERE deposit = ANY(@ids) ORDER BY added`

// putLinks reads the links of deposits into them.
func (v *View) putLinks(ctx context.Context, all []Deposit) error {
	of, ids := map[string]Deposit{}, []string{}
	for _, d := range all {
		of[d.ID] = d
		ids = append(ids, d.ID)
	}
	rows, err := v.tx.Query(ctx, sqlLinks, pgx.NamedArgs{"ids": ids})
	if err != nil {
		return err
	}
	var from, relation, to string
	_, err = pgx.ForEachRow(rows, []any{&from, &relation, &to}, func() error {
		of[from].Links[relation] = append(of[from].Links[relation], to)
		return nil
	})
	return err
}

// Link makes a deposit be about these as well. All of them must be there.
func (u *Update) Link(ctx context.Context, who identity.Principal, kind DepositKind, id, relation string, to []string) error {
	d, at, err := u.deposit(ctx, kind, id)
	if err != nil {
		return err
	}
	c := depositCall(who, "link", kind.change(), at, d)
	c.detail["relation"], c.detail["to"] = relation, strings.Join(to, " ")
	return u.guard(ctx, c, func() error { return u.link(ctx, d, relation, to) })
}

const sqlInsertLinks = `
	INSERT INTO deposit_links (organisation, deposit, relation, other, project, stack, user_id, membership)
	SELECT @organisation, @deposit, @relation, CASE WHEN id !~ '^(prj|stk|usr|mem)_' THEN id END,
		CASE WHEN id ~ '^prj_' THEN id END, CASE WHEN id ~ '^stk_' THEN id END,
		CASE WHEN id ~ '^usr_' THEN id END, CASE WHEN id ~ '^mem_' THEN id END
	FROM unnest(@to::text[]) WITH ORDINALITY AS t (id, n) ORDER BY n
	ON CONFLICT DO NOTHING`

// link writes links. One that leads to what is not there, or of another
// organisation, is refused by the keys of the table, as if it were not there.
func (u *Update) link(ctx context.Context, d Deposit, relation string, to []string) error {
	prefixes := kindOf(d.ID).meaning().links[relation]
	for _, id := range to {
		if !slices.ContainsFunc(prefixes, func(prefix string) bool { return identity.IsID(prefix, id) }) {
			return notFound()
		}
	}
	_, err := u.tx.Exec(ctx, sqlInsertLinks, pgx.NamedArgs{"organisation": d.Organisation, "deposit": d.ID, "relation": relation, "to": to})
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == codeForeignKey {
		return caused(notFound(), err)
	}
	return err
}

// relink writes those links of d that are others than before, and says so in the
// entry of c.
func (u *Update) relink(ctx context.Context, c call, was, d Deposit) error {
	for _, relation := range slices.Sorted(maps.Keys(d.Links)) {
		to := d.Links[relation]
		if slices.Equal(to, was.Links[relation]) {
			continue
		}
		c.detail[relation] = strings.Join(to, " ")
		if err := u.unlink(ctx, d, relation, was.Links[relation]); err != nil {
			return err
		}
		if err := u.link(ctx, d, relation, to); err != nil {
			return err
		}
	}
	return nil
}

const sqlDeleteLinks = `
	DELETE FROM deposit_links WHERE deposit = @deposit AND relation = @relation AND leads_to = ANY(@to)`

// Unlink makes a deposit not be about these any more. Those that it was not about
// do not matter.
func (u *Update) Unlink(ctx context.Context, who identity.Principal, kind DepositKind, id, relation string, to []string) error {
	d, at, err := u.deposit(ctx, kind, id)
	if err != nil {
		return err
	}
	c := depositCall(who, "unlink", kind.change(), at, d)
	c.detail["relation"], c.detail["to"] = relation, strings.Join(to, " ")
	return u.guard(ctx, c, func() error { return u.unlink(ctx, d, relation, to) })
}

func (u *Update) unlink(ctx context.Context, d Deposit, relation string, from []string) error {
	_, err := u.tx.Exec(ctx, sqlDeleteLinks, pgx.NamedArgs{"deposit": d.ID, "relation": relation, "to": from})
	return err
}
