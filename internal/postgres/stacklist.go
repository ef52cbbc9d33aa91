package postgres

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/internal/identity"
)

// A StackQuery says which stacks of an organisation somebody wants to see, and
// which part of them, in the order of their names. Empty fields ask for nothing.
type StackQuery struct {
	Organisation string   // id
	Project      string   // id
	Name         string   // a part of the name
	Wildcard     string   // the name, with * for anything
	Tags         []Tag    // all of these, by their keys; a value that is not "" too
	Without      []string // keys of tags, none of these
	Descending   bool
	Offset       int
	Limit        int
}

const sqlStackCount = `
	SELECT coalesce(sum(stacks), 0) + (
		SELECT count(*) FROM stacks s WHERE s.id = ANY(@stacks) AND s.organisation = @organisation
			AND (@project::text IS NULL OR s.project = @project) AND NOT (@whole OR s.project = ANY(@projects)))
	FROM projects
	WHERE organisation = @organisation AND (@project::text IS NULL OR id = @project) AND (@whole OR id = ANY(@projects))`

const sqlStackPlaces = `
	SELECT id FROM stacks
	WHERE organisation = @organisation AND (@whole OR project = ANY(@projects) OR id = ANY(@stacks))
		AND (@project::text IS NULL OR project = @project)
	ORDER BY CASE WHEN @descending THEN NULL ELSE lower(name) END, CASE WHEN @descending THEN lower(name) END DESC
	LIMIT @limit OFFSET @offset`

const sqlStacksFound = `
	SELECT count(*), coalesce((array_agg(id))[@offset + 1 : @offset + @limit], '{}') FROM (SELECT id FROM stacks
	WHERE organisation = @organisation AND (@whole OR project = ANY(@projects) OR id = ANY(@stacks))
		AND (@project::text IS NULL OR project = @project)
		AND (trigrams(@part) IS NULL OR trigrams(name) @> trigrams(@part))
		AND (@name::text IS NULL OR strpos(lower(name), lower(@name)) > 0)
		AND (@wildcard::text IS NULL OR lower(name) LIKE lower(@wildcard))
		AND (@keys::text[] IS NULL OR id IN (
			SELECT g.stack FROM unnest(@keys::text[], @values::text[]) AS w (key, value)
				JOIN tags t ON t.organisation = @organisation AND t.key = w.key
				JOIN tagged g ON g.tag = t.id AND w.value IN ('', g.value)
			GROUP BY g.stack HAVING count(*) = cardinality(@keys)))
		AND (@without::text[] IS NULL OR NOT EXISTS (
			SELECT FROM tagged g JOIN tags t ON t.id = g.tag WHERE g.stack = stacks.id AND t.key = ANY(@without)))
	ORDER BY CASE WHEN @descending THEN NULL ELSE lower(name) END, CASE WHEN @descending THEN lower(name) END DESC) AS found`

const sqlStacksByID = `
	SELECT id, organisation, project, name, settings, created_at, updated_at FROM stacks WHERE id = ANY(@ids)
	ORDER BY array_position(@ids, id)`

// Stacks are those of an organisation that the principal may see and that q asks
// for, and how many there are without its limit. To see none is no refusal.
//
// Which stacks are on the page is found in the indexes alone; only then are they read.
func (v *View) Stacks(ctx context.Context, who identity.Principal, q StackQuery) ([]Stack, int, error) {
	grants, err := v.grantsOf(ctx, who)
	if err != nil {
		return nil, 0, err
	}
	args := q.args()
	reach(grants, q.Organisation, args)
	var ids []string
	var total int
	if q.picks() {
		err = v.tx.QueryRow(ctx, sqlStacksFound, planned, args).Scan(&total, &ids)
	} else {
		ids, total, err = v.stackPlaces(ctx, q, args)
	}
	if err != nil {
		return nil, 0, err
	}
	rows, err := v.tx.Query(ctx, sqlStacksByID, pgx.NamedArgs{"ids": ids})
	if err != nil {
		return nil, 0, err
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Stack, error) { return scanStack(row) })
	if err != nil {
		return nil, 0, err
	}
	return found, total, v.complete(ctx, found)
}

// picks reports whether stacks have to be looked at to know whether they are wanted.
func (q StackQuery) picks() bool {
	return q.Name != "" || q.Wildcard != "" || len(q.Tags)+len(q.Without) != 0
}

// stackPlaces are the stacks of a page where all are wanted, and how many there are,
// which is known without counting them.
func (v *View) stackPlaces(ctx context.Context, q StackQuery, args pgx.NamedArgs) ([]string, int, error) {
	var total int
	if err := v.tx.QueryRow(ctx, sqlStackCount, args).Scan(&total); err != nil {
		return nil, 0, err
	}
	turned := q.turn(total, args)
	rows, err := v.tx.Query(ctx, sqlStackPlaces, planned, args)
	if err != nil {
		return nil, 0, err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if turned {
		slices.Reverse(ids)
	}
	return ids, total, err
}

// turn has a page of the second half of a list read from its end: the database
// passes over all that comes before a page.
func (q StackQuery) turn(total int, args pgx.NamedArgs) bool {
	if q.Offset <= total/2 {
		return false
	}
	n := max(0, min(q.Limit, total-q.Offset))
	args["descending"], args["limit"], args["offset"] = !q.Descending, n, max(0, total-q.Offset-n)
	return true
}

// planned has Postgres plan a query for the values that it is sent with: what is
// not asked for then costs nothing.
const planned = pgx.QueryExecModeCacheDescribe

func (q StackQuery) args() pgx.NamedArgs {
	wildcard := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`, `*`, `%`).Replace(q.Wildcard)
	var keys, values []string // nil, which is NULL, asks for none
	tags := slices.SortedFunc(slices.Values(q.Tags), func(a, b Tag) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value))
	})
	for _, t := range slices.Compact(tags) {
		keys, values = append(keys, t.Key), append(values, t.Value)
	}
	return pgx.NamedArgs{"organisation": q.Organisation, "project": null(q.Project), "name": null(q.Name),
		"wildcard": null(wildcard), "part": q.Name + "*" + q.Wildcard, "keys": keys, "values": values, "without": q.Without,
		"descending": q.Descending, "limit": q.Limit, "offset": q.Offset}
}
