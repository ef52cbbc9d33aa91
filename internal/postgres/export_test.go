package postgres

import (
	"context"
	"io/fs"

	"github.com/jackc/pgx/v5"
)

// MigrateWith is Migrate with other migrations.
func MigrateWith(ctx context.Context, url string, files fs.FS) error {
	return migrateWith(ctx, url, files)
}

// Latest is the number of the last migration of this build.
func Latest() (uint, error) { return latest(migrations) }

// Tx is the transaction below a view, which nobody else can come to.
func (v *View) Tx() pgx.Tx {
	if err := v.tx.flush(context.Background()); err != nil {
		panic(err)
	}
	return v.tx.tx
}

// SecretColumns are the columns that are rotated.
func SecretColumns() []string {
	var fields []string
	for _, c := range secretColumns {
		fields = append(fields, c.field)
	}
	return fields
}
