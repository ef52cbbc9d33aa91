package server

import (
	"context"
	"strings"

	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
)

func (s *server) organisations() []endpoint {
	return []endpoint{
		answering("The organisations of the caller", "", s.listOrganisations),
		making("Make an organisation, which the caller owns then", identity.SiteAdmin, s.createOrganisation),
		answering("The organisation with this name", identity.OrganisationRead, s.showOrganisation),
		answering("Delete an organisation with all that is in it; not while a stack has a state", identity.OrganisationAdmin, s.deleteOrganisation),
		answering("The projects of an organisation that the caller may see", identity.ProjectRead, s.listProjects),
		making("Make a project", identity.ProjectAdmin, s.createProject),
		answering("Delete a project that no stack is in", identity.ProjectAdmin, s.deleteProject),
	}
}

func principal(p identity.Principal) v1.Principal {
	return v1.Principal{Kind: string(p.Kind), ID: p.ID, Name: p.Name, Organisation: p.Organisation}
}

func organisation(o postgres.Organisation) v1.Organisation {
	return v1.Organisation{ID: o.ID, Name: o.Name, Project: o.Project, Created: o.Created}
}

func project(p postgres.Project) v1.Project { return v1.Project{ID: p.ID, Name: p.Name} }

func (s *server) listOrganisations(ctx context.Context, who identity.Principal, in v1.ListOrganisations) (v1.Page[v1.Organisation], error) {
	c, err := paging(in.Paging)
	if err != nil {
		return v1.Page[v1.Organisation]{}, err
	}
	var all []postgres.Organisation
	err = s.control.View(ctx, func(v *postgres.View) (err error) {
		all, err = v.Organisations(ctx, who)
		return err
	})
	key := func(o postgres.Organisation) string { return strings.ToLower(o.Name) }
	return page(c, after(c, all, key), key, organisation), err
}

func (s *server) createOrganisation(ctx context.Context, who identity.Principal, in v1.CreateOrganisation) (v1.Organisation, error) {
	var made postgres.Organisation
	err := s.control.Update(ctx, func(u *postgres.Update) (err error) {
		made, err = u.CreateOrganisation(ctx, who, in.Name)
		return err
	})
	return organisation(made), err
}

func (s *server) showOrganisation(ctx context.Context, who identity.Principal, in v1.ShowOrganisation) (v1.Organisation, error) {
	var found postgres.Organisation
	err := s.control.View(ctx, func(v *postgres.View) (err error) {
		found, err = v.Organisation(ctx, who, in.Organisation)
		return err
	})
	return organisation(found), err
}

func (s *server) deleteOrganisation(ctx context.Context, who identity.Principal, in v1.DeleteOrganisation) (nothing, error) {
	return nothing{}, s.control.Update(ctx, func(u *postgres.Update) error {
		o, err := u.Home(ctx, who, in.Organisation)
		if err != nil {
			return err
		}
		return u.DeleteOrganisation(ctx, who, o.ID)
	})
}

func (s *server) listProjects(ctx context.Context, who identity.Principal, in v1.ListProjects) (v1.Page[v1.Project], error) {
	c, err := paging(in.Paging)
	if err != nil {
		return v1.Page[v1.Project]{}, err
	}
	var all []postgres.Project
	err = s.control.View(ctx, func(v *postgres.View) error {
		o, err := v.Home(ctx, who, in.Organisation)
		if err != nil {
			return err
		}
		all, err = v.Projects(ctx, who, o.ID)
		return err
	})
	key := func(p postgres.Project) string { return strings.ToLower(p.Name) }
	return page(c, after(c, all, key), key, project), err
}

func (s *server) createProject(ctx context.Context, who identity.Principal, in v1.CreateProject) (v1.Project, error) {
	var made postgres.Project
	err := s.control.Update(ctx, func(u *postgres.Update) error {
		o, err := u.Home(ctx, who, in.Organisation)
		if err != nil {
			return err
		}
		made, err = u.CreateProject(ctx, who, o.ID, in.Name)
		return err
	})
	return project(made), err
}

func (s *server) deleteProject(ctx context.Context, who identity.Principal, in v1.DeleteProject) (nothing, error) {
	return nothing{}, s.control.Update(ctx, func(u *postgres.Update) error { return u.DeleteProject(ctx, who, in.Project) })
}
