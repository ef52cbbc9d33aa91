package postgres

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/internal/identity"
)

// A Stack is what has a state of its own.
type Stack struct {
	ID           string
	Organisation string // id
	Project      string // id
	Name         string
	Settings     json.RawMessage // an object; what is in it is for the caller
	Created      time.Time
	Updated      time.Time

	// Of a stack that is read, what other tables say of it.
	Above Project // the one that it is in: who sees a stack sees what it inherits
	Tags  []Tag
	Lock  *Lock         // nil when it is not locked
	State *StateVersion // the version that counts, nil when there is none
}

func (s Stack) scope() identity.Scope {
	return identity.Scope{Organisation: s.Organisation, Project: s.Project, Stack: s.ID}
}

const sqlInsertStack = `
	INSERT INTO stacks (id, organisation, project, name, settings, created_at, updated_at)
	VALUES (@id, @organisation, @project, @name, @settings, @at, @at)`

// CreateStack makes a stack in a project. Of s it takes the name, the project and
// the settings.
func (u *Update) CreateStack(ctx context.Context, who identity.Principal, s Stack) (Stack, error) {
	p, err := u.project(ctx, s.Project)
	if err != nil {
		return Stack{}, err
	}
	s.ID, s.Organisation, s.Created, s.Updated = newID(identity.StackID), p.Organisation, u.at, u.at
	if len(s.Settings) == 0 {
		s.Settings = json.RawMessage(`{}`)
	}
	c := stackCall(who, "stack:create", identity.StackAdmin, s)
	c.at = p.scope()
	err = u.guard(ctx, c, func() error {
		if err := identity.StackName().Check(s.Name); err != nil {
			return err
		}
		if err := checkSettings(s.Settings); err != nil {
			return err
		}
		_, err := u.tx.Exec(ctx, sqlInsertStack, pgx.NamedArgs{"id": s.ID, "organisation": s.Organisation,
			"project": s.Project, "name": s.Name, "settings": s.Settings, "at": u.at})
		return err
	})
	return s, err
}

// stackCall is a call about a stack.
func stackCall(who identity.Principal, action string, needs identity.Permission, s Stack) call {
	return call{who: who, action: action, needs: needs, at: s.scope(), object: s.ID, detail: map[string]string{"name": s.Name}}
}

const sqlStack = `
	SELECT id, organisation, project, name, settings, created_at, updated_at FROM stacks WHERE id = @id`

const sqlStackByName = `
	SELECT id, organisation, project, name, settings, created_at, updated_at FROM stacks
	WHERE organisation = @organisation AND lower(name) = lower(@name)`

// stack is where a stack is, for the guard to ask about.
func (v *View) stack(ctx context.Context, id string) (Stack, error) {
	return scanStack(v.tx.QueryRow(ctx, sqlStack, pgx.NamedArgs{"id": id}))
}

func scanStack(row pgx.Row) (Stack, error) {
	var s Stack
	err := row.Scan(&s.ID, &s.Organisation, &s.Project, &s.Name, &s.Settings, &s.Created, &s.Updated)
	s.Created, s.Updated = s.Created.UTC(), s.Updated.UTC()
	return s, err
}

// Stack is the one with this id.
func (v *View) Stack(ctx context.Context, who identity.Principal, id string) (Stack, error) {
	s, err := v.stack(ctx, id)
	if err != nil {
		return Stack{}, err
	}
	if err := v.permit(ctx, stackCall(who, "stack:read", identity.StackRead, s)); err != nil {
		return Stack{}, err
	}
	return v.completed(ctx, s)
}

// StackByName is the one of an organisation with this name.
func (v *View) StackByName(ctx context.Context, who identity.Principal, organisation, name string) (Stack, error) {
	s, err := scanStack(v.tx.QueryRow(ctx, sqlStackByName, pgx.NamedArgs{"organisation": organisation, "name": name}))
	if err != nil {
		return Stack{}, err
	}
	if err := v.permit(ctx, stackCall(who, "stack:read", identity.StackRead, s)); err != nil {
		return Stack{}, err
	}
	return v.completed(ctx, s)
}

// completed is a stack with what other tables say of it.
func (v *View) completed(ctx context.Context, s Stack) (Stack, error) {
	all := []Stack{s}
	err := v.complete(ctx, all)
	return all[0], err
}

// complete adds to stacks what other tables say of them. All of that is asked for
// at once: each question alone takes longer on its way than its answer takes to find.
func (v *View) complete(ctx context.Context, stacks []Stack) error {
	ids, above := []string{}, []string{}
	for _, s := range stacks {
		ids, above = append(ids, s.ID), append(above, s.Project)
	}
	var tags map[string][]Tag
	var locks map[string]*Lock
	var states map[string]*StateVersion
	var projects map[string]Project
	b := &pgx.Batch{}
	b.Queue(sqlTagsOf, pgx.NamedArgs{"ids": slices.Concat(ids, above)}).Query(into(&tags, collectTags))
	b.Queue(sqlLocks, pgx.NamedArgs{"stacks": ids}).Query(into(&locks, collectLocks))
	b.Queue(sqlCurrentStates, pgx.NamedArgs{"stacks": ids}).Query(into(&states, collectCurrents))
	b.Queue(sqlProjectsByID, pgx.NamedArgs{"ids": above}).Query(into(&projects, collectProjects))
	if err := v.tx.ask(ctx, b); err != nil {
		return err
	}
	for i, s := range stacks {
		stacks[i].Tags, stacks[i].Lock, stacks[i].State = tags[s.ID], locks[s.ID], states[s.ID]
		stacks[i].Above = projects[s.Project]
		stacks[i].Above.Tags = tags[s.Project]
	}
	return nil
}

// into has what collect makes of the rows of a statement of a batch put into to.
func into[T any](to *T, collect func(pgx.Rows) (T, error)) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*to, err = collect(rows)
		return err
	}
}

const sqlChangeStack = `
	UPDATE stacks SET project = @project, name = @name, settings = @settings, updated_at = @at WHERE id = @id`

// ChangeStack gives a stack the name, the project and the settings that s has.
// To move it needs the permission in both projects; roles for it move along.
func (u *Update) ChangeStack(ctx context.Context, who identity.Principal, s Stack) (Stack, error) {
	was, err := u.stack(ctx, s.ID)
	if err != nil {
		return Stack{}, err
	}
	changed := was
	changed.Name, changed.Project, changed.Settings, changed.Updated = s.Name, s.Project, s.Settings, u.at
	c := stackCall(who, "stack:change", identity.StackAdmin, was)
	if was.Name != s.Name {
		c.detail["name"], c.detail["was"] = s.Name, was.Name
	}
	return changed, u.guard(ctx, c, func() error {
		if err := identity.StackName().Check(s.Name); err != nil {
			return err
		}
		if err := checkSettings(s.Settings); err != nil {
			return err
		}
		if err := u.permitMove(ctx, c, was, s.Project); err != nil {
			return err
		}
		_, err := u.tx.Exec(ctx, sqlChangeStack, pgx.NamedArgs{"id": s.ID, "project": s.Project, "name": s.Name,
			"settings": s.Settings, "at": u.at})
		return err
	})
}

// permitMove lets a stack come to a project, which must be of its organisation.
func (u *Update) permitMove(ctx context.Context, c call, s Stack, project string) error {
	if project == s.Project {
		return nil
	}
	to, err := u.project(ctx, project)
	if err != nil {
		return err
	}
	if to.Organisation != s.Organisation {
		return notFound()
	}
	c.at, c.detail["project"] = to.scope(), project
	return u.permit(ctx, c)
}

const sqlDeleteStack = `
	DELETE FROM stacks WHERE id = @id`

// DeleteStack deletes a stack with its state. One that may still have resources
// goes only by force (docs/protocol.md, rule 11).
func (u *Update) DeleteStack(ctx context.Context, who identity.Principal, id string, force bool) error {
	s, err := u.stack(ctx, id)
	if err != nil {
		return err
	}
	c := stackCall(who, "stack:delete", identity.StackAdmin, s)
	c.detail["force"] = strconv.FormatBool(force)
	return u.guard(ctx, c, func() error {
		if err := u.deletable(ctx, id); err != nil && !force {
			return err
		}
		_, err := u.tx.Exec(ctx, sqlDeleteStack, pgx.NamedArgs{"id": id})
		return err
	})
}

// reach says for SQL which stacks of an organisation these grants let somebody see.
func reach(grants []identity.Grant, organisation string, args pgx.NamedArgs) {
	whole, projects, stacks := false, []string{}, []string{}
	for _, g := range grants {
		if g.Scope.Organisation != organisation || !slices.Contains(g.Role.Permissions(), identity.StackRead) {
			continue
		}
		switch g.Scope.Level() {
		case identity.Organisation:
			whole = true
		case identity.Project:
			projects = append(projects, g.Scope.Project)
		case identity.Stack:
			stacks = append(stacks, g.Scope.Stack)
		}
	}
	args["whole"], args["projects"], args["stacks"] = whole, projects, stacks
}
