package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
)

const runTriggerID = "trg_"

// A RunTrigger says that a stack is to be run when another one, its source, has
// been applied. It is kept; nothing runs yet.
type RunTrigger struct {
	ID            string
	Organisation  string // id
	Stack, Source string // ids
	StackName     string
	SourceName    string
	Created       time.Time
}

func runTriggerCall(who identity.Principal, action string, needs identity.Permission, stack Stack, t RunTrigger) call {
	return call{who: who, action: action, needs: needs, at: stack.scope(), object: t.ID, detail: map[string]string{"source": t.Source}}
}

const sqlInsertRunTrigger = `
	INSERT INTO run_triggers (id, organisation, stack, source, created_at) VALUES (@id, @organisation, @stack, @source, @at)`

// CreateRunTrigger makes a stack follow a source, which the principal must be
// allowed to see.
func (u *Update) CreateRunTrigger(ctx context.Context, who identity.Principal, stack, source string) (RunTrigger, error) {
	k, err := u.stack(ctx, stack)
	if err != nil {
		return RunTrigger{}, err
	}
	t := RunTrigger{ID: newID(runTriggerID), Organisation: k.Organisation, Stack: stack, Source: source, StackName: k.Name, Created: u.at}
	err = u.guard(ctx, runTriggerCall(who, "run_trigger:create", identity.StackAdmin, k, t), func() error {
		from, err := u.Stack(ctx, who, source)
		if err != nil {
			return err
		}
		t.SourceName = from.Name
		switch {
		case source == stack:
			return problem.New(api.Invalid, "a stack cannot follow itself")
		case from.Organisation != k.Organisation:
			return notFound()
		}
		_, err = u.tx.Exec(ctx, sqlInsertRunTrigger, pgx.NamedArgs{"id": t.ID, "organisation": k.Organisation, "stack": stack, "source": source, "at": u.at})
		return err
	})
	return t, err
}

const sqlDeleteRunTrigger = `
	DELETE FROM run_triggers WHERE id = @id`

// DeleteRunTrigger makes a stack follow a source no longer.
func (u *Update) DeleteRunTrigger(ctx context.Context, who identity.Principal, id string) error {
	t, k, err := u.runTrigger(ctx, id)
	if err != nil {
		return err
	}
	return u.guard(ctx, runTriggerCall(who, "run_trigger:delete", identity.StackAdmin, k, t), func() error {
		_, err := u.tx.Exec(ctx, sqlDeleteRunTrigger, pgx.NamedArgs{"id": id})
		return err
	})
}

const sqlRunTrigger = `
	SELECT t.id, t.organisation, t.stack, t.source, k.name, s.name, t.created_at
	FROM run_triggers t JOIN stacks k ON k.id = t.stack JOIN stacks s ON s.id = t.source WHERE t.id = @id`

// runTrigger is the one with this id, and the stack that it runs.
func (v *View) runTrigger(ctx context.Context, id string) (RunTrigger, Stack, error) {
	rows, err := v.tx.Query(ctx, sqlRunTrigger, pgx.NamedArgs{"id": id})
	if err != nil {
		return RunTrigger{}, Stack{}, err
	}
	t, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[RunTrigger])
	if err != nil {
		return RunTrigger{}, Stack{}, err
	}
	k, err := v.stack(ctx, t.Stack)
	return t, k, err
}

// RunTrigger is the one with this id.
func (v *View) RunTrigger(ctx context.Context, who identity.Principal, id string) (RunTrigger, error) {
	t, k, err := v.runTrigger(ctx, id)
	if err != nil {
		return RunTrigger{}, err
	}
	if err := v.permit(ctx, runTriggerCall(who, "run_trigger:read", identity.StackRead, k, t)); err != nil {
		return RunTrigger{}, err
	}
	return t, nil
}

const sqlRunTriggersInto = `
	SELECT t.id, t.organisation, t.stack, t.source, k.name, s.name, t.created_at
	FROM run_triggers t JOIN stacks k ON k.id = t.stack JOIN stacks s ON s.id = t.source
	WHERE t.stack = @stack ORDER BY t.created_at, t.id`

const sqlRunTriggersFrom = `
	SELECT t.id, t.organisation, t.stack, t.source, k.name, s.name, t.created_at
	FROM run_triggers t JOIN stacks k ON k.id = t.stack JOIN stacks s ON s.id = t.source
	WHERE t.source = @stack ORDER BY t.created_at, t.id`

// RunTriggers are those that run a stack or, outbound, those that it sets off.
func (v *View) RunTriggers(ctx context.Context, who identity.Principal, stack string, outbound bool) ([]RunTrigger, error) {
	k, err := v.stack(ctx, stack)
	if err != nil {
		return nil, err
	}
	c := runTriggerCall(who, "run_trigger:read", identity.StackRead, k, RunTrigger{})
	c.object = stack
	if err := v.permit(ctx, c); err != nil {
		return nil, err
	}
	query := sqlRunTriggersInto
	if outbound {
		query = sqlRunTriggersFrom
	}
	rows, err := v.tx.Query(ctx, query, pgx.NamedArgs{"stack": stack})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[RunTrigger])
}
