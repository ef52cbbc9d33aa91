package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/internal/identity"
)

const sqlConsumers = `
	SELECT s.id, s.organisation, s.project, s.name, s.settings, s.created_at, s.updated_at
	FROM state_consumers c JOIN stacks s ON s.id = c.consumer
	WHERE c.stack = @stack AND (@whole OR s.project = ANY(@projects) OR s.id = ANY(@stacks))
	ORDER BY lower(s.name)`

// Consumers are the stacks that may read the outputs of a stack, as far as the
// principal may see them.
func (v *View) Consumers(ctx context.Context, who identity.Principal, stack string) ([]Stack, error) {
	s, err := v.Stack(ctx, who, stack)
	if err != nil {
		return nil, err
	}
	grants, err := v.grantsOf(ctx, who)
	if err != nil {
		return nil, err
	}
	args := pgx.NamedArgs{"stack": stack}
	reach(grants, s.Organisation, args)
	rows, err := v.tx.Query(ctx, sqlConsumers, args)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Stack, error) { return scanStack(row) })
	if err != nil {
		return nil, err
	}
	return found, v.complete(ctx, found)
}

const sqlDeleteConsumers = `
	DELETE FROM state_consumers WHERE stack = @stack AND (@all OR consumer = ANY(@consumers))`

const sqlAddConsumer = `
	INSERT INTO state_consumers (organisation, stack, consumer) VALUES (@organisation, @stack, @consumer) ON CONFLICT DO NOTHING`

// PutConsumers lets stacks of the same organisation read the outputs of a stack. It
// keeps those that may already, unless these are to be all.
func (u *Update) PutConsumers(ctx context.Context, who identity.Principal, stack string, consumers []string, all bool) error {
	s, err := u.stack(ctx, stack)
	if err != nil {
		return err
	}
	return u.guard(ctx, stackCall(who, "stack:share", identity.StackAdmin, s), func() error {
		if all {
			if _, err := u.tx.Exec(ctx, sqlDeleteConsumers, pgx.NamedArgs{"stack": stack, "all": true, "consumers": []string{}}); err != nil {
				return err
			}
		}
		for _, id := range consumers {
			c, err := u.Stack(ctx, who, id)
			if err != nil {
				return err
			}
			if c.Organisation != s.Organisation {
				return notFound()
			}
			if _, err := u.tx.Exec(ctx, sqlAddConsumer, pgx.NamedArgs{"organisation": s.Organisation, "stack": stack, "consumer": id}); err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteConsumers no longer lets these stacks read the outputs of a stack.
func (u *Update) DeleteConsumers(ctx context.Context, who identity.Principal, stack string, consumers []string) error {
	s, err := u.stack(ctx, stack)
	if err != nil {
		return err
	}
	return u.guard(ctx, stackCall(who, "stack:unshare", identity.StackAdmin, s), func() error {
		_, err := u.tx.Exec(ctx, sqlDeleteConsumers, pgx.NamedArgs{"stack": stack, "all": false, "consumers": consumers})
		return err
	})
}
