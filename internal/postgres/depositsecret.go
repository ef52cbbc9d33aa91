package postgres

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// DepositSecretValue is the column of secrets of deposits, as a place of secrets.
// [Deposit.SecretID] is the id of the row.
const DepositSecretValue = "deposit_secrets.value"

// SecretID is the id of a secret of d, for which it is sealed.
func (d Deposit) SecretID(name string) string { return d.ID + "." + name }

const sqlDepositSecrets = `
	SELECT deposit, id, value FROM deposit_secrets WHERE deposit = ANY(@ids)`

// putSecrets reads the secrets of deposits into them, sealed as they are.
func (v *View) putSecrets(ctx context.Context, all []Deposit) error {
	of, ids := map[string]Deposit{}, []string{}
	for _, d := range all {
		of[d.ID] = d
		ids = append(ids, d.ID)
	}
	rows, err := v.tx.Query(ctx, sqlDepositSecrets, pgx.NamedArgs{"ids": ids})
	if err != nil {
		return err
	}
	var from, id string
	var value []byte
	_, err = pgx.ForEachRow(rows, []any{&from, &id, &value}, func() error {
		of[from].Secrets[strings.TrimPrefix(id, from+".")] = bytes.Clone(value)
		return nil
	})
	return err
}

const sqlPutDepositSecret = `
	INSERT INTO deposit_secrets (id, deposit, value) VALUES (@id, @deposit, @value)
	ON CONFLICT (id) DO UPDATE SET value = excluded.value`

const sqlDeleteDepositSecret = `
	DELETE FROM deposit_secrets WHERE id = @id`

// conceal writes those secrets of d that are others than before, and says in the
// entry of c which those are.
func (u *Update) conceal(ctx context.Context, c call, was, d Deposit) error {
	var changed []string
	for name, value := range d.Secrets {
		if bytes.Equal(value, was.Secrets[name]) {
			continue
		}
		changed = append(changed, name)
		if _, err := u.tx.Exec(ctx, sqlPutDepositSecret, pgx.NamedArgs{"id": d.SecretID(name), "deposit": d.ID, "value": value}); err != nil {
			return err
		}
	}
	for name := range was.Secrets {
		if _, still := d.Secrets[name]; still {
			continue
		}
		changed = append(changed, name)
		if _, err := u.tx.Exec(ctx, sqlDeleteDepositSecret, pgx.NamedArgs{"id": d.SecretID(name)}); err != nil {
			return err
		}
	}
	if len(changed) > 0 {
		slices.Sort(changed)
		c.detail["secrets"] = strings.Join(changed, " ")
	}
	return nil
}
