package postgres

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
)

// A Tag is a word that stacks and projects have, perhaps with a value. Its id is
// that of the word in its organisation.
type Tag struct {
	ID    string
	Key   string
	Value string // "" for none
}

// tagPrefix begins the ids of tags.
const tagPrefix = "tag_"

// tagsMost is how many tags one thing can have.
const tagsMost = 25

// taggable is the call to change the tags of a stack or a project, and the thing as
// arguments of statements.
func (v *View) taggable(ctx context.Context, who identity.Principal, id string) (call, pgx.NamedArgs, error) {
	if identity.IsID(identity.ProjectID, id) {
		p, err := v.project(ctx, id)
		return call{who: who, action: "project:tag", needs: identity.ProjectAdmin, at: p.scope(), object: id, detail: map[string]string{"name": p.Name}},
			pgx.NamedArgs{"organisation": p.Organisation, "project": id, "stack": nil}, err
	}
	s, err := v.stack(ctx, id)
	return stackCall(who, "stack:tag", identity.StackAdmin, s),
		pgx.NamedArgs{"organisation": s.Organisation, "project": nil, "stack": id}, err
}

const sqlTag = `
	WITH made AS (
		INSERT INTO tags (id, organisation, key, created_at) SELECT @id, @organisation, @key, @at WHERE @key <> ''
		ON CONFLICT ON CONSTRAINT tags_key DO NOTHING RETURNING id
	)
	INSERT INTO tagged (organisation, tag, project, stack, value)
	SELECT @organisation, id, @project, @stack, @value FROM (
		SELECT id FROM made UNION ALL SELECT id FROM tags WHERE organisation = @organisation AND (id = @tag OR key = @key)
	) AS tag
	ON CONFLICT ON CONSTRAINT tagged_one DO UPDATE SET value = CASE WHEN @keep THEN tagged.value ELSE excluded.value END`

const sqlTagCount = `
	SELECT count(*) FROM tagged WHERE stack = @stack OR project = @project`

const sqlUntagAll = `
	DELETE FROM tagged WHERE stack = @stack OR project = @project`

// AddTags gives a stack or a project these tags, by their ids or keys. Those that
// it has it keeps, with their values.
func (u *Update) AddTags(ctx context.Context, who identity.Principal, on string, tags []Tag) error {
	return u.changeTags(ctx, who, on, func(thing pgx.NamedArgs) error { return u.putTags(ctx, thing, tags, true) })
}

// PutTags gives a stack or a project these tags with these values. Others that it
// has it keeps, unless these are to be all.
func (u *Update) PutTags(ctx context.Context, who identity.Principal, on string, tags []Tag, all bool) error {
	return u.changeTags(ctx, who, on, func(thing pgx.NamedArgs) error {
		if all {
			if _, err := u.tx.Exec(ctx, sqlUntagAll, thing); err != nil {
				return err
			}
		}
		return u.putTags(ctx, thing, tags, false)
	})
}

// changeTags guards a change of the tags of a stack or a project.
func (u *Update) changeTags(ctx context.Context, who identity.Principal, on string, do func(thing pgx.NamedArgs) error) error {
	c, thing, err := u.taggable(ctx, who, on)
	if err != nil {
		return err
	}
	return u.guard(ctx, c, func() error { return do(thing) })
}

func (u *Update) putTags(ctx context.Context, thing pgx.NamedArgs, tags []Tag, keep bool) error {
	for _, t := range tags {
		if err := u.putTag(ctx, thing, t, keep); err != nil {
			return err
		}
	}
	var n int
	if err := u.tx.QueryRow(ctx, sqlTagCount, thing).Scan(&n); err != nil {
		return err
	}
	if n > tagsMost {
		return problem.New(api.Invalid, "one thing can have %d tags, and this would have %d", tagsMost, n)
	}
	return nil
}

func (u *Update) putTag(ctx context.Context, thing pgx.NamedArgs, t Tag, keep bool) error {
	args := pgx.NamedArgs{"organisation": thing["organisation"], "project": thing["project"], "stack": thing["stack"],
		"id": newID(tagPrefix), "tag": t.ID, "key": t.Key, "value": t.Value, "keep": keep, "at": u.at}
	if t.ID == "" || t.Key != "" {
		if err := identity.CheckTag(t.Key, t.Value); err != nil {
			return err
		}
	}
	tag, err := u.tx.Exec(ctx, sqlTag, args)
	if err == nil && tag.RowsAffected() == 0 {
		return notFound()
	}
	return err
}

const sqlUntag = `
	DELETE FROM tagged g USING tags t
	WHERE t.id = g.tag AND (g.stack = @stack OR g.project = @project) AND (t.id = ANY(@ids) OR t.key = ANY(@keys))`

// DeleteTags takes tags away from a stack or a project, by their ids or keys.
// Those that it does not have make no difference.
func (u *Update) DeleteTags(ctx context.Context, who identity.Principal, on string, tags []Tag) error {
	ids, keys := []string{}, []string{}
	for _, t := range tags {
		ids, keys = append(ids, t.ID), append(keys, t.Key)
	}
	return u.changeTags(ctx, who, on, func(thing pgx.NamedArgs) error {
		thing["ids"], thing["keys"] = ids, keys
		_, err := u.tx.Exec(ctx, sqlUntag, thing)
		return err
	})
}

const sqlTagsOf = `
	SELECT coalesce(g.stack, g.project), t.id, t.key, g.value FROM tagged g JOIN tags t ON t.id = g.tag
	WHERE g.stack = ANY(@ids) OR g.project = ANY(@ids)
	ORDER BY g.position`

// tagsOf are the tags of stacks and projects by the ids of these, in the order in
// which they got them.
func (v *View) tagsOf(ctx context.Context, ids ...string) (map[string][]Tag, error) {
	rows, err := v.tx.Query(ctx, sqlTagsOf, pgx.NamedArgs{"ids": ids})
	if err != nil {
		return nil, err
	}
	return collectTags(rows)
}

// collectTags reads tags by the ids of what has them.
func collectTags(rows pgx.Rows) (map[string][]Tag, error) {
	all := map[string][]Tag{}
	var of string
	var t Tag
	_, err := pgx.ForEachRow(rows, []any{&of, &t.ID, &t.Key, &t.Value}, func() error {
		all[of] = append(all[of], t)
		return nil
	})
	return all, err
}

// A Word is a tag of an organisation, and how many stacks have it.
type Word struct {
	ID, Key string
	Stacks  int
}

const sqlWords = `
	SELECT t.id, t.key, (SELECT count(*) FROM tagged g WHERE g.tag = t.id AND g.stack IS NOT NULL)
	FROM tags t WHERE t.organisation = @organisation AND strpos(lower(t.key), lower(@part)) > 0
		AND NOT EXISTS (SELECT FROM tagged g WHERE g.tag = t.id AND g.stack = @without)
	ORDER BY t.key`

// Words are the tags of an organisation with this part in their key, but for those
// that one stack has.
func (v *View) Words(ctx context.Context, who identity.Principal, organisation, part, without string) ([]Word, error) {
	c := call{who: who, action: "tag:read", needs: identity.OrganisationRead, at: identity.Scope{Organisation: organisation}, object: organisation}
	if err := v.permit(ctx, c); err != nil {
		return nil, err
	}
	rows, err := v.tx.Query(ctx, sqlWords, pgx.NamedArgs{"organisation": organisation, "part": part, "without": without})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Word])
}

const sqlDeleteWords = `
	DELETE FROM tags WHERE organisation = @organisation AND id = ANY(@ids)`

// DeleteWords deletes tags of an organisation, from all that has them.
func (u *Update) DeleteWords(ctx context.Context, who identity.Principal, organisation string, ids []string) error {
	c := call{who: who, action: "tag:delete", needs: identity.StackAdmin, at: identity.Scope{Organisation: organisation}, object: organisation,
		detail: map[string]string{"tags": strings.Join(ids, " ")}}
	return u.guard(ctx, c, func() error {
		_, err := u.tx.Exec(ctx, sqlDeleteWords, pgx.NamedArgs{"organisation": organisation, "ids": ids})
		return err
	})
}

const sqlWordOrganisation = `
	SELECT organisation FROM tags WHERE id = @id`

// TagStacks gives a tag of an organisation to stacks of it.
func (u *Update) TagStacks(ctx context.Context, who identity.Principal, tag string, stacks []string) error {
	var organisation string
	if err := u.tx.QueryRow(ctx, sqlWordOrganisation, pgx.NamedArgs{"id": tag}).Scan(&organisation); err != nil {
		return err
	}
	c := call{who: who, action: "tag:read", needs: identity.OrganisationRead, at: identity.Scope{Organisation: organisation}, object: tag}
	if err := u.permit(ctx, c); err != nil {
		return err
	}
	for _, id := range stacks {
		if !identity.IsID(identity.StackID, id) {
			return notFound()
		}
		if err := u.AddTags(ctx, who, id, []Tag{{ID: tag}}); err != nil {
			return err
		}
	}
	return nil
}
