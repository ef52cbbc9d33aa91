package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// A secretColumn is a column in which secrets stand sealed (docs/secrets.md).
type secretColumn struct{ field, list, replace string }

const sqlVariableValues = `
	SELECT id, value FROM variables WHERE id > @after ORDER BY id LIMIT 100`

const sqlReplaceVariableValue = `
	UPDATE variables SET value = @value WHERE id = @id AND value = @was`

const sqlSSHKeyValues = `
	SELECT id, value FROM ssh_keys WHERE id > @after ORDER BY id LIMIT 100`

const sqlReplaceSSHKeyValue = `
	UPDATE ssh_keys SET value = @value WHERE id = @id AND value = @was`

const sqlDepositSecretValues = `
	SELECT id, value FROM deposit_secrets WHERE id > @after ORDER BY id LIMIT 100`

const sqlReplaceDepositSecretValue = `
	UPDATE deposit_secrets SET value = @value WHERE id = @id AND value = @was`

// secretColumns are all of them; a test compares with the tables.
var secretColumns = []secretColumn{
	{VariableValue, sqlVariableValues, sqlReplaceVariableValue},
	{SSHKeyValue, sqlSSHKeyValues, sqlReplaceSSHKeyValue},
	{DepositSecretValue, sqlDepositSecretValues, sqlReplaceDepositSecretValue},
}

// RotateSecrets hands every sealed secret to rewrap, which is told where it stands,
// and keeps what that returns when it says that it is another text. It is for the
// operator, who has the keys, so nobody's permission is asked and no principal is
// known. A secret that somebody changes meanwhile stays as they have set it: what
// sets one uses the current key. It goes on after an error of rewrap, and returns
// how many were kept anew, with the first such error.
func (s *Store) RotateSecrets(ctx context.Context, rewrap func(id, field string, sealed []byte) ([]byte, bool, error)) (int, error) {
	done := 0
	var first error
	for _, column := range secretColumns {
		for after := ""; ; {
			rows, err := s.secrets(ctx, column, after)
			if err != nil {
				return done, errors.Join(first, translate(err))
			}
			if len(rows) == 0 {
				break
			}
			after = rows[len(rows)-1].ID
			for _, row := range rows {
				changed, err := s.rotateSecret(ctx, column, row, rewrap)
				if changed {
					done++
				}
				if err != nil && first == nil {
					first = translate(err)
				}
			}
		}
	}
	return done, first
}

type secretRow struct {
	ID    string
	Value []byte
}

// secrets are the next ones of a column.
func (s *Store) secrets(ctx context.Context, column secretColumn, after string) ([]secretRow, error) {
	query := column.list
	rows, err := s.pool.Query(ctx, query, pgx.NamedArgs{"after": after})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[secretRow])
}

func (s *Store) rotateSecret(ctx context.Context, column secretColumn, row secretRow, rewrap func(id, field string, sealed []byte) ([]byte, bool, error)) (bool, error) {
	anew, changed, err := rewrap(row.ID, column.field, row.Value)
	if err != nil || !changed {
		return false, err
	}
	query := column.replace
	tag, err := s.pool.Exec(ctx, query, pgx.NamedArgs{"id": row.ID, "value": anew, "was": row.Value})
	return err == nil && tag.RowsAffected() == 1, err
}
