package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// A keeper writes and reads states for many clients, each with a state of its own.
// Both work through the client's connection.
type keeper struct {
	name  string
	write func(client int, serial int64) error
	read  func(client int, serial int64) error
}

// stored measures how fast states of so many kilobytes are written and read:
// by the server, and by what the pg backend of OpenTofu does in the same Postgres.
// counts are the numbers of clients, the largest last.
func stored(dir, bin string, n, runs int, counts []int, while time.Duration) (_ string, err error) {
	text, err := makeState(n * 1000)
	if err != nil {
		return "", err
	}
	s, err := startServer(bin, filepath.Join(dir, fmt.Sprintf("server-%d", n)))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.stop(), os.RemoveAll(s.data)) }()
	var b strings.Builder
	fmt.Fprintf(&b, "\n### States of %d KB\n\n", n)
	b.WriteString("| | writes/s | p50 ms | p99 ms | p50 / assize | reads/s | p50 ms | p99 ms | p50 / assize |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	most := counts[len(counts)-1]
	own, err := s.keeper(text, most, false)
	if err != nil {
		return "", err
	}
	peer, err := s.peer(text, most)
	if err != nil {
		return "", err
	}
	apart, err := s.keeper(text, most, true)
	if err != nil {
		return "", err
	}
	serials := map[string][]int64{own.name: make([]int64, most), peer.name: make([]int64, most), apart.name: make([]int64, most)}
	for _, count := range counts {
		var first [2]load
		for i, k := range []keeper{own, peer, apart} {
			if i == 2 && count < most {
				continue
			}
			cell, err := k.measure(count, serials[k.name], while)
			if err != nil {
				return "", fmt.Errorf("%s, %d clients: %w", k.name, count, err)
			}
			if i == 0 {
				first = cell
			}
			fmt.Fprintf(&b, "| %s, %s |", k.name, plural(count, "client"))
			for j, l := range cell {
				fmt.Fprintf(&b, " %.1f | %.1f | %.1f | %.2f |", l.rate, milliseconds(l.p50), milliseconds(l.p99), ratio(l.p50, first[j].p50))
			}
			b.WriteString("\n")
		}
	}
	processes, err := s.processes(dir, bin, text, runs)
	return b.String() + processes, err
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// measure writes states, then reads them. The first time opens the connections,
// and is not measured.
func (k keeper) measure(count int, serials []int64, while time.Duration) (cell [2]load, err error) {
	write := func(i int) error {
		serials[i]++
		return k.write(i, serials[i])
	}
	if _, err := drive(count, 0, write); err != nil {
		return cell, err
	}
	if cell[0], err = drive(count, while, write); err != nil {
		return cell, err
	}
	cell[1], err = drive(count, while, func(i int) error { return k.read(i, serials[i]) })
	return cell, err
}

// keeper is the server's: its clients have a stack each, all in one organisation or
// each in one of its own.
func (s *server) keeper(text stateText, n int, apart bool) (keeper, error) {
	all, stacks, name := make([]*client, n), make([]string, n), "assize"
	for i := range n {
		all[i] = s.client()
		home := organisation
		if apart {
			home, name = fmt.Sprintf("o-%d", i), "assize, an organisation each"
			if err := all[i].organise(home); err != nil {
				return keeper{}, err
			}
		}
		var err error
		if stacks[i], err = all[i].stack(home, fmt.Sprintf("bench-%d", i)); err != nil {
			return keeper{}, err
		}
	}
	return keeper{name,
		func(i int, serial int64) error { return all[i].write(stacks[i], text, serial) },
		func(i int, serial int64) error {
			got, err := all[i].read(stacks[i])
			return errors.Join(err, text.check(got, serial))
		}}, nil
}

// write does what the tools do for a write, each step after the answer to the one before.
func (c *client) write(stack string, text stateText, serial int64) error {
	place := "/api/v2/workspaces/" + stack
	if _, err := c.post(place+"/actions/lock", `{"reason":"bench"}`); err != nil {
		return err
	}
	sum, err := text.md5(serial)
	if err != nil {
		return err
	}
	begun, err := read(c.post(place+"/state-versions", fmt.Sprintf(`{"data":{"type":"state-versions","attributes":{"serial":%d,"md5":%q,"lineage":%q}}}`, serial, sum, lineage)))
	if err != nil {
		return err
	}
	body := func() io.Reader {
		return io.MultiReader(bytes.NewReader(text.head), strings.NewReader(text.end(serial)))
	}
	if _, err := c.call(http.MethodPut, begun.Data.Attributes.Upload, body, text.size(serial)); err != nil {
		return err
	}
	_, err = c.post(place+"/actions/unlock", "")
	return err
}

func (c *client) read(stack string) ([]byte, error) {
	current, err := read(c.get("/api/v2/workspaces/" + stack + "/current-state-version"))
	if err != nil {
		return nil, err
	}
	return c.get(current.Data.Attributes.Download)
}

// pgDatabase is the database of the pg backend.
const pgDatabase = "pg_backend"

// peer is the pg backend's in the server's own Postgres.
func (s *server) peer(text stateText, n int) (keeper, error) {
	ctx := context.Background()
	url, err := s.makeDatabase(ctx)
	if err != nil {
		return keeper{}, err
	}
	name := func(i int) string { return fmt.Sprintf("bench-%d", i) }
	all := make([]*pgTable, n)
	for i := range all {
		if all[i], err = openTable(ctx, url); err != nil {
			return keeper{}, err
		}
		if err := all[i].put(ctx, name(i), text.text(0)); err != nil {
			return keeper{}, err
		}
	}
	return keeper{"pg",
		func(i int, serial int64) error { return all[i].write(ctx, name(i), -1-int64(i), text.text(serial)) },
		func(i int, serial int64) error {
			got, err := all[i].read(ctx, name(i))
			return errors.Join(err, text.check(got, serial))
		}}, nil
}

// makeDatabase makes one for the pg backend, with its table.
func (s *server) makeDatabase(ctx context.Context) (string, error) {
	for _, step := range []struct{ database, sql string }{{"postgres", "CREATE DATABASE " + pgDatabase}, {pgDatabase, pgSchema}} {
		url, err := s.database(step.database)
		if err == nil {
			err = execute(ctx, url, step.sql)
		}
		if err != nil {
			return "", err
		}
	}
	return s.database(pgDatabase)
}

func execute(ctx context.Context, url, sql string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}
