package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// A pgTable is what the pg backend of OpenTofu keeps states in, reached over a
// connection of its own. It says to Postgres what that backend says
// (internal/backend/remote-state/pg/client.go in v1.12).
type pgTable struct{ conn *pgx.Conn }

// pgSchema is what the backend makes at init.
const pgSchema = `
	CREATE SEQUENCE IF NOT EXISTS public.global_states_id_seq AS bigint;
	CREATE SCHEMA IF NOT EXISTS terraform_remote_state;
	CREATE TABLE IF NOT EXISTS terraform_remote_state.states (id bigint NOT NULL DEFAULT nextval('public.global_states_id_seq') PRIMARY KEY, name text UNIQUE, data text);
	CREATE UNIQUE INDEX IF NOT EXISTS states_by_name ON terraform_remote_state.states (name)`

const (
	pgLock   = `SELECT states.id, pg_try_advisory_lock(states.id), pg_try_advisory_lock($1) FROM terraform_remote_state.states WHERE states.name = $2`
	pgUnlock = `SELECT pg_advisory_unlock($1)`
	pgPut    = `INSERT INTO terraform_remote_state.states (name, data) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET data = $2 WHERE states.name = $1`
	pgGet    = `SELECT data FROM terraform_remote_state.states WHERE name = $1`
)

func openTable(ctx context.Context, url string) (*pgTable, error) {
	conn, err := pgx.Connect(ctx, url)
	return &pgTable{conn}, err
}

// write locks a state that is there, puts it, and unlocks it. With its lock the
// backend takes another one, which is for new states, and gives it back at once. All
// its users share that one, and who does not get it gives up: here each client has
// its own, so that they do not fail each other.
func (t *pgTable) write(ctx context.Context, name string, creation int64, data []byte) error {
	var id int64
	var own, first bool
	if err := t.conn.QueryRow(ctx, pgLock, creation, name).Scan(&id, &own, &first); err != nil {
		return err
	}
	if !own || !first {
		return fmt.Errorf("%s is locked", name)
	}
	if err := t.unlock(ctx, creation); err != nil {
		return err
	}
	if err := t.put(ctx, name, data); err != nil {
		return err
	}
	return t.unlock(ctx, id)
}

func (t *pgTable) unlock(ctx context.Context, lock int64) error {
	var was bool
	err := t.conn.QueryRow(ctx, pgUnlock, lock).Scan(&was)
	if err == nil && !was {
		err = fmt.Errorf("lock %d was not held", lock)
	}
	return err
}

func (t *pgTable) put(ctx context.Context, name string, data []byte) error {
	_, err := t.conn.Exec(ctx, pgPut, name, data)
	return err
}

func (t *pgTable) read(ctx context.Context, name string) (data []byte, err error) {
	err = t.conn.QueryRow(ctx, pgGet, name).Scan(&data)
	return data, err
}
