package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// listed fills an organisation with n stacks and measures how long its lists take,
// and what the server has in memory when nobody has asked for a while.
func listed(dir, bin string, n int, while, rest time.Duration) (_ string, err error) {
	s, err := startServer(bin, filepath.Join(dir, fmt.Sprintf("server-stacks-%d", n)))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.stop(), os.RemoveAll(s.data)) }()
	if err := s.fill(n); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n### Pages of %d stacks\n\n", n)
	b.WriteString("| | pages/s | p50 ms | p99 ms |\n|---|---:|---:|---:|\n")
	for _, l := range s.lists(n) {
		for range 3 { // the first times open a connection, and prepare what is asked
			if err := l.page(); err != nil {
				return "", fmt.Errorf("%s: %w", l.name, err)
			}
		}
		cell, err := drive(1, while, func(int) error { return l.page() })
		if err != nil {
			return "", fmt.Errorf("%s: %w", l.name, err)
		}
		fmt.Fprintf(&b, "| %s | %.0f | %.1f | %.1f |\n", l.name, cell.rate, milliseconds(cell.p50), milliseconds(cell.p99))
	}
	time.Sleep(rest)
	fmt.Fprintf(&b, "\nAfter %v of rest the server has %.0f MB of resident memory, without its Postgres.\n", rest, float64(held(s.cmd.Process.Pid))/1e6)
	return b.String(), nil
}

// fill makes stacks in the database itself: over the protocol 50,000 would take
// minutes. Then it has Postgres do what it does by itself after a while.
func (s *server) fill(n int) error {
	ctx := context.Background()
	url, err := s.database("postgres")
	if err != nil {
		return err
	}
	for _, sql := range []string{
		"ALTER TABLE stacks DISABLE TRIGGER USER",
		fmt.Sprintf(`INSERT INTO stacks (id, organisation, project, name, settings, created_at, updated_at)
			SELECT 'stk_' || lpad(n::text, 22, '0'), o.id, o.project, (array['payments', 'network', 'billing', 'search'])[n %% 4 + 1] || '-' || substr(md5(n::text), 1, 6) || '-' || n, '{}', now(), now()
			FROM organisations o, generate_series(1, %d) n WHERE o.name = '%s'`, n, organisation),
		fmt.Sprintf("UPDATE projects SET stacks = stacks + %d WHERE id = (SELECT project FROM organisations WHERE name = '%s')", n, organisation),
		"ALTER TABLE stacks ENABLE TRIGGER USER",
		"VACUUM ANALYZE",
	} {
		if err := execute(ctx, url, sql); err != nil {
			return err
		}
	}
	return nil
}

// A list is one way to turn pages.
type list struct {
	name string
	page func() error // asks for one page, and looks whether it is as it should be
}

// v2Page is the size of a page of /api/v2, and v1Page that of one of /v1, when
// nobody says another.
const v2Page, v1Page = 20, 50

func (s *server) lists(n int) []list {
	c, draw := s.client(), rand.New(rand.NewPCG(3, 4))
	v2 := func(search string) func() error {
		return func() error {
			query, least := url.Values{}, 0
			if search == "" {
				query.Set("page[number]", fmt.Sprint(1+draw.IntN(n/v2Page)))
				least = v2Page
			} else {
				query.Set(search, fmt.Sprintf("-%03x", draw.IntN(1<<12)))
			}
			var page struct {
				Data []json.RawMessage
				Meta struct {
					Pagination struct {
						Total int `json:"total-count"`
					}
				}
			}
			text, err := c.get("/api/v2/organizations/" + organisation + "/workspaces?" + query.Encode())
			if err == nil {
				err = json.Unmarshal(text, &page)
			}
			if err == nil && (len(page.Data) < least || page.Meta.Pagination.Total < least*n/v2Page) {
				err = fmt.Errorf("%d of %d on the page", len(page.Data), page.Meta.Pagination.Total)
			}
			return err
		}
	}
	next, wanted := "", 0
	v1 := func(search bool) func() error {
		return func() error {
			query := url.Values{"cursor": {next}}
			if search {
				query = url.Values{"search": {fmt.Sprintf("-%03x", draw.IntN(1<<12))}}
			}
			var page struct {
				Items []json.RawMessage
				Next  string
			}
			text, err := c.get("/v1/organisations/" + organisation + "/stacks?" + query.Encode())
			if err == nil {
				err = json.Unmarshal(text, &page)
			}
			if search || err != nil {
				return err
			}
			next, wanted = page.Next, wanted+len(page.Items)
			if next == "" && wanted != n {
				err = fmt.Errorf("all pages have %d stacks, want %d", wanted, n)
			}
			if next == "" {
				wanted = 0
			}
			return err
		}
	}
	return []list{
		{"/api/v2, pages at random", v2("")},
		{"/api/v2, a part of the name", v2("search[name]")},
		{"/v1, one page after the other", v1(false)},
		{"/v1, a part of the name", v1(true)},
	}
}
