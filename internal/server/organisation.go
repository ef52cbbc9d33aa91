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
		answering("Whose token this is", "", s.whoami),
		answering("The organisations of the caller", "", s.listOrganisations),
		answering("The projects of an organisation that the caller may see", identity.ProjectRead, s.listProjects),
	}
}

func (s *server) whoami(_ context.Context, who identity.Principal, _ v1.Whoami) (v1.Principal, error) {
	return principal(who), nil
}

func principal(p identity.Principal) v1.Principal {
	return v1.Principal{Kind: string(p.Kind), ID: p.ID, Name: p.Name, Organisation: p.Organisation}
}

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
	return page(c, after(c, all, key), key, func(o postgres.Organisation) v1.Organisation {
		return v1.Organisation{ID: o.ID, Name: o.Name}
	}), err
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
	return page(c, after(c, all, key), key, func(p postgres.Project) v1.Project {
		return v1.Project{ID: p.ID, Name: p.Name}
	}), err
}
