package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Ready reports whether the database answers, with the schema of this build.
func (s *Store) Ready(ctx context.Context) error { return translate(current(ctx, s.pool)) }

// Figures are counts that say how a store is doing, for those who watch it.
type Figures struct {
	Connections int // that are open
	Busy        int // of these, that do something
	Most        int // that may be open
	Waited      int64
	Jobs        map[string]int // by their state, as the queue calls it
	Written     map[string]int // rows of some tables since the statistics of Postgres began, of all replicas
}

const sqlJobs = `
	SELECT state::text, count(*) FROM river_job GROUP BY state`

const sqlWritten = `
	SELECT relname::text, n_tup_ins FROM pg_stat_user_tables
	WHERE schemaname = 'public' AND relname IN ('state_versions', 'state_quarantine', 'audit_entries', 'tokens')`

// Figures are those of this moment. They name nobody and nothing, so whoever runs
// the process may see them.
func (s *Store) Figures(ctx context.Context) (Figures, error) {
	pool := s.pool.Stat()
	f := Figures{Connections: int(pool.TotalConns()), Busy: int(pool.AcquiredConns()), Most: int(pool.MaxConns()),
		Waited: pool.EmptyAcquireCount()}
	var err error
	if f.Jobs, err = s.counts(ctx, sqlJobs); err != nil {
		return Figures{}, translate(err)
	}
	f.Written, err = s.counts(ctx, sqlWritten)
	return f, translate(err)
}

// counts are rows of a name and a number.
func (s *Store) counts(ctx context.Context, query string) (map[string]int, error) {
	rows, err := s.pool.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	all := map[string]int{}
	var name string
	var n int
	_, err = pgx.ForEachRow(rows, []any{&name, &n}, func() error {
		all[name] = n
		return nil
	})
	return all, err
}
