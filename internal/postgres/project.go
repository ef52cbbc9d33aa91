package postgres

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
)

// A Project holds stacks of one organisation.
type Project struct {
	ID           string
	Organisation string // id
	Name         string
	Settings     json.RawMessage // an object; what is in it is for the caller
	Tags         []Tag           // of those that are read
}

func (p Project) scope() identity.Scope {
	return identity.Scope{Organisation: p.Organisation, Project: p.ID}
}

const sqlInsertProject = `
	INSERT INTO projects (id, organisation, name, created_at) VALUES (@id, @organisation, @name, @at)`

// CreateProject makes a project in an organisation.
func (u *Update) CreateProject(ctx context.Context, who identity.Principal, organisation, name string) (Project, error) {
	p := Project{ID: newID(identity.ProjectID), Organisation: organisation, Name: name, Settings: json.RawMessage(`{}`)}
	c := call{who: who, action: "project:create", needs: identity.ProjectAdmin,
		at: identity.Scope{Organisation: organisation}, object: p.ID, detail: map[string]string{"name": name}}
	err := u.guard(ctx, c, func() error {
		if err := identity.ProjectName().Check(name); err != nil {
			return err
		}
		_, err := u.tx.Exec(ctx, sqlInsertProject, pgx.NamedArgs{"id": p.ID, "organisation": organisation, "name": name, "at": u.at})
		return err
	})
	return p, err
}

const sqlChangeProject = `
	UPDATE projects SET name = @name, settings = @settings WHERE id = @id`

// ChangeProject gives a project the name and the settings that p has.
func (u *Update) ChangeProject(ctx context.Context, who identity.Principal, p Project) error {
	was, err := u.project(ctx, p.ID)
	if err != nil {
		return err
	}
	c := call{who: who, action: "project:change", needs: identity.ProjectAdmin, at: was.scope(), object: p.ID,
		detail: map[string]string{"name": p.Name, "was": was.Name}}
	return u.guard(ctx, c, func() error {
		if err := identity.ProjectName().Check(p.Name); err != nil {
			return err
		}
		if err := checkSettings(p.Settings); err != nil {
			return err
		}
		_, err := u.tx.Exec(ctx, sqlChangeProject, pgx.NamedArgs{"id": p.ID, "name": p.Name, "settings": p.Settings})
		return err
	})
}

const sqlDeleteProject = `
	DELETE FROM projects WHERE id = @id`

const sqlStacksIn = `
	SELECT count(*), coalesce(min(name), '') FROM stacks WHERE project = @id`

const sqlIsDefault = `
	SELECT EXISTS (SELECT FROM organisations WHERE project = @id)`

// DeleteProject deletes a project that no stack is in. The one for stacks that name
// none goes with its organisation only.
func (u *Update) DeleteProject(ctx context.Context, who identity.Principal, id string) error {
	p, err := u.project(ctx, id)
	if err != nil {
		return err
	}
	c := call{who: who, action: "project:delete", needs: identity.ProjectAdmin, at: p.scope(), object: id, detail: map[string]string{"name": p.Name}}
	return u.guard(ctx, c, func() error {
		var needed bool
		if err := u.tx.QueryRow(ctx, sqlIsDefault, pgx.NamedArgs{"id": id}).Scan(&needed); err != nil {
			return err
		}
		if needed {
			return problem.New(api.Refused, "this is the project for the stacks that name none").
				WithHint("give it another name instead")
		}
		var n int
		var name string
		if err := u.tx.QueryRow(ctx, sqlStacksIn, pgx.NamedArgs{"id": id}).Scan(&n, &name); err != nil {
			return err
		}
		if n != 0 {
			return problem.New(api.Conflict, "stacks are in the project: %d, such as %s", n, name).
				WithHint("delete them first, or move them to another project")
		}
		_, err := u.tx.Exec(ctx, sqlDeleteProject, pgx.NamedArgs{"id": id})
		return err
	})
}

const sqlProject = `
	SELECT id, organisation, name, settings FROM projects WHERE id = @id`

// project is where a project is, for the guard to ask about.
func (v *View) project(ctx context.Context, id string) (Project, error) {
	return scanProject(v.tx.QueryRow(ctx, sqlProject, pgx.NamedArgs{"id": id}))
}

func scanProject(row pgx.Row) (Project, error) {
	var p Project
	err := row.Scan(&p.ID, &p.Organisation, &p.Name, &p.Settings)
	return p, err
}

// Project is the one with this id.
func (v *View) Project(ctx context.Context, who identity.Principal, id string) (Project, error) {
	p, err := v.project(ctx, id)
	if err != nil {
		return Project{}, err
	}
	if err := v.permit(ctx, call{who: who, action: "project:read", needs: identity.ProjectRead, at: p.scope(), object: id}); err != nil {
		return Project{}, err
	}
	tags, err := v.tagsOf(ctx, id)
	p.Tags = tags[id]
	return p, err
}

const sqlProjectsByID = `
	SELECT id, organisation, name, settings FROM projects WHERE id = ANY(@ids)`

// collectProjects are projects by their ids.
func collectProjects(rows pgx.Rows) (map[string]Project, error) {
	all := map[string]Project{}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Project, error) { return scanProject(row) })
	for _, p := range found {
		all[p.ID] = p
	}
	return all, err
}

const sqlProjects = `
	SELECT p.id, p.organisation, p.name, p.settings FROM projects p JOIN organisations o ON o.id = p.organisation
	WHERE o.id = @organisation ORDER BY p.id = o.project, lower(p.name)`

// Projects are those of an organisation that the principal may see, the one for
// stacks that name none last. To see none is no refusal.
func (v *View) Projects(ctx context.Context, who identity.Principal, organisation string) ([]Project, error) {
	grants, err := v.grantsOf(ctx, who)
	if err != nil {
		return nil, err
	}
	rows, err := v.tx.Query(ctx, sqlProjects, pgx.NamedArgs{"organisation": organisation})
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Project, error) { return scanProject(row) })
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(p Project) bool { return !identity.Allowed(grants, identity.ProjectRead, p.scope()) })
	ids := []string{}
	for _, p := range all {
		ids = append(ids, p.ID)
	}
	tags, err := v.tagsOf(ctx, ids...)
	for i, p := range all {
		all[i].Tags = tags[p.ID]
	}
	return all, err
}
