package postgres

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/state"
)

// A Quarantined is bytes that were refused, kept for somebody to look at.
type Quarantined struct {
	ID       string
	Stack    string
	Artifact string // digest
	Size     int64
	Serial   *int64 // that was claimed, nil for none
	Lineage  string
	MD5      string
	Reason   state.Reason
	At       time.Time
	Writer   identity.Principal
}

// A stack keeps so much of what was refused; the oldest goes first.
const (
	quarantineItems = 100
	quarantineBytes = 2 << 30
	lineageMax      = 255 // bytes of what was claimed
)

const sqlSameQuarantined = `
	SELECT id, stack, artifact, size, serial, lineage, md5, reason, created_at, writer_kind, writer_id, writer_name, writer_organisation
	FROM state_quarantine WHERE stack = @stack AND artifact = @artifact AND reason = @reason AND writer_id = @writer
	ORDER BY created_at DESC LIMIT 1`

const sqlInsertQuarantined = `
	INSERT INTO state_quarantine (id, stack, artifact, size, serial, lineage, md5, reason, created_at,
		writer_kind, writer_id, writer_name, writer_organisation)
	VALUES (@id, @stack, @artifact, @size, @serial, @lineage, @md5, @reason, @at, @kind, @writer, @name, @organisation)`

const sqlDropQuarantined = `
	DELETE FROM state_quarantine WHERE id IN (
		SELECT id FROM (
			SELECT id, row_number() OVER newest AS place, sum(size) OVER newest AS total
			FROM state_quarantine WHERE stack = @stack WINDOW newest AS (ORDER BY created_at DESC, id DESC)
		) AS q WHERE place > 1 AND (place > @items OR total > @bytes))
	RETURNING id, artifact, size`

// Quarantine keeps bytes that were refused. The same ones of the same writer are
// kept once, so that nobody drives out the rest by trying again.
func (u *Update) Quarantine(ctx context.Context, who identity.Principal, q Quarantined, present func(context.Context) error) (Quarantined, error) {
	s, err := u.stack(ctx, q.Stack)
	if err != nil {
		return Quarantined{}, err
	}
	q.ID, q.At, q.Writer, q.Lineage = newID(state.QuarantineID), u.at, who, cut(clean(q.Lineage), lineageMax)
	args := pgx.NamedArgs{"id": q.ID, "stack": q.Stack, "artifact": q.Artifact, "size": q.Size, "serial": q.Serial, "lineage": q.Lineage,
		"md5": cut(clean(q.MD5), lineageMax), "reason": string(q.Reason), "at": q.At, "kind": string(who.Kind), "writer": who.ID, "name": who.Name, "organisation": who.Organisation}
	c := stackCall(who, "state:quarantine", identity.StateWrite, s)
	c.detail["artifact"], c.detail["reason"], c.detail["quarantine"] = q.Artifact, string(q.Reason), q.ID
	err = u.guard(ctx, c, func() error {
		held := Kept{Artifact: q.Artifact, Present: present}
		u.hold(q.Stack, held)
		if err := u.present(ctx, held); err != nil {
			return err
		}
		rows, err := u.tx.Query(ctx, sqlSameQuarantined, args)
		if err != nil {
			return err
		}
		same, err := pgx.CollectRows(rows, scanQuarantined)
		if err != nil || len(same) > 0 {
			if len(same) > 0 {
				q = same[0]
			}
			return err
		}
		if _, err := u.tx.Exec(ctx, sqlInsertQuarantined, args); err != nil {
			return err
		}
		return u.dropQuarantined(ctx, who, s)
	})
	return q, err
}

// dropQuarantined lets the oldest go, and writes down what went.
func (u *Update) dropQuarantined(ctx context.Context, who identity.Principal, s Stack) error {
	rows, err := u.tx.Query(ctx, sqlDropQuarantined, pgx.NamedArgs{"stack": s.ID, "items": quarantineItems, "bytes": int64(quarantineBytes)})
	if err != nil {
		return err
	}
	var id, artifact string
	var size int64
	_, err = pgx.ForEachRow(rows, []any{&id, &artifact, &size}, func() error {
		c := stackCall(who, "state:quarantine_drop", "", s)
		c.detail["quarantine"], c.detail["artifact"], c.detail["size"] = id, artifact, strconv.FormatInt(size, 10)
		u.entries = append(u.entries, c.entry(done))
		return nil
	})
	return err
}

func scanQuarantined(row pgx.CollectableRow) (Quarantined, error) {
	var q Quarantined
	err := row.Scan(&q.ID, &q.Stack, &q.Artifact, &q.Size, &q.Serial, &q.Lineage, &q.MD5, &q.Reason, &q.At,
		&q.Writer.Kind, &q.Writer.ID, &q.Writer.Name, &q.Writer.Organisation)
	q.At = q.At.UTC()
	return q, err
}

const sqlQuarantinedOf = `
	SELECT id, stack, artifact, size, serial, lineage, md5, reason, created_at, writer_kind, writer_id, writer_name, writer_organisation
	FROM state_quarantine WHERE stack = @stack ORDER BY created_at DESC, id DESC`

// QuarantinedOf is what was refused of a stack, the newest first.
func (v *View) QuarantinedOf(ctx context.Context, who identity.Principal, stack string) ([]Quarantined, error) {
	s, err := v.stack(ctx, stack)
	if err != nil {
		return nil, err
	}
	if err := v.permit(ctx, stackCall(who, "state:inspect", identity.StateRecover, s)); err != nil {
		return nil, err
	}
	rows, err := v.tx.Query(ctx, sqlQuarantinedOf, pgx.NamedArgs{"stack": stack})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanQuarantined)
}

const sqlQuarantined = `
	SELECT id, stack, artifact, size, serial, lineage, md5, reason, created_at, writer_kind, writer_id, writer_name, writer_organisation
	FROM state_quarantine WHERE id = @id`

func (v *View) quarantined(ctx context.Context, id string) (Quarantined, Stack, error) {
	rows, err := v.tx.Query(ctx, sqlQuarantined, pgx.NamedArgs{"id": id})
	if err != nil {
		return Quarantined{}, Stack{}, err
	}
	q, err := pgx.CollectExactlyOneRow(rows, scanQuarantined)
	if err != nil {
		return Quarantined{}, Stack{}, err
	}
	s, err := v.stack(ctx, q.Stack)
	return q, s, err
}

// Quarantined is one of those that were refused, whose bytes the principal may read.
func (v *View) Quarantined(ctx context.Context, who identity.Principal, id string) (Quarantined, error) {
	q, s, err := v.quarantined(ctx, id)
	if err != nil {
		return Quarantined{}, err
	}
	c := stackCall(who, "state:inspect", identity.StateRecover, s)
	c.detail["quarantine"] = id
	return q, v.permit(ctx, c)
}
