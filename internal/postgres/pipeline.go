package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A pipeline is a transaction in which as few answers as possible are waited for: on a
// busy machine each costs more than what the statement does. It begins with the first
// question, and what needs no answer goes with the next one that does.
type pipeline struct {
	conn    *pgxpool.Conn
	options pgx.TxOptions
	first   string             // a statement without arguments, or ""
	tx      pgx.Tx             // nil until it has begun
	later   []*pgx.QueuedQuery // what goes with the next question
	ended   bool               // it was committed
}

// send keeps a statement until the next question, or the end of the transaction. That it
// fails is known then, and fails that.
func (p *pipeline) send(query string, args pgx.NamedArgs) {
	var b pgx.Batch
	p.later = append(p.later, b.Queue(query, args))
}

// ask sends what was kept, then the questions, and reads all answers.
func (p *pipeline) ask(ctx context.Context, questions *pgx.Batch) error {
	var b pgx.Batch
	if p.tx == nil {
		b.BeginTx(p.options)
		if query := p.first; query != "" {
			b.Queue(query)
		}
	}
	b.QueuedQueries = append(append(b.QueuedQueries, p.later...), questions.QueuedQueries...)
	p.later = nil
	answers := p.conn.SendBatch(ctx, &b)
	if p.tx == nil {
		p.tx = answers.Tx()
	}
	return answers.Close()
}

// flush begins the transaction if it has not, and sends what was kept.
func (p *pipeline) flush(ctx context.Context) error {
	if p.tx != nil && len(p.later) == 0 {
		return nil
	}
	return p.ask(ctx, &pgx.Batch{})
}

func (p *pipeline) Query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	if err := p.flush(ctx); err != nil {
		return nil, err
	}
	return p.tx.Query(ctx, query, args...)
}

func (p *pipeline) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	if err := p.flush(ctx); err != nil {
		return failedRow{err}
	}
	return p.tx.QueryRow(ctx, query, args...)
}

func (p *pipeline) Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error) {
	if err := p.flush(ctx); err != nil {
		return pgconn.CommandTag{}, err
	}
	return p.tx.Exec(ctx, query, args...)
}

const sqlCommit = `
	COMMIT`

// commit sends what was kept and ends the transaction, if it ever began. An error that
// the server has answered means that nothing was kept.
func (p *pipeline) commit(ctx context.Context) error {
	if p.tx == nil && len(p.later) == 0 {
		return nil
	}
	var b pgx.Batch
	b.Queue(sqlCommit).Exec(func(done pgconn.CommandTag) error {
		if p.ended = done.String() == "COMMIT"; !p.ended {
			return pgx.ErrTxCommitRollback
		}
		return nil
	})
	return p.ask(ctx, &b)
}

// rollback undoes it. After a commit it does nothing; of a connection that is gone the
// server has rolled back by itself.
func (p *pipeline) rollback(ctx context.Context) {
	if p.tx != nil && !p.ended {
		_ = p.tx.Rollback(context.WithoutCancel(ctx))
	}
}

// A failedRow is the answer to a question that was never asked.
type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }
