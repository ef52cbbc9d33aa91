package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/internal/identity"
)

// A Project holds stacks of one organisation.
type Project struct {
	ID           string
	Organisation string // id
	Name         string
}

func (p Project) scope() identity.Scope {
	return identity.Scope{Organisation: p.Organisation, Project: p.ID}
}

const sqlInsertProject = `
	INSERT INTO projects (id, organisation, name, created_at) VALUES (@id, @organisation, @name, @at)`

// CreateProject makes a project in an organisation.
func (u *Update) CreateProject(ctx context.Context, who identity.Principal, organisation, name string) (Project, error) {
	p := Project{ID: newID(identity.ProjectID), Organisation: organisation, Name: name}
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

const sqlRenameProject = `
	UPDATE projects SET name = @name WHERE id = @id`

// RenameProject gives a project another name.
func (u *Update) RenameProject(ctx context.Context, who identity.Principal, id, name string) error {
	p, err := u.project(ctx, id)
	if err != nil {
		return err
	}
	c := call{who: who, action: "project:rename", needs: identity.ProjectAdmin, at: p.scope(), object: id,
		detail: map[string]string{"name": name, "was": p.Name}}
	return u.guard(ctx, c, func() error {
		if err := identity.ProjectName().Check(name); err != nil {
			return err
		}
		_, err := u.tx.Exec(ctx, sqlRenameProject, pgx.NamedArgs{"id": id, "name": name})
		return err
	})
}

const sqlDeleteProject = `
	DELETE FROM projects WHERE id = @id`

// DeleteProject deletes a project that nothing is in.
func (u *Update) DeleteProject(ctx context.Context, who identity.Principal, id string) error {
	p, err := u.project(ctx, id)
	if err != nil {
		return err
	}
	c := call{who: who, action: "project:delete", needs: identity.ProjectAdmin, at: p.scope(), object: id, detail: map[string]string{"name": p.Name}}
	return u.guard(ctx, c, func() error {
		_, err := u.tx.Exec(ctx, sqlDeleteProject, pgx.NamedArgs{"id": id})
		return err
	})
}

const sqlProject = `
	SELECT id, organisation, name FROM projects WHERE id = @id`

// project is where a project is, for the guard to ask about.
func (v *View) project(ctx context.Context, id string) (Project, error) {
	var p Project
	err := v.tx.QueryRow(ctx, sqlProject, pgx.NamedArgs{"id": id}).Scan(&p.ID, &p.Organisation, &p.Name)
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
	return p, nil
}

const sqlProjects = `
	SELECT id, organisation, name FROM projects WHERE organisation = @organisation ORDER BY lower(name)`

// Projects are those of an organisation that the principal may see. To see none
// is no refusal.
func (v *View) Projects(ctx context.Context, who identity.Principal, organisation string) ([]Project, error) {
	grants, err := v.grantsOf(ctx, who)
	if err != nil {
		return nil, err
	}
	rows, err := v.tx.Query(ctx, sqlProjects, pgx.NamedArgs{"organisation": organisation})
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Project])
	return slices.DeleteFunc(all, func(p Project) bool { return !identity.Allowed(grants, identity.ProjectRead, p.scope()) }), err
}
