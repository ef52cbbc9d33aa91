package postgres

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// client is one that inserts jobs, and does them when queues are given.
func (s *Store) client(queues map[string]river.QueueConfig) (*river.Client[pgx.Tx], error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, &expireWorker{store: s})
	// River logs what fails; what it prints could quote a value, and its errors
	// are with the jobs in the database anyway.
	return river.NewClient(riverpgxv5.New(s.pool), &river.Config{
		Queues: queues, Workers: workers, Logger: slog.New(slog.DiscardHandler),
	})
}

// Work does the jobs that changes have left, until ctx ends; then it finishes
// those that it has begun. Any number of processes may do this at once.
func (s *Store) Work(ctx context.Context) error {
	client, err := s.client(map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 4}})
	if err != nil {
		return translate(err)
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return translate(err)
	}
	<-ctx.Done()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTime)
	defer cancel()
	if err := client.Stop(ending); err != nil {
		return translate(client.StopAndCancel(context.WithoutCancel(ctx)))
	}
	return nil
}

// expire is the job that deletes a token at its end. It stands in the database from
// the moment that the token does.
type expire struct {
	Token string `json:"token"` // id
}

func (expire) Kind() string { return "token_expire" }

type expireWorker struct {
	river.WorkerDefaults[expire]
	store *Store
}

func (w *expireWorker) Work(ctx context.Context, job *river.Job[expire]) error {
	return w.store.Update(ctx, func(u *Update) error { return u.expireToken(ctx, job.Args.Token) })
}

// later inserts a job in the transaction of the change: it is there if the change
// is, and only then (docs/database.md, rule 9).
func (u *Update) later(ctx context.Context, job river.JobArgs, at time.Time) error {
	if err := u.tx.flush(ctx); err != nil {
		return err
	}
	_, err := u.jobs.InsertTx(ctx, u.tx.tx, job, &river.InsertOpts{ScheduledAt: at})
	return err
}
